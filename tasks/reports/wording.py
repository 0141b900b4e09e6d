"""How figures are written: the one place, so that no two reports can show a number differently."""

from decimal import Decimal
from typing import TYPE_CHECKING, Final

from tasks.kernel.samples import STAGES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tasks.stats.summary_types import Quantile, Ratio

NONE: Final = "–"
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")
_STEP: Final = 1024
_MOST_FILES: Final = 10
"""Damaged files that a document names: who finds more than these has a disk to look at."""
SYNTHETIC: Final = "SYNTHETIC: nobody measured this. All numbers are made up, for demonstrations and tests."
"""The first alert of every document about runs of an example store."""
IMPORTED: Final = (
    "IMPORTED: not measured by this harness but by {who}. Nobody has proved the labels or verified what was "
    "read; a block is one invocation, and blocks were neither shuffled nor interleaved."
)
"""The first alert of every document about a run that was imported; `imported` fills in who measured."""
STAGE_NAMES: Final = {stage: stage.removesuffix("_ns") for stage in STAGES} | {
    "tls_ns": "TLS",
    "ttfb_ns": "first byte",
    "user_ns": "user CPU",
    "system_ns": "system CPU",
    "response_ns": "response, from when it was due",
}


def imported(measured_by: str) -> tuple[str, ...]:
    """The alert about a run that somebody else measured; nothing of a run of ours, where it is empty."""
    return (printable(IMPORTED.format(who=measured_by)),) if measured_by else ()


def not_read(unread: "Sequence[str]") -> tuple[str, ...]:
    """The alerts about damaged files: what they hold is missing in the document."""
    more = [f"{len(unread) - _MOST_FILES:,} more files"] if len(unread) > _MOST_FILES else []
    return tuple(printable(f"NOT READ: {told}") for told in (*unread[:_MOST_FILES], *more))


def three_digits(value: float) -> str:
    """A figure with three significant digits, never in powers of ten: `0.0512`, `5.12`, `51.2`, `5,123`."""
    if value == 0:
        return "0"
    exact = Decimal(value)
    decimals = max(0, 2 - exact.adjusted())
    rounded = round(exact, decimals)
    if rounded.adjusted() > exact.adjusted():  # 9.996 became 10.00: one digit too many
        decimals = max(0, decimals - 1)
    return f"{rounded:,.{decimals}f}"


def milliseconds(time_ns: float) -> str:
    """Nanoseconds as milliseconds with three significant digits, without the unit."""
    return three_digits(time_ns / 1e6)


def duration(time_ms: float) -> str:
    """A wall time for people: `83 ms`, `4.2 s`, `6 min 05 s`."""
    if time_ms < 1000:  # noqa: PLR2004 - a second
        return f"{three_digits(time_ms)} ms"
    seconds = time_ms / 1000
    if seconds < 120:  # noqa: PLR2004 - two minutes
        return f"{seconds:,.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"


def short_duration(time_ns: float) -> str:
    """A time of the harness: nanoseconds below ten microseconds, then microseconds, then milliseconds."""
    if time_ns < 10_000:  # noqa: PLR2004 - ten microseconds
        return f"{time_ns:,.0f} ns"
    if time_ns < 1_000_000:  # noqa: PLR2004 - a millisecond
        return f"{three_digits(time_ns / 1e3)} µs"
    return f"{three_digits(time_ns / 1e6)} ms"


def quantile(value: "Quantile") -> str:
    """A quantile in milliseconds, as far as the sample supports it.

    `12.3` where both bounds of its 95 % interval exist; `≥ 11.9`, the lower bound, where only that one
    does; `(12.3)`, the sample's own, where the sample is too small for any.
    """
    if value.low_ns is None:
        return f"({milliseconds(value.value_ns)})"
    if value.high_ns is None:
        return f"≥ {milliseconds(value.low_ns)}"
    return milliseconds(value.value_ns)


def quantile_interval(value: "Quantile") -> str:
    """The 95 % interval of a quantile in milliseconds: `11.9 to 12.8`, `≥ 11.9`, or `–` for none."""
    if value.low_ns is None:
        return NONE
    if value.high_ns is None:
        return f"≥ {milliseconds(value.low_ns)}"
    return f"{milliseconds(value.low_ns)} to {milliseconds(value.high_ns)}"


def throughput(size_bytes: int, time: "Quantile") -> str:
    """Megabytes (10⁶ bytes) a second at a quantile of the time, bounded where that is: `12.3`, `≤ 12.3`."""
    if time.low_ns is None:
        return f"({_megabytes_per_s(size_bytes, time.value_ns)})"
    if time.high_ns is None:
        return f"≤ {_megabytes_per_s(size_bytes, time.low_ns)}"
    return _megabytes_per_s(size_bytes, time.value_ns)


def _megabytes_per_s(size_bytes: int, time_ns: int) -> str:
    return three_digits(size_bytes / 1e6 / (time_ns / 1e9)) if time_ns else NONE


def share_of_quantiles(part: "Quantile", whole: "Quantile") -> str:
    """One p50 by another in percent; in brackets where either sample is too small for its bounds."""
    shown = share(part.value_ns, whole.value_ns)
    known = None not in {part.low_ns, part.high_ns, whole.low_ns, whole.high_ns}
    return shown if known else f"({shown})"


def comparison(ratio: "Ratio") -> str:
    """A ratio with its 95 % interval and what it says: `0.0833 (0.0812 to 0.0853), faster`."""
    return f"{ratio_interval(ratio)}, {ratio.verdict}"


def ratio_interval(ratio: "Ratio") -> str:
    """A ratio with its 95 % interval: `0.0833 (0.0812 to 0.0853)`.

    Where the robust estimate is far from it, that too: `1.31 (1.12 to 1.53; robust 1.09)`.
    """
    if ratio.low is None or ratio.high is None:
        interval = f"an interval needs 2 {ratio.unit}s"
    else:
        interval = f"{three_digits(ratio.low)} to {three_digits(ratio.high)}"
    robust = "" if ratio.robust_apart is None else f"; robust {three_digits(ratio.robust_apart)}"
    return f"{three_digits(ratio.value)} ({interval}{robust})"


def winner(ratio: "Ratio") -> str:
    """The verdict with the name of the faster one: `boto3 faster`, `no difference seen`, `undecided`."""
    faster_id = {"faster": ratio.config_id, "slower": ratio.baseline_id}.get(ratio.verdict)
    return ratio.verdict if faster_id is None else f"{faster_id} faster"


def corrected_for(tested: int) -> tuple[str, ...]:
    """Once for a document: how many comparisons its verdicts are corrected for; nothing for a single one."""
    if tested < 2:  # noqa: PLR2004 - nothing to correct
        return ()
    told = (
        f"Verdicts are corrected for the {tested:,} comparisons that are shown together (Benjamini and "
        "Hochberg, 5 %): an interval may leave out 1 and still be no difference seen."
    )
    return (told,)


def share(part: float, whole: float) -> str:
    """A share in percent, `–` of nothing."""
    return f"{100 * part / whole:.1f} %" if whole else NONE


def errors(failed: int, succeeded: int) -> str:
    """Failed operations with their share of all: `3 (0.6 %)`."""
    return f"{failed:,} ({share(failed, failed + succeeded)})" if failed else "0"


def counts(files: int | None, records: int | None, size_bytes: int | None, *, of: str = "file") -> str:
    """What an operation or a dataset held: `55 files, 2,900 records, 421,346 bytes`; `of` names the first."""
    parts = ((files, of), (records, "record"), (size_bytes, "byte"))
    known = [f"{value:,} {noun}{'' if value == 1 else 's'}" for value, noun in parts if value is not None]
    return ", ".join(known) or "no counts"


def usd(amount: float | None) -> str:
    """US dollars with three significant digits, without the unit: `0.000412`, `not known`."""
    return "not known" if amount is None else three_digits(amount)


def size(size_bytes: int) -> str:
    """A size by powers of 1,024: `14 B`, `64.0 KiB`, `2.5 GiB`."""
    value, unit = float(size_bytes), 0
    while value >= _STEP and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    return f"{value:.0f} {_UNITS[unit]}" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"


def printable(text: str) -> str:
    """Text from data without what a terminal would obey or a file could not hold: escapes, surrogates."""
    return "".join(
        character if character.isprintable() or character == "\n" else "\N{REPLACEMENT CHARACTER}"
        for character in text
    )


def printable_rows(rows: "Iterable[tuple[str, ...]]") -> tuple[tuple[str, ...], ...]:
    """Rows of a table, every cell as `printable` makes it."""
    return tuple(tuple(printable(cell) for cell in row) for row in rows)
