"""What hinders targets that only Amazon's own host names reach: directory and accelerated buckets.

Both are found before a run: a client would only say that something cannot be combined, or go elsewhere.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError

from configs.targets import AcceleratedBucketTarget, DirectoryBucketTarget
from tasks.access.s3_client import control_client

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_AMAZON: Final = (".amazonaws.com", ".amazonaws.com.cn")
_UNTIL_IT_WORKS: Final = "it takes up to 20 minutes until all of it is fast"


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
    client = control_client(target, environment)
    host = urlsplit(client.meta.endpoint_url).hostname or ""
    if not host.endswith(_AMAZON):
        return (
            f"an endpoint is set, {client.meta.endpoint_url}, and a {target.kind} is reached by Amazon's own "
            "host names alone: unset AWS_ENDPOINT_URL and AWS_ENDPOINT_URL_S3 and take endpoint_url out of "
            "the profile, or set AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true"
        )
    if isinstance(target, AcceleratedBucketTarget):
        return _acceleration(client, target.bucket, note)
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
