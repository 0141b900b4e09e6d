"""What a person sees and does in the UI: the form, wrong values, a run, and what it shows."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from configs.choices import known_suites
from configs.parameters import BenchmarkParameters
from tests.served import Served, served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

SUITE = """\
name: by-hand
lab: true
blocks: 3
targets:
  bucket: {kind: bucket, bucket: s3bench-lab, prefix: s3bench}
  mount: {kind: mount, shows: bucket, fstype: nfs4}
configurations:
  boto3-lab: {access_path: {kind: boto3_api}, target: bucket}
  rust-lab: {access_path: {kind: obstore}, target: bucket}
  lying-lab: {access_path: {kind: mount_io}, target: mount}
datasets:
  blobs: {kind: blobs, size: 64 KiB, unique_count: 1}
workloads:
  read: {kind: blob_read, dataset: blobs, iterations: 330, warmup: 30}
  write: {kind: blob_write, size: 64 KiB, iterations: 330, warmup: 30}
"""
SCREENSHOTS = Path(__file__).parent / "screenshots"
TITLES = [field.title for field in BenchmarkParameters.model_fields.values()]


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("browser")) as host:
        (host.suites / "by-hand.yaml").write_text(SUITE, encoding="utf-8")
        host.start()
        yield host


def keep(page: Page, name: str) -> None:
    """Keep a picture of all of the page, which scrolls within itself."""
    height = page.evaluate("Math.max(...[...document.querySelectorAll('*')].map(one => one.scrollHeight))")
    page.set_viewport_size({"width": 1280, "height": min(height, 12_000)})
    page.wait_for_timeout(500)  # it is drawn anew
    page.screenshot(path=SCREENSHOTS / f"{name}.png")
    page.set_viewport_size({"width": 1280, "height": 1600})


def open_form(page: Page, host: Served) -> None:
    """From the first page on, as a person goes."""
    page.goto(host.ui_url)
    page.locator(".p-context-sidebar").get_by_text("Deployments").click()
    page.locator("a[href*='/deployments/deployment/']").get_by_text("benchmark", exact=True).first.click()
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_text("Custom run").click()
    expect(field(page, "Suite")).to_be_visible()


def field(page: Page, title: str) -> Locator:
    """The field of the form that has this title."""
    label = re.compile(rf"^{re.escape(title)}( \(Optional\))?$")
    labelled = page.locator(".schema-form-property__label", has_text=label)
    return page.locator(".schema-form-property", has=labelled).last


def choices(page: Page, title: str) -> list[str]:
    """Open the list of a field; its choices."""
    field(page, title).locator(".p-select-button__icon").click()
    expect(page.locator(".p-select-option").first).to_be_visible()
    return page.locator(".p-select-option").all_inner_texts()


def choose(page: Page, title: str, choice: str) -> None:
    choices(page, title)
    page.locator(".p-select-option", has_text=re.compile(f"^{re.escape(choice)}$")).click()
    page.keyboard.press("Escape")


def submit(page: Page) -> str:
    """Send the form; the id of the flow run that it made."""
    with page.expect_response(re.compile("/create_flow_run$")) as answer:
        page.get_by_role("button", name="Submit").click()
    made: dict[str, str] = answer.value.json()
    return made["id"]


def test_every_field_has_its_title_in_order_and_none_is_a_raw_editor(page: Page, host: Served) -> None:
    open_form(page, host)
    keep(page, "form")
    labels = page.locator(".schema-form-property__label").all_inner_texts()
    in_order = sorted(
        BenchmarkParameters.model_json_schema()["properties"].values(), key=lambda one: one["position"]
    )
    assert [label.removesuffix(" (Optional)") for label in labels] == [
        "parameters",
        *(one["title"] for one in in_order),
    ]
    assert all(TITLES)
    assert page.locator("[class*=json-input], [class*=code-input], .cm-editor").count() == 0
    described = page.locator(".schema-form-property__description").all_inner_texts()
    assert len(described) == len(labels)
    assert all(text.strip() for text in described)
    assert choices(page, "Suite") == sorted({*known_suites(), "by-hand"})
    keep(page, "form-suites")
    page.keyboard.press("Escape")
    assert {"boto3-lab", "rust-lab", "lying-lab"} <= set(choices(page, "Only these configurations"))


def test_a_value_out_of_its_bounds_is_refused_with_the_name_of_its_field(page: Page, host: Served) -> None:
    open_form(page, host)
    choose(page, "Suite", "by-hand")
    field(page, "Wait at most, in minutes").locator("input").fill("99999")
    before = len(host.ask("flow_runs", flows={"name": {"any_": ["benchmark"]}}))
    page.get_by_role("button", name="Submit").click()
    refusal = page.get_by_text("parameters.wait_at_most_minutes").first
    expect(refusal).to_contain_text("99999 is greater than the maximum of 1440")
    keep(page, "refused")
    assert len(host.ask("flow_runs", flows={"name": {"any_": ["benchmark"]}})) == before


def test_a_configuration_of_another_suite_fails_at_once_and_is_named(page: Page, host: Served) -> None:
    open_form(page, host)
    choose(page, "Suite", "by-hand")
    choose(page, "Only these configurations", "aws-cli")
    flow_run_id = submit(page)
    run = host.ended(flow_run_id)
    assert run["state_type"] == "FAILED"
    host.lines(flow_run_id)  # they are there by now
    page.goto(f"{host.ui_url}/runs/flow-run/{flow_run_id}")
    message = "no configuration aws-cli in suite by-hand: it has boto3-lab, rust-lab, lying-lab"
    expect(page.get_by_text(message).first).to_be_visible()
    keep(page, "failed-at-once")
    assert not host.lab.exists()


def test_a_run_that_was_filled_in_by_hand_shows_its_numbers(page: Page, host: Served) -> None:
    open_form(page, host)
    choose(page, "Suite", "by-hand")
    flow_run_id = submit(page)
    page.goto(f"{host.ui_url}/runs/flow-run/{flow_run_id}")
    host.wait(lambda: host.flow_run(flow_run_id)["state_type"] == "RUNNING", 60, "the start of the run")
    host.wait(lambda: host.ask("artifacts", artifacts=of_run(flow_run_id)), 60, "its progress")
    page.reload()
    page.get_by_text("Artifacts", exact=True).click()
    expect(page.get_by_text("s3bench-progress").first).to_be_visible()
    keep(page, "running")
    run = host.ended(flow_run_id)
    if "skipped" in run["state"]["message"]:
        pytest.skip("no mount can be made here")
    assert run["state_name"] == "CellsFailed"

    page.reload()
    expect(page.get_by_text("CellsFailed").first).to_be_visible()
    keep(page, "run")
    see_summary(page, host, flow_run_id)
    see_others(page, host, flow_run_id)


def of_run(flow_run_id: str) -> dict[str, object]:
    return {"flow_run_id": {"any_": [flow_run_id]}}


def see_summary(page: Page, host: Served, flow_run_id: str) -> None:
    """The figures are those that the command prints, and the pictures are drawn."""
    artifact = host.artifact(flow_run_id, "s3bench-summary")
    page.goto(f"{host.ui_url}/artifacts/artifact/{artifact['id']}")
    expect(page.get_by_text("Each workload in a line")).to_be_visible()
    printed = host.s3bench("report")
    lines = [sorted(re.split(r"\s{2,}", line.strip())) for line in printed.splitlines()]
    rows = [row.locator("td").all_inner_texts() for row in page.locator("tr:has(td)").all()]
    figures = [row for row in rows if row[0] in {"read", "write", "boto3-lab", "rust-lab"}]
    assert len(figures) > 10
    assert [row for row in figures if sorted(row) not in lines] == []
    images = page.locator("img[src^='data:image/svg']")
    assert images.count() >= 4
    assert all(
        image.evaluate("image => image.complete && image.naturalWidth > 100") for image in images.all()
    )
    keep(page, "summary")


def see_others(page: Page, host: Served, flow_run_id: str) -> None:
    """The progress at its end, what failed and why, and where the files are."""
    for key, told in (
        ("s3bench-progress", "100%"),
        ("s3bench-skipped", "the target says nfs4"),
        ("s3bench-files", "quantile_disc"),
    ):
        artifact = host.artifact(flow_run_id, key)
        page.goto(f"{host.ui_url}/artifacts/artifact/{artifact['id']}")
        expect(page.get_by_text(told).first).to_be_visible()
        keep(page, key)
    page.goto(f"{host.ui_url}/artifacts/key/s3bench-summary")
    expect(page.get_by_text("s3bench-summary").first).to_be_visible()
    keep(page, "history")
