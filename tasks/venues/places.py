"""Where a suite's targets really are: as the suite says, or in the local lab, which then is running."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from configs.suite import Suite
from configs.targets import MountTarget, TargetConfig
from tasks.lab.local_lab import running_lab
from tasks.lab.state import NETWORK_VARIABLES, LabState
from tasks.venues.scratch import scratch_folder


@dataclass(frozen=True, slots=True)
class Place:
    """A suite with all its targets filled in, and what clients need to reach them."""

    suite: Suite
    environment: Mapping[str, str] = field(repr=False)
    """Of the measuring processes; holds credentials, so it is never stored or printed."""
    unreachable: Mapping[str, str]
    """Reasons by target id, for targets that cannot be reached on this machine."""
    scratch: Path
    """A folder of ours on a local disk, for files that are moved."""


@contextmanager
def place_of(suite: Suite, lab_folder: Path) -> Iterator[Place]:
    """Bring up what a suite needs.

    Raises:
        UserError: if the lab is needed and does not come up.
    """
    if not suite.lab:
        yield Place(suite, dict(os.environ), {}, scratch_folder(suite.scratch))
        return
    aws_shaped = suite.lab == "aws-shaped"
    with running_lab(lab_folder, aws_shaped=aws_shaped) as lab:
        targets = {
            name: _in_lab(target, lab, aws_shaped=aws_shaped) for name, target in suite.targets.items()
        }
        unreachable = {
            name: lab.mount_problem
            for name, target in suite.targets.items()
            if isinstance(target, MountTarget) and lab.mount_path is None
        }
        scratch = scratch_folder(suite.scratch or lab_folder / "scratch")
        environment = lab_environment(lab, aws_shaped=aws_shaped)
        yield Place(suite.with_targets(targets), environment, unreachable, scratch)


def lab_environment(lab: LabState, *, aws_shaped: bool = False) -> dict[str, str]:
    """This process's environment with the lab's settings in place of the user's own for AWS and proxies."""
    foreign = {*NETWORK_VARIABLES, "HTTPS_PROXY", "https_proxy", "SSL_CERT_FILE"}
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("AWS_") and name not in foreign
    }
    return own | (lab.aws_environment() if aws_shaped else lab.environment())


def _in_lab(target: TargetConfig, lab: LabState, *, aws_shaped: bool) -> TargetConfig:
    if isinstance(target, MountTarget):
        return target.model_copy(update={"path": lab.mount_path})
    if aws_shaped:
        return target.model_copy(update={"region": lab.region})
    return target.model_copy(update={"endpoint_url": lab.endpoint_url, "region": lab.region})
