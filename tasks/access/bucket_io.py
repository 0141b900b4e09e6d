"""Requests that prepare and clean up, with failures told in words that help; none of them is measured.

Every function raises UserError, naming the bucket and the endpoint, where a request fails for good. The
client's own bounded retries are the only ones.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
    SSOError,
)

from configs.errors import UserError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import (
        DeleteObjectRequestTypeDef,
        ObjectIdentifierTypeDef,
        ObjectTypeDef,
    )

_DELETE_BATCH: Final = 1000
"""The most keys that one DeleteObjects request may name (Amazon S3 API reference)."""

_NOT_IN_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that a key may have and XML 1.0 may not, in which DeleteObjects names keys."""

_NOT_KNOWN: Final = (HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED)
"""How servers other than Amazon's answer to requests that they do not know."""

_CREDENTIAL_ERRORS: Final = (
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
    SSOError,
)

_HINTS: Final = {
    "NoSuchBucket": "create the bucket, or correct its name",
    "AccessDenied": "allow it to these credentials: listing, reading, writing and deleting below the prefix",
    "AllAccessDisabled": "use another bucket",
    "InvalidAccessKeyId": "use credentials of this endpoint",
    "SignatureDoesNotMatch": "use credentials of this endpoint",
    "ExpiredToken": "sign in again: the credentials have expired",
    "PermanentRedirect": "give the bucket's own region",
    "AuthorizationHeaderMalformed": "give the bucket's own region",
    "InternalError": "look at the server: its disk may be full or read-only",
}
_NO_CREDENTIALS: Final = "set up credentials, for example with `aws configure` or AWS_PROFILE"
_NO_ANSWER: Final = "check that the endpoint is right and answers"


@contextmanager
def explained(action: str, endpoint_url: str = "") -> Iterator[None]:
    """Tell a failed request as a UserError: `cannot <action> at <endpoint>: <what S3 said>: <what to do>`."""
    where = f" at {endpoint_url}" if endpoint_url else ""
    try:
        yield
    except ClientError as error:
        answer = error.response.get("Error", {})
        code = answer.get("Code", "unknown error")
        hint = _HINTS.get(code, "see what the server says of it")
        message = f"{code} {answer.get('Message', '')}".rstrip(" .")
        raise UserError(f"cannot {action}{where}: {message}: {hint}") from error
    except BotoCoreError as error:
        hint = _NO_CREDENTIALS if isinstance(error, _CREDENTIAL_ERRORS) else _NO_ANSWER
        raise UserError(f"cannot {action}{where}: {str(error).rstrip('.')}: {hint}") from error


def objects_below(client: "S3Client", bucket: str, prefix: str) -> "Iterator[ObjectTypeDef]":
    """List every object whose key starts with `prefix`, page by page, and no other that a server lists."""
    with explained(f"list s3://{bucket}/{prefix}", client.meta.endpoint_url):
        for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            # What is listed is deleted, and not every server heeds what it is asked for.
            yield from (entry for entry in page.get("Contents", []) if entry["Key"].startswith(prefix))


def sizes_below(client: "S3Client", bucket: str, prefix: str) -> dict[str, int]:
    """The size in bytes of every object below `prefix`, by its whole key."""
    return {entry["Key"]: entry["Size"] for entry in objects_below(client, bucket, prefix)}


def folders_below(client: "S3Client", bucket: str, prefix: str) -> list[str]:
    """The prefixes, up to their next slash, of all keys that start with `prefix`."""
    with explained(f"list s3://{bucket}/{prefix}", client.meta.endpoint_url):
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix, Delimiter="/")
        found = [folder["Prefix"] for page in pages for folder in page.get("CommonPrefixes", [])]
    return [folder for folder in found if folder.startswith(prefix)]


def get_if_there(client: "S3Client", bucket: str, key: str) -> bytes | None:
    """The bytes of an object, or None where there is none."""
    with explained(f"read s3://{bucket}/{key}", client.meta.endpoint_url):
        try:
            return client.get_object(Bucket=bucket, Key=key)["Body"].read()
        except client.exceptions.NoSuchKey:
            return None


def put(client: "S3Client", bucket: str, key: str, body: bytes) -> None:
    """Write one object in one request."""
    with explained(f"write s3://{bucket}/{key}", client.meta.endpoint_url):
        client.put_object(Bucket=bucket, Key=key, Body=body)


def delete(client: "S3Client", bucket: str, keys: Sequence[str]) -> None:
    """Delete objects by their whole keys; one that is already gone is no error."""
    _delete(client, bucket, [{"Key": key} for key in keys])


def keeps_versions(client: "S3Client", bucket: str) -> bool:
    """Whether what is deleted stays as an older version: versioning is on, or was once."""
    action = f"see whether s3://{bucket} keeps versions (s3:GetBucketVersioning)"
    with explained(action, client.meta.endpoint_url), _unless_not_known():
        return client.get_bucket_versioning(Bucket=bucket).get("Status") in {"Enabled", "Suspended"}
    return False


def delete_versions_below(
    client: "S3Client", bucket: str, prefix: str, only: Collection[str] | None = None
) -> None:
    """Delete every version and every delete marker of the keys that start with `prefix`.

    Args:
        client: a control client.
        bucket: the bucket's name.
        prefix: what to list.
        only: the whole keys to delete of those that are listed; None deletes them all.
    """
    action = f"list the versions below s3://{bucket}/{prefix} (s3:ListBucketVersions)"
    found: list[ObjectIdentifierTypeDef] = []
    with explained(action, client.meta.endpoint_url):
        # To its end before the first is deleted: not every server goes on from an entry that is gone.
        for page in client.get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix=prefix):
            found += [
                {"Key": entry["Key"], "VersionId": entry["VersionId"]}
                for entry in (*page.get("Versions", []), *page.get("DeleteMarkers", []))
                # Nothing else may be named, whatever a server lists.
                if entry["Key"].startswith(prefix) and (only is None or entry["Key"] in only)
            ]
    _delete(client, bucket, found)


def abort_uploads_below(client: "S3Client", bucket: str, prefix: str) -> None:
    """Abort what was begun in parts and never completed: no listing shows the parts, and they are billed."""
    action = f"list the unfinished uploads below s3://{bucket}/{prefix} (s3:ListBucketMultipartUploads)"
    found: list[tuple[str, str]] = []
    no_such = client.exceptions.NoSuchUpload  # rclone's answer to the listing where there has never been one
    with explained(action, client.meta.endpoint_url), _unless_not_known(), suppress(no_such):
        pages = client.get_paginator("list_multipart_uploads").paginate(Bucket=bucket, Prefix=prefix)
        found = [(entry["Key"], entry["UploadId"]) for page in pages for entry in page.get("Uploads", [])]
    for key, upload_id in found:
        if not key.startswith(prefix):
            continue
        action = f"abort the unfinished upload of s3://{bucket}/{key} (s3:AbortMultipartUpload)"
        with explained(action, client.meta.endpoint_url), suppress(no_such):
            client.abort_multipart_upload(Bucket=bucket, Key=key, UploadId=upload_id)


@contextmanager
def _unless_not_known() -> Iterator[None]:
    """Passes over the answer of a server that does not know such a request."""
    try:
        yield
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] not in _NOT_KNOWN:
            raise


def _delete(client: "S3Client", bucket: str, objects: "Sequence[ObjectIdentifierTypeDef]") -> None:
    together = [one for one in objects if _NOT_IN_XML.search(one["Key"]) is None]
    for one in objects:
        if _NOT_IN_XML.search(one["Key"]):
            named: DeleteObjectRequestTypeDef = {"Bucket": bucket, "Key": one["Key"]}
            if "VersionId" in one:
                named["VersionId"] = one["VersionId"]
            with explained(f"delete s3://{bucket}/{one['Key']!r}", client.meta.endpoint_url):
                client.delete_object(**named)
    for start in range(0, len(together), _DELETE_BATCH):
        batch = together[start : start + _DELETE_BATCH]
        with explained(f"delete s3://{bucket}/{batch[0]['Key']}", client.meta.endpoint_url):
            answer = client.delete_objects(Bucket=bucket, Delete={"Objects": batch, "Quiet": True})
        for failure in answer.get("Errors", [])[:1]:
            raise UserError(
                f"cannot delete s3://{bucket}/{failure.get('Key', '')} at {client.meta.endpoint_url}: "
                f"{failure.get('Code', '')} {failure.get('Message', '')}: {_HINTS['AccessDenied']}"
            )
