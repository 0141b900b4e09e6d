"""What is deployed is what the flows take, and an operator's mistakes are found before anything starts."""

from importlib import import_module
from pathlib import Path

import pytest
from pydantic import ValidationError

from configs.errors import UserError
from deployments.catalogue import Operation, deployments, refuse_unknown_suite

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for field in Operation.model_fields:
        monkeypatch.delenv(f"S3BENCH_{field.upper()}", raising=False)


def test_every_deployment_names_a_flow_of_its_own_name_that_takes_its_parameters() -> None:
    for deployed in deployments(Operation()):
        found = getattr(import_module(deployed.module), deployed.function)
        assert found.name == deployed.name
        assert (ROOT / deployed.entrypoint.partition(":")[0]).is_file()
        taken = found.validate_parameters(deployed.default_parameters)["parameters"]
        assert taken == deployed.parameters


def test_one_deployment_alone_measures_on_a_host() -> None:
    # The limits of two deployments do not exclude each other.
    assert [one.name for one in deployments(Operation()) if one.function == "benchmark"] == ["benchmark"]


def test_every_schedule_has_a_slug_of_its_own_and_the_operators_time_zone() -> None:
    planned = [plan for one in deployments(Operation(timezone="Europe/Berlin")) for plan in one.schedules]
    assert [plan.slug for plan in planned] == ["nightly", "every-morning", "every-sunday"]
    assert {plan.timezone for plan in planned} == {"Europe/Berlin"}


def test_the_history_looks_for_the_nights_of_the_nights_own_schedule() -> None:
    benchmark, _, history, _ = deployments(Operation(nightly_cron="5 3 * * 1-5", timezone="Asia/Tokyo"))
    (night,) = benchmark.schedules
    wanted = {"cron": night.cron, "timezone": night.timezone, "schedule": night.slug}
    assert wanted.items() <= history.parameters.model_dump().items()


def test_the_nightly_suite_runs_in_the_lab_as_it_is_shipped() -> None:
    refuse_unknown_suite(Operation())


@pytest.mark.parametrize(
    ("setting", "value", "says"),
    [
        ("port", "abc", "valid integer"),
        ("nightly_cron", "nonsense", "five fields"),
        ("nightly_cron", "0 30 2 * * *", "five fields"),
        ("compare_cron", "61 * * * *", "Bad minute"),
        ("housekeeping_cron", "0 0 31 2 *", "day"),
        ("timezone", "Mars/X", "no such time zone"),
        ("timezone", "../../etc/passwd", "no such time zone"),
        ("timezone", "Europe", "no such time zone"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(
    setting: str, value: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"S3BENCH_{setting.upper()}", value)
    with pytest.raises(ValidationError, match=says) as refused:
        Operation()
    assert refused.value.errors()[0]["loc"] == (setting,)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"nightly_suite": "unknown"}, "S3BENCH_NIGHTLY_SUITE.*unknown: no such suite"),
        ({"nightly_in_lab": False}, "S3BENCH_NIGHTLY_SUITE.*targets.bucket.bucket: this key is missing"),
        (
            {"nightly_targets": "/nowhere.yaml", "nightly_in_lab": False},
            "S3BENCH_NIGHTLY_TARGETS.*/nowhere.yaml",
        ),
        (
            {"nightly_targets": "ours.yaml"},
            "S3BENCH_NIGHTLY_TARGETS=ours.yaml: .*set S3BENCH_NIGHTLY_IN_LAB=false",
        ),
    ],
)
def test_a_night_that_cannot_run_is_refused_while_somebody_is_there(
    settings: dict[str, object], says: str
) -> None:
    with pytest.raises(UserError, match=says):
        refuse_unknown_suite(Operation.model_validate(settings))


def test_a_missing_folder_of_suites_is_refused_while_somebody_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("S3BENCH_SUITES", "~/suites")
    with pytest.raises(UserError, match=rf"S3BENCH_SUITES: {tmp_path}/suites: No such file"):
        refuse_unknown_suite(Operation())
    (tmp_path / "suites").mkdir()
    refuse_unknown_suite(Operation())


@pytest.mark.parametrize(
    ("cron", "hours"),
    [
        ("30 2 * * *", 24),
        ("5 3 * * 1-5", 3 * 24),
        ("0 2 * * 0", 7 * 24),
        ("0 2 1 * *", 31 * 24),
        ("0 0 29 2 *", (4 * 365 + 1) * 24),
        ("*/30 * * * *", 0.5),
    ],
)
def test_the_dead_mans_switch_waits_for_the_longest_pause_of_the_nights_own_schedule(
    cron: str, hours: float
) -> None:
    late_and_run_hours = 3 + 2
    assert Operation(nightly_cron=cron).nights_apart_s == (hours + late_and_run_hours) * 3600
    assert Operation(nightly_cron=cron, nights_apart_s=60).nights_apart_s == 60
