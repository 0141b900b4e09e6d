"""A look back over stored nights, and its page."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from configs.errors import UserError
from configs.parameters import CompareParameters
from configs.run_record import CellRecord, Environment, RunIdentity, RunRecord, Timing, dt_of
from tasks.reports.document import Document
from tasks.reports.history_cell import cell_document
from tasks.reports.history_page import history_document, history_markdown
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


def write_nights(
    results: Path,
    days: range,
    time_ns: Times,
    left_out: frozenset[int] = frozenset(),
    newer_from: int | None = None,
) -> None:
    """A run of three configurations for each day that is not left out.

    Where boto3 is a newer one from a day on, all of them are marked as made up.
    """
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
            environment=environment.model_copy(
                update={
                    "packages": {
                        "boto3": "1.44.8" if newer_from is not None and day >= newer_from else "1.43.1"
                    }
                }
            ),
            harness=None,
            timing=Timing(server_start_ms=0, prepare_ms=0, measure_ms=0, wall_ms=0),
            schedule="nightly",
            scheduled_at=due_at,
            synthetic=newer_from is not None,
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
            "| mount/read read | p90 | confirmed | fast | 1.50, slower | 20.0 | 30.0 | 2026-02-07 |",
            "| mount/read read | p50 | confirmed | fast | 1.50, slower | 10.0 | 15.0 | 2026-02-07 |",
            "![p50 night by night of all configurations, mount/read read.](data:image/svg+xml;base64,",
        )
    ]
    assert places == sorted(places)


def test_the_calendar_has_a_row_for_each_week_the_latest_first(view: HistoryView) -> None:
    page = history_markdown(view)
    weeks = page[page.index("Nights by week") : page.index("## Changes")]
    rows = [line for line in weeks.splitlines() if line.startswith("| 20")]
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
    return sum(path.count("M") for path in re.findall(r'<path [^>]*?\bd="([^"]*)"', svg))


def test_a_page_says_what_began_anew_what_was_left_out_and_what_could_not_be_read(view: HistoryView) -> None:
    key = view.panels[0].keys[0]
    panels = tuple(replace(one, left_out=type(one.left_out)({key: 3})) for one in view.panels)
    anew = Redefinition("boto3/read", FIRST, "workload.size: 64 → 128")
    page = history_markdown(
        replace(view, panels=panels, redefinitions=(anew,), unread=("a file | is damaged",))
    )
    assert "| 2026-01-01 | boto3/read | workload.size: 64 → 128 |" in page
    assert "| boto3/read read | 3 |" in page
    assert "## Left out" in page
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


def table_of(shown: Document, title: str) -> tuple[tuple[str, ...], ...]:
    return next(
        table.rows for section in shown.sections for table in section.tables if table.title.startswith(title)
    )


def test_the_series_that_go_on_stand_with_their_noise_level_and_latest_night(view: HistoryView) -> None:
    rows = {row[0]: row[1:] for row in table_of(history_document(view), "p50 of each series")}
    assert list(rows) == ["all configurations", "boto3/read read", "cli/read read", "mount/read read"]
    assert rows["mount/read read"] == ("0.0 %", "15.0", "2026-02-05", "14.7", "0.980", "36")
    assert rows["all configurations"][0] == "1.5 %"


def test_the_terminal_the_ui_and_html_have_the_same_text_of_every_figure(view: HistoryView) -> None:
    page = history_markdown(view)
    shown = history_document(view)
    for section in shown.sections:
        assert f"## {section.heading}" in page
        for table in section.tables:
            for row in table.rows if not table.detail else ():
                assert all(cell.replace("!", "\\!") in page for cell in row)


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> HistoryView:
    """Sixty made-up nights: `boto3` is 12 % slower with the night of its new version."""
    results = tmp_path_factory.mktemp("explained")
    slower: Times = lambda day, one: 11_200_000 if one == "boto3" and day >= 45 else 10_000_000  # noqa: E731
    write_nights(results, range(60), slower, newer_from=45)
    return looked_back(results, 59, nights=120)


def test_a_small_step_is_told_by_the_slow_rule_beside_what_changed_on_its_night(
    explained: HistoryView,
) -> None:
    told = {(one.name, one.statistic, one.method, one.since_dt) for one in explained.changes}
    assert told == {("boto3/read read", statistic, "slow rule", "2026-02-15") for statistic in ("p50", "p90")}
    page = history_markdown(explained)
    assert "boto3 1.43.1 → 1.44.8 on the same night" in page
    assert "| 2026-02-15 | boto3 1.43.1 → 1.44.8 | everywhere |" in page
    assert "Dotted: something of the environment changed." in page


def test_the_picture_of_changes_has_a_sign_for_each_and_a_table_of_every_night(
    explained: HistoryView,
) -> None:
    picture = nights_picture(explained)
    assert picture is not None
    assert picture.table is not None
    assert picture.table.header == ("Night", "all configurations", "boto3/read read")
    assert len(picture.table.rows) == 60
    newest, oldest = picture.table.rows[0], picture.table.rows[-1]
    assert (newest[0], oldest[0]) == ("2026-03-01", "2026-01-01")
    assert int(newest[2]) == pytest.approx(112 * WOBBLE[4] / WOBBLE[0], abs=2)
    assert int(oldest[2]) == pytest.approx(100, abs=2)
    assert "▲ since this night something is slower" in picture.caption
    signs = re.findall(r'<use [^>]*style="fill:#d55e00', picture.svg)
    assert len(signs) == 1, "p50 and p90 changed in the same night"


def test_made_up_nights_are_told_as_such_first(explained: HistoryView, view: HistoryView) -> None:
    for shown in (history_document(explained), cell_document(explained, "cli/read")):
        assert shown.alerts[0].startswith("SYNTHETIC")
    assert history_markdown(explained).splitlines()[2].startswith("> **SYNTHETIC")
    assert not any("SYNTHETIC" in alert for alert in history_document(view).alerts)


def test_the_history_of_a_cell_has_its_levels_with_dates_its_nights_and_its_changes(
    explained: HistoryView,
) -> None:
    shown = cell_document(explained, "boto3/read")
    levels = [row for row in table_of(shown, "Levels") if row[0] == "p50"]
    assert [(row[1:4], row[4], row[5]) for row in levels] == [
        (("2026-02-15", "2026-03-01", "15"), "11.2", "1.12, slower"),
        (("2026-01-01", "2026-02-14", "45"), "10.0", "–"),
    ]
    nights = table_of(shown, "Latest 14 nights")
    assert nights[0] == ("2026-03-01", "100", "0", "11.0", "22.0", "≥ 11.0", "0.980")
    assert len(nights) == 14
    (section, *_) = shown.sections
    assert section.heading == "boto3/read read"
    assert section.sentences[0].startswith("p50 from 2026-01-01 to 2026-03-01, 9.80 to 11.4 ms: ")
    assert section.sentences[1] == "p99 has no level: its bounds need 368 samples a night."
    assert {row[1] for row in table_of(shown, "What has changed")} == {"boto3/read read"}
    with pytest.raises(StopIteration):
        table_of(cell_document(explained, "cli/read"), "What has changed")


def test_a_night_without_a_value_is_a_gap_in_the_line_of_a_cell(view: HistoryView) -> None:
    (section, *_) = cell_document(view, "mount/read").sections
    bars = section.sentences[0].rpartition(": ")[2]
    assert len(bars) == 36, "a night without a run is no night of a panel"
    p50 = view.panel_of("p50")
    values_ns = p50.values_ns.copy()
    values_ns[[key.cell_id for key in p50.keys].index("mount/read"), 10] = float("nan")
    panels = (replace(p50, values_ns=values_ns), *view.panels[1:])
    (section, *_) = cell_document(replace(view, panels=panels), "mount/read").sections
    assert section.sentences[0].rpartition(": ")[2][10] == "·"


def test_an_unknown_cell_is_refused_with_those_there_are(view: HistoryView, tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"no cell 'boto3/write' in the nights of .*: there is boto3/read, cli/read"
    ):
        cell_document(view, "boto3/write")
    with pytest.raises(UserError, match="there is none: no run of the schedule nightly ended yet"):
        cell_document(looked_back(tmp_path, 3), "boto3/read")
