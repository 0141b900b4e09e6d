"""What ships for Athena is what schema, suites and queries make, and its README tells the truth."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from configs.choices import SHIPPED_SUITES, known_configurations
from deployments.athena_files import FOLDER, athena_files
from flows.command_line import app
from tasks.results.athena import TABLES, VIEWS
from tasks.results.sql_queries import queries

README = (FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _no_suites_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("S3BENCH_SUITES", raising=False)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_files_are_what_would_be_written_now() -> None:
    there = {
        str(path.relative_to(FOLDER)): path.read_text(encoding="utf-8") for path in FOLDER.rglob("*.sql")
    }
    assert there == athena_files(), "run `python -m deployments.athena_files`"


def test_no_configuration_that_ships_is_missing_from_the_projection() -> None:
    (told,) = re.findall(
        r"'projection.config.values' = '([^']+)'", (FOLDER / "ddl/02_samples.sql").read_text()
    )
    assert told.split(",") == list(known_configurations())
    for path in SHIPPED_SUITES.glob("*.yaml"):
        named = re.findall(r"^  ([a-z][a-z0-9_-]*):", configurations_of(path), re.MULTILINE)
        assert named
        assert set(named) <= set(told.split(",")), path.name


def configurations_of(suite: Path) -> str:
    """The text of a suite from its configurations to the next key."""
    _, _, rest = suite.read_text(encoding="utf-8").partition("\nconfigurations:\n")
    return re.split(r"^\w", rest, maxsplit=1, flags=re.MULTILINE)[0]


def test_the_readme_names_every_table_view_and_query() -> None:
    named = set(re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE))
    assert named == {*(table.name for table in TABLES), *VIEWS, *(one.name for one in queries())}


def test_the_python_that_is_shown_compiles() -> None:
    assert len(blocks("python")) == 3
    for number, block in enumerate(blocks("python")):
        compile(block, f"README.md, block {number}", "exec")


@pytest.mark.parametrize("line", re.findall(r"^s3bench (athena [^>\n]+)", README, re.MULTILINE))
def test_every_command_that_is_shown_exists_with_its_options(line: str) -> None:
    words = line.split()
    answer = CliRunner().invoke(app, [*words[:2], "--help"], terminal_width=200)
    assert answer.exit_code == 0
    for option in (word for word in words if word.startswith("--")):
        assert option in answer.output, line
