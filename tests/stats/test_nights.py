from datetime import UTC, datetime, timedelta

import pytest

from configs.errors import UserError
from tasks.stats.nights import NightRun, NightState, counting, coverage, gaps, nights_due

NIGHTLY = "30 2 * * *"
FIRST = datetime(2026, 11, 1, 2, 30, tzinfo=UTC)
DUE = tuple(FIRST + timedelta(days=day) for day in range(10))
NOON = datetime(2026, 11, 10, 12, 0, tzinfo=UTC)


def run_of(
    day: int,
    state: NightState = NightState.COMPLETE,
    *,
    moved: timedelta = timedelta(0),
    late: timedelta = timedelta(minutes=1),
    known: bool = True,
) -> NightRun:
    scheduled_at = DUE[day - 1] + moved
    return NightRun(f"run-{day}", scheduled_at + late, scheduled_at if known else None, state)


def states(*runs: NightRun, now: datetime = NOON) -> list[str]:
    return [night.state.value for night in coverage(DUE, runs, now)]


def test_a_nightly_schedule_is_due_once_a_day_both_ends_included() -> None:
    assert nights_due(NIGHTLY, "UTC", DUE[0], DUE[9]) == DUE
    assert (
        nights_due(NIGHTLY, "UTC", DUE[0] + timedelta(seconds=1), DUE[9] - timedelta(seconds=1)) == DUE[1:9]
    )
    assert nights_due(NIGHTLY, "UTC", DUE[0], DUE[9], at_most=3) == DUE[7:]


def test_the_night_of_a_change_to_summer_time_is_due_once_in_the_first_minute_that_there_is() -> None:
    since, until = datetime(2026, 3, 28, tzinfo=UTC), datetime(2026, 3, 30, 12, tzinfo=UTC)
    assert [f"{due:%d %H:%M}" for due in nights_due(NIGHTLY, "Europe/Berlin", since, until)] == [
        "28 01:30",
        "29 01:00",  # 03:00 by the clocks of Berlin: they have no 02:30 on that day
        "30 00:30",
    ]


def test_the_night_of_a_change_to_winter_time_is_due_once_although_it_has_two_of_that_hour() -> None:
    since, until = datetime(2026, 10, 24, tzinfo=UTC), datetime(2026, 10, 26, 12, tzinfo=UTC)
    assert [f"{due:%d %H:%M}" for due in nights_due(NIGHTLY, "Europe/Berlin", since, until)] == [
        "24 00:30",
        "25 00:30",
        "26 01:30",
    ]


@pytest.mark.parametrize("cron", ["61 2 * * *", "30 2 * *", "0 30 2 * * *", "every night", "30 2 30 2 *"])
def test_a_schedule_that_is_none_is_named_with_what_is_right(cron: str) -> None:
    with pytest.raises(
        UserError, match=r"schedule '.*': .*give five fields, such as 30 2 \* \* \*"
    ) as refused:
        nights_due(cron, "UTC", DUE[0], NOON)
    assert repr(cron) in str(refused.value)


@pytest.mark.parametrize("zone", ["Europe/Bonn", "Europe", "../etc/passwd", "", "/"])
def test_a_time_zone_that_is_none_is_named(zone: str) -> None:
    with pytest.raises(UserError, match="give an IANA one, such as Europe/Berlin") as refused:
        nights_due(NIGHTLY, zone, DUE[0], NOON)
    assert repr(zone) in str(refused.value)


def test_every_night_from_the_first_with_a_run_is_what_its_run_was() -> None:
    runs = [run_of(3), run_of(4, NightState.FAILED_CELLS), run_of(6), run_of(10)]
    assert states(*runs) == [
        "complete",
        "failed cells",
        "missing",
        "complete",
        "missing",
        "missing",
        "missing",
        "complete",
    ]


def test_missing_nights_in_succession_are_told_as_a_range() -> None:
    runs = [run_of(1), run_of(2), run_of(6), run_of(7), run_of(8, NightState.INCOMPLETE), run_of(9)]
    assert [str(gap) for gap in gaps(coverage(DUE, runs, NOON))] == [
        "3 nights missing: 2026-11-03 to 2026-11-05",
        "1 night incomplete: 2026-11-08",
        "1 night missing: 2026-11-10",
    ]


def test_a_night_that_may_still_get_its_run_is_not_missing() -> None:
    before_its_grace = DUE[9] + timedelta(hours=3, minutes=59)
    assert states(run_of(9), now=before_its_grace) == ["complete"]
    assert states(run_of(9), now=before_its_grace + timedelta(minutes=1)) == ["complete", "missing"]
    unended = run_of(10, NightState.INCOMPLETE, known=False)
    assert states(run_of(9), unended, now=before_its_grace) == ["complete"]
    assert states(run_of(9), run_of(10), now=before_its_grace) == ["complete", "complete"]


def test_a_store_without_a_scheduled_run_has_no_night_to_miss() -> None:
    assert states() == []
    assert states(run_of(5, NightState.INCOMPLETE, known=False)) == []
    assert coverage((), [run_of(1)], NOON) == ()


def test_a_run_that_did_not_end_counts_for_the_night_that_it_began_after() -> None:
    unended = run_of(9, NightState.INCOMPLETE, known=False, late=timedelta(hours=2))
    assert states(run_of(8), unended, run_of(10)) == ["complete", "incomplete", "complete"]
    by_hand = run_of(9, NightState.INCOMPLETE, known=False, late=timedelta(hours=9))
    assert states(run_of(8), by_hand, run_of(10)) == ["complete", "missing", "complete"]


def test_of_several_runs_of_a_night_the_best_counts() -> None:
    again = run_of(9, late=timedelta(hours=1))
    assert states(run_of(9, NightState.FAILED_CELLS), again, run_of(10)) == ["complete", "complete"]
    nights = coverage(
        DUE, [run_of(9), NightRun("later", again.started_at, DUE[8], NightState.COMPLETE)], NOON
    )
    assert nights[0].run_id == "later"


def test_a_run_that_prefect_moved_over_a_change_of_clocks_belongs_to_its_night() -> None:
    assert states(run_of(9, moved=timedelta(minutes=30)), run_of(10)) == ["complete", "complete"]


def test_a_run_of_another_rhythm_belongs_to_no_night_that_is_not_its_own() -> None:
    assert states(run_of(8), run_of(9, moved=timedelta(hours=4)), run_of(10)) == [
        "complete",
        "missing",
        "complete",
    ]
    every_two_minutes = tuple(FIRST + timedelta(minutes=2 * step) for step in range(5))
    earlier = NightRun("earlier", FIRST, FIRST - timedelta(minutes=2), NightState.COMPLETE)
    last = NightRun("last", FIRST, every_two_minutes[4], NightState.COMPLETE)
    found = coverage(every_two_minutes, [earlier, last], NOON)
    assert [night.run_id for night in found] == ["last"]


def test_the_run_whose_figures_count_is_the_one_that_covers_its_night() -> None:
    complete = NightRun("a", DUE[8], DUE[8], NightState.COMPLETE)
    failed_later = NightRun("b", DUE[8] + timedelta(hours=1), DUE[8], NightState.FAILED_CELLS)
    other_night = NightRun("c", DUE[9], DUE[9], NightState.FAILED_CELLS)
    again = NightRun("d", DUE[9] + timedelta(hours=1), DUE[9], NightState.FAILED_CELLS)
    runs = [again, failed_later, complete, other_night]
    assert counting(runs) == {"a", "d"}
    assert {night.run_id for night in coverage(DUE, runs, NOON)} == {"a", "d"}
    assert counting([run_of(1, NightState.INCOMPLETE, known=False)]) == frozenset()


def test_a_look_in_the_morning_tells_of_the_night_before() -> None:
    """Nights are due at half past two, and looked at from seven o'clock on."""
    assert states(run_of(9), now=DUE[9].replace(hour=7, minute=0)) == ["complete", "missing"]
