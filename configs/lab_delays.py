"""What the AWS-shaped lab adds for each host name: a YAML file whose every mistake is named with its line."""

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, ValidationError

from configs.base import Model
from configs.documents import read_document
from configs.errors import UserError
from configs.mistakes import explain
from configs.overlays import Stack

DEFAULT_DELAYS: Final = Path(__file__).parent / "lab" / "delays.yaml"


class HostDelay(Model):
    """The delay of the hosts that fit a pattern."""

    hosts: Annotated[str, Field(min_length=1)]
    """A pattern for whole host names, with `*`, `?` and `[…]` as in a shell."""
    milliseconds: Annotated[float, Field(ge=0, le=60_000, allow_inf_nan=False)]


class Delays(Model):
    """Delays by host name."""

    version: Literal[1] = 1
    delays: tuple[HostDelay, ...]

    def of(self, host: str) -> float:
        """Milliseconds for a host: those of the first pattern that fits, or 0."""
        fitting = (item.milliseconds for item in self.delays if fnmatchcase(host.lower(), item.hosts))
        return next(fitting, 0.0)


def load_delays(path: Path) -> Delays:
    """Read a file of delays.

    Raises:
        UserError: It cannot be read, or with one line for every mistake.
    """
    document = read_document(path, "file of delays", tuple(Delays.model_fields))
    try:
        return Delays.model_validate(document.values)
    except ValidationError as error:
        raise UserError(explain(error, Stack.of(document), Delays)) from error
