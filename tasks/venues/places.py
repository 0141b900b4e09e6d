"""Where a suite's targets really are: as the suite says, or in the local lab, which then is running."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from configs.suite import Suite
from configs.targets import BucketTarget, TargetConfig
from tasks.lab.local_lab import running_lab
from tasks.lab.state import LabState


@dataclass(frozen=True, slots=True)
class Place:
    """A suite with all its targets filled in, and what clients need to reach them."""

    suite: Suite
    environment: Mapping[str, str] = field(repr=False)
    """Of the measuring processes; holds credentials, so it is never stored or printed."""
    unreachable: Mapping[str, str]
    """Reasons by target id, for targets that cannot be reached on this machine."""


@contextmanager
def place_of(suite: Suite, lab_folder: Path) -> Iterator[Place]:
    """Bring up what a suite needs.

    Raises:
        UserError: if the lab is needed and does not come up.
    """
    if not suite.lab:
        yield Place(suite, dict(os.environ), {})
        return
    with running_lab(lab_folder) as lab:
        targets = {name: _in_lab(target, lab) for name, target in suite.targets.items()}
        unreachable = {
            name: lab.mount_problem
            for name, target in suite.targets.items()
            if not isinstance(target, BucketTarget) and lab.mount_path is None
        }
        yield Place(suite.with_targets(targets), lab_environment(lab), unreachable)


def lab_environment(lab: LabState) -> dict[str, str]:
    """This process's environment with the lab's AWS settings in place of the user's own."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return own | lab.environment()


def _in_lab(target: TargetConfig, lab: LabState) -> TargetConfig:
    if isinstance(target, BucketTarget):
        return target.model_copy(update={"endpoint_url": lab.endpoint_url, "region": lab.region})
    return target.model_copy(update={"path": lab.mount_path})
