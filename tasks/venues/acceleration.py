"""What hinders targets that only Amazon's own host names reach: directory and accelerated buckets.

An endpoint that is set is found before anything is prepared, Transfer Acceleration that is not enabled before
anything is measured: a client would only say that something cannot be combined, or go elsewhere.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError

from configs.targets import AcceleratedBucketTarget, DirectoryBucketTarget
from tasks.access.s3_client import control_client, own_endpoint_url

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_REGION: Final = "us-west-1"
_OTHER_REGION: Final = "us-west-2"
_UNTIL_IT_WORKS: Final = "it takes up to 20 minutes until all of it is fast"


def endpoint_in_the_way(target: AcceleratedBucketTarget | DirectoryBucketTarget) -> str:
    """Why clients with this process's own AWS settings do not reach a target, and what to do; else empty.

    Raises:
        UserError: if the AWS settings of this machine are at fault.
    """
    endpoint_url = own_endpoint_url(_REGION)
    # Where none is set, each region has its own. What a name looks like tells nothing: with an endpoint of
    # Amazon's own botocore refuses to accelerate too, and puts the name of a directory bucket before it.
    if endpoint_url != own_endpoint_url(_OTHER_REGION):
        return ""
    return (
        f"an endpoint is set, {endpoint_url}, and a target of kind {target.kind} is reached where none is, "
        "not even one of Amazon's own: unset AWS_ENDPOINT_URL and AWS_ENDPOINT_URL_S3 and take endpoint_url "
        "out of the profile, or set AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true"
    )


def what_hinders(
    target: AcceleratedBucketTarget | DirectoryBucketTarget,
    environment: Mapping[str, str],
    note: Callable[[str], None],
) -> str:
    """Why a target cannot be measured, with what to do about it; empty where nothing is known against it.

    Args:
        target: what is to be measured.
        environment: of the clients.
        note: is told what could not be found out, which the run itself will then show.

    Raises:
        UserError: if the AWS settings of this machine are at fault.
    """
    if isinstance(target, AcceleratedBucketTarget):
        return _acceleration(control_client(target, environment), target.bucket, note)
    return ""


def _acceleration(client: "S3Client", bucket: str, note: Callable[[str], None]) -> str:
    try:
        # A bucket that never had acceleration has no status in the answer (S3 API reference).
        status = client.get_bucket_accelerate_configuration(Bucket=bucket).get("Status")
    except (ClientError, BotoCoreError) as error:
        note(
            f"whether {bucket} has Transfer Acceleration could not be asked, its requests will tell: {error}"
        )
        return ""
    if status == "Enabled":
        return ""
    found = "was never enabled" if status is None else f"is {status.lower()}"
    return (
        f"Transfer Acceleration of {bucket} {found}: enable it with `aws s3api "
        f"put-bucket-accelerate-configuration --bucket {bucket} --accelerate-configuration Status=Enabled`; "
        f"{_UNTIL_IT_WORKS}"
    )
