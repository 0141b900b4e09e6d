"""In which zone and region a client runs, as far as the machine can tell; zones are compared by id."""

from typing import TYPE_CHECKING, Any, Final, cast

from botocore.exceptions import BotoCoreError
from botocore.utils import IMDSFetcher

from configs.targets import DirectoryBucketTarget
from tasks.kernel.errors import LabelError

if TYPE_CHECKING:
    import boto3

NOT_TOLD: Final = "not told"
_TIMEOUT_S: Final = 1
_PLACEMENT: Final = "latest/meta-data/placement/"


class _PlacementFetcher(IMDSFetcher):
    """botocore's way to the instance metadata service, which honours AWS_EC2_METADATA_DISABLED."""

    def placement(self, name: str) -> str:
        own = cast("Any", self)  # what a fetcher calls is not in the published types
        try:
            token = own._fetch_metadata_token()  # noqa: SLF001 - this class is one
            answer = own._get_request(_PLACEMENT + name, own._default_retry, token)  # noqa: SLF001
        except (own._RETRIES_EXCEEDED_ERROR_CLS, BotoCoreError):  # noqa: SLF001
            return NOT_TOLD
        return str(answer.text).strip()


def client_zone_id(session: "boto3.Session") -> str:
    """The id of this instance's zone, such as apne1-az4; `NOT_TOLD` outside EC2, after a second at most."""
    return _placement(session, "availability-zone-id")


def client_region(session: "boto3.Session") -> str:
    """The region of this instance, such as ap-northeast-1; `NOT_TOLD` as for its zone."""
    return _placement(session, "region")


def _placement(session: "boto3.Session", name: str) -> str:
    core = session._session  # noqa: SLF001 - boto3 has no other way to botocore's settings
    names = ("ec2_metadata_service_endpoint", "ec2_metadata_service_endpoint_mode")
    settings = {name: core.get_config_variable(name) for name in names}
    settings["ec2_metadata_v1_disabled"] = True
    return _PlacementFetcher(timeout=_TIMEOUT_S, config=settings).placement(name)


def refuse_another_zone(target: DirectoryBucketTarget, client_zone: str) -> None:
    """See that a directory bucket lies where its target says, if both zones are known.

    Raises:
        LabelError: if it is known to lie elsewhere.
    """
    if target.zone is None or client_zone == NOT_TOLD:
        return
    found = "same" if client_zone == target.zone_id else "other"
    if found != target.zone:
        message = (
            f"bucket {target.bucket} lies in zone {target.zone_id} and this client runs in {client_zone}, "
            f"but the target says zone: {target.zone}: measure elsewhere, or correct the target"
        )
        raise LabelError(message)
