"""`python -m deployments.audit`: asks an advisory service for known flaws of what is locked.

pip-audit asks, for every version that any Python would get, whatever this machine's is. Ends with status 1
where there is a flaw that `requirements/accepted.toml` does not accept, and with 0 and a loud line where no
service answers: a build without a network is no worse than it was before.
"""

import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

import typer
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from configs.errors import UserError
from deployments.commands import say, told
from deployments.locked import FOLDER, LOCKS, locked_packages

ACCEPTED: Final = FOLDER / "accepted.toml"
EXIT_FLAWS: Final = 1

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

_ONE_ANSWER_WITHIN_S: Final = 10
_NO_ANSWER: Final = ("requests.exceptions.", "pip_audit._service.interface.", "ERROR:pip_audit._cli:Tip: ")
"""How the last line of pip-audit begins where the service is at fault; it has one status for everything."""


class Flaw(BaseModel):
    """A known flaw, as pip-audit tells it."""

    id: str
    aliases: list[str] = []
    fix_versions: list[str] = []


class Audited(BaseModel):
    """A package, as pip-audit tells it."""

    name: str
    version: str = ""
    skip_reason: str = ""
    vulns: list[Flaw] = []


class Report(BaseModel):
    """What pip-audit prints."""

    dependencies: list[Audited] = []


class AcceptedFlaw(BaseModel):
    """A flaw that somebody looked at and lives with."""

    model_config = ConfigDict(extra="forbid")

    id: str
    package: str
    reason: str = Field(min_length=20)


class AcceptedFlaws(BaseModel):
    """The content of `accepted.toml`."""

    model_config = ConfigDict(extra="forbid")

    flaw: list[AcceptedFlaw] = []


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known after asking."""

    packages: list[Audited] = field(default_factory=list)
    unanswered: str = ""
    """Why not everything was told; empty where it was."""


def accepted_flaws(path: Path) -> list[AcceptedFlaw]:
    """The flaws that are accepted.

    Raises:
        UserError: the file does not say which, or why.
    """
    try:
        return AcceptedFlaws.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))).flaw
    except (OSError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise UserError(
            f"{path.name}: {error}: write [[flaw]] with id, package and a reason of a sentence"
        ) from error


def rounds(pins: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """The packages in as few lists as have each name once, as pip-audit wants them."""
    found: list[dict[str, str]] = []
    for name, version in sorted(set(pins)):
        free = next((one for one in found if name not in one), None)
        if free is None:
            found.append({name: version})
        else:
            free[name] = version
    return found


def asked(pins: Iterable[tuple[str, str]], osv_url: str, within_s: float) -> Answer:
    """Let pip-audit ask for all of them.

    Raises:
        UserError: it could not even ask.
    """
    ends_at = time.monotonic() + within_s
    packages: list[Audited] = []
    with tempfile.TemporaryDirectory(prefix="s3bench-audit-") as folder:
        for number, one in enumerate(rounds(pins)):
            path = Path(folder) / f"{number}.txt"
            lines = [f"{name}=={version}\n" for name, version in one.items()]
            path.write_text("".join(lines), encoding="utf-8")
            answer = _asked_once(path, osv_url, ends_at - time.monotonic())
            packages += answer.packages
            if answer.unanswered:
                return Answer(packages, answer.unanswered)
    skipped = [one.name for one in packages if one.skip_reason]
    why = f"it does not know {len(skipped)} packages, such as {skipped[0]}" if skipped else ""
    return Answer(packages, why)


def _asked_once(requirements: Path, osv_url: str, within_s: float) -> Answer:
    service = ["--vulnerability-service=osv", *([f"--osv-url={osv_url}"] if osv_url else [])]
    quickly = [f"--timeout={_ONE_ANSWER_WITHIN_S}", "--progress-spinner=off", "--format=json"]
    # No package index is asked: the versions are known, and pip checks the hashes when it installs.
    alone = ["--no-deps", "--disable-pip", f"--requirement={requirements}"]
    command = [sys.executable, "-m", "pip_audit", *service, *quickly, *alone]
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=max(0.0, within_s)
        )
    except subprocess.TimeoutExpired:
        return Answer(unanswered="it takes too long")
    last = (ended.stderr.strip().splitlines() or [""])[-1]
    if ended.stdout.strip():
        return Answer(Report.model_validate_json(ended.stdout).dependencies)
    if ended.returncode == 0:
        return Answer()
    if last.startswith(_NO_ANSWER):
        return Answer(unanswered=last)
    raise UserError(
        f"pip-audit ended with status {ended.returncode}: {last}: `make audit` installs what is locked"
    )


def lines_about(answer: Answer, accepted: Sequence[AcceptedFlaw]) -> Iterator[tuple[str, bool]]:
    """What there is to tell of flaws, each with whether it must be mended."""
    used: set[str] = set()
    for package in answer.packages:
        for flaw in package.vulns:
            names = {flaw.id, *flaw.aliases}
            known = [one for one in accepted if one.package == package.name and one.id in names]
            used.update(one.id for one in known)
            mended = ", ".join(flaw.fix_versions) or "no version yet"
            what = f"{package.name} {package.version}: {flaw.id}, mended in {mended}"
            yield (f"accepted: {what}: {known[0].reason}", False) if known else (f"FLAW: {what}", True)
    if not answer.unanswered:
        for one in accepted:
            if one.id not in used:
                yield f"no longer there: {one.package} {one.id}: take it out of {ACCEPTED.name}", False


@app.command()
def audit(
    osv_url: Annotated[
        str, typer.Option("--osv-url", help="Of a service that answers as OSV's query does; else OSV itself.")
    ] = "",
    accepted: Annotated[Path, typer.Option("--accepted", help="The flaws that are accepted.")] = ACCEPTED,
    within_s: Annotated[float, typer.Option("--within-s", help="Seconds that all answers may take.")] = 300,
) -> None:
    """Ask for known flaws of all locked packages."""
    with told():
        pins = {(one.name, one.version) for name in LOCKS for one in locked_packages(FOLDER / f"{name}.txt")}
        known = accepted_flaws(accepted)
        answer = asked(pins, osv_url, within_s)
    must_be_mended = False
    for line, counts in lines_about(answer, known):
        say(line)
        must_be_mended |= counts
    if answer.unanswered:
        say(f"NOT AUDITED: no advisory service answers for the {len(pins)} packages: {answer.unanswered}")
    elif not must_be_mended:
        say(f"{len(pins)} locked packages have no known flaw that is not accepted")
    if must_be_mended:
        say("take newer versions (make lock UPGRADE=--upgrade), or accept it in requirements/accepted.toml")
        sys.exit(EXIT_FLAWS)


if __name__ == "__main__":
    app()
