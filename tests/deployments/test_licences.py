"""The list of licences is that of what is locked, and each of them is fine."""

from pathlib import Path

import pytest

from configs.errors import UserError
from deployments import licences
from deployments.licences import OUTPUT, WHY_FINE, Licensed, licensed, may_be_used, page, write
from deployments.locked import FOLDER, LOCKS, locked_packages


def test_the_file_is_what_make_licences_would_write_and_has_every_locked_version() -> None:
    text = OUTPUT.read_text(encoding="utf-8")
    assert text == page(), "make licences"
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")][1:]
    listed = {(row[0].removeprefix("| "), version) for row in rows for version in row[1].split(", ")}
    assert listed == {
        (one.name, one.version) for lock in LOCKS for one in locked_packages(FOLDER / f"{lock}.txt")
    }


def test_each_licence_is_permissive_or_has_a_reason_that_is_still_needed() -> None:
    packages = licensed()
    assert [one for one in packages if not may_be_used(one)] == []
    assert set(WHY_FINE) <= {(one.name, one.licence) for one in packages}
    # So that nothing of these is let through by the rule for permissive ones.
    assert [one for one in WHY_FINE if may_be_used(Licensed("another", ("1",), ("dev",), one[1]))] == []


@pytest.mark.parametrize(
    "licence", ["AGPL-3.0-only", "MIT AND GPL-2.0-only", "LicenseRef-Proprietary", "MPL-2.0"]
)
def test_a_licence_that_nobody_looked_at_is_refused_and_nothing_is_written(
    licence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "licences.md"
    monkeypatch.setattr(licences, "licensed", lambda: [Licensed("new", ("1",), ("runtime",), licence)])
    with pytest.raises(UserError, match=r"not only permissive: new \("):
        write(path)
    assert not path.exists()


def test_a_licence_that_changes_needs_a_new_look() -> None:
    assert may_be_used(Licensed("certifi", ("1",), ("runtime",), "MPL-2.0"))
    assert not may_be_used(Licensed("certifi", ("1",), ("runtime",), "AGPL-3.0-only"))
