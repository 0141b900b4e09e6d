"""An operator's mistakes are found before anything starts, all at once, and each is named."""

import os
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from configs.choices import known_configurations, known_suites
from configs.errors import UserError
from deployments.catalogue import Operation
from deployments.checks import refuse_full_disk, refuse_wrong_settings, say_troubles_of_suites
from tasks.lab.prefect_server import ServerNotReadyError


class Usage(NamedTuple):
    """As `shutil.disk_usage` gives it."""

    total: int
    used: int
    free: int


@pytest.fixture(autouse=True)
def nothing_set_but_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("S3BENCH_"):
            monkeypatch.delenv(name)
    (tmp_path / "file").touch()
    monkeypatch.setenv("S3BENCH_LOCK", str(tmp_path / "lock"))
    monkeypatch.setenv("S3BENCH_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("S3BENCH_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("S3BENCH_LAB", str(tmp_path / "lab"))


@pytest.fixture
def suites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "suites"
    folder.mkdir()
    monkeypatch.setenv("S3BENCH_SUITES", str(folder))
    return folder


def test_settings_that_are_right_are_taken_and_make_no_folder(tmp_path: Path) -> None:
    refuse_wrong_settings(Operation(alert_webhook="https://hooks.example.com/a?b=c"))
    assert {path.name for path in tmp_path.iterdir()} == {"file", "lock"}


def test_a_bucket_for_results_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")  # where nothing answers
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    refuse_wrong_settings(Operation(results="s3://my-bucket/results"))


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("S3BENCH_RESULTS", "gs://foo", "S3BENCH_RESULTS: results location 'gs://foo': give a folder"),
        ("S3BENCH_RESULTS", "{tmp}/file/results", "S3BENCH_RESULTS={tmp}/file/results: {tmp}/file is"),
        ("S3BENCH_STATE", "{tmp}/file", "S3BENCH_STATE={tmp}/file: {tmp}/file is no folder"),
        ("S3BENCH_LAB", "{tmp}/file", "S3BENCH_LAB={tmp}/file: {tmp}/file is no folder"),
        ("S3BENCH_LOCK", "{tmp}/none/lock", "S3BENCH_LOCK: {tmp}/none/lock: the lock of this host cannot be"),
        ("S3BENCH_LOCK", "{tmp}", "S3BENCH_LOCK: {tmp}: the lock of this host cannot be opened (Is a"),
        ("S3BENCH_ALERT_WEBHOOK", "nonsense", "S3BENCH_ALERT_WEBHOOK: this is no address"),
        ("S3BENCH_ALERT_WEBHOOK", "https://", "S3BENCH_ALERT_WEBHOOK: this is no address"),
        ("S3BENCH_ALERT_WEBHOOK", "http://host:port/", "S3BENCH_ALERT_WEBHOOK: this is no address"),
        ("S3BENCH_NIGHTY_SUITE", "lab", "S3BENCH_NIGHTY_SUITE is no setting: did you mean S3BENCH_NIGHTLY_S"),
        ("S3BENCH_SUITES", "{tmp}/none", "S3BENCH_SUITES: {tmp}/none: No such file"),
        ("S3BENCH_NIGHTLY_SUITE", "none", "S3BENCH_NIGHTLY_SUITE"),
    ],
)  # fmt: skip
def test_a_setting_that_is_wrong_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, says: str
) -> None:
    monkeypatch.setenv(variable, value.format(tmp=tmp_path))
    with pytest.raises(UserError) as refused:
        refuse_wrong_settings(Operation())
    assert str(refused.value).startswith(says.format(tmp=tmp_path))


def test_a_suite_without_targets_is_told_which_variables_give_them() -> None:
    with pytest.raises(UserError, match=r"--targets FILE, .*here S3BENCH_NIGHTLY_TARGETS=FILE is --targets"):
        refuse_wrong_settings(Operation(nightly_suite="e4-transfer-acceleration", nightly_in_lab=False))


def test_all_wrong_settings_are_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S3BENCH_LABB", "x")
    monkeypatch.setenv("S3BENCH_STATE", str(tmp_path / "file"))
    with pytest.raises(UserError, match=r"S3BENCH_LABB is no setting.*; S3BENCH_STATE=.*; S3BENCH_ALERT_WEB"):
        refuse_wrong_settings(Operation(alert_webhook="nonsense"))


@pytest.mark.usefixtures("suites")
def test_a_workers_host_need_not_know_what_a_night_measures() -> None:
    refuse_wrong_settings(Operation(nightly_suite="of-another-host"), is_night_ours=False)


def test_a_full_disk_is_told_before_the_server_starts_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "not" / "there" / "yet"
    refuse_full_disk(folder)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: Usage(10**9, 10**9, 10**6))
    with pytest.raises(ServerNotReadyError, match=rf"S3BENCH_DATA={folder}: no space left .*1 MB are free"):
        refuse_full_disk(folder)


def test_only_files_of_the_operators_own_folder_are_offered_and_the_rest_is_told(
    suites: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shipped = set(known_suites())
    (suites / "mine.yaml").write_text("name: mine\nconfigurations: {of-mine: {}}\n")
    (suites / "other.yaml").write_text("name: another\n")
    (suites / "broken.yaml").write_text("name: [\n")
    (suites / "nightly.yaml").write_text("name: nightly\n")
    (suites / "folder.yaml").mkdir()
    (suites / "link.yaml").symlink_to(suites / "nowhere")
    assert set(known_suites()) - shipped == {"mine", "other", "broken"}
    assert "of-mine" in known_configurations()
    say_troubles_of_suites()
    folder, link, nightly, other, *mistakes = capsys.readouterr().out.splitlines()
    assert f"{suites}/broken.yaml:2: this is no valid YAML: " in mistakes[0]
    not_offered = [line for line in mistakes if line.endswith("until it is mended and this started anew")]
    assert mistakes == not_offered, "a line for each mistake"
    told = {line.rpartition(": ")[2].split()[0] for line in mistakes}
    assert told == {"broken", "mine", "nightly", "other"}
    assert folder == f"S3BENCH_SUITES: {suites}/folder.yaml is no file that can be read: it is not offered"
    assert "link.yaml is no file that can be read" in link
    assert nightly == f"S3BENCH_SUITES: {suites}/nightly.yaml stands in for the suite nightly that ships"
    assert other.endswith("other.yaml calls itself another: it is chosen as other, and told as another")
