"""Removing what a run wrote: only below the run's own prefix."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def remove_run(client: "S3Client", bucket: str, prefix: str) -> int:
    """Delete every object below a run's prefix and return how many there were.

    Args:
        client: a control client.
        bucket: the bucket's name.
        prefix: the run's prefix with its trailing slash, `…/runs/<run_id>/`.

    Raises:
        ValueError: if the prefix is not that of one run; nothing is deleted then.
    """
    if "/runs/" not in f"/{prefix}" or not prefix.endswith("/") or prefix.endswith("/runs/"):
        message = f"{prefix!r} is not the prefix of one run"
        raise ValueError(message)
    removed = 0
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
        keys = [item["Key"] for item in page.get("Contents", ())]
        if keys:
            client.delete_objects(
                Bucket=bucket, Delete={"Objects": [{"Key": key} for key in keys], "Quiet": True}
            )
        removed += len(keys)
    return removed
