"""The kinds that a suite may name, by the section that names them, and what to say of any other."""

from typing import Any, Final, NamedTuple, get_args

from configs.access_paths import AccessPathConfig
from configs.datasets import DatasetConfig
from configs.documents import shortened
from configs.overlays import nearest
from configs.targets import TargetConfig
from configs.workloads import LeftOut, WorkloadConfig

CRT_BENCHMARK: Final = "crt_benchmark"
"""A workload that is written in a file of others: `configs/crt_workloads.py` reads it."""


class _Kinds(NamedTuple):
    what: str
    names: tuple[str, ...]


def _kinds_of(union: object) -> tuple[str, ...]:
    models: tuple[Any, ...] = get_args(get_args(union)[0])  # of Annotated[A | B, …]
    return tuple(model.model_fields["kind"].default for model in models if model is not LeftOut)


_KINDS: Final = {
    "targets": _Kinds("target", _kinds_of(TargetConfig)),
    "configurations": _Kinds("access path", _kinds_of(AccessPathConfig)),
    "datasets": _Kinds("dataset", _kinds_of(DatasetConfig)),
    "workloads": _Kinds("workload", (*_kinds_of(WorkloadConfig), CRT_BENCHMARK)),
}


def no_such_kind(section: str, given: object) -> str:
    """What to say of a kind that is none, or of none at all, in a section of a suite."""
    what, names = _KINDS[section]
    wrong = "this key is missing" if given is None else f"{shortened(given)} is no kind of {what}"
    near = nearest(given, names) if isinstance(given, str) else ""
    meant = f"; did you mean {near!r}?" if near else ";"
    return f"{wrong}{meant} the kinds of {what} are: {', '.join(names)}"
