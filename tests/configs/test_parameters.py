"""The Prefect form shows every parameter with a title, a description and a place of its own."""

from configs.parameters import BenchmarkParameters


def test_every_parameter_is_explained_and_has_its_place() -> None:
    fields = BenchmarkParameters.model_json_schema()["properties"]
    assert all(field["title"] and field["description"] for field in fields.values())
    assert [field["position"] for field in fields.values()] == list(range(len(fields)))


def test_the_form_can_do_what_the_command_line_can() -> None:
    wanted = {"suite", "in_lab", "targets_file", "settings", "results", "only", "logs_from", "seed"}
    assert wanted < set(BenchmarkParameters.model_fields)
