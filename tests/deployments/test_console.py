"""What is printed is a line for each happening, whatever has happened to whoever reads it."""

import io
import logging
import sys
from collections.abc import Iterator

import pytest

from deployments.console import OneLineHandler


@pytest.fixture
def printed() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def logger(printed: io.StringIO) -> Iterator[logging.Logger]:
    logger = logging.getLogger("a logger of this test")
    handler = OneLineHandler(printed, styles={"log.info_level": "cyan"})
    logger.addHandler(handler)
    logger.propagate = False
    yield logger
    logger.removeHandler(handler)


def test_an_error_is_one_line_with_its_class_message_and_place(
    logger: logging.Logger, printed: io.StringIO
) -> None:
    try:
        int("x\ny")
    except ValueError:
        logger.exception("it did not work")
    (line,) = printed.getvalue().splitlines()
    assert line.startswith("it did not work: ValueError: invalid literal for int() with base 10: 'x\\ny'")
    assert "(test_console.py:" in line


def test_an_error_that_the_message_tells_is_not_told_twice(
    logger: logging.Logger, printed: io.StringIO
) -> None:
    try:
        int("x")
    except ValueError as error:
        logger.exception("it did not work: %s", error)  # noqa: TRY401 - as Prefect does
    assert printed.getvalue() == "it did not work: invalid literal for int() with base 10: 'x'\n"


def test_the_record_keeps_its_traceback_for_the_logs_of_the_ui(logger: logging.Logger) -> None:
    seen: list[logging.LogRecord] = []
    logger.addFilter(lambda record: seen.append(record) is None)
    try:
        int("x")
    except ValueError:
        logger.exception("it did not work")
    assert seen[0].exc_info is not None


def test_nobody_who_reads_any_more_ends_nothing(
    printed: io.StringIO, logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    printed.close()
    logger.error("somebody pulled the plug")
    assert capsys.readouterr().err == ""
    assert sys.stderr.writable()


def test_what_is_said_again_and_again_is_printed_once(logger: logging.Logger, printed: io.StringIO) -> None:
    for waiting in (1, 1, 2, 2, 1):
        logger.warning("%d runs wait", waiting)
    assert printed.getvalue() == "1 runs wait\n2 runs wait\n1 runs wait\n"
