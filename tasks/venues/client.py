"""One of several clients that measure a block at the same time, on the host that was chosen for it.

It is measured as every block is: in a fresh process, ended with the one that started it. The environment of
that process holds credentials. On the host of the run it is handed over in memory, before each block, and is
no part of what the client is told; on any other host it is the host's own.
"""

import contextlib
import hashlib
import io
import os
import platform
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Final

import httpx

from configs.block import BlockSpec
from configs.lab_marker import LAB_MARKER
from tasks.kernel.environment import machine
from tasks.kernel.samples import SampleColumns
from tasks.venues.local import LocalVenue, Meet
from tasks.venues.wire import GIVEN_UP, BlockOutcome, send

_PROJECT_ROOT: Final = Path(__file__).resolve().parents[2]
_OUR_CODE: Final = ("configs", "tasks")
_ANSWERS_WITHIN_S: Final = 5.0
_LOOK_EVERY_S: Final = 1.0
"""How often a client looks whether somebody waits for it, which its own process knows."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a client is told. Nothing in it is secret, and its block travels as one value."""

    number: int
    name: str
    """Which client of which block it is, for people."""
    meeting: str
    """The name under which the clients of the block meet."""
    block: bytes = field(repr=False)
    """Its part of the block, as JSON."""
    timeout_s: float
    elsewhere: bool
    """Whether it may run on another host than the one on which the run was started."""


class HandedOver:
    """An environment on its way to a process of the same host; whoever prints or logs it sees nothing."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = dict(environment)

    def __repr__(self) -> str:
        return "HandedOver(…)"


@dataclass(slots=True)
class _Here:
    """What this process has."""

    environment: dict[str, str] | None = None
    running: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


_HERE: Final = _Here()


def take_over(handed: HandedOver) -> None:
    """Keep the environment of the measuring processes that this process is going to start."""
    _HERE.environment = handed.environment


def running_clients() -> int:
    """How many clients this process has that have not ended."""
    return _HERE.running


def measure_as_client(order: Order, meet: Meet, is_given_up: Callable[[], bool]) -> bytes:
    """Measure one client's part of a block; returns its outcome in the wire format.

    Args:
        order: what to do.
        meet: how it agrees with the other clients when to begin.
        is_given_up: whether nobody waits for its outcome any longer, so that it should stop.
    """
    with _counted(), _scratch(order, BlockSpec.model_validate_json(order.block)) as spec:
        venue = LocalVenue(
            _environment(order),
            order.timeout_s,
            lambda: "nobody waits for this client any longer" if is_given_up() else "",
            _LOOK_EVERY_S,
        )
        return _sent(venue.run(spec, meet))


def refused() -> bytes:
    """What a client brings back that came when the others had gone on."""
    return _sent(BlockOutcome("failed", SampleColumns(), GIVEN_UP))


def _sent(outcome: BlockOutcome) -> bytes:
    payload = io.BytesIO()
    send(outcome, payload)
    return payload.getvalue()


@contextlib.contextmanager
def _counted() -> Iterator[None]:
    with _HERE.lock:
        _HERE.running += 1
    try:
        yield
    finally:
        with _HERE.lock:
            _HERE.running -= 1


@contextlib.contextmanager
def _scratch(order: Order, spec: BlockSpec) -> Iterator[BlockSpec]:
    """The block with a folder that exists, where it moves files: of its own host, if that may be another."""
    if spec.scratch_folder is None:
        yield spec
    elif order.elsewhere:
        with tempfile.TemporaryDirectory(prefix="s3bench-client-") as folder:
            yield spec.model_copy(update={"scratch_folder": Path(folder)})
    else:
        spec.scratch_folder.mkdir()  # within the folder of the block, which is removed with all that is in it
        yield spec


def _environment(order: Order) -> dict[str, str]:
    if order.elsewhere:
        return {name: value for name, value in os.environ.items() if name != LAB_MARKER}
    if _HERE.environment is None:
        raise RuntimeError("this process was handed no environment for its client")
    return _HERE.environment


def installation() -> dict[str, str]:
    """What must be the same on all hosts of one cell: our code, Python, and the measured packages."""
    digest = hashlib.sha256()
    for top in _OUR_CODE:
        for file in sorted((_PROJECT_ROOT / top).rglob("*.py")):
            digest.update(f"{file.relative_to(_PROJECT_ROOT)}\0".encode())
            digest.update(file.read_bytes())
    return {
        "this project's code": digest.hexdigest()[:12],
        "Python": ".".join(platform.python_version_tuple()[:2]),
        **machine().packages,
        **{name: metadata.version(name) for name in ("distributed", "prefect-dask")},
    }


def why_unlike(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str:
    """What another host has installed otherwise, in words; empty where all is the same."""
    unlike = [
        f"{name} {theirs.get(name, 'missing')} (here {ours.get(name, 'missing')})"
        for name in dict.fromkeys((*ours, *theirs))
        if ours.get(name) != theirs.get(name)
    ]
    return ", ".join(unlike)


def why_unreachable(api_url: str) -> str:
    """Why the Prefect server does not answer to this host; empty where it does."""
    try:
        httpx.get(f"{api_url.rstrip('/')}/health", timeout=_ANSWERS_WITHIN_S).raise_for_status()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return str(error) or type(error).__name__
    return ""
