"""What is true of directory buckets alone: a session or none, and the zone they lie in."""

import boto3

from configs.targets import DirectoryBucketTarget
from tasks.access.zones import NOT_TOLD, client_zone_id, refuse_another_zone
from tasks.kernel.errors import LabelError


def refuse_another_session(target: DirectoryBucketTarget, client: str, *, used_session: bool) -> None:
    """See that requests were signed with a session where the target says so, and without where it does not.

    Raises:
        LabelError: it is the other way round.
    """
    if used_session == target.sessions:
        return
    how = "with" if used_session else "without"
    raise LabelError(
        f"requests of {client} to {target.bucket} are signed {how} a session, "
        f"but the target says sessions: {str(target.sessions).lower()}: is "
        "AWS_S3_DISABLE_EXPRESS_SESSION_AUTH or a profile setting in the way?"
    )


def zones_of(target: DirectoryBucketTarget) -> dict[str, str]:
    """The zones of bucket and client, for a proof, and whether what the target says of them was proved.

    Raises:
        LabelError: the bucket is known to lie elsewhere than the target says.
    """
    zone = client_zone_id(boto3.Session())
    refuse_another_zone(target, zone)
    proved = "not proved: the client's zone is not told" if zone == NOT_TOLD else "proved"
    claim = {"zone": f"{target.zone}, as the suite says, {proved}"} if target.zone else {}
    return {"bucket_zone": target.zone_id, "client_zone": zone, **claim}
