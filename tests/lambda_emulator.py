"""Lambda functions for tests, in the emulator that the lab uses too."""

import io
import json
import time
import zipfile
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tasks.lab import lambda_functions
from tasks.lab.lambda_functions import WRAPPER, code_of_this_tree, running_emulator
from tasks.lab.state import LabState

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

__all__ = ["REGION", "WRAPPER", "client_of", "code_of", "make_function", "running_emulator"]

ROLE = "arn:aws:iam::123456789012:role/s3bench"
REGION = "us-east-1"


def client_of(endpoint_url: str) -> "LambdaClient":
    """A client of the emulator."""
    return lambda_functions.client_of(endpoint_url, REGION)


def code_of(text: str) -> bytes:
    """A zip of one module, `broken`."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as code:
        code.writestr("broken.py", text)
    return packed.getvalue()


def settings_of(lab: LabState) -> dict[str, str]:
    """What a function needs to reach the lab."""
    return {
        "AWS_ACCESS_KEY_ID": lab.access_key_id,
        "AWS_SECRET_ACCESS_KEY": lab.secret_access_key.get_secret_value(),
    }


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
                "S3BENCH_LAB_SETTINGS": json.dumps(settings_of(lab)),
                "AWS_EXECUTION_ENV": "AWS_Lambda_python3.11",
            }
        },
        **more,  # type: ignore[arg-type] # whatever CreateFunction takes
    )
    while client.get_function_configuration(FunctionName=name)["State"] != "Active":
        time.sleep(0.05)
