"""Lambda functions of the local lab: ministack runs this project's code in processes of this host.

It is there for a run and ends with it. What it runs is the code of this checkout with the packages of this
interpreter; `deployments/lambda_package.py` makes what AWS runs. Nothing of its times is Lambda's: neither
memory nor processor is limited by it.
"""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from configs.errors import UserError
from configs.venues import LambdaVenueConfig
from tasks.kernel.leash import leashed
from tasks.lab.files import make_private
from tasks.lab.prefect_server import free_port
from tasks.lab.processes import POLL_S, STOP_TIMEOUT_S, log_tail

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

_PROJECT_ROOT: Final = Path(__file__).resolve().parents[2]
_CODE_FOLDERS: Final = ("configs", "tasks")
_START_TIMEOUT_S: Final = 60
_ROLE: Final = "arn:aws:iam::123456789012:role/s3bench-lab"
_SUBNET: Final = "subnet-0123456789abcdef0"
_SECURITY_GROUP: Final = "sg-0123456789abcdef0"
_ANY: Final = "lab"
_LONGEST_S: Final = 900
_DEFAULT_MEMORY_MB: Final = 512

WRAPPER: Final = """\
import json
import os
for name in ("AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"):
    os.environ.pop(name, None)
os.environ.update(json.loads(os.environ.pop("S3BENCH_LAB_SETTINGS")))
from tasks.venues.lambda_handler import handler
"""
"""ministack lets no function have credentials of its own: these settings stand for those of its role."""


@contextmanager
def running_functions(
    folder: Path, settings: Mapping[str, str], venues: Mapping[str, LambdaVenueConfig]
) -> Iterator[dict[str, LambdaVenueConfig]]:
    """A function for each venue, as the venue says it is, until the end of the block.

    Args:
        folder: the lab's; the emulator's log lies there.
        settings: the variables by which clients reach the lab.
        venues: by their names; those that name an endpoint have a function already.

    Returns:
        The venues with the endpoint of the emulator; without a process where none is needed.

    Raises:
        UserError: if the emulator does not start, or does not make a function.
    """
    to_make = {name: venue for name, venue in venues.items() if venue.endpoint_url is None}
    if not to_make:
        yield dict(venues)
        return
    with running_emulator(folder / "lambda") as url:
        for venue in to_make.values():
            _make(client_of(url, venue.region), venue, settings)
        yield {
            name: venue.model_copy(update={"endpoint_url": url}) if name in to_make else venue
            for name, venue in venues.items()
        }


@contextmanager
def running_emulator(folder: Path) -> Iterator[str]:
    """The URL of a ministack on loopback, which ends with this process at the latest.

    Raises:
        UserError: if it does not answer within a minute, with the end of its log.
    """
    folder = folder.resolve()  # it is told to a process that works elsewhere
    make_private(folder)
    port, log, temporary = free_port(), folder / "ministack.log", folder / "tmp"
    shutil.rmtree(temporary, ignore_errors=True)  # of one that was killed
    make_private(temporary)
    with log.open("wb") as stream:
        process = subprocess.Popen(
            leashed([sys.executable, "-m", "ministack"]),
            cwd=folder,
            env=_environment(temporary, port),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            start_new_session=True,  # Ctrl-C is for the command, which ends it when it has done
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_until_it_answers(process, url, log)
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(temporary, ignore_errors=True)


def client_of(url: str, region: str) -> "LambdaClient":
    """A client of an emulator, which takes any credentials."""
    session = boto3.Session(aws_access_key_id=_ANY, aws_secret_access_key=_ANY, region_name=region)
    config = Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=30)
    client: LambdaClient = session.client("lambda", endpoint_url=url, config=config)
    return client


@cache
def code_of_this_tree() -> bytes:
    """A zip of this project's code; what it depends on is the interpreter's own."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as code:
        for top in _CODE_FOLDERS:
            for file in sorted((_PROJECT_ROOT / top).rglob("*")):
                if file.is_file() and file.suffix != ".pyc":
                    code.write(file, str(file.relative_to(_PROJECT_ROOT)))
        code.writestr("lab_function.py", WRAPPER)
    return packed.getvalue()


def _environment(temporary: Path, port: int) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PREFECT_"))}
    return kept | {
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "TMPDIR": str(temporary),
        "LAMBDA_STATE_TRANSITION_SECONDS": "0",
    }


def _wait_until_it_answers(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    deadline_s = time.monotonic() + _START_TIMEOUT_S
    client = client_of(url, "us-east-1")
    while process.poll() is None and time.monotonic() < deadline_s:
        try:
            client.list_functions(MaxItems=1)
        except (BotoCoreError, ClientError):
            time.sleep(POLL_S)
        else:
            return
    raise UserError(
        f"the lab's emulator of Lambda did not start within {_START_TIMEOUT_S} s; the end of {log}:\n"
        f"{log_tail(log)}"
    )


def _make(client: "LambdaClient", venue: LambdaVenueConfig, settings: Mapping[str, str]) -> None:
    """Make the function of a venue as the venue says it is."""
    more: dict[str, Any] = {}
    if venue.vpc:
        more["VpcConfig"] = {"SubnetIds": [_SUBNET], "SecurityGroupIds": [_SECURITY_GROUP]}
    if venue.architecture is not None:
        more["Architectures"] = [venue.architecture]
    name, _, _ = venue.function.partition(":")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    reached = {key: value for key, value in settings.items() if key.startswith("AWS_") or "PROXY" in key}
    try:
        client.create_function(
            FunctionName=name,
            Runtime=version,  # type: ignore[arg-type] # a name that only Lambda knows
            Handler="lab_function.handler",
            Role=_ROLE,
            Code={"ZipFile": code_of_this_tree()},
            Timeout=_LONGEST_S,
            MemorySize=venue.memory_mb or _DEFAULT_MEMORY_MB,
            Environment={
                "Variables": {
                    "S3BENCH_LAB_SETTINGS": json.dumps(reached),
                    "AWS_EXECUTION_ENV": f"AWS_Lambda_{version}",
                }
            },
            **more,
        )
        while client.get_function_configuration(FunctionName=name)["State"] == "Pending":
            time.sleep(POLL_S)
    except client.exceptions.ResourceConflictException:
        return  # another venue of this suite has the same function
    except (BotoCoreError, ClientError) as error:
        raise UserError(f"the lab's emulator of Lambda makes no function {name}: {error}") from error
