"""What access paths have in common that start somebody's program for each operation."""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from typing import ClassVar, Final, cast

from configs.targets import AnyBucket, BucketTarget
from tasks.access.bucket_side import BucketSide
from tasks.access.program_credentials import HANDED_OVER, ProgramCredentials
from tasks.access.programs import (
    Ended,
    Found,
    ProgramError,
    ProgramRunner,
    find_program,
    why_not_found,
)
from tasks.access.protocol import Answer, CacheStates
from tasks.kernel.errors import LabelError, UnsupportedError
from tasks.kernel.samples import Failure

ACCELERATE_URL: Final = "https://s3-accelerate.amazonaws.com"
"""The endpoint of Transfer Acceleration; clients put the bucket's name before it, as in experiment E4."""

_LAST_LINES: Final = 3
_CONNECT_LIMIT_S: Final = 60.0
"""How long a program may take for what it is asked before it is measured."""


class ProgramPath(BucketSide, ABC):
    """Timed is a whole process, from just before its start until it has been waited for.

    So the program's own start-up is in every sample, and is told beside it: `start_up` asks the same
    executable for its version, in the same way. Its error output goes to an unnamed file, which is read only
    after a failure. The processor time is the process's own, with that of processes that it waited for.

    Looking credentials up is in no sample: this process does so before each operation, and hands them over.
    """

    has_start_up = True
    _usual_name: ClassVar[str]
    """The program that a suite means which names none: the only one that may be lacking."""
    _remedy: ClassVar[str]
    """How to get that one."""
    _unattended: ClassVar[Mapping[str, str]] = {}
    """What keeps the program from asking and from paging, in its environment."""
    cache_states = CacheStates(
        single="the same object each time, to a new file; it lands in the page cache, without fsync",
        unique="another object each time, to a new file; it lands in the page cache, without fsync",
        scan="every object once, to an empty folder; they land in the page cache, without fsync",
        write="files read or written just before: what fits into memory is in the page cache; to new keys "
        "each time; the service has them when the process ends",
    )

    def __init__(self, target: AnyBucket, executable: str) -> None:
        super().__init__(target)
        self._executable = executable
        self._program = ""
        self._proof: dict[str, str] = {}
        self._environment: dict[str, str] = {}
        self._credentials: ProgramCredentials
        self._opened: ProgramRunner | None = None

    def connect(self, concurrency: int) -> None:
        """Find the program, ask for its version, and see with one request that it is what the label says.

        Raises:
            UnsupportedError: the usual program is not installed.
            LabelError: one that the suite names is not here; or what was found does not run, does not end, is
                another one, or its requests go elsewhere.
        """
        try:
            found = self._found()
            self._program = str(found.path)
            self._opened = ProgramRunner({**os.environ, **self._unattended})
            version = self._version()
            self._proof = {
                "client": version,
                "program": found.where,
                "credentials": HANDED_OVER,
                **self._see_what_it_is(version),
            }
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def _see_what_it_is(self, version: str) -> dict[str, str]:
        """Prove the label, or raise LabelError; what asks the bucket does so after `_measure_in`."""

    @abstractmethod
    def _version_command(self) -> list[str]:
        """What moves nothing and ends at once."""

    @abstractmethod
    def _failure_in(self, printed: str) -> Failure | None:
        """The service's error in what the program printed; None where there is none."""

    def _found(self) -> Found:
        found = find_program(self._executable)
        if found is not None:
            return found
        problem = f"{self._executable} {why_not_found(self._executable)}"
        if self._executable == self._usual_name:
            raise UnsupportedError(f"{problem}: {self._remedy}, or write executable: PATH-OF-IT")
        raise LabelError(f"executable: {problem}, so that the program which the suite names cannot be run")

    def _measure_in(self, environment: Mapping[str, str]) -> None:
        """Run programs in this environment from now on, with credentials in it."""
        self._credentials = ProgramCredentials()
        self._environment = self._credentials.over({**environment, **self._unattended})
        self._runner.ready(self._environment)

    def ready(self) -> None:
        """Look credentials up for the next operation, and forget what earlier ones printed.

        Where that fails the program gets the ones before, and its sample tells what the service says of them.
        """
        with suppress(Exception):  # whatever a provider of credentials raises
            self._environment = self._credentials.over(self._environment)
        self._runner.ready(self._environment)

    def _ask(self, command: list[str]) -> None:
        """Run a program that has yet to show that it ends.

        Raises:
            LabelError: it does not.
        """
        try:
            self._runner.run(command, _CONNECT_LIMIT_S)
        except TimeoutError as error:
            asked = " ".join(command[1:])
            raise LabelError(
                f"{self._executable} hangs at {asked!r}: {error}: run that by hand to see what it waits for, "
                "or write executable: PATH-OF-ANOTHER"
            ) from error

    def _version(self) -> str:
        try:
            self._ask(self._version_command())
        except (ProgramError, OSError) as error:
            usual = self._executable == self._usual_name
            remedy = self._remedy if usual else "run it by hand to see why, or configure another executable"
            raise LabelError(f"{self._executable} does not run here: {error}: {remedy}") from error
        # Version 1 of the AWS CLI printed it to its error output in the past.
        return self._runner.printed() or self._runner.printed_errors()

    def _region(self) -> str:
        """The region that the bucket's control client has, from its target or from one's own AWS settings."""
        return self._refuse_a_silent_bucket().meta.region_name

    def _no_answer(self, client: str, printed: str) -> str:
        """How to tell that a bucket did not answer a program's first request as it should."""
        last = printed.strip().splitlines()[-1:] or ["it printed nothing"]
        hint = ": is Transfer Acceleration enabled on it?" if self._endpoint_url() == ACCELERATE_URL else ""
        return f"bucket {self._target.bucket!r} does not answer {client}: {last[0]}{hint}"

    def _endpoint_url(self) -> str | None:
        """What the program is told to ask; None leaves it its own rules."""
        if isinstance(self._target, BucketTarget):
            return self._target.endpoint_url
        return ACCELERATE_URL if self._target.kind == "accelerated_bucket" else None

    def _url(self, key: str) -> str:
        return f"s3://{self._target.bucket}/{key}"

    @property
    def _runner(self) -> ProgramRunner:
        if self._opened is None:
            raise RuntimeError(f"{self._executable}: not connected")
        return self._opened

    def proof(self) -> dict[str, str]:
        """The program's version, where it was found, and what its requests showed."""
        return self._proof

    def start_up(self) -> object:
        """The same program, asked for its version."""
        return self._runner.run(self._version_command())

    def answer(self, native: object) -> Answer:
        """Processor time; a program does not tell the status and the retries of its requests."""
        ended = cast("Ended", native)
        return Answer(user_ns=ended.user_ns, system_ns=ended.system_ns)

    def failure(self, error: Exception) -> Failure:
        """The service's error where the program printed one, else how it ended; with its last lines."""
        if not isinstance(error, ProgramError):
            return Failure(type(error).__name__, str(error))
        last = "\n".join(error.printed.splitlines()[-_LAST_LINES:])
        found = self._failure_in(error.printed)
        if found is not None:
            return Failure(found.error, last, http_status=found.http_status)
        ended = f"ExitStatus{error.status}" if error.status > 0 else f"Signal{-error.status}"
        return Failure(ended, last or str(error))

    def close(self) -> None:
        """End what is left of programs, and close the control client; harmless when called again."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None
        super().close()
