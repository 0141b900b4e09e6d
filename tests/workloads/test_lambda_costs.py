"""What functions may cost is bounded, held to the caps, and told with where its price is from."""

import io
from decimal import Decimal

import pytest
from rich.console import Console

from configs.errors import UserError
from configs.loading import parse_suite
from configs.suite import Suite
from tasks.reports.plan_table import cost_lines, render_plan
from tasks.workloads.lambda_costs import lambda_bound
from tasks.workloads.plan import cost_of, plan_suite, refuse_above_cap

SUITE = """\
version: 1
name: in-lambda
blocks: 10
block_timeout_s: 100
max_cost_usd: null
targets:
  b: {kind: bucket, bucket: some-bucket, region: us-east-1}
venues:
  f: {kind: lambda, function: f, region: us-east-1, memory_mb: 1024, architecture: x86_64}
  unused: {kind: lambda, function: g, region: us-east-1, memory_mb: 10240, architecture: x86_64}
configurations:
  here: {access_path: {kind: boto3_api}, target: b}
  there: {access_path: {kind: boto3_api}, target: b, venue: f, clients: 4}
  program: {access_path: {kind: aws_cli}, target: b, venue: f}
workloads:
  write: {kind: blob_write, size: 64, iterations: 20, warmup: 0}
  up: {kind: file_upload, size: 64, iterations: 20, warmup: 0}
"""
INVOCATIONS = 10 * 4  # the program is skipped, and nothing runs in the other one
BOUND_USD = INVOCATIONS * (100 * Decimal("0.0000166667") + Decimal("0.20") / 10**6)


def suite_with(*changes: tuple[str, str]) -> Suite:
    text = SUITE
    for right, other in changes:
        assert right in text
        text = text.replace(right, other, 1)
    return parse_suite(text, "s.yaml")


def requests_usd(suite: Suite) -> Decimal:
    return cost_of(suite, plan_suite(suite)).usd


def test_every_invocation_is_charged_as_long_as_its_block_may_take() -> None:
    suite = suite_with()
    bound = lambda_bound(suite, plan_suite(suite).cells)
    assert (bound.usd, bound.unknown) == (BOUND_USD, ())
    longer = suite_with(("block_timeout_s: 100", "block_timeout_s: 5000"))
    most = lambda_bound(longer, plan_suite(longer).cells)
    assert most.usd == INVOCATIONS * (900 * Decimal("0.0000166667") + Decimal("0.20") / 10**6)


def test_the_bound_is_held_to_what_a_run_may_cost() -> None:
    suite = suite_with()
    whole = requests_usd(suite) + BOUND_USD
    refuse_above_cap(suite, float(whole) + 1e-6)
    with pytest.raises(UserError) as raised:
        refuse_above_cap(suite, float(whole) - 1e-6)
    assert f"would cost at most {whole:.2f} USD, of which {BOUND_USD:.2f} for Lambda" in str(raised.value)
    assert "which is above what this run may cost, --max-usd 0.0" in str(raised.value)


def test_the_smaller_one_of_two_caps_decides() -> None:
    capped = suite_with(("max_cost_usd: null", "max_cost_usd: 0.01"))
    with pytest.raises(UserError, match=r"above its cap max_cost_usd: 0\.01; raise the cap"):
        refuse_above_cap(capped, 5.0)
    with pytest.raises(UserError, match=r"above what this run may cost, --max-usd 0\.001 "):
        refuse_above_cap(capped, 0.001)


@pytest.mark.parametrize(
    ("change", "unknown"),
    [
        (("memory_mb: 1024, ", ""), "what Lambda charges for f, without its memory_mb"),
        ((", architecture: x86_64}", "}"), "what Lambda charges for f, without its memory_mb"),
        (
            ("function: f, region: us-east-1", "function: f, region: eu-west-9"),
            "price unknown for region eu-west-9, Lambda on x86_64",
        ),
    ],
)
def test_what_is_not_known_is_said_and_refused_under_a_cap_of_the_suite(
    change: tuple[str, str], unknown: str
) -> None:
    suite = suite_with(change)
    refuse_above_cap(suite, 5.0)
    assert f"; unknown: {unknown}" in cost_lines(suite, plan_suite(suite))[-1]
    with pytest.raises(UserError, match="cannot be held to: ") as raised:
        refuse_above_cap(suite_with(change, ("max_cost_usd: null", "max_cost_usd: 1")), 5.0)
    assert unknown in str(raised.value)


def test_the_plan_tells_the_bound_beside_the_estimate() -> None:
    suite = suite_with()
    (told,) = (line for line in cost_lines(suite, plan_suite(suite)) if line.startswith("cost: "))
    assert told.endswith(f"a month's storage, and at most {BOUND_USD:.4f} USD for Lambda")


@pytest.mark.parametrize(
    ("region", "told"),
    [
        ("us-east-1", "AWS Lambda pricing page, as commonly quoted, not checked, 2026-11-30"),
        ("eu-west-9", "not known"),
    ],
)
def test_the_plan_tells_where_the_price_of_lambda_is_from(region: str, told: str) -> None:
    suite = suite_with(("function: f, region: us-east-1", f"function: f, region: {region}"))
    shown = io.StringIO()
    render_plan(suite, plan_suite(suite), Console(file=shown, width=200))
    assert f"prices of {region}, Lambda on x86_64: {told}" in shown.getvalue().splitlines()


def test_a_lab_charges_nothing() -> None:
    lab = suite_with(("max_cost_usd: null", "lab: true"), ("some-bucket", "s3bench-lab"))
    assert lambda_bound(lab, plan_suite(lab).cells).usd == 0
    refuse_above_cap(lab, 0.000001)
