"""A look back over stored nights, and its page."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from configs.errors import UserError
from configs.parameters import CompareParameters
from configs.run_record import CellRecord, Environment, RunIdentity, RunRecord, Timing, dt_of
from tasks.reports.history_page import history_markdown
from tasks.reports.history_picture import nights_picture
from tasks.reports.history_view import HistoryView, look_back
from tasks.results.history import Redefinition
from tasks.results.store import open_store
from tasks.results.writer import write_nightly, write_run
from tasks.stats.nights import NightCoverage, NightState
from tasks.stats.summary_types import Distribution, Quantile, Summary

FIRST = datetime(2026, 1, 1, 2, 30, tzinfo=UTC)
WOBBLE = (1.00, 1.01, 0.99, 1.02, 0.98)
Times = Callable[[int, str], int]


def write_nights(results: Path, days: range, time_ns: Times, left_out: frozenset[int] = frozenset()) -> None:
    """A run of three configurations for each day that is not left out."""
    store = open_store(results)
    environment = Environment(
        python="3",
        kernel="6",
        machine="x86_64",
        cpu_model="test",
        cpu_count=2,
        memory_bytes=1,
        packages={},
        git_commit="0" * 40,
    )
    for day in sorted(set(days) - left_out):
        due_at = FIRST + timedelta(days=day)
        run = RunIdentity(run_id=f"{due_at:%Y%m%dT%H%M%SZ}-{day:08x}", dt=dt_of(due_at))
        times_ns = {one: round(time_ns(day, one) * WOBBLE[day % 5]) for one in ("boto3", "cli", "mount")}
        write_nightly(store, run, [_summary(config_id, ns) for config_id, ns in times_ns.items()])
        record = RunRecord(
            **run.model_dump(),
            suite="nightly",
            suite_sha256="ab" * 32,
            lab=True,
            seed=1,
            blocks=5,
            baseline="boto3",
            started_at=due_at,
            ended_at=due_at,
            cells=tuple(CellRecord(config_id=one, workload_id="read", status="measured") for one in times_ns),
            datasets=(),
            environment=environment,
            harness=None,
            timing=Timing(server_start_ms=0, prepare_ms=0, measure_ms=0, wall_ms=0),
            schedule="nightly",
            scheduled_at=due_at,
        )
        write_run(store, record)


def _summary(config_id: str, p50_ns: int) -> Summary:
    p90, p99 = Quantile(2 * p50_ns, p50_ns, 3 * p50_ns), Quantile(3 * p50_ns, p50_ns, None)
    times = Distribution(100, 1, p50_ns, Quantile(p50_ns, p50_ns, p50_ns), p90, p99, 3 * p50_ns)
    return Summary(config_id, "read", "read", "total_ns", 5, 0, times, None, None, 1024)


def looked_back(results: Path, day: int, nights: int = 30) -> HistoryView:
    """From the morning after the night of a day."""
    now = FIRST + timedelta(days=day, hours=7)
    return look_back(open_store(results), CompareParameters(results=str(results), nights=nights), now)


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> HistoryView:
    """Forty nights, of which four are missing; `mount` is slower since the night of 5 February."""
    results = tmp_path_factory.mktemp("nights")
    slower: Times = lambda day, one: 15_000_000 if one == "mount" and day >= 35 else 10_000_000  # noqa: E731
    write_nights(results, range(40), slower, left_out=frozenset({20, 27, 28, 29}))
    return looked_back(results, 39, nights=120)


def test_gaps_come_first_the_latest_first_and_then_what_has_changed(view: HistoryView) -> None:
    page = history_markdown(view)
    places = [
        page.index(text)
        for text in (
            "> **3 nights missing: 2026-01-28 to 2026-01-30**",
            "> **1 night missing: 2026-01-21**",
            "36 of 40 nights of nightly have a run; changes: 2 slower, 0 faster.",
            "## Nights",
            "## Changes",
            "| 2026-02-05 | mount/read read | p90 | 1.50, slower | 20.0 | 30.0 | 2026-02-07 |",
            "| 2026-02-05 | mount/read read | p50 | 1.50, slower | 10.0 | 15.0 | 2026-02-07 |",
            "![p50 night by night of mount/read read.](data:image/svg+xml;base64,",
        )
    ]
    assert places == sorted(places)


def test_the_calendar_has_a_row_for_each_week_the_latest_first(view: HistoryView) -> None:
    page = history_markdown(view)
    rows = [line for line in page.splitlines() if line.startswith("| 20") and "/" not in line]
    assert rows[0] == "| 2026-02-09 | ✓ |  |  |  |  |  |  |"
    assert rows[2] == "| 2026-01-26 | ✓ | ✓ | ✗ | ✗ | ✗ | ✓ | ✓ |"
    assert rows[-1] == "| 2025-12-29 |  |  |  | ✓ | ✓ | ✓ | ✓ |"


def test_nights_of_a_schedule_that_is_due_more_often_than_daily_are_counted_without_a_calendar(
    view: HistoryView,
) -> None:
    twice = tuple(
        NightCoverage(FIRST + timedelta(hours=8 * number), NightState.COMPLETE, "run") for number in range(6)
    )
    page = history_markdown(replace(view, nights=twice))
    assert "Several nights are due on one day" in page
    assert "Week from" not in page


def test_the_line_of_a_series_is_broken_where_nights_are_missing(view: HistoryView) -> None:
    whole = nights_picture(replace(view, nights=tuple(night for night in view.nights if night.state.has_run)))
    broken = nights_picture(view)
    assert whole is not None
    assert broken is not None
    # A move of the pen for each of two lines at each of two gaps.
    assert _moves(broken.svg) == _moves(whole.svg) + 4


def _moves(svg: str) -> int:
    """How often a path begins, which is where a line was broken."""
    return sum(line.lstrip().startswith(('<path d="M', "M ")) for line in svg.splitlines())


def test_a_page_says_what_began_anew_what_was_left_out_and_what_could_not_be_read(view: HistoryView) -> None:
    key = view.panels[0].keys[0]
    panels = tuple(replace(one, left_out=type(one.left_out)({key: 3})) for one in view.panels)
    anew = Redefinition("boto3/read", FIRST, "workload.size: 64 → 128")
    page = history_markdown(
        replace(view, panels=panels, redefinitions=(anew,), unread=("a file | is damaged",))
    )
    assert "| 2026-01-01 | boto3/read | workload.size: 64 → 128 |" in page
    assert "| boto3/read read | 3 |" in page
    assert r"> **a file \| is damaged**" in page


def test_a_change_that_began_before_the_nights_that_are_shown_does_not_come_up_with_a_later_date(
    tmp_path: Path,
) -> None:
    slower: Times = lambda day, one: 15_000_000 if one == "mount" and day >= 85 else 10_000_000  # noqa: E731
    write_nights(tmp_path, range(100), slower)
    assert {one.since_dt for one in looked_back(tmp_path, 94, nights=10).changes} == {"2026-03-27"}
    for day in (95, 98):
        assert looked_back(tmp_path, day, nights=10).changes == ()


def test_findings_are_nights_without_a_run_and_what_became_slower(view: HistoryView) -> None:
    found = [
        (one.told.what, one.told.name, f"{one.told.at:%m-%d}", f"{one.known_at:%m-%d %H:%M}")
        for one in view.findings()
    ]
    assert found == [
        ("night", "nightly", "01-21", "01-21 06:30"),
        ("night", "nightly", "01-28", "01-28 06:30"),
        ("night", "nightly", "01-29", "01-29 06:30"),
        ("night", "nightly", "01-30", "01-30 06:30"),
        ("change", "mount/read read", "02-05", "02-07 02:30"),
        ("change", "mount/read read", "02-05", "02-07 02:30"),
    ]
    faster = tuple(replace(change, ratio=0.5) for change in view.changes)
    assert len(replace(view, changes=faster).findings()) == 4


def test_a_schedule_that_was_never_due_is_refused(tmp_path: Path) -> None:
    parameters = CompareParameters(results=str(tmp_path), cron="0 0 29 2 *")
    view = look_back(open_store(tmp_path), parameters, FIRST)
    assert view.summary == f"no run of the schedule nightly in {tmp_path} yet"
    with pytest.raises(UserError, match="bad day-of-month"):
        look_back(open_store(tmp_path), parameters.model_copy(update={"cron": "0 0 31 2 *"}), FIRST)
