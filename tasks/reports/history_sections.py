"""What a look back over the nights says, as sections that the terminal, the Prefect UI and HTML draw."""

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tasks.reports import wording
from tasks.reports.document import Section, Table
from tasks.stats.common_mode import FEWEST_CONFIGURATIONS
from tasks.stats.fast_rule import FAST_RULE
from tasks.stats.nights import NightState, counts
from tasks.stats.panels import JUDGED_FROM_N, STATISTICS
from tasks.stats.slow_rule import SLOW_RULE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date

    from tasks.reports.history_view import HistoryView
    from tasks.results.history import EnvironmentMark, Redefinition
    from tasks.stats.levels import SeriesLevels
    from tasks.stats.nights import NightCoverage
    from tasks.stats.panels import Panel, Statistic
    from tasks.stats.regressions import Change

_MARKS: Final = {
    NightState.COMPLETE: "✓",
    NightState.FAILED_CELLS: "✓ !",
    NightState.INCOMPLETE: "…",
    NightState.MISSING: "✗",
}
_STATE_WORDS: Final = {state: f"{state}" for state in NightState} | {
    NightState.FAILED_CELLS: "with failed cells"
}
_LEGEND: Final = "✓ complete, ✓ ! some cells failed, … began and did not end, ✗ missing."
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MOST_WEEKS: Final = 53
_FAST: Final = (
    f"Fast rule: much at once, {FAST_RULE.nights} nights running that are more than "
    f"{100 * FAST_RULE.change:g} % and more than {FAST_RULE.deviations:g} robust standard deviations away "
    f"from the {FAST_RULE.before} nights before."
)
_SLOW: Final = (
    f"Slow rule: little that stays, {SLOW_RULE.fewest_nights} nights or more that are "
    f"{100 * SLOW_RULE.change:g} % away, and farther than the noise of the series explains."
)
_STATES: Final = "A change is watched until its fifth night; then it is confirmed, or has passed."
_COMMON: Final = (
    "What all configurations share in a night is taken out first, where there are "
    f"{FEWEST_CONFIGURATIONS} or more."
)
_RATIO: Final = (
    "Ratio is without that share; before and after are medians of nights as measured, and may differ by "
    "another one. A level below holds all its nights, a change those by which it was found."
)
_TAIL: Final = f"From p99 no change is told below {JUDGED_FROM_N['p99']:,} samples a night."
_RULES: Final = (_FAST, _SLOW, _STATES, _COMMON, _RATIO, _TAIL)
_NOISE: Final = (
    "Noise is the robust standard deviation of a night around the level of its series, what all "
    "configurations share taken out: a smaller step cannot be seen."
)
MOST_LINES: Final = 20
_CHANGES_HEADER: Final = (
    *("Since", "What", "Statistic", "Ratio", "Before, ms", "After, ms", "Known since", "State", "Rule"),
    "Environment",
)


def history_section(view: "HistoryView") -> list[Section]:
    """All of it: the nights, what has changed, the environment, the series, and what was passed over."""
    return [
        _nights(view),
        changes_section(view, view.changes),
        *environment_section(view.marks),
        *_series(view),
        *_remarks(view),
    ]


def _nights(view: "HistoryView") -> Section:
    if not view.nights:
        sentence = "A night counts from the first run that the schedule starts."
        return Section("Nights", (sentence,), anchor="history-nights")
    found = counts(view.nights)
    told = ", ".join(f"{found[state]} {_STATE_WORDS[state]}" for state in NightState if found[state])
    first, last = view.nights[0].dt, view.nights[-1].dt
    sentences = [f"{first} to {last}, by their dates in UTC: {told}."]
    weeks = _calendar(view.nights)
    if weeks is None:
        sentences.append("Several nights are due on one day, so that no calendar is drawn.")
    else:
        sentences.append(_LEGEND)
    return Section(
        "Nights", tuple(sentences), tables=(weeks,) if weeks else (), anchor="history-nights", brief=told
    )


def _calendar(nights: "tuple[NightCoverage, ...]") -> Table | None:
    """A row for each week, the latest first; none where a day has several nights."""
    by_day: dict[date, NightCoverage] = {night.due_at.date(): night for night in nights}
    if len(by_day) < len(nights):
        return None
    mondays = sorted({day - timedelta(days=day.weekday()) for day in by_day}, reverse=True)
    rows = tuple(
        (
            f"{monday:%Y-%m-%d}",
            *(
                _MARKS[by_day[day].state] if day in by_day else ""
                for day in (monday + timedelta(days=place) for place in range(len(_DAYS)))
            ),
        )
        for monday in mondays[:_MOST_WEEKS]
    )
    return Table("Nights by week", ("Week from", *_DAYS), rows, prose=frozenset(range(1, len(_DAYS) + 1)))


def changes_section(view: "HistoryView", changes: "Iterable[Change]") -> Section:
    """What has changed, and what of the environment changed about then."""
    shown = [_change_row(view, change) for change in reversed(tuple(changes))]
    if not shown:
        return Section("Changes", ("None was found.", *_RULES), anchor="history-changes", brief="none")
    is_explained = any(row[-1] for row in shown)  # a column of nothing would cost others their room
    table = Table(
        "What has changed, the latest first",
        _CHANGES_HEADER if is_explained else _CHANGES_HEADER[:-1],
        wording.printable_rows(row if is_explained else row[:-1] for row in shown),
        prose=frozenset({1, 2, 7, 8, 9}) if is_explained else frozenset({1, 2, 7, 8}),
    )
    return Section("Changes", _RULES, tables=(table,), anchor="history-changes", brief=f"{len(shown)}")


def _change_row(view: "HistoryView", change: "Change") -> tuple[str, ...]:
    times_ms = (
        wording.NONE if time_ns is None else wording.milliseconds(time_ns)
        for time_ns in (change.before_ns, change.after_ns)
    )
    return (
        change.since_dt,
        change.name,
        change.statistic,
        f"{wording.three_digits(change.ratio)}, {change.direction}",
        *times_ms,
        f"{change.known_at:%Y-%m-%d}",
        change.status,
        change.method.removesuffix(" rule"),
        "; ".join(_near(mark, change) for mark in view.marks_near(change)),
    )


def _near(mark: "EnvironmentMark", change: "Change") -> str:
    if mark.since_at == change.since_at:
        return f"{mark.what} on the same night"
    return f"{mark.what} on {mark.since_at:%Y-%m-%d}"


def environment_section(marks: "Iterable[EnvironmentMark]") -> "Iterator[Section]":
    """What changed of the environment, the latest first; nothing where nothing did."""
    rows = tuple(
        (f"{mark.since_at:%Y-%m-%d}", mark.what, _where(mark))
        for mark in list(reversed(tuple(marks)))[:MOST_LINES]
    )
    if rows:
        table = Table(
            "What is otherwise since a night",
            ("Since", "What", "Where"),
            wording.printable_rows(rows),
            prose=frozenset({1, 2}),
        )
        sentence = "It may explain a step; no series is split for it."
        yield Section("Environment", (sentence,), tables=(table,), anchor="history-environment")


def _where(mark: "EnvironmentMark") -> str:
    return "everywhere" if mark.cells is None else ", ".join(sorted(mark.cells))


def _series(view: "HistoryView") -> "Iterator[Section]":
    tables = [table for statistic in STATISTICS for table in _series_table(view, statistic)]
    if tables:
        yield Section("Series", (_NOISE,), tables=tuple(tables), anchor="history-series")


def _series_table(view: "HistoryView", statistic: "Statistic") -> "Iterator[Table]":
    """Of all series that go on: the level, since when, and where the latest night stands."""
    panel = view.panel_of(statistic)
    first = _first_shown(view, panel)
    latest: dict[str, SeriesLevels] = {}
    for one in sorted(view.levels, key=lambda one: one.levels[-1].last):
        if one.statistic == statistic and one.levels[-1].last >= first:
            latest[_name(one)] = one  # of a series that began anew the one that goes on
    rows = [_series_row(panel, one) for _, one in sorted(latest.items())]
    if rows:
        yield Table(
            f"{statistic} of each series",
            ("Series", "Noise", "Level, ms", "since", "Latest, ms", "by its level", "Nights"),
            wording.printable_rows(rows),
            detail=statistic != "p50",
        )


def _name(one: "SeriesLevels") -> str:
    return "all configurations" if one.key is None else str(one.key)


def _series_row(panel: "Panel", one: "SeriesLevels") -> tuple[str, ...]:
    level = one.levels[-1]
    nights = f"{sum(each.nights for each in one.levels):,}"
    since, noise = f"{panel.nights[level.first]:%Y-%m-%d}", wording.share(one.noise, 1)
    if one.key is None or level.value_ns is None:
        return (_name(one), noise, wording.NONE, since, wording.NONE, wording.NONE, nights)
    latest_ns = float(panel.values_ns[panel.keys.index(one.key), level.last])
    return (
        _name(one),
        noise,
        wording.milliseconds(level.value_ns),
        since,
        wording.milliseconds(latest_ns),
        wording.three_digits(latest_ns / level.value_ns),
        nights,
    )


def _first_shown(view: "HistoryView", panel: "Panel") -> int:
    """The first column of the nights that are shown."""
    first = view.nights[0].due_at if view.nights else None
    shown = [place for place, night in enumerate(panel.nights) if first is not None and night >= first]
    return shown[0] if shown else len(panel.nights)


def redefinitions_section(redefinitions: "Iterable[Redefinition]") -> "Iterator[Section]":
    """Which series began anew; nothing where none did."""
    rows = tuple(
        (f"{one.since_at:%Y-%m-%d}", one.cell_id, one.what)
        for one in list(reversed(tuple(redefinitions)))[:MOST_LINES]
    )
    if rows:
        table = Table(
            "Cells that mean something else since",
            ("Since", "Cell", "What"),
            wording.printable_rows(rows),
            prose=frozenset({1, 2}),
        )
        yield Section(
            "Series that began anew",
            ("They are not compared over that night.",),
            tables=(table,),
            anchor="history-anew",
        )


def _remarks(view: "HistoryView") -> "Iterator[Section]":
    yield from redefinitions_section(view.redefinitions)
    left_out = Counter(view.panel_of("p50").left_out)
    if left_out:
        table = Table(
            "Nights of more than 5 % failed operations",
            ("Series", "Nights"),
            tuple((str(key), f"{count}") for key, count in left_out.most_common(MOST_LINES)),
        )
        sentence = "Of those only the survivors would be compared."
        yield Section("Left out", (sentence,), tables=(table,), anchor="history-left-out")
    if view.unread:
        yield Section(
            "Files that could not be read", alerts=view.unread[:MOST_LINES], anchor="history-unread"
        )
