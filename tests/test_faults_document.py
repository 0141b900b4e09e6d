"""Every test that FAULTS.md names exists."""

import re
from pathlib import Path

import pytest

from tests.faults.document import headings, rows

TESTS = Path(__file__).resolve().parent
WITH_TESTS = ("Around the operations", "A mount", "Disks and the results store", "Inputs")


def test_the_document_has_its_headings() -> None:
    assert set(WITH_TESTS) < set(headings())


@pytest.mark.parametrize("heading", WITH_TESTS)
def test_every_row_names_tests_that_exist(heading: str) -> None:
    known = {
        name
        for path in TESTS.rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    for row in rows(heading):
        named = re.findall(r"`(\w+)`", row["test"])
        assert named, f"{row} names no test"
        assert set(named) <= known, row
