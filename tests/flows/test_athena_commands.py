"""The athena commands: what they print runs, and what they cannot print is refused before they print."""

import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest
import sqlglot
from typer.testing import CliRunner, Result

from configs.errors import UserError
from configs.run_record import RunIdentity
from flows.command_line import app
from tasks.results.names import samples_name
from tasks.results.schema import SAMPLES
from tasks.results.sql_queries import Asked, queries, query
from tasks.results.writer import encoded

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

LOCATION = "s3://amzn-s3-demo-bucket/s3bench"
RUN = RunIdentity(run_id="20251231T023000Z-1a2b3c4d", dt="2025-12-31")


def athena(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["athena", *arguments])


def refused(*arguments: str) -> str:
    """The message of a command that is refused, and prints nothing."""
    answer = athena(*arguments)
    assert isinstance(answer.exception, UserError), answer.output
    assert answer.stdout == ""
    return str(answer.exception)


def test_the_statements_are_printed_each_with_its_semicolon() -> None:
    answer = athena("ddl", "--location", LOCATION, "--database", "lab", "--since", "2026-11-30", "--no-look")
    assert answer.exit_code == 0, answer.output
    made = sqlglot.parse(answer.stdout, read="athena")
    assert len([one for one in made if one]) == 12
    assert "`lab`.`samples`" in answer.stdout
    assert "'2026-11-30,NOW'" in answer.stdout
    assert answer.stderr == ""


@pytest.fixture
def in_bucket(
    s3_client: "S3Client", s3_endpoint_url: str, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> str:
    """A store in a bucket with one night of a configuration that no suite has."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_endpoint_url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testkey")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testsecret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    key = f"results/{samples_name(RUN, 'nobodys', 'read')}"
    s3_client.put_object(Bucket=bucket, Key=key, Body=encoded(SAMPLES.empty_table()))
    return f"s3://{bucket}/results"


def test_what_the_tables_would_not_show_is_told_beside_them(
    in_bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = athena("ddl", "--location", in_bucket)
    assert answer.exit_code == 0
    assert "nobodys" not in answer.stdout
    assert "the table samples will not show nobodys: no suite that is known has them" in answer.stderr
    assert "no table will show 2025-12-31, before 2026-01-01: give an earlier --since" in answer.stderr
    (tmp_path / "own.yaml").write_text("name: own\nconfigurations: {nobodys: {}}\n", encoding="utf-8")
    monkeypatch.setenv("S3BENCH_SUITES", str(tmp_path))
    answer = athena("ddl", "--location", in_bucket, "--since", "2025-01-01")
    assert ",nobodys," in answer.stdout
    assert answer.stderr == ""


def test_results_that_cannot_be_listed_are_no_hindrance(in_bucket: str) -> None:
    answer = athena("ddl", "--location", f"{in_bucket.rpartition('/')[0]}-gone/results")
    assert answer.exit_code == 0
    assert answer.stdout.startswith("CREATE DATABASE")
    assert answer.stderr.startswith("nobody could look for what the tables will not show: results at s3://")


def test_a_query_is_printed_for_what_it_is_asked() -> None:
    arguments = (
        "--config-a",
        "rust",
        "--config-b",
        "boto3",
        "--since",
        "2026-01-01",
        "--until",
        "2026-02-28",
    )
    answer = athena("queries", "ratio", *arguments, "--schedule", "weekly", "--database", "lab")
    asked = Asked("weekly", "2026-01-01", "2026-02-28", "rust", "boto3")
    assert answer.stdout == f"{query('ratio').filled(asked, 'lab')};\n"


def test_without_dates_it_is_the_last_30_nights() -> None:
    until = datetime.now(UTC).date()
    answer = athena("queries", "coverage")
    days = {f"{until + timedelta(days=late) - timedelta(days=29)}" for late in (0, 1)}  # midnight may pass
    assert any(f"since = '{since}', until = '" in answer.stdout for since in days)
    only_until = athena("queries", "coverage", "--until", "2026-03-01")
    assert "since = '2026-01-31', until = '2026-03-01'" in only_until.stdout


def test_the_list_names_every_query_with_its_options() -> None:
    lines = athena("queries").stdout.splitlines()
    assert lines[::3] == [one.name for one in queries()]
    ratio = lines.index("ratio")
    assert lines[ratio + 2].strip() == "--schedule --since --until --config-a --config-b"


def test_what_cannot_be_printed_is_refused() -> None:
    assert "Athena reads s3://BUCKET/PREFIX alone" in refused("ddl", "--location", "results")
    assert "the first night 'now'" in refused("ddl", "--location", LOCATION, "--since", "now")
    assert "no query 'speed': there are" in refused("queries", "speed")
    assert "needs --config-a and --config-b" in refused("queries", "ratio")
    assert "give a later date" in refused("queries", "coverage", "--until", "0001-01-05")
    assert "the last night 'x'" in refused("queries", "coverage", "--until", "x")
    assert "give a folder, or s3://BUCKET/PREFIX" in refused("duckdb", "--results", "gs://a/b")


def test_the_real_command_prints_what_duckdb_runs(
    s3bench: "Callable[..., subprocess.CompletedProcess[str]]", tmp_path: Path
) -> None:
    (tmp_path / "results").mkdir()
    views = s3bench("athena", "duckdb", "--results", str(tmp_path / "results"), "--database", "mine")
    assert (views.returncode, views.stderr) == (0, "")
    duck = duckdb.connect()
    duck.execute(views.stdout)
    coverage = athena("queries", "coverage", "--database", "mine", "--since", "2026-01-01").stdout
    assert duck.execute(coverage).fetchall() == []
    wrong = s3bench("athena", "queries", "ratio", "--since", "2026-02-30")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("s3bench: the first night '2026-02-30'")
