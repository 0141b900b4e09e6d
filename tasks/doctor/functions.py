"""One Lambda function of a suite: there, configured as the suite says, with a way to what it measures."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError

from configs.suite import Cell
from configs.targets import AcceleratedBucketTarget, BucketTarget, DirectoryBucketTarget, MountTarget
from configs.venues import LambdaVenueConfig
from tasks.doctor.findings import Finding
from tasks.doctor.routes import Network, ec2_client, ways_of
from tasks.kernel.errors import LabelError
from tasks.venues.lambda_client import lambda_client
from tasks.venues.lambda_label import LambdaFunction, check_function, function_of

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_lambda.type_defs import FunctionConfigurationResponseTypeDef

_ASKED_WITHIN_S: Final = 10.0
_FIXES: Final = {
    "ResourceNotFoundException": "deploy it, or correct the venue's function, version or region",
    "AccessDeniedException": "let these credentials lambda:GetFunctionConfiguration on it",
    "UnrecognizedClientException": "use credentials of this account, which have not expired",
    "ExpiredTokenException": "sign in again: the credentials have expired",
    "TooManyRequestsException": "ask again in a moment",
}
_DIRECT_FROM_MB: Final = 512
"""From here on `auto` reads directly (Amazon S3 User Guide, mounting S3 file systems on Lambda functions)."""


def checks_of_function(
    venue: LambdaVenueConfig,
    cells: Sequence[Cell],
    environment: Mapping[str, str],
    block_timeout_s: float,
) -> Iterator[Finding]:
    """Everything that is asked of one function; nothing is invoked.

    Args:
        venue: which function, and what the suite says of it.
        cells: those that it would measure.
        environment: of the clients.
        block_timeout_s: how long the suite lets a block take, in seconds.
    """
    try:
        client = lambda_client(venue, environment, _ASKED_WITHIN_S)
    except BotoCoreError as error:
        yield Finding("wrong", "function", _why_not_found(venue, error))
        return
    answer, *problems = ask_for_function(client, venue)
    yield from problems
    if answer is None:
        return
    function = function_of(answer)
    yield from configured(venue, function, cells, block_timeout_s)
    yield from regions(venue, cells)
    vpc = answer.get("VpcConfig", {})
    needed = needed_services(cells, reads_directly=_reads_directly(function))
    if vpc.get("VpcId") and needed:
        network = Network(vpc["VpcId"], tuple(vpc.get("SubnetIds", [])), venue.region)
        yield from ways_of(ec2_client(venue, environment), network, needed)


def ask_for_function(
    client: "LambdaClient", venue: LambdaVenueConfig
) -> "tuple[FunctionConfigurationResponseTypeDef | None, Finding]":
    """What Lambda tells of a function; None where it tells nothing, with the reason."""
    try:
        answer = client.get_function_configuration(FunctionName=venue.function)
    except (ClientError, BotoCoreError) as error:
        return None, Finding("wrong", "function", _why_not_found(venue, error), _fix(error))
    state, update = answer.get("State", "Active"), answer.get("LastUpdateStatus", "Successful")
    if state == "Failed" or update == "Failed":
        why = answer.get("StateReason") or answer.get("LastUpdateStatusReason") or "no reason is told"
        return answer, Finding("wrong", "function", f"it is in state {state}, update {update}: {why}")
    if state == "Pending" or update == "InProgress":
        what = f"it is in state {state}, update {update}"
        return answer, Finding("warning", "function", what, "wait until it is active")
    runtime = answer.get("Runtime", "an image")
    architecture = next(iter(answer.get("Architectures", [])), "x86_64")
    return answer, Finding("right", "function", f"{runtime}, {architecture}, {answer['MemorySize']} MB")


def configured(
    venue: LambdaVenueConfig, function: LambdaFunction, cells: Sequence[Cell], block_timeout_s: float
) -> Iterator[Finding]:
    """What the suite says of it, its time-out, and its file system."""
    try:
        check_function(venue, function)
    except LabelError as reason:
        yield Finding("wrong", "claims", str(reason))
    else:
        yield Finding("right", "claims", "it is what the suite says")
    yield _timeout(function, block_timeout_s)
    for target in _mounts(cells):
        yield _file_system(function, target)
    if function.file_system is not None:
        yield _direct_reads(function)


def _timeout(function: LambdaFunction, block_timeout_s: float) -> Finding:
    if function.timeout_s >= block_timeout_s:
        return Finding("right", "time-out", f"{function.timeout_s} s")
    what = (
        f"{function.timeout_s} s, of block_timeout_s {block_timeout_s:g}: a block that has not begun all its "
        "operations by then is cut short"
    )
    fix = f"give it at least {min(block_timeout_s, 900):g} s (900 at most), or write more blocks"
    return Finding("warning", "time-out", what, fix)


def _mounts(cells: Sequence[Cell]) -> list[MountTarget]:
    found: list[MountTarget] = []
    for cell in cells:
        if isinstance(cell.target, MountTarget) and cell.target not in found:
            found.append(cell.target)
    return found


def _file_system(function: LambdaFunction, target: MountTarget) -> Finding:
    check = f"file system at {target.path}"
    if target.file_system_id is None:
        what = "no file_system_id says which one it is to be"
        return Finding("unknown", check, what, "write the mount's file_system_id into the target")
    try:
        proof = function.file_system_proof(target)
    except LabelError as reason:
        return Finding("wrong", check, str(reason))
    return Finding("right", check, f"{proof['file_system_id']}, access point {proof['access_point']}")


def regions(venue: LambdaVenueConfig, cells: Sequence[Cell]) -> Iterator[Finding]:
    """Whether what a function measures lies in its region."""
    buckets = dict.fromkeys(cell.bucket for cell in cells)
    far = [f"{one.bucket} in {one.region}" for one in buckets if one.region not in {None, venue.region}]
    if far:
        what = f"{venue.region}, and {', '.join(far)}: its requests cross regions, which is billed"
        yield Finding("warning", "region", what, "deploy it in their region, if that is not meant")


def _why_not_found(venue: LambdaVenueConfig, error: ClientError | BotoCoreError) -> str:
    named = f"{venue.function} in {venue.region} could not be looked up"
    if isinstance(error, BotoCoreError):
        return f"{named}: {type(error).__name__}: {error}"
    return f"{named} ({error.response.get('Error', {}).get('Code', 'no code')})"


def _fix(error: ClientError | BotoCoreError) -> str:
    if isinstance(error, BotoCoreError):
        return "see that the endpoint of Lambda is reached, and that there are credentials"
    return _FIXES.get(error.response.get("Error", {}).get("Code", ""), "see what Lambda says of it")


def _reads_directly(function: LambdaFunction) -> bool:
    """Whether the client of its S3 Files file system asks the bucket itself."""
    how = "" if function.file_system is None else function.file_system.direct_s3_read
    return how == "enabled" or (how == "auto" and function.memory_mb >= _DIRECT_FROM_MB)


def _direct_reads(function: LambdaFunction) -> Finding:
    """With the bucket's own permissions, which the function's role has and nobody here can try."""
    how = "" if function.file_system is None else function.file_system.direct_s3_read
    if how == "disabled":
        return Finding("warning", "direct reads", "disabled: every read goes through the file system")
    if how == "auto" and function.memory_mb < _DIRECT_FROM_MB:
        what = (
            f"auto with {function.memory_mb} MB, which are too few: every read goes through the file system"
        )
        fix = f"give it {_DIRECT_FROM_MB} MB, or DirectS3Read=ENABLED, if that is not meant"
        return Finding("warning", "direct reads", what, fix)
    return Finding("right", "direct reads", f"{how} with {function.memory_mb} MB")


def needed_services(cells: Sequence[Cell], *, reads_directly: bool) -> dict[str, str]:
    """What must be reached from inside a VPC, with what for; servers of one's own are left out.

    Args:
        cells: those that a function measures.
        reads_directly: whether its file system asks the bucket itself.
    """
    needed: dict[str, str] = {}
    for cell in cells:
        match cell.target, cell.bucket:
            case _, BucketTarget(endpoint_url=str()):
                continue
            case MountTarget(shows_bucket=False), _:
                needed.setdefault("s3", "copying what is to be read, which else hangs until the time-out")
            case MountTarget(), _ if not reads_directly:
                continue
            case MountTarget(), _:
                needed.setdefault(
                    "s3", "direct reads, which else fall back to the file system and say nothing"
                )
            case AcceleratedBucketTarget(), _:
                needed["s3-accelerate"] = "accelerated requests, which no endpoint of a VPC carries"
            case DirectoryBucketTarget(), _:
                needed["s3express"] = "requests to directory buckets, which else hang"
            case _:
                needed["s3"] = "requests to buckets, which else hang until the time-out"
    return needed
