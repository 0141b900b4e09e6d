"""The `s3bench lab` commands."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from configs.errors import UserError
from configs.lab_delays import load_delays
from tasks.lab.local_lab import lab_down, lab_status, lab_up
from tasks.lab.locks import is_abandoned
from tasks.lab.state import shell_exports
from tasks.reports.progress import PatientConsole

DEFAULT_LAB = Path(".lab")
LabOption = Annotated[Path, typer.Option("--lab", help="The lab's folder.")]

lab_app = typer.Typer(help="The local lab: a real S3 server and a mount of it.", no_args_is_help=True)


@lab_app.command()
def up(
    lab: LabOption = DEFAULT_LAB,
    aws_shaped: Annotated[
        bool, typer.Option("--aws-shaped", help="Let it answer to Amazon's host names, with known delays.")
    ] = False,
    delays: Annotated[
        Path | None, typer.Option("--delays", help="A file of delays by host name, with --aws-shaped.")
    ] = None,
) -> None:
    """Start the lab, or what it lacks; harmless when it is up."""
    if delays is not None and not aws_shaped:
        raise UserError("--delays says what an AWS-shaped lab adds: give --aws-shaped too")
    state = lab_up(lab, aws_shaped=aws_shaped, delays=None if delays is None else load_delays(delays))
    mount = state.mount_path or f"no mount: {state.mount_problem}"
    console = PatientConsole()
    console.print(f"lab up: {state.endpoint_url}, {mount}", soft_wrap=True, markup=False)
    if state.aws_shaped is not None:
        proxy = f"Amazon's host names: through {state.aws_shaped.proxy_url} (s3bench lab env --aws-shaped)"
        console.print(proxy, soft_wrap=True, markup=False)


@lab_app.command()
def down(lab: LabOption = DEFAULT_LAB) -> None:
    """Stop the lab: unmount, and end its own processes only."""
    lab_down(lab)
    PatientConsole().print("lab down")


@lab_app.command()
def status(lab: LabOption = DEFAULT_LAB) -> None:
    """Say whether the lab is up, down or broken."""
    console = PatientConsole()
    console.print(lab_status(lab).describe(), soft_wrap=True, markup=False)
    if is_abandoned(lab):
        left = f"It was left by a run that was killed: s3bench lab down --lab {lab} ends it, or the next run."
        console.print(left, soft_wrap=True, markup=False)


@lab_app.command()
def env(
    lab: LabOption = DEFAULT_LAB,
    aws_shaped: Annotated[
        bool, typer.Option("--aws-shaped", help="For clients that are to keep Amazon's host names.")
    ] = False,
) -> None:
    """Print what a shell needs to reach the lab: eval "$(s3bench lab env)"."""
    found = lab_status(lab)
    state = found.state
    if found.condition != "up" or state is None:
        why = f" ({'; '.join(found.problems)})" if found.problems else ""
        how = f"s3bench lab up --lab {lab}{' --aws-shaped' if aws_shaped else ''}"
        raise UserError(f"{lab}: the lab there is {found.condition}{why}; start it with: {how}")
    sys.stdout.write(shell_exports(state, aws_shaped=aws_shaped) + "\n")
