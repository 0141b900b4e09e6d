"""Whether a client of this host is what its configuration says: the very proof that a run makes."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from configs.access_paths import AccessPathConfig
from configs.errors import UserError
from configs.targets import TargetConfig
from tasks.access.registry import access_path
from tasks.doctor.findings import Finding
from tasks.kernel.errors import LabelError, UnsupportedError

_SHOWN: Final = ("engine", "program", "host", "session", "client_zone")


def label_of(config_id: str, config: AccessPathConfig, target: TargetConfig) -> Finding:
    """Connect the client of a configuration, as a measuring process does, and let it go again.

    That sends a listing, or asks for an object that is not there. This process must have the environment of
    the measuring processes.
    """
    check = f"configuration {config_id}"
    try:
        client = access_path(config, target)
        try:
            client.connect(concurrency=1)
            proof = client.proof()
        finally:
            client.close()
    except UnsupportedError as reason:
        return Finding("warning", check, f"would be skipped: {reason}")
    except (LabelError, UserError, BotoCoreError, ClientError, OSError) as reason:
        return Finding("wrong", check, str(reason))
    shown = [f"{name.replace('_', ' ')} {proof[name]}" for name in _SHOWN if name in proof]
    return Finding("right", check, "; ".join([proof["client"], *shown]))


@contextmanager
def environment_of(clients: Mapping[str, str]) -> Iterator[None]:
    """Give this process the environment of the measuring processes for a while."""
    own = dict(os.environ)
    _set(clients)
    try:
        yield
    finally:
        _set(own)


def _set(environment: Mapping[str, str]) -> None:
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    os.environ.update(environment)
