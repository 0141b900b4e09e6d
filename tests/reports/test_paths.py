"""Two configurations against each other as a document, and all of a run in one matrix."""

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from rich.console import Console

from configs.errors import UserError
from configs.run_record import CellRecord, RunIdentity, dt_of
from tasks.reports.document import Document, Section, Table
from tasks.reports.path_nights import paths_of_nights
from tasks.reports.paths_section import paths_document, who_wins
from tasks.reports.paths_view import paths_of_run
from tasks.reports.run_sections import document
from tasks.reports.terminal import render_document
from tasks.reports.view import Report, build_report
from tasks.results.store import Store, open_store
from tasks.results.writer import write_nightly, write_run
from tasks.stats.summary_types import Distribution, Quantile, Summary

if TYPE_CHECKING:
    from conftest import Row, Run

FIRST = datetime(2026, 1, 1, 2, 30, tzinfo=UTC)
CONFIGS = ("sdk", "crt")


def reported(run: "Run") -> Report:
    return build_report(run.record, run.record.run_id, run.samples)


def compared(run: "Run", *workload_ids: str, config_ids: tuple[str, str] = CONFIGS) -> Document:
    return paths_document(paths_of_run(reported(run), config_ids, workload_ids))


def section(shown: Document, heading: str) -> Section:
    (found,) = (one for one in shown.sections if one.heading == heading)
    return found


def table_of(shown: Document, heading: str, place: int = 0) -> Table:
    return section(shown, heading).tables[place]


def with_reads(run: "Run", count: int = 400, **times_ms: float) -> "Run":
    """Reads of every configuration by name: `sdk=10` are so many of 10 ms each."""
    run.rows = [
        row
        for config_id, time_ms in times_ms.items()
        for row in run.operations(config_id, "read", "read", run.many(time_ms, count), size_bytes=1000)
    ]
    run.with_cells()
    return run


def test_every_statistic_has_both_figures_with_n_the_ratio_and_the_winners_name(run: "Run") -> None:
    shown = compared(with_reads(run, sdk=20, crt=10))
    assert shown.title == "sdk against crt"
    table = table_of(shown, "Workload read")
    assert table.title == "Time of one read, ms; 5 blocks that both have"
    assert table.header == ("Statistic", "sdk", "n", "crt", "n", "ratio (95 % interval)", "verdict", "blocks")
    assert table.rows == tuple(
        (name, "20.0", "400", "10.0", "400", "2.00 (2.00 to 2.00)", "crt faster", "5")
        for name in ("p50", "p90", "p99", "mean")
    )
    assert ("Ratio", "sdk by crt: below 1, sdk is faster") in shown.facts


def test_a_quantile_that_its_n_does_not_support_is_a_bound_and_has_no_ratio(run: "Run") -> None:
    rows = table_of(compared(with_reads(run, 100, sdk=20, crt=10)), "Workload read").rows
    by_name = {row[0]: row[1:] for row in rows}
    assert by_name["p99"] == (
        "≥ 20.0",
        "100",
        "≥ 10.0",
        "100",
        "–",
        "no ratio: p99 needs 368 operations a side, there are 100",
        "–",
    )
    assert by_name["p90"][-2:] == ("crt faster", "5")


def test_the_document_says_once_for_how_many_comparisons_it_is_corrected(run: "Run") -> None:
    shown = io.StringIO()
    render_document(compared(with_reads(run, sdk=20, crt=10)), Console(file=shown, width=200))
    assert shown.getvalue().count("Verdicts are corrected for the 4 comparisons") == 1


def test_workloads_that_both_do_are_compared_and_others_only_when_they_are_named(run: "Run") -> None:
    with_reads(run, sdk=20, crt=10)
    run.rows += run.operations("sdk", "write", "write", run.many(10), size_bytes=1000)
    run.with_cells()
    assert [one.workload_id for one in compared(run).sections] == ["read", None]
    shown = compared(run, "write", "read")
    assert table_of(shown, "Left out").rows == (("write", "crt does not do this workload"),)
    assert table_of(shown, "Workload read").rows


@pytest.mark.parametrize(
    ("config_ids", "workload_ids", "message"),
    [
        (("sdk", "sdk"), (), "sdk and sdk are the same: name two configurations"),
        (("sdk", "crd"), (), "has no configuration crd: it has crt, other, sdk"),
        (("sdk", "crt"), ("reed",), "has no workload reed: it has read, write"),
        (("sdk", "other"), (), "no workload in common: sdk does read; other does write"),
    ],
)
def test_wrong_names_are_refused_with_the_right_ones(
    run: "Run", config_ids: tuple[str, str], workload_ids: tuple[str, ...], message: str
) -> None:
    with_reads(run, sdk=20, crt=10)
    run.rows += run.operations("other", "write", "write", run.many(10), size_bytes=1000)
    run.with_cells()
    with pytest.raises(UserError, match=message):
        paths_of_run(reported(run), config_ids, workload_ids)


@pytest.mark.parametrize(("status", "word"), [("skipped", "was skipped"), ("failed", "failed")])
def test_a_cell_that_was_not_measured_is_the_reason(run: "Run", status: str, word: str) -> None:
    with_reads(run, sdk=20, crt=10)
    first, second = run.record.cells
    cells = (first, second.model_copy(update={"status": status, "reason": "it is broken"}))
    run.record = run.record.model_copy(update={"cells": cells})
    shown = compared(run)
    assert table_of(shown, "Left out").rows == (("read", f"crt's cell {word}: it is broken"),)
    assert [one.heading for one in shown.sections] == ["Left out"]


def test_cells_of_unlike_clients_are_refused_here_and_in_the_report(run: "Run") -> None:
    with_reads(run, sdk=20, crt=10)
    run.with_cells(crt__read={"configuration.clients": "4"}, sdk__read={"workload.concurrency": "1"})
    assert table_of(compared(run), "Left out").rows == (("read", "unlike clients: sdk 1, crt 4"),)
    (refusal,) = reported(run).comparison.refusals
    assert (refusal.config_id, refusal.reason) == ("crt", "unlike clients: 4, baseline 1")


def test_what_kind_of_run_it_was_stands_at_the_top(run: "Run") -> None:
    with_reads(run, sdk=20, crt=10)
    assert compared(run).alerts == ("LOCAL LAB: these numbers describe this machine, not Amazon S3.",)
    run.record = run.record.model_copy(update={"lab": False, "synthetic": True})
    assert [alert.partition(":")[0] for alert in compared(run).alerts] == ["SYNTHETIC"]
    incomplete = build_report(None, run.record.run_id, run.samples)
    (alert,) = paths_document(paths_of_run(incomplete, CONFIGS, ())).alerts
    assert alert.startswith("INCOMPLETE: ")


def noisy(run: "Run", workload_id: str, config_id: str, seed: int) -> "list[Row]":
    """Five blocks of 20 reads, each block with a weather of its own."""
    rng = np.random.default_rng(seed)
    times_ms = np.repeat(10 * rng.lognormal(0, 0.05, 5), 20).reshape(5, 20).T.ravel()
    return run.operations(config_id, workload_id, "read", times_ms.tolist(), size_bytes=1000)


def test_an_interval_that_leaves_out_1_by_chance_is_no_difference_in_the_report(run: "Run") -> None:
    """Forty workloads of two equal configurations: some of the intervals miss 1."""
    run.rows = [
        row
        for place in range(40)
        for side, config_id in enumerate(CONFIGS)
        for row in noisy(run, f"read-{place}", config_id, 100 * place + side)
    ]
    run.with_cells()
    report = reported(run)
    missed = [one for one in report.comparison.ratios if one.low and one.high and not one.low < 1 < one.high]
    assert missed
    assert {one.verdict for one in report.comparison.ratios} == {"no difference seen"}
    shown = document(report)
    assert {row[-1].rpartition(", ")[2] for row in shown.sections[0].tables[0].rows} == {"no difference seen"}
    told = [
        sentence
        for sentence in section(shown, "How to read these tables").sentences
        if "corrected" in sentence
    ]
    assert len(told) == 1
    assert told[0].startswith("Verdicts are corrected for the 40 comparisons")


def test_the_matrix_sets_every_configuration_beside_the_best_of_each_workload(run: "Run") -> None:
    run.rows = [
        row
        for name, times_ms in (("one", (10, 20, 5)), ("two", (10, 30, 20)), ("three", (10, 10, 20)))
        for config_id, time_ms in zip(("sdk", "crt", "mount"), times_ms, strict=True)
        for row in run.operations(config_id, name, "read", run.many(time_ms), size_bytes=1000)
    ]
    run.rows += run.operations("sdk", "alone", "write", run.many(10), size_bytes=1000)
    run.with_cells()
    skipped = CellRecord(config_id="cli", workload_id="two", status="skipped", reason="not installed")
    run.record = run.record.model_copy(update={"cells": (*run.record.cells, skipped)})
    matrix = who_wins(reported(run))
    assert matrix.header == ("Workload", "sdk", "crt", "mount", "cli")
    assert matrix.rows == (
        ("one", "2.00, slower", "4.00, slower", "best", "–"),
        ("two", "best", "3.00, slower", "2.00, slower", "skipped"),
        ("three", "best", "1.00, ≈", "2.00, slower", "–"),
    )
    assert document(reported(run)).sections[0].tables[1] == matrix
    assert reported(run).comparison.tested == 9, "every pair of the three workloads"


def test_the_matrix_says_where_there_is_nothing_to_compare_or_too_little(run: "Run") -> None:
    with_reads(run, sdk=20, crt=10, cli=10)
    for row in run.rows:
        if row["config_id"] == "cli":
            row["size_bytes"] = 9
        row["block"] = 0
    assert who_wins(reported(run)).rows == (("read", "2.00, ?", "best", "not compared"),)
    assert who_wins(reported(with_reads(run, sdk=20))).rows == ()


def test_many_configurations_stand_below_one_another(run: "Run") -> None:
    with_reads(run, 20, **{f"c{place}": 10.0 + place for place in range(8)})
    matrix = who_wins(reported(run))
    assert matrix.header == ("Configuration", "read")
    assert (len(matrix.rows), matrix.rows[0], matrix.rows[-1]) == (8, ("c0", "best"), ("c7", "1.70, slower"))


def summary(config_id: str, p50_ns: int) -> Summary:
    times = Distribution(
        n=400,
        min_ns=1,
        avg_ns=p50_ns,
        p50=Quantile(p50_ns, p50_ns - 1, p50_ns + 1),
        p90=Quantile(2 * p50_ns, p50_ns, 3 * p50_ns),
        p99=Quantile(3 * p50_ns, 2 * p50_ns, None),
        max_ns=3 * p50_ns,
    )
    return Summary(config_id, "read", "read", "total_ns", 5, 0, times, None, None, 1024)


@pytest.fixture
def store(tmp_path: Path, run: "Run") -> Store:
    """Six nights; in the first two `sdk` was asked something else, and one run of them was by hand."""
    store = open_store(tmp_path)
    for day in range(6):
        at = FIRST + timedelta(days=day)
        identity = RunIdentity(run_id=f"{at:%Y%m%dT%H%M%SZ}-{day:08x}", dt=dt_of(at))
        cells = tuple(
            CellRecord(
                config_id=config_id,
                workload_id="read",
                status="measured",
                parameters={"access_path.engine": "old" if day < 2 and config_id == "sdk" else "new"},
            )
            for config_id in CONFIGS
        )
        changed = identity.model_dump() | {"cells": cells, "started_at": at, "baseline": "sdk"}
        changed |= {"schedule": "nightly", "scheduled_at": at} if day != 3 else {}
        write_nightly(store, identity, [summary("sdk", 2_000_000 + 1000 * day), summary("crt", 1_000_000)])
        write_run(store, run.record.model_copy(update=changed))
    return store


def test_nights_are_compared_with_those_that_were_left_out(store: Store) -> None:
    shown = paths_document(paths_of_nights(store, CONFIGS, (), 30, "nightly"))
    assert ("Nights", "5 nights, 2026-01-01 to 2026-01-06") in shown.facts
    assert [alert.partition(":")[0] for alert in shown.alerts] == ["LOCAL LAB"]
    table = table_of(shown, "Workload read")
    assert table.title == "Time of one read, ms; 3 nights that both have"
    assert table.rows[0] == (
        "p50",
        "2.00",
        "1,200",
        "1.00",
        "1,200",
        "2.00 (2.00 to 2.01)",
        "crt faster",
        "3",
    )
    assert table.rows[2][1:5] == ("≥ 4.01", "1,200", "≥ 2.00", "1,200")
    assert table_of(shown, "Left out").rows == (
        ("read", "sdk", "2", "its cell meant something else"),
        ("read", "crt", "2", "the other one has no such night"),
    )


def test_only_the_latest_nights_that_were_asked_for_are_paired(store: Store) -> None:
    shown = paths_document(paths_of_nights(store, CONFIGS, ("read",), 2, "nightly"))
    assert ("Nights", "2 nights, 2026-01-05 to 2026-01-06") in shown.facts
    assert table_of(shown, "Workload read").rows[0][-1] == "2"


def test_a_schedule_without_nights_is_refused(store: Store) -> None:
    with pytest.raises(UserError, match=r"no night of schedule weekly in .*: a run by hand is no night"):
        paths_of_nights(store, CONFIGS, (), 2, "weekly")
    with pytest.raises(UserError, match=r"\(5 nights, .*\) has no configuration cli: it has crt, sdk"):
        paths_of_nights(store, ("sdk", "cli"), (), 30, "nightly")
