"""What the README shows is true of the code beside it."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from configs.loading import parse_suite
from flows.command_line import app
from tasks.access.registry import ADAPTERS

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
MAKEFILE = (Path(__file__).resolve().parents[1] / "Makefile").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_example_suite_is_one() -> None:
    (example,) = (block for block in blocks("yaml") if block.startswith("version:"))
    assert {cell.cell_id for cell in parse_suite(example, "README.md").cells()} == {
        f"{config}/{workload}" for config in ("boto3", "mount") for workload in ("scan", "read", "write")
    }


def test_the_table_of_access_paths_has_every_adapter() -> None:
    named = set(re.findall(r"^\| `(\w+)` \|.*\|.*\|$", README, re.MULTILINE))
    assert named >= set(ADAPTERS)


@pytest.mark.parametrize("line", re.findall(r"^s3bench ([^#\n]+)", README, re.MULTILINE))
def test_every_command_that_is_shown_exists_with_its_options(line: str) -> None:
    for command in line.split(";"):
        words = command.replace("s3bench", "").replace('eval "$(', "").replace(')"', "").split()
        path = words[:2] if words[0] in {"lab", "athena"} else words[:1]
        answer = CliRunner().invoke(app, [*path, "--help"], terminal_width=200)
        assert answer.exit_code == 0, command
        for option in (word for word in words if word.startswith("--")):
            assert option in answer.output, command


@pytest.mark.parametrize("target", re.findall(r"^make ([a-z-]+)", README, re.MULTILINE))
def test_every_make_target_that_is_shown_exists(target: str) -> None:
    assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)


def test_the_defaults_that_are_told_are_the_models() -> None:
    (example,) = (block for block in blocks("yaml") if block.startswith("version:"))
    suite = parse_suite(example, "README.md")
    told = dict(re.findall(r"^\| `(blocks|max_cost_usd|lab)` \| (\S+) \|", README, re.MULTILINE))
    assert told == {
        "blocks": str(suite.blocks),
        "max_cost_usd": str(suite.max_cost_usd),
        "lab": str(suite.lab).lower(),
    }
    read = suite.workloads["read"]
    assert f"| `iterations`, `warmup` | {read.iterations}, {read.warmup} |" in README
