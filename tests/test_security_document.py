"""What SECURITY.md says is true of the code, wherever a test can tell."""

import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from configs.access_paths import AwsCli, S5cmd
from configs.parameters import HousekeepingParameters
from flows.command_line import app
from flows.suite_options import MAX_USD
from tasks.lab.prefect_server import NO_TELEMETRY
from tasks.venues.cluster import of_our_own
from tasks.venues.lambda_wire import BlockEvent
from tasks.venues.local import LocalVenue
from tests.emulated_stacks import templates

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
CODED = re.findall(r"`([^`\n]+)`", TEXT)


def told_actions(template: str) -> dict[str, set[str]]:
    """The actions of a template's statements, as the document has them."""
    table = TEXT.partition(f"| statement of `{template}.yaml` |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \|", table, re.MULTILINE)
    return {statement: set(re.findall(r"`([a-z0-9]+:\w+)`", actions)) for statement, actions in rows}


def statements(template: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for resource in template["Resources"].values():
        properties = resource["Properties"]
        documents = [one["PolicyDocument"] for one in properties.get("Policies", [])]
        if resource["Type"] == "AWS::IAM::Policy":
            documents.append(properties["PolicyDocument"])
        found += [one for document in documents for one in document["Statement"]]
    return found


@pytest.mark.parametrize("name", ["runner", "functions"])
def test_the_actions_that_are_told_are_those_that_the_roles_allow(name: str) -> None:
    allowed: dict[str, set[str]] = {}
    for one in statements(templates()[name]):
        if one["Effect"] == "Allow":
            actions = one["Action"]
            allowed.setdefault(one["Sid"], set()).update([actions] if isinstance(actions, str) else actions)
    assert told_actions(name) == allowed


def test_objects_are_allowed_below_the_prefixes_that_are_told_and_nowhere_else() -> None:
    below = {
        "Objects": "/s3bench/*",
        "DirectReads": "/s3bench/*",
        "Results": "/results/*",
        "Source": "/${SourceKey}",
    }
    seen = set()
    for name in ("runner", "functions"):
        for one in statements(templates()[name]):
            actions = [one["Action"]] if isinstance(one["Action"], str) else one["Action"]
            if one["Effect"] == "Allow" and any("Object" in action for action in actions):
                resources = one["Resource"] if isinstance(one["Resource"], list) else [one["Resource"]]
                texts = [item["Fn::Sub"] for item in resources]
                texts = [text if isinstance(text, str) else text[0] for text in texts]
                assert all(text.endswith(below[one["Sid"]]) for text in texts), one["Sid"]
                seen.add(one["Sid"])
    assert seen == set(below)


def test_functions_list_below_the_prefix_alone_and_their_code_may_not_touch_the_network() -> None:
    by_sid = {one["Sid"]: one for one in statements(templates()["functions"])}
    assert by_sid["Lists"]["Condition"] == {"StringLike": {"s3:prefix": "s3bench/*"}}
    assert (by_sid["NotByTheCode"]["Effect"], by_sid["NotByTheCode"]["Action"]) == ("Deny", "ec2:*")


def test_what_leaks_asks_for_is_told() -> None:
    code = (ROOT / "tasks" / "stacks" / "leaks.py").read_text(encoding="utf-8")
    paragraph = TEXT.partition("`s3bench leaks`")[2].partition("\n\n")[0]
    asked = set(re.findall(r"\b(?:s3|tag|s3express|s3files):[A-Z]\w+", code))
    assert asked == set(re.findall(r"`([a-z0-9]+:[A-Z]\w+)`", paragraph))


def test_no_template_role_or_code_of_ours_changes_a_bucket() -> None:
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for folder in ("configs", "deployments", "flows", "tasks")
        for path in (ROOT / folder).rglob("*.py")
    )
    assert not re.findall(r"\.(?:create_bucket|delete_bucket\w*|put_bucket_\w+|put_public_\w+)\(", code)


def test_every_file_that_is_named_exists() -> None:
    named = {one for one in CODED if re.fullmatch(r"\.?[a-z_]+/[\w./-]*", one)} - {"s3bench/", "results/"}
    assert named >= {"deployments/cloudformation/", "tests/flows/test_permissions.py", "requirements/"}
    assert [one for one in named if not (ROOT / one).exists()] == []


def test_every_command_option_and_variable_that_is_named_exists() -> None:
    commands = {one.split()[1] for one in CODED if one.startswith("s3bench ")}
    assert commands == {"leaks", "plan", "doctor", "run"}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in (one.split()[1] for one in CODED if one.startswith("make ")):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for command in commands:
        assert CliRunner().invoke(app, [command, "--help"]).exit_code == 0
    run_help = CliRunner().invoke(app, ["run", "--help"], terminal_width=200).output
    options = {one for one in CODED if one.startswith("--")}
    assert options == {"--max-usd", "--dask-scheduler"}
    assert all(option in run_help for option in options)
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "deployments").rglob("*.*")
        if path.is_file() and path.suffix != ".pyc"
    )
    for variable in (one for one in CODED if re.fullmatch(r"[A-Z][A-Z0-9_]{8,}", one)):
        assert variable in code, variable


def test_limits_and_defaults_are_as_told() -> None:
    assert f"`--max-usd` ({MAX_USD:g})" in TEXT
    assert HousekeepingParameters(suite="lab").unused_datasets != "remove"
    assert {"executable"} <= AwsCli.model_fields.keys() & S5cmd.model_fields.keys()
    assert set(NO_TELEMETRY) <= set(CODED)


def test_a_function_is_sent_a_block_and_where_to_answer_and_no_environment() -> None:
    assert set(BlockEvent.model_fields) == {
        *("s3bench", "block", "start_at_us", "answer", "timeout_s", "most_inline_bytes"),
    }


def test_a_measuring_process_does_not_get_prefects_password() -> None:
    venue = LocalVenue({"PREFECT_API_AUTH_STRING": "user:password", "AWS_PROFILE": "mine"}, timeout_s=1)
    assert venue._environment == {"AWS_PROFILE": "mine"}


def test_a_cluster_of_a_runs_own_is_on_loopback_by_tls() -> None:
    settings = of_our_own(2)
    assert (settings["host"], settings["security"]) == ("127.0.0.1", True)
    assert settings["scheduler_kwargs"]["dashboard"] is False


def test_it_is_one_page_and_names_no_person() -> None:
    assert len(TEXT.splitlines()) <= 100
    assert "@" not in TEXT
