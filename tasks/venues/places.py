"""Where a suite's targets really are: as the suite says, or in the local lab, which then is running."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from configs.errors import UserError
from configs.lab_delays import Delays
from configs.lab_marker import LAB_MARKER
from configs.suite import Cell, Suite
from configs.targets import BucketTarget, MountTarget, TargetConfig
from configs.workloads import LeftOut
from tasks.lab.lambda_functions import running_functions
from tasks.lab.local_lab import lab_status, running_lab
from tasks.lab.state import NETWORK_VARIABLES, LabState
from tasks.venues.acceleration import endpoint_in_the_way
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
    delays: Delays | None = None
    """What the AWS-shaped lab adds by host name; None elsewhere."""
    misled: Mapping[str, str] = field(default_factory=dict)
    """Reasons by target id, for targets whose clients this machine's own AWS settings lead elsewhere."""
    lab_folder: Path | None = None
    """None outside the lab."""

    def is_misled(self, cell: Cell) -> bool:
        """Whether a cell's requests would go elsewhere."""
        return cell.configuration.target in self.misled and cell.configuration.access_path.requests != "none"

    def bucket_ids(self) -> list[str]:
        """The bucket targets whose objects are reached by cells that can be measured."""
        reached = set(self.suite.target_ids()) - set(self.misled)
        return sorted({self.suite.bucket_id(target_id) for target_id in reached})

    def what_is_broken(self) -> str:
        """Which part of the lab has ended since it came up; empty where none has, and outside the lab."""
        if self.lab_folder is None:
            return ""
        try:
            status = lab_status(self.lab_folder)
        except UserError as error:  # a question must not cost what was measured, nor the clean-up
            return str(error)
        if status.condition == "up":
            return ""
        return f"the lab is {status.condition}: {'; '.join(status.problems) or 'somebody took it down'}"


@contextmanager
def place_of(suite: Suite, lab_folder: Path) -> Iterator[Place]:
    """Bring up what a suite needs.

    Raises:
        UserError: if the lab is needed and does not come up, or no cell can reach its target.
    """
    if not suite.lab:
        yield _own_place(suite)
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
        delays = lab.aws_shaped.delays if aws_shaped and lab.aws_shaped else None
        with running_functions(lab_folder, environment, suite.used_venues()) as venues:
            yield Place(
                suite.with_targets(targets).with_venues(suite.venues | venues),
                environment,
                unreachable,
                scratch,
                delays,
                lab_folder=lab_folder.resolve(),
            )


def _own_place(suite: Suite) -> Place:
    """Where a suite's targets are reached with the user's own settings."""
    misled = {}
    for target_id in suite.target_ids():
        target = suite.targets[target_id]
        if not isinstance(target, MountTarget | BucketTarget) and (reason := endpoint_in_the_way(target)):
            misled[target_id] = reason
    # A shell that was started from within the lab may still have its mark.
    environment = {name: value for name, value in os.environ.items() if name != LAB_MARKER}
    place = Place(suite, environment, {}, scratch_folder(suite.scratch), misled=misled)
    cells = [cell for cell in suite.cells() if not isinstance(cell.workload, LeftOut)]
    if misled and all(place.is_misled(cell) for cell in cells):
        raise UserError(f"no cell of suite {suite.name} can be measured: {next(iter(misled.values()))}")
    return place


def lab_environment(lab: LabState, *, aws_shaped: bool = False) -> dict[str, str]:
    """This process's environment with the lab's settings in place of the user's own for AWS and proxies.

    Programs beside Python come first in it, as they are the ones whose versions are locked.
    """
    foreign = {*NETWORK_VARIABLES, "HTTPS_PROXY", "https_proxy", "SSL_CERT_FILE"}
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("AWS_") and name not in foreign
    }
    beside_python = str(Path(sys.executable).parent)
    own["PATH"] = os.pathsep.join(filter(None, (beside_python, own.get("PATH"))))
    return own | (lab.aws_environment() if aws_shaped else lab.environment())


def _in_lab(target: TargetConfig, lab: LabState, *, aws_shaped: bool) -> TargetConfig:
    if isinstance(target, MountTarget):
        return target.model_copy(update={"path": lab.mount_path})
    if aws_shaped:
        return target.model_copy(update={"region": lab.region})
    return target.model_copy(update={"endpoint_url": lab.endpoint_url, "region": lab.region})
