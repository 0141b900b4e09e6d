"""The lines that Prefect writes of a run can be read by a person."""

import logging
from collections.abc import Iterator

import pytest

from configs.errors import UserError
from flows.readable_logs import make_logs_readable

NAMES = ("prefect.flow_runs", "prefect.task_runs")


@pytest.fixture
def readable(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    make_logs_readable()
    make_logs_readable()  # as each flow of a process does
    for name in NAMES:  # whether or not Prefect has set its loggers up in this process
        monkeypatch.setattr(logging.getLogger(name), "propagate", False)
        logging.getLogger(name).addHandler(caplog.handler)
    yield
    for name in NAMES:
        logging.getLogger(name).removeHandler(caplog.handler)


pytestmark = pytest.mark.usefixtures("readable")


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    return [(record.levelno, record.getMessage()) for record in caplog.records]


def test_how_something_finished_shows_no_inside_and_is_not_red(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, NAMES[1]):
        of_task = logging.LoggerAdapter(logging.getLogger(NAMES[1]), {"task_run_name": "publish"})
        of_task.error("Finished in state Failed(\"UserError('no\\nmore')\")")
        of_task.info("Finished in state Completed()")
    assert lines(caplog) == [
        (logging.INFO, "publish: finished in state Failed"),
        (logging.INFO, "publish: finished in state Completed"),
    ]


def test_a_refusal_that_is_tried_again_is_told_in_its_own_words(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, NAMES[1]):
        logging.getLogger(NAMES[1]).info(
            "Task run failed with %s: %r - Retry %s/%s", "exception", UserError("cannot list it"), 1, 3
        )
    assert lines(caplog) == [(logging.INFO, "Task run failed with exception: cannot list it - Retry 1/3")]


def test_a_traceback_is_kept_of_mistakes_of_ours_alone(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, NAMES[0]):
        for error in (UserError("mend it"), ValueError("a mistake of ours")):
            try:
                raise error
            except (UserError, ValueError):
                logging.getLogger(NAMES[0]).exception("it failed")
    assert [record.exc_info and record.exc_info[0] for record in caplog.records] == [ValueError]


def test_a_per_cent_in_a_name_is_one_in_the_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, NAMES[1]):
        of_task = logging.LoggerAdapter(logging.getLogger(NAMES[1]), {"task_run_name": "measure 100%s"})
        of_task.info("Retry %s of %s", 1, 3)
        of_task.info("Finished in state Completed()")
    assert lines(caplog) == [
        (logging.INFO, "measure 100%s: retry 1 of 3"),
        (logging.INFO, "measure 100%s: finished in state Completed"),
    ]
