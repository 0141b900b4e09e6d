"""How flows end: what a person can mend as a state with its message, in one line and without a traceback."""

import logging
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from prefect.client.schemas.objects import State
from prefect.logging import get_run_logger
from prefect.states import Completed, Failed

from configs.errors import UserError
from configs.redaction import errors_without_secrets
from configs.run_record import RunRecord
from flows.readable_logs import make_logs_readable

CELLS_FAILED: Final = "CellsFailed"
"""The name of the state of a run some of whose cells failed."""


def ended(work: Callable[[], State[Any]]) -> State[Any]:
    """Do the work of a flow, turn its refusal into a failed state, and tell how it ended in its log.

    Whoever called the flow in its own process gets the `UserError` itself, since Prefect raises what a failed
    state holds.
    """
    make_logs_readable()
    try:
        with errors_without_secrets():
            state = work()
    except UserError as error:
        state = Failed(message=str(error), data=error)
    level = logging.ERROR if state.is_failed() else logging.INFO
    get_run_logger().log(level, "%s", state.message or "done")
    return state


def ending_of(run: RunRecord) -> State[str]:
    """The state that a whole run ends in; its result is the run's id."""
    counted = Counter(cell.status for cell in run.cells)
    message = f"run {run.run_id}: {counted['measured']} cells measured"
    if skipped := counted["skipped"]:
        message += f", {skipped} skipped"
    if not run.failed_cells:
        return Completed(message=message, data=run.run_id)
    names = ", ".join(cell.cell_id for cell in run.failed_cells)
    message += f", {counted['failed']} failed: {names}"
    return Completed(name=CELLS_FAILED, message=message, data=run.run_id)
