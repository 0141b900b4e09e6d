"""Lambda on this host for tests: ministack, which runs a function's code in a process of its own."""

import io
import os
import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import boto3

from tasks.kernel.leash import leashed
from tasks.lab.state import LabState

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

PROJECT_ROOT = Path(__file__).resolve().parents[1]
ROLE = "arn:aws:iam::123456789012:role/s3bench"
REGION = "us-east-1"
STARTS_WITHIN_S = 60

# ministack lets no function have credentials of its own: here they stand for those of its role.
LAB_FUNCTION = """\
import os
for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
    os.environ[name] = os.environ[f"LAB_{name}"]
for name in ("AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"):
    os.environ.pop(name, None)
from tasks.venues.lambda_handler import handler
"""


@contextmanager
def running_ministack(folder: Path) -> Iterator[str]:
    """The URL of a ministack that ends with this process at the latest."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PREFECT_"))}
    with (folder / "ministack.log").open("wb") as log:
        server = subprocess.Popen(
            leashed([sys.executable, "-m", "ministack"]),
            cwd=folder,
            env=kept
            | {
                "BIND_HOST": "127.0.0.1",
                "GATEWAY_PORT": str(port),
                "TMPDIR": str(folder),
                "LAMBDA_STATE_TRANSITION_SECONDS": "0",
            },
            stdout=log,
            stderr=log,
        )
    try:
        _wait_until_it_listens(server, port)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait_until_it_listens(server: "subprocess.Popen[bytes]", port: int) -> None:
    deadline_s = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < deadline_s and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"ministack did not start on port {port}: {server.poll()}")


def client_of(endpoint_url: str) -> "LambdaClient":
    """A client of the emulator."""
    client: LambdaClient = boto3.client(
        "lambda",
        endpoint_url=endpoint_url,
        region_name=REGION,
        aws_access_key_id="lab",
        aws_secret_access_key="lab",
    )
    return client


@lru_cache
def code_of_this_tree() -> bytes:
    """A zip of this project's code; what it depends on is the interpreter's own here."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as code:
        for top in ("configs", "tasks"):
            for file in sorted((PROJECT_ROOT / top).rglob("*")):
                if file.is_file() and file.suffix != ".pyc":
                    code.write(file, str(file.relative_to(PROJECT_ROOT)))
        code.writestr("lab_function.py", LAB_FUNCTION)
    return packed.getvalue()


def code_of(text: str) -> bytes:
    """A zip of one module, `broken`."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as code:
        code.writestr("broken.py", text)
    return packed.getvalue()


def make_function(  # noqa: PLR0913 - what differs between the functions of tests
    client: "LambdaClient",
    name: str,
    lab: LabState,
    *,
    handler: str = "lab_function.handler",
    code: bytes | None = None,
    timeout_s: int = 60,
    memory_mb: int = 512,
    settings: Mapping[str, object] | None = None,
) -> None:
    """Make a function of this tree's code that has the lab's credentials, and wait until it can run."""
    more: dict[str, object] = dict(settings or {})
    client.create_function(
        FunctionName=name,
        Runtime="python3.11",
        Handler=handler,
        Role=ROLE,
        Code={"ZipFile": code or code_of_this_tree()},
        Timeout=timeout_s,
        MemorySize=memory_mb,
        Environment={
            "Variables": {
                "LAB_AWS_ACCESS_KEY_ID": lab.access_key_id,
                "LAB_AWS_SECRET_ACCESS_KEY": lab.secret_access_key.get_secret_value(),
                "AWS_EXECUTION_ENV": "AWS_Lambda_python3.11",
            }
        },
        **more,  # type: ignore[arg-type] # whatever CreateFunction takes
    )
    while client.get_function_configuration(FunctionName=name)["State"] != "Active":
        time.sleep(0.05)
