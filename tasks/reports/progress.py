"""What long work says while it runs: on a terminal a bar, elsewhere a line now and then.

A bar is drawn only when something is reported, never from a thread of its own: a thread that redraws
would run beside what is being measured.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.segment import Segment

from configs.redaction import redacted
from tasks.reports import wording

_WIDTH_OF_NO_TERMINAL: Final = 160


class SafeConsole(Console):
    """A console that prints text as it is: no escapes that a terminal would obey, no `:name:` for a picture.

    Text comes from data and from the servers of others. What rich itself adds, such as colours, stays.
    """

    def __init__(
        self,
        *,
        width: int | None = None,
        stderr: bool = False,
        soft_wrap: bool = False,
        highlight: bool = True,
    ) -> None:
        super().__init__(width=width, stderr=stderr, soft_wrap=soft_wrap, highlight=highlight, emoji=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """See rich, which sends everything that is printed through here."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else wording.printable(text), style, control)


class PatientConsole(SafeConsole):
    """A console that goes on silently where the reader of its output has left, as `head` does.

    rich would end the process, and with it what is being measured. Where its output is no terminal and
    `COLUMNS` does not say how wide it is, it is wide enough for every table: rich would take 80 columns.
    """

    def __init__(self) -> None:
        told = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
        super().__init__(width=None if told else _WIDTH_OF_NO_TERMINAL)

    def on_broken_pipe(self) -> None:
        """Print no more, and let nothing that was buffered meet the closed pipe at the end."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Reporter(Protocol):
    """Is told how far work has come."""

    def note(self, text: str) -> None:
        """Something worth a line."""

    def advance(self, stage: str, done: int, total: int, detail: str) -> None:
        """`done` of `total` parts of a stage have ended; `detail` is what comes next."""


class LineReporter:
    """Writes a line when a stage begins, at every tenth of it, and when it ends."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._said: tuple[str, int] = ("", -1)

    def note(self, text: str) -> None:
        """A line."""
        self._write(redacted(text))

    def advance(self, stage: str, done: int, total: int, detail: str) -> None:
        """A line, where a new tenth has begun."""
        tenth = 10 * done // total if total else 10
        if (stage, tenth) != self._said:
            self._said = (stage, tenth)
            self._write(f"{stage}: {done} of {total}")


class BarReporter:
    """A bar per stage on a terminal."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bars: dict[str, TaskID] = {}

    def note(self, text: str) -> None:
        """A line above the bars."""
        self._progress.console.print(redacted(text), markup=False, highlight=False)

    def advance(self, stage: str, done: int, total: int, detail: str) -> None:
        """Draw the stage's bar anew."""
        if stage not in self._bars:
            self._bars[stage] = self._progress.add_task(stage, total=total, detail=detail)
        self._progress.update(self._bars[stage], completed=done, total=total, detail=detail)
        self._progress.refresh()


@contextmanager
def reporter(console: Console) -> Iterator[Reporter]:
    """Bars where the console is a terminal, lines elsewhere."""
    if not console.is_terminal:
        yield LineReporter(lambda text: console.print(text, soft_wrap=True, markup=False, highlight=False))
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
    )
    with Progress(*columns, console=console, auto_refresh=False) as progress:
        yield BarReporter(progress)
