"""The AWS-shaped lab's delays are known: does a run find them again?"""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from configs.lab_delays import DEFAULT_DELAYS, Delays, load_delays

Command = Callable[..., "subprocess.CompletedProcess[str]"]

HOSTS = {
    "regional": "s3bench-lab.s3.ap-northeast-1.amazonaws.com",
    "accelerated": "s3bench-lab.s3-accelerate.amazonaws.com",
    "express-same-zone": "s3bench-lab--apne1-az4--x-s3.s3express-apne1-az4.ap-northeast-1.amazonaws.com",
    "express-other-zone": "s3bench-lab--apne1-az1--x-s3.s3express-apne1-az1.ap-northeast-1.amazonaws.com",
}
OTHER_WINNER = """\
delays:
  - {hosts: "*.s3express-apne1-az4.*", milliseconds: 200}
  - {hosts: "*", milliseconds: 20}
"""
"""Far apart, so that a busy machine does not hide the difference: 5 % of it are 9 ms."""


def p50_ms(results: Path) -> dict[tuple[str, str], float]:
    """By workload and configuration, straight from the files."""
    samples = duckdb.read_parquet(f"{results}/v1/samples/*/*/*.parquet", hive_partitioning=True)
    counted = samples.filter("outcome = 'ok' AND NOT warmup")
    rows = counted.aggregate("workload_id, config, quantile_disc(total_ns, 0.5) / 1e6").fetchall()
    return {(workload, config): p50 for workload, config, p50 in rows}


def delays_counted(workload: str, config: str) -> int:
    """How often a host's delay counts in one operation."""
    if not workload.startswith("first"):
        return 1
    return (
        4 if config.startswith("express") else 3
    )  # connection, TLS, the session of a directory bucket, request


def refuse_other_answers(results: Path, report: str, delays: Delays) -> None:
    measured = p50_ms(results)
    configs = sorted({config for _, config in measured})
    for workload in sorted({workload for workload, _ in measured}):
        added = {config: delays.of(HOSTS[config]) * delays_counted(workload, config) for config in configs}
        for config in configs:
            expected = added[config] - added["regional"]
            found = measured[workload, config] - measured[workload, "regional"]
            assert found == pytest.approx(expected, rel=0.05, abs=1.0), (workload, config)
        fastest = min((measured[workload, config], config) for config in configs)[1]
        assert fastest == min((added[config], config) for config in configs)[1]
        assert known_answers(report, workload) == {
            config: "yes" for config in configs if config != "regional"
        }
        assert verdicts(report, workload) == {
            config: "faster" if added[config] < added["regional"] else "slower"
            for config in configs
            if config != "regional"
        }


def verdicts(report: str, workload: str) -> dict[str, str]:
    """What the report's ratios of whole operations say, relative to `regional`."""
    section = re.split(rf"^Workload {workload} ", report, flags=re.MULTILINE)[1]
    table = re.split(r"^Time of ", section, flags=re.MULTILINE)[1].split("\n\n")[0]
    return dict(re.findall(r"^(\S+) .*\), (faster|slower|no difference)", table, re.MULTILINE))


def known_answers(report: str, workload: str) -> dict[str, str]:
    """What the report's own table says of each configuration, beside `regional`."""
    section = re.split(r"^Known answers ", report, flags=re.MULTILINE)[1].split("\nWorkload ")[0]
    return dict(re.findall(rf"^(\S+) +regional +{workload} .* (yes|NO) *$", section, re.MULTILINE))


@pytest.mark.slow
def test_a_run_finds_delays_that_were_chosen_for_it_and_names_the_winner(
    s3bench: Command, tmp_path: Path, prefect_api_url: str
) -> None:
    chosen = tmp_path / "delays.yaml"
    chosen.write_text(OTHER_WINNER)
    up = s3bench("lab", "up", "--aws-shaped", "--delays", str(chosen))
    assert up.returncode == 0, up.stderr
    settings = [
        # Of two blocks t is 12.7: noise of a fifth would then hide that one takes five times as long.
        "blocks=3",
        "workloads.first-64kib=null",
        "workloads.write-64kib=null",
        "workloads.read-64kib.iterations=12",
        "workloads.read-64kib.warmup=3",
    ]
    options = [word for setting in settings for word in ("--set", setting)]
    only = ["--only", "regional", "express-same-zone"]
    answer = s3bench("run", "known-answers", *only, *options, PREFECT_API_URL=prefect_api_url, COLUMNS="200")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert len(p50_ms(tmp_path / "results")) == 2
    refuse_other_answers(tmp_path / "results", answer.stdout, load_delays(chosen))


@pytest.mark.slow
def test_the_suite_that_ships_finds_the_delays_that_ship(
    s3bench: Command, tmp_path: Path, prefect_api_url: str
) -> None:
    answer = s3bench("run", "known-answers", PREFECT_API_URL=prefect_api_url, COLUMNS="200")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert len(p50_ms(tmp_path / "results")) == 3 * len(HOSTS)
    refuse_other_answers(tmp_path / "results", answer.stdout, load_delays(DEFAULT_DELAYS))
