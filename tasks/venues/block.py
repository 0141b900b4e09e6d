"""One block of one cell, from its specification to its outcome: the same code on every venue."""

import contextlib
import time
from dataclasses import replace
from typing import Literal

from configs.block import BlockSpec
from configs.errors import UserError
from configs.redaction import redactor
from configs.workloads import cache_use
from tasks.access.protocol import AccessPath
from tasks.access.registry import access_path
from tasks.kernel.calibration import timed_nothing_ns, timer_resolution_ns
from tasks.kernel.environment import machine
from tasks.kernel.errors import LabelError, UnsupportedError
from tasks.kernel.loop import LoopCost
from tasks.kernel.samples import SampleColumns
from tasks.kernel.start import CommonStart
from tasks.venues.wire import BlockCost, BlockOutcome
from tasks.workloads.registry import measure_workload


class Block:
    """A block under way: one thread measures it, another may ask for what it has if the first one hangs."""

    def __init__(self, spec: BlockSpec, start: CommonStart | None = None) -> None:
        """Make one.

        Args:
            spec: the block.
            start: where this client waits, connected and warmed up, for others; None where there is none.
        """
        self._spec = spec
        self._start = start
        self._samples = SampleColumns()
        self._cache_state = ""
        self._proof: dict[str, str] | None = None
        self.is_connected = False

    def run(self) -> BlockOutcome:
        """Connect, measure, verify, tell how it ended; a wrong label or a lost client is an outcome too."""
        spec, samples, start = self._spec, self._samples, self._start
        try:
            access = access_path(spec.cell.configuration.access_path, spec.cell.target)
            access.connect(spec.cell.workload.concurrency)
            self.is_connected = True
            with contextlib.closing(access):
                self._cache_state = _cache_state(spec, access)
                self._proof = access.proof()
                loop = measure_workload(spec, access, samples, start)
                self._proof = access.proof()  # again: what it counts is of the whole block
        except UnsupportedError as reason:
            return self._outcome("skipped", str(reason))
        except (LabelError, UserError) as reason:
            return self._broken_off(str(reason))
        except Exception as error:  # noqa: BLE001 - outside the clock any client error ends this cell, not the run
            return self._broken_off(f"{type(error).__name__}: {error}")
        cost = BlockCost(timer_resolution_ns(), timed_nothing_ns(), loop)
        if loop.not_begun:
            samples.drop_unmeasured()
            why = (start.why_not if start is not None else "") or _unfinished(spec, loop)
            return replace(self._outcome("failed", why), cost=cost)
        return replace(self._outcome("measured"), cost=cost)

    def given_up(self) -> BlockOutcome:
        """What was measured so far, called by another thread; this block must not be sent afterwards."""
        if not self.is_connected:
            return self._outcome("failed", "the client did not connect in time: its target does not answer")
        hung = self._samples.give_up(time.time_ns() // 1000, time.perf_counter_ns())
        ended = len(self._samples) - hung
        return self._outcome(
            "failed",
            f"the block did not end within block_timeout_s and was stopped: {ended} operations had ended, "
            + (f"{hung} had not" if hung else "and what follows them had not"),
        )

    def _broken_off(self, reason: str) -> BlockOutcome:
        self._samples.drop_unmeasured()
        return self._outcome("failed", reason)

    def _outcome(self, status: Literal["measured", "skipped", "failed"], reason: str = "") -> BlockOutcome:
        _take_secrets_out(self._samples)
        return BlockOutcome(status, self._samples, reason, self._proof, self._cache_state, machine())


def run_block(spec: BlockSpec, start: CommonStart | None = None) -> BlockOutcome:
    """One block, by nobody else looked at."""
    return Block(spec, start).run()


def _take_secrets_out(samples: SampleColumns) -> None:
    """Of what servers and programs said of failures, where no clock runs any more."""
    clean = redactor()
    for row, failure in samples.failures.items():
        error, message = clean(failure.error), clean(failure.message)
        if (error, message) != (failure.error, failure.message):
            samples.failures[row] = replace(failure, error=error, message=message)


def _unfinished(spec: BlockSpec, loop: LoopCost) -> str:
    done = spec.iterations - loop.not_begun
    return (
        f"the block did not end within block_timeout_s: {done} of {spec.iterations} operations were done: "
        "give it more time, or the workload fewer iterations"
    )


def _cache_state(spec: BlockSpec, access: AccessPath) -> str:
    state: str = getattr(access.cache_states, cache_use(spec.cell.workload))
    return state
