"""The units start what there is, and their environment file sets what somebody reads."""

import configparser
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from deployments.catalogue import Operation

FOLDER = Path(__file__).resolve().parents[2] / "deployments" / "systemd"
UNITS = sorted(FOLDER.glob("*.service"))
PYTHON = "/opt/s3-access-benchmark/.venv/bin/python"
READ_ELSEWHERE = {"S3BENCH_STATE", "S3BENCH_LOCK", "S3BENCH_SUITES"}
OF_PREFECT = {
    "PREFECT_API_URL",
    "PREFECT_API_AUTH_STRING",
    "PREFECT_SERVER_API_AUTH_STRING",
    "PREFECT_SERVER_DATABASE_CONNECTION_URL",
}


def settings_of(unit: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # systemd's keys have capitals
    parser.read(unit)
    return parser


def test_there_is_a_unit_for_the_server_for_serve_and_for_a_worker() -> None:
    assert [unit.name for unit in UNITS] == [
        "s3bench-serve.service",
        "s3bench-server.service",
        "s3bench-worker.service",
    ]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_starts_modules_that_exist(unit: Path) -> None:
    service = settings_of(unit)["Service"]
    for key in ("ExecStart", "ExecStopPost"):
        if key in service:
            python, flag, module = service[key].removeprefix("-").split()
            assert (python, flag) == (PYTHON, "-m")
            assert find_spec(module) is not None


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_is_started_again_unless_its_settings_are_bad(unit: Path) -> None:
    service = settings_of(unit)["Service"]
    assert service["Restart"] == "always"
    assert service["RestartPreventExitStatus"] == "2"


@pytest.mark.parametrize("unit", ["s3bench-serve.service", "s3bench-worker.service"])
def test_what_mounts_has_nothing_set_that_keeps_it_from_mounting_or_hides_the_lock(unit: str) -> None:
    service = settings_of(FOLDER / unit)["Service"]
    forbidden = {
        "NoNewPrivileges",
        "CapabilityBoundingSet",
        "SystemCallFilter",
        "PrivateDevices",
        "PrivateTmp",
    }
    assert not {
        key for key in service if key in forbidden or key.startswith(("Protect", "Restrict", "Private"))
    } - {"RestartPreventExitStatus"}


def test_the_environment_file_sets_only_what_is_read() -> None:
    names = re.findall(r"^#?([A-Z0-9_]+)=", (FOLDER / "s3bench.env.example").read_text(), re.MULTILINE)
    settings = {f"S3BENCH_{name.upper()}" for name in Operation.model_fields}
    assert set(names) - {"HOME"} <= settings | READ_ELSEWHERE | OF_PREFECT
    assert settings <= set(names), "every setting of an operator stands in the example"
    assert len(names) == len(set(names))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_finds_nothing_wrong(unit: Path, tmp_path: Path) -> None:
    for each in UNITS:  # they name each other
        (tmp_path / each.name).write_text(each.read_text().replace(PYTHON, sys.executable))
    verified = subprocess.run(
        [str(shutil.which("systemd-analyze")), "verify", tmp_path / unit.name],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (verified.returncode, verified.stderr) == (0, "")
