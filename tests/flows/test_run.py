"""The main job, end to end: real lab, real Prefect server, real files."""

import hashlib
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import psutil
import pyarrow.parquet as pq
import pytest

from configs.redaction import forms_of
from tasks.lab.local_lab import lab_status, running_lab
from tests.flows.conftest import texts_below

PROJECT_ROOT = Path(__file__).resolve().parents[2]
REAL_LOGS = PROJECT_ROOT.parent / "shared" / "data" / "cloudtrail-sample"

Command = Callable[..., "subprocess.CompletedProcess[str]"]

pytestmark = pytest.mark.usefixtures("suite_file")


def stored(folder: Path) -> dict[str, str]:
    """Every Parquet file below a folder, with the hash of its bytes."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*.parquet")
    }


def query(folder: Path, sql: str) -> list[tuple[object, ...]]:
    source = f"read_parquet('{folder}/v1/samples/*/*/*.parquet', hive_partitioning=true)"
    return duckdb.connect().execute(sql.replace("SAMPLES", source)).fetchall()


def test_a_run_ends_well_and_stops_the_lab_that_it_started(two_runs: Any) -> None:
    for answer in (two_runs.first, two_runs.second):
        assert answer.returncode == 0, answer.stdout + answer.stderr
        assert "LOCAL LAB: these numbers describe this machine, not Amazon S3." in answer.stdout
    assert lab_status(two_runs.folder / ".lab").condition == "down"


def test_a_second_run_is_appended_and_changes_nothing_of_the_first(two_runs: Any) -> None:
    after = stored(two_runs.results)
    assert len(two_runs.stored_by_first) == 6 + 1 + 1 + 1  # cells, nightly, costs, run
    assert len(after) == 2 * len(two_runs.stored_by_first)
    assert two_runs.stored_by_first.items() <= after.items()


def test_the_seed_is_the_given_one_or_fresh_and_the_suite_the_same(two_runs: Any) -> None:
    outputs = (two_runs.first.stdout, two_runs.second.stdout)
    assert [bool(re.search(r"^Seed +7 *$", output, re.MULTILINE)) for output in outputs] == [True, False]
    assert len({re.findall(r"sha256 \w+", output)[0] for output in outputs}) == 1


def test_every_operation_of_the_suite_is_there_once(two_runs: Any) -> None:
    operations = query(
        two_runs.results,
        "SELECT config, workload_id, count(*), count(*) FILTER (warmup), count(*) FILTER (outcome = 'error') "
        "FROM SAMPLES WHERE operation <> 'scan_file' GROUP BY ALL ORDER BY ALL",
    )
    twice = [("read-unique", 20, 4, 0), ("scan-staged", 8, 4, 0), ("write", 20, 4, 0)]
    assert operations == [(config, *workload) for config in ("boto3-lab", "mount-lab") for workload in twice]
    scans = query(two_runs.results, "SELECT DISTINCT files, records FROM SAMPLES WHERE operation = 'scan'")
    assert scans == [(12, 60)]


def test_the_query_of_the_readme_gives_what_the_report_says(two_runs: Any) -> None:
    (in_readme,) = re.findall(r"```sql\n(.*?)```", (PROJECT_ROOT / "README.md").read_text(), re.DOTALL)
    sql = in_readme.replace("'results/", f"'{two_runs.results}/").replace("read-64kib-single", "read-unique")
    first_run = min(path.stem for path in (two_runs.results / "v1" / "runs").rglob("*.parquet"))
    rows = duckdb.connect().execute(sql.replace("WHERE", f"WHERE run_id = '{first_run}' AND")).fetchall()
    assert sorted(row[:2] for row in rows) == [("boto3-lab", 8), ("mount-lab", 8)]
    section = two_runs.first.stdout.partition("Workload read-unique")[2]
    for config, _, p50_ms in rows:
        shown = re.search(rf"{config} +8 +\S+ +\S+ +(\S+)", section)
        assert shown is not None
        assert float(shown[1]) == pytest.approx(p50_ms, rel=0.01)


def test_the_page_has_pictures_and_names_the_configurations(two_runs: Any) -> None:
    pages = [path.read_text(encoding="utf-8") for path in (two_runs.results / "reports").glob("*.html")]
    assert len(pages) == 2
    assert all("<svg" in page and "boto3-lab" in page for page in pages)


def test_what_runs_wrote_to_the_bucket_is_gone_and_the_data_is_kept(two_runs: Any) -> None:
    bucket = two_runs.folder / ".lab" / "s3" / "s3bench-lab"
    assert [path for path in (bucket / "s3bench" / "runs").rglob("*") if path.is_file()] == []
    assert list((bucket / "s3bench" / "datasets").rglob("*.json.gz"))


def test_no_secret_of_the_environment_is_kept_anywhere(two_runs: Any, prefect_folder: Path) -> None:
    kept = texts_below(two_runs.folder, prefect_folder)
    for name, run in (("first", two_runs.first), ("second", two_runs.second)):
        kept[f"printed by the {name}"] = (run.stdout + run.stderr).encode()
    for place, secret in two_runs.planted.items():
        for form in forms_of(secret):
            found = [path for path, content in kept.items() if form.encode() in content]
            assert found == [], f"the secret of {place}"
    # The runs themselves are kept there, so that the search looks where a secret would be.
    assert any(b"small.yaml" in content for path, content in kept.items() if str(prefect_folder) in path)
    assert any(b"boto3-lab" in content for path, content in kept.items() if path.endswith("unpacked"))


def test_what_a_run_keeps_for_itself_nobody_else_can_read(two_runs: Any, prefect_folder: Path) -> None:
    # Its lab, with the lab's key and the logs of its servers; and the database of a Prefect server.
    for folder in (two_runs.folder / ".lab", prefect_folder / "prefect"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.slow
@pytest.mark.skipif(not REAL_LOGS.is_dir(), reason="the CloudTrail sample is not beside the project")
def test_the_real_logs_are_55_files_2900_records_and_421346_bytes_on_every_path(
    s3bench: Command, tmp_path: Path, prefect_api_url: str
) -> None:
    answer = s3bench("run", "small.yaml", "--logs-from", str(REAL_LOGS), PREFECT_API_URL=prefect_api_url)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "55 files, 2,900 records, 421,346 bytes, agreed by all 2" in answer.stdout
    found = query(
        tmp_path / "results",
        "SELECT config, files, records, size_bytes FROM SAMPLES WHERE operation = 'scan' "
        "GROUP BY ALL ORDER BY 1",
    )
    assert found == [("boto3-lab", 55, 2900, 421_346), ("mount-lab", 55, 2900, 421_346)]


@pytest.mark.slow
def test_results_go_to_s3_and_without_fuse_mounts_are_skipped_with_the_command_that_helps(
    s3bench: Command, tmp_path: Path, prefect_api_url: str, environment: dict[str, str]
) -> None:
    without = [
        folder
        for folder in environment["PATH"].split(":")
        if not (Path(folder) / "fusermount3").exists() and not (Path(folder) / "fusermount").exists()
    ]
    with running_lab(tmp_path / "other-lab") as lab:
        place = f"s3://{lab.bucket}/results"
        variables = lab.environment() | {"PREFECT_API_URL": prefect_api_url, "PATH": ":".join(without)}
        answer = s3bench("run", "small.yaml", "--results", place, **variables)
        assert answer.returncode == 0, answer.stdout + answer.stderr
        assert "apt-get install fuse3" in answer.stdout
        report = s3bench("report", "--results", place, **lab.environment())
        assert report.stdout in answer.stdout
        results = tmp_path / "other-lab" / "s3" / lab.bucket / "results"
        files = list(results.rglob("*.parquet"))
        assert len(files) == 9
        assert all(pq.read_metadata(file).num_rows for file in files)
        skipped = query(results, "SELECT config, count(*) FROM SAMPLES WHERE outcome = 'skipped' GROUP BY 1")
        assert skipped == [("mount-lab", 3)]


def test_failed_cells_end_with_status_1_and_the_others_are_there(
    s3bench: Command, suite_file: Path, tmp_path: Path, prefect_api_url: str, two_runs: Any
) -> None:
    suite_file.write_text(suite_file.read_text().replace("fuse.rclone", "nfs4"))  # a label that lies
    shutil.copytree(two_runs.folder / ".lab" / "s3", tmp_path / ".lab" / "s3")  # its prepared data
    for damaged in (tmp_path / ".lab" / "s3").rglob("unique/*.bin"):
        damaged.write_bytes(bytes(damaged.stat().st_size))
    answer = s3bench("run", "small.yaml", PREFECT_API_URL=prefect_api_url)
    if "fuse3" in answer.stdout:
        pytest.skip("no mount can be made here")
    assert answer.returncode == 1, answer.stdout + answer.stderr
    told = " ".join(answer.stdout.split())
    assert "is a mount of type fuse.rclone, but the target says nfs4" in told
    assert "no operation succeeded: WrongBytes" in told
    outcomes = query(
        tmp_path / "results",
        "SELECT config, workload_id, outcome FROM SAMPLES WHERE operation IS DISTINCT FROM 'scan_file' "
        "GROUP BY ALL ORDER BY ALL",
    )
    good = [("boto3-lab", "scan-staged", "ok"), ("boto3-lab", "write", "ok")]
    bad = [
        ("boto3-lab", "read-unique"),
        *(("mount-lab", name) for name in ("read-unique", "scan-staged", "write")),
    ]
    assert outcomes == sorted([*good, *((*cell, "error") for cell in bad)])


@pytest.mark.slow
def test_a_page_that_cannot_be_written_loses_nothing_and_says_how_to_see_the_run(
    s3bench: Command, tmp_path: Path, prefect_api_url: str
) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "reports").touch()  # as a full disk does: after all samples are stored
    only = ("--only", "boto3-lab")
    answer = s3bench("run", "small.yaml", *only, PREFECT_API_URL=prefect_api_url)
    assert answer.returncode == 2
    said = " ".join(answer.stderr.split())
    found = re.search(
        r"run (\S+) is measured and stored, but its page is missing: .*`s3bench (.*)` shows", said
    )
    assert found is not None, said
    assert found[1] in found[2]
    shown = s3bench(*found[2].split())
    assert shown.returncode == 0, shown.stderr
    assert "boto3-lab" in shown.stdout


@pytest.mark.slow
def test_a_run_of_one_configuration_goes_on_where_the_reader_of_its_output_has_left(
    s3bench: Command, environment: dict[str, str], tmp_path: Path, prefect_api_url: str
) -> None:
    command = f"'{Path(sys.executable).with_name('s3bench')}' run small.yaml --only boto3-lab | head -n 1"
    variables = environment | {"PREFECT_API_URL": prefect_api_url}
    subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, env=variables, check=True, timeout=60)
    assert query(tmp_path / "results", "SELECT DISTINCT config FROM SAMPLES") == [("boto3-lab",)]
    report = s3bench("report")
    assert report.returncode == 0
    assert "INCOMPLETE" not in report.stdout


def start(environment: dict[str, str], folder: Path, prefect_api_url: str) -> "subprocess.Popen[str]":
    suite = (folder / "small.yaml").read_text()
    longer = suite.replace("blocks: 1", "blocks: 4").replace("warmup: 2", "warmup: 0")
    (folder / "longer.yaml").write_text(longer.replace("iterations: 4", "iterations: 8"))
    return subprocess.Popen(
        [Path(sys.executable).with_name("s3bench"), "run", "longer.yaml"],
        cwd=folder,
        env=environment | ({"PREFECT_API_URL": prefect_api_url} if prefect_api_url else {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def wait_for(condition: Callable[[], object], process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.stdout.read() if process.stdout else ""
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, marks=pytest.mark.slow),
    ],
)
def test_a_stopped_run_keeps_what_was_measured_and_stops_its_lab(
    s3bench: Command, environment: dict[str, str], tmp_path: Path, prefect_api_url: str, number: int
) -> None:
    process = start(environment, tmp_path, prefect_api_url)

    def measuring() -> bool:
        children = psutil.Process(process.pid).children(recursive=True)
        return any("tasks.venues.worker" in child.cmdline() for child in children)

    wait_for(measuring, process)
    time.sleep(2.0)  # some blocks are measured, no cell has ended
    os.kill(process.pid, number)
    output, _ = process.communicate(timeout=40)
    assert process.returncode not in {0, 1, 2}, output
    assert "Traceback" not in output
    assert stored(tmp_path / "results")
    assert output.splitlines()[-1] == (
        "s3bench: interrupted: what was measured until then is stored in results, and "
        "`s3bench report --results results` shows it as incomplete"
    )
    assert "INCOMPLETE" in s3bench("report").stdout
    assert lab_status(tmp_path / ".lab").condition == "down"


@pytest.mark.slow
def test_a_run_whose_private_server_is_killed_ends_soon_with_what_it_measured(
    s3bench: Command, environment: dict[str, str], tmp_path: Path
) -> None:
    process = start(environment, tmp_path, "")
    server = tmp_path / ".lab" / "prefect" / "server.json"
    wait_for(lambda: list((tmp_path / "results").rglob("*.parquet")), process)
    os.kill(json.loads(server.read_text())["pid"], signal.SIGKILL)
    killed = time.monotonic()
    output, _ = process.communicate(timeout=90)
    assert time.monotonic() - killed < 60
    assert process.returncode == 1, output
    assert "was lost" in output
    assert "Error logging to API" not in output
    assert s3bench("report").returncode == 0
