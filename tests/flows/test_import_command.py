"""The import command: lines that a function printed, or that a log was exported as, into a store."""

import re
import secrets
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from configs.errors import UserError
from flows.import_commands import EXIT_NOTHING, import_lines
from tasks.lab.state import LabState
from tasks.results.reader import read_run
from tasks.results.store import open_store
from tasks.stats.summaries import summarise
from tasks.venues.lambda_events import answer
from tasks.venues.places import lab_environment
from tests.lambda_blocks import Context
from tests.results.sample_text import line_text

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """40 reads of two configurations, one line each second, with Lambda's own lines around them."""
    lines = [
        f"2026-07-01T12:00:{place:02}.000000+00:00 2026/07/01/[$LATEST]0f3b "
        + line_text(place, config=("A_s3_sdk", "B_s3_files")[place % 2])
        for place in range(40)
    ]
    path = tmp_path / "tail.log"
    path.write_text("\n".join(["START RequestId: 1", *lines, "END RequestId: 1"]), encoding="utf-8")
    return path


def test_what_a_function_printed_comes_to_the_figures_that_it_answered(
    lab: LabState,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    own = {
        "S3BENCH_CONFIG": "A_s3_sdk",
        "S3BENCH_BUCKET": lab.bucket,
        "S3BENCH_PREFIX": f"import-{secrets.token_hex(4)}",
        "S3BENCH_ENDPOINT_URL": lab.endpoint_url,
        "AWS_EXECUTION_ENV": "AWS_Lambda_python3.14",
    }
    for name, value in (lab_environment(lab) | own).items():
        monkeypatch.setenv(name, value)
    answer({"op": "setup"}, Context(), is_cold=True)
    told = answer({"op": "read", "iterations": 105, "warmup": 5}, Context(), is_cold=False)
    (tmp_path / "printed.log").write_text(capsys.readouterr().out, encoding="utf-8")
    import_lines(f"{tmp_path}/printed.log", f"{tmp_path}/results", "2026-07-01")
    samples = read_run(open_store(tmp_path / "results"), None).samples()
    (times,) = (one.distribution for one in summarise(samples) if one.stage == "total_ns")
    assert times is not None
    quantiles_ns = (times.p50.value_ns, times.p90.value_ns, times.p99.value_ns)
    assert (times.n, times.min_ns, *quantiles_ns, times.max_ns) == (
        100,
        *(round(float(str(told[name])) * 1e6) for name in ("min_ms", "p50_ms", "p90_ms", "p99_ms", "max_ms")),
    )


def test_a_log_is_imported_and_known_from_then_on_also_from_the_standard_input(
    s3bench: Command, environment: dict[str, str], log: Path
) -> None:
    first = s3bench("import", log.name)
    assert (first.returncode, first.stderr) == (0, "")
    shown = first.stdout.splitlines()
    run_id = shown[0].split()[2].rstrip(":")
    assert shown == [
        f"Imported run {run_id}: 40 samples of 2 cells, night 2026-07-01:",
        "  a_s3_sdk/read-64kib-single",
        "  b_s3_files/read-64kib-single",
        "Other lines: 0 known already, 0 wrong, 2 without a sample.",
        f"See them: s3bench report --results results --run {run_id}",
    ]
    assert run_id.startswith("20260701T120000Z-")
    with log.open(encoding="utf-8") as lines:
        again = subprocess.run(
            [Path(sys.executable).with_name("s3bench"), "import", "-"],
            cwd=log.parent,
            env=environment,
            stdin=lines,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert (again.returncode, again.stdout.splitlines()) == (
        0,
        [
            "the standard input: nothing was imported",
            "Other lines: 40 known already, 0 wrong, 2 without a sample.",
        ],
    )


def test_one_sample_of_one_cell_is_told_so_and_bad_lines_by_number_and_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = [line_text(place, bytes=-1, config="\x1b[31m../../x") for place in range(12)]
    log = tmp_path / "bad.log"
    log.write_text("\n".join([line_text(0), line_text(1)[:-1], *bad]), encoding="utf-8")
    import_lines(str(log), f"{tmp_path}/results", "2026-07-01")
    told = capsys.readouterr().out
    lines = told.splitlines()
    assert lines[0].endswith(": 1 sample of 1 cell, night 2026-07-01:")
    reasons = (
        "config: String should match pattern '^[A-Za-z][A-Za-z0-9_-]{0,63}$'",
        "bytes: Input should be greater than 0",
    )
    assert lines[2:5] == [
        "Other lines: 0 known already, 13 wrong, 0 without a sample.",
        "  line 2: this is no whole JSON object on one line",
        f"  line 3: {'; '.join(reasons)}",
    ]
    assert lines[-3].startswith("  line 11: ")
    assert lines[-2] == "  and 3 more"
    assert "\x1b" not in told
    assert {path.relative_to(tmp_path).parts[:2] for path in tmp_path.rglob("*.parquet")} == {
        ("results", "v1")
    }


def test_a_log_without_any_sample_is_told_by_the_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "none.log"
    log.write_text("START RequestId: 1\n", encoding="utf-8")
    with pytest.raises(typer.Exit) as ended:
        import_lines(str(log), f"{tmp_path}/results")
    assert ended.value.exit_code == EXIT_NOTHING
    assert capsys.readouterr().out.splitlines()[1] == (
        "Other lines: 0 known already, 0 wrong, 1 without a sample."
    )


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (
            ("missing.log", "results"),
            "missing.log: No such file or directory: name a file with the lines, or -",
        ),
        ((".", "results"), ".: Is a directory: name a file with the lines"),
        (("a\0b", "results"), "embedded null byte: name a file with the lines"),
        (("tail.log", "results", "2026-02-30"), "--day 2026-02-30: give a date such as 2026-01-31"),
        (("tail.log", "results", "20260701"), "--day 20260701: give a date such as 2026-01-31"),
        (("tail.log", "tail.log"), "a file stands where a folder is wanted"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_sentence(
    log: Path, monkeypatch: pytest.MonkeyPatch, asked: tuple[str, ...], told: str
) -> None:
    monkeypatch.chdir(log.parent)
    with pytest.raises(UserError, match=re.escape(told)):
        import_lines(*asked)
