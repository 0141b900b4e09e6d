"""The page of a history in the Prefect UI: first the nights that are missing, then what has changed."""

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tasks.reports import wording
from tasks.reports.document import Section, Table
from tasks.reports.history_picture import nights_picture
from tasks.reports.markdown import alert_md, section_md, text_md
from tasks.stats.nights import NightState, counts
from tasks.stats.regressions import FAST_RULE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from tasks.reports.history_view import HistoryView
    from tasks.stats.nights import NightCoverage
    from tasks.stats.regressions import Change

_MARKS: Final = {
    NightState.COMPLETE: "✓",
    NightState.FAILED_CELLS: "✓ !",
    NightState.INCOMPLETE: "…",
    NightState.MISSING: "✗",
}
_LEGEND: Final = "✓ complete, ✓ ! some cells failed, … began and did not end, ✗ missing."
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MOST_WEEKS: Final = 53
_RULE: Final = (
    f"A change is {FAST_RULE.nights} nights running that are more than {FAST_RULE.change:.0%} and more than "
    f"{FAST_RULE.deviations:g} robust standard deviations away from the {FAST_RULE.before} nights before."
)
_COMMON: Final = (
    "What all configurations share in a night is taken out first, where there are "
    f"{FAST_RULE.configurations} or more."
)
_MOST_LINES: Final = 20


def history_markdown(view: "HistoryView") -> str:
    """The whole page."""
    picture = nights_picture(view)
    sections = [
        section_md(_nights(view)),
        section_md(_changes(view), [picture] if picture else []),
        *(section_md(section) for section in _remarks(view)),
    ]
    title = f"# Nights of {text_md(view.schedule)} in {text_md(view.location)}"
    alerts = [alert_md(f"{gap}") for gap in reversed(view.gaps[-_MOST_LINES:])]
    return "\n\n".join([title, *alerts, text_md(wording.printable(view.summary)) + ".", *sections]) + "\n"


def _nights(view: "HistoryView") -> Section:
    if not view.nights:
        return Section("Nights", ("A night counts from the first run that the schedule starts.",))
    found = counts(view.nights)
    told = ", ".join(f"{found[state]} {state}" for state in NightState if found[state])
    first, last = view.nights[0].dt, view.nights[-1].dt
    sentences = [f"{first} to {last}, by their dates in UTC: {told}."]
    weeks = _calendar(view.nights)
    if weeks is None:
        sentences.append("Several nights are due on one day, so that no calendar is drawn.")
        return Section("Nights", tuple(sentences))
    return Section("Nights", (*sentences, _LEGEND), tables=(weeks,))


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


def _changes(view: "HistoryView") -> Section:
    rule = (_RULE, _COMMON)
    if not view.changes:
        return Section("Changes", ("None was found.", *rule))
    shown = [_row(change) for change in reversed(view.changes)]
    table = Table(
        "What has changed, the latest first",
        ("Since", "What", "Statistic", "Ratio", "Before, ms", "After, ms", "Known since"),
        tuple(wording.printable_rows(shown)),
        prose=frozenset({1, 2}),
    )
    return Section("Changes", rule, tables=(table,))


def _row(change: "Change") -> tuple[str, ...]:
    times_ms = (
        wording.NONE if time_ns is None else wording.milliseconds(time_ns)
        for time_ns in (change.before_ns, change.after_ns)
    )
    ratio = f"{wording.three_digits(change.ratio)}, {change.direction}"
    return (change.since_dt, change.name, change.statistic, ratio, *times_ms, f"{change.known_at:%Y-%m-%d}")


def _remarks(view: "HistoryView") -> "Iterator[Section]":
    if view.redefinitions:
        rows = tuple(
            (f"{one.since_at:%Y-%m-%d}", one.cell_id, one.what)
            for one in reversed(view.redefinitions[-_MOST_LINES:])
        )
        table = Table(
            "Cells that mean something else since",
            ("Since", "Cell", "What"),
            wording.printable_rows(rows),
            prose=frozenset({1, 2}),
        )
        yield Section("Series that began anew", ("They are not compared over that night.",), tables=(table,))
    left_out = Counter(view.panels[0].left_out)
    if left_out:
        worst = left_out.most_common(_MOST_LINES)
        table = Table(
            "Nights of more than 5 % failed operations",
            ("Series", "Nights"),
            tuple((str(key), f"{count}") for key, count in worst),
        )
        yield Section("Left out", ("Of those only the survivors would be compared.",), tables=(table,))
    if view.unread:
        yield Section("Files that could not be read", alerts=view.unread[:_MOST_LINES])
