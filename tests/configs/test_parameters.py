"""The Prefect form shows every parameter with a title, a description and a place of its own."""

from pathlib import Path

import pytest

from configs.base import Model
from configs.choices import SHIPPED_SUITES, known_configurations, known_suites
from configs.parameters import (
    BenchmarkParameters,
    CompareParameters,
    HousekeepingParameters,
    PrepareParameters,
)

EVERY_FLOW = (BenchmarkParameters, PrepareParameters, CompareParameters, HousekeepingParameters)


@pytest.mark.parametrize("parameters", EVERY_FLOW)
def test_every_parameter_is_explained_has_its_place_and_a_default(parameters: type[Model]) -> None:
    fields = parameters.model_json_schema()["properties"]
    assert all(field["title"] and field["description"] for field in fields.values())
    assert len({field["position"] for field in fields.values()}) == len(fields)
    parameters()


@pytest.mark.parametrize("parameters", EVERY_FLOW)
def test_no_field_is_drawn_as_raw_json(parameters: type[Model]) -> None:
    # The form draws a JSON editor for mappings, for unions of objects, and for what has no type.
    for name, field in parameters.model_json_schema()["properties"].items():
        kinds = [part.get("type") for part in field.get("anyOf", [field])]
        assert set(kinds) <= {"string", "integer", "number", "boolean", "array", "null"}, name
        if "array" in kinds:
            assert field["items"]["type"] == "string", name


def test_suites_and_configurations_are_choices_the_operators_own_among_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = (SHIPPED_SUITES / "lab.yaml").read_text("utf-8").replace("  boto3-lab:", "  our-way:")
    (tmp_path / "ours.yaml").write_text(ours.replace("baseline: boto3-lab", ""), encoding="utf-8")
    (tmp_path / "wrong.yaml").write_text("configurations: {their-way: {}}", encoding="utf-8")
    (tmp_path / "broken.yaml").write_text("configurations: [", encoding="utf-8")
    monkeypatch.setenv("HOME", str(tmp_path.parent))
    monkeypatch.setenv("S3BENCH_SUITES", f"~/{tmp_path.name}")
    fields = BenchmarkParameters.model_json_schema()["properties"]
    offered = set(fields["suite"]["enum"])
    assert offered == set(known_suites()) - {"broken", "wrong"}, "what cannot run is no choice"
    assert {"lab", "e1-cloudtrail-s3-files", "nightly", "ours"} <= offered
    assert fields["only"]["items"]["enum"] == list(known_configurations())
    assert {"boto3-lab", "mount-lab", "s3_files", "our-way"} <= set(known_configurations())


@pytest.mark.parametrize(
    "content",
    ["since: 2026-13-45", "a: !!int x", "a: !!timestamp x", "a: " + "[" * 700, "\udcff", "- 1", ""],
)
def test_no_file_of_the_operators_takes_the_form_away(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad.yaml").write_bytes(content.encode("utf-8", "surrogateescape"))
    monkeypatch.setenv("S3BENCH_SUITES", str(tmp_path))
    fields = BenchmarkParameters.model_json_schema()["properties"]
    assert "lab" in fields["suite"]["enum"]
    assert "bad" not in fields["suite"]["enum"]
    assert "boto3-lab" in fields["only"]["items"]["enum"]


def test_the_form_can_do_what_the_command_line_can() -> None:
    wanted = {"suite", "in_lab", "targets_file", "settings", "results", "only", "logs_from", "seed"}
    assert wanted < set(BenchmarkParameters.model_fields)


def test_a_host_that_is_busy_is_waited_for_or_not() -> None:
    assert BenchmarkParameters(wait_at_most_minutes=5).wait_for_host_s == 300
    assert BenchmarkParameters(when_busy="refuse").wait_for_host_s == 0


def test_a_run_by_hand_that_names_a_suite_alone_keeps_what_the_operator_has_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_here = {
        "S3BENCH_RESULTS": "s3://my-bucket/results",
        "S3BENCH_LAB": "/var/lib/lab",
        "S3BENCH_NIGHTLY_CRON": "5 3 * * 1-5",
        "S3BENCH_TIMEZONE": "Europe/Berlin",
    }
    for name, value in set_here.items():
        monkeypatch.setenv(name, value)
    run, history = BenchmarkParameters(suite="lab"), CompareParameters(nights=30)
    assert (run.results, run.lab_folder) == ("s3://my-bucket/results", "/var/lib/lab")
    assert (history.results, history.cron, history.timezone) == (
        "s3://my-bucket/results",
        "5 3 * * 1-5",
        "Europe/Berlin",
    )
    shown = BenchmarkParameters.model_json_schema()["properties"]
    assert (shown["results"]["default"], shown["lab_folder"]["default"]) == (run.results, run.lab_folder)
    monkeypatch.setenv("S3BENCH_RESULTS", "")
    assert BenchmarkParameters().results == "results"
