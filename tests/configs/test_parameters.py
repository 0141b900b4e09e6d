"""The Prefect form shows every parameter with a title, a description and a place of its own."""

from pathlib import Path

import pytest

from configs.base import Model
from configs.choices import known_configurations, known_suites
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
    (tmp_path / "ours.yaml").write_text("configurations: {our-way: {}}", encoding="utf-8")
    (tmp_path / "broken.yaml").write_text("configurations: [", encoding="utf-8")
    monkeypatch.setenv("S3BENCH_SUITES", str(tmp_path))
    fields = BenchmarkParameters.model_json_schema()["properties"]
    assert fields["suite"]["enum"] == list(known_suites())
    assert {"lab", "e1-cloudtrail-s3-files", "ours", "broken"} <= set(known_suites())
    assert fields["only"]["items"]["enum"] == list(known_configurations())
    assert {"boto3-lab", "mount-lab", "s3_files", "our-way"} <= set(known_configurations())


def test_the_form_can_do_what_the_command_line_can() -> None:
    wanted = {"suite", "in_lab", "targets_file", "settings", "results", "only", "logs_from", "seed"}
    assert wanted < set(BenchmarkParameters.model_fields)


def test_a_host_that_is_busy_is_waited_for_or_not() -> None:
    assert BenchmarkParameters(wait_at_most_minutes=5).wait_for_host_s == 300
    assert BenchmarkParameters(when_busy="refuse").wait_for_host_s == 0
