"""Names of files in a store, and ids that somebody types, are names: no SQL, no pattern, no other folder."""

import random
import re
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path

import duckdb
import pytest

from configs.errors import UserError
from configs.parameters import BenchmarkParameters, CompareParameters
from flows.command_line import main
from tasks.results.compaction import compact_month, finished_months
from tasks.results.duckdb_views import duckdb_views
from tasks.results.lines_import import import_lines
from tasks.results.log_lines import read_log
from tasks.results.names import RUN_NAME, SAMPLES_NAME
from tasks.results.reader import list_runs, read_run
from tasks.results.s3_store import S3Store
from tasks.results.sql_queries import Asked, queries
from tasks.results.store import Store, open_store
from tests.results.sample_text import line_text

RUN_ID = "20260701T000000Z-12345678"
TODAY = date(2026, 12, 1)
HOSTILE_NAMES = (
    f"v1/samples/dt=0000-00-00/config=a/{RUN_ID}.w.parquet",
    f"v1/samples/dt=2026-02-30/config=a/{RUN_ID}.w.parquet",
    f"v1/samples/dt=\u0662\u0660\u0662\u0666-01-01/config=a/{RUN_ID}.w.parquet",
    f"v1/samples/dt=2026-01-01/config=a'; DROP TABLE x; --/{RUN_ID}.w.parquet",
    f"v1/samples/dt=2026-01-01/config=a%2F..%2Fb/{RUN_ID}.w.parquet",
    f"v1/samples/dt=2026-01-01/config=*/{RUN_ID}.w.parquet",
    f"v1/samples/dt=2026-01-01/config=a\nb/{RUN_ID}.w.parquet",
    f"v1/samples/dt=2026-01-01/config=\x1b[31m/{RUN_ID}.w.parquet",
    f"v1/samples/dt=2026-01-01/config=a/../{RUN_ID}.w.parquet",
    "v1/samples/\udcff.parquet",
    "v1/samples/[bold]<script>.parquet",
    f"v1/runs/dt=2026-99-99/{RUN_ID}.parquet",
    f"v1/runs/dt=2026-01-01/{RUN_ID}\n.parquet",
    "v1/runs/dt=2026-01-01/\u0661\u0661111111T111111Z-12345678.parquet",
)
HOSTILE_IDS = (
    "",
    "*",
    "?",
    "..",
    "../../etc/passwd",
    "a'; DROP TABLE samples; --",
    "a/b/c",
    "a\nb",
    "\x1b[31m",
    "\u202e",
    "[bold]x[/bold]",
    "2026*",
    "\u0662\u0660\u0662\u06660701T000000Z-12345678",
    f"{RUN_ID}\n",
    "x" * 5000,
)


def a_store(root: Path) -> Store:
    """One run of one cell in a night of July."""
    store = open_store(root)
    lines = "\n".join(line_text(number) for number in range(3))
    import_lines(store, read_log(lines.encode(), "log"), "2026-07-01")
    return store


def foreign(root: Path, name: str) -> Store:
    """A store with a file of a hostile name; its content is that of a file of ours."""
    store = a_store(root)
    path = root / name
    source = next(root.joinpath(*name.split("/", 2)[:2]).rglob("*.parquet"))
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, path)
    return store


def months(store: Store) -> None:
    for month, landing in finished_months(store, TODAY, 7).landing.items():
        compact_month(store, month, landing)


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
def test_a_file_of_a_hostile_name_is_told_and_never_read_as_a_run(tmp_path: Path, name: str) -> None:
    store = foreign(tmp_path / "results", name)
    with pytest.raises(UserError, match="is not one of our files: move it away"):
        list_runs(store)
    try:
        months(store)
    except UserError as error:
        assert "not one of our files" in str(error)  # noqa: PT017 - or it belongs to no month
    written = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*.parquet")}
    assert written == {"results"}


def test_the_last_month_of_the_calendar_is_never_over(tmp_path: Path) -> None:
    name = f"v1/samples/dt=9999-12-31/config=a/{RUN_ID}.w.parquet"
    found = finished_months(foreign(tmp_path, name), TODAY, 7)
    assert (list(found.landing), found.strays) == (["2026-07"], (name,))


def test_an_object_of_a_hostile_key_is_told(
    s3_endpoint_url: str, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (
        ("ENDPOINT_URL", s3_endpoint_url),
        ("ACCESS_KEY_ID", "testkey"),
        ("REGION", "us-east-1"),
    ):
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testsecret")
    store = open_store(f"s3://{bucket}/results")
    assert isinstance(store, S3Store)
    for name in ("v1/samples/dt=2026-01-01/config=a'; DROP/x.parquet", "v1/samples/a%2Fb +?.parquet"):
        store.put(name, b"x")
        assert store.names("v1/samples") == [name]
        with pytest.raises(UserError, match="is not one of our files"):
            list_runs(store)
        store._client.delete_object(Bucket=bucket, Key=f"results/{name}")


def test_names_of_ours_have_no_other_digits() -> None:
    for digit in ("\u0661", "\uff11", "\u09e7"):
        assert RUN_NAME.fullmatch(f"v1/runs/dt=2026-01-0{digit}/{RUN_ID}.parquet") is None
        name = f"v1/samples/dt=2026-01-01/config=a/{RUN_ID.replace('1', digit)}.w.parquet"
        assert SAMPLES_NAME.fullmatch(name) is None
        with pytest.raises(UserError, match="is no run id"):
            read_run(open_store("nowhere"), RUN_ID.replace("1", digit))


@pytest.mark.parametrize(
    "folder",
    [
        "a*b",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("it's; DROP TABLE x", "a[b]", "a?b", "a%20b", "-rf", '"', "a\nb")
        ),
    ],
)
def test_views_of_a_store_read_that_store_alone(tmp_path: Path, folder: str) -> None:
    for other in ("axb", "ab", "a b"):
        a_store(tmp_path / other)
    views = duckdb_views(a_store(tmp_path / folder))
    connection = duckdb.connect()
    connection.execute(views)
    assert connection.execute("SELECT count(*), min(config) FROM s3bench.samples").fetchone() == (
        3,
        "a_s3_sdk",
    )


@pytest.mark.parametrize(
    "folder",
    [
        "config=x",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("dt=2020-01-01", "env=prod", "month=2020-01", "a\\b")
        ),
    ],
)
def test_a_folder_out_of_which_duckdb_would_read_a_column_is_refused(tmp_path: Path, folder: str) -> None:
    store = a_store(tmp_path / folder / "results")
    with pytest.raises(UserError, match="DuckDB takes a folder NAME=VALUE for a column"):
        duckdb_views(store)
    (tmp_path / "link").symlink_to(tmp_path / folder / "results")
    connection = duckdb.connect()
    connection.execute(duckdb_views(open_store(tmp_path / "link")))
    assert connection.execute("SELECT count(*) FROM s3bench.samples WHERE dt = '2026-07-01'").fetchone() == (
        3,
    )


@pytest.mark.parametrize("value", HOSTILE_IDS, ids=ascii)
def test_no_query_takes_a_hostile_parameter(value: str) -> None:
    good = {
        "schedule": "nightly",
        "since": "2026-01-01",
        "until": "2026-02-01",
        "config_a": "a",
        "config_b": "b",
    }
    (pairs,) = [one for one in queries() if {"config_a", "config_b"} <= set(one.parameters)][:1]
    assert pairs.filled(Asked(**good))
    for name in good:
        with pytest.raises(UserError):
            pairs.filled(Asked(**good | {name: value}))
    with pytest.raises(UserError):
        pairs.filled(Asked(**good), database=value)


@pytest.mark.parametrize(
    "location", ["s3://b/x", "s3://bucket", "s3://bucket/a*", "s3://bucket/a?s3_region=x", "s3://bucket/../x",
                 "s3://bucket/a//b", "s3://bucket/a'b", "s3://bucket/a\nb", "s3://buck et/x", "S3://bucket/x",
                 "file:///tmp", "a\0b", "~nobody-here/x"],
)  # fmt: skip
def test_no_hostile_location_is_a_store(location: str) -> None:
    with pytest.raises(UserError):
        open_store(location)


@pytest.mark.parametrize("value", ["a\nb", "\x1b[31m", "a\0b", "", "\u202e", "x" * 5000])
def test_no_parameter_of_a_flow_takes_what_cannot_be_printed(value: str) -> None:
    for parameters, name in (
        (BenchmarkParameters, "results"),
        (BenchmarkParameters, "lab_folder"),
        (BenchmarkParameters, "logs_from"),
        (BenchmarkParameters, "targets_file"),
        (CompareParameters, "results"),
        (CompareParameters, "schedule"),
    ):
        with pytest.raises(ValueError, match=name):
            parameters.model_validate({name: value})


@pytest.fixture
def s3bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """What a command says that has to refuse its input."""
    monkeypatch.chdir(tmp_path)

    def s3bench(*words: str) -> str:
        monkeypatch.setattr("sys.argv", ["s3bench", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert ended.value.code == 2, said
        assert all(sign.isprintable() or sign == "\n" for sign in said.err)
        return said.err

    return s3bench


COMMANDS = (
    "report --run",
    "history",
    "compare a_s3_sdk",
    "plan lab --targets",
    "report --html p.html --run",
    "history --schedule",
    "history --cron",
    "history --timezone",
    "compare --workload w a_s3_sdk",
    "compare a b --run",
    "import --day 2026-01-01",
    "plan",
    "plan lab --only",
)


@pytest.mark.parametrize(
    "words", [*COMMANDS[:4], *(pytest.param(words, marks=pytest.mark.slow) for words in COMMANDS[4:])]
)
def test_no_hostile_word_of_a_command_becomes_anything_else(
    tmp_path: Path, s3bench: Callable[..., str], words: str
) -> None:
    a_store(tmp_path / "results")
    before = sorted(tmp_path.rglob("*"))
    for word in random.Random(words).sample(HOSTILE_IDS[1:], 4):
        assert s3bench(*words.split(), word)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_name_with_escapes_is_told_without_them(tmp_path: Path, s3bench: Callable[..., str]) -> None:
    foreign(tmp_path / "results", f"v1/samples/dt=2026-01-01/config=\x1b[31m:smile:[red]/{RUN_ID}.w.parquet")
    said = s3bench("report")
    assert re.search(r"config=\ufffd\[31m:smile:\[red\]/", said)
