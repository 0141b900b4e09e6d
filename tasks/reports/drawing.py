"""What all pictures share: how they look, their colours, their axes, and the SVG that goes into a page.

Drawn through matplotlib's object interface, so that no global state and no display is touched. The same
figures give the same bytes: ids are salted with the picture's name, and no date is written. Text stays text,
which keeps the files small and searchable. Colours are those of Okabe and Ito (2008), told apart with any
colour vision; line styles, markers and hatches tell them apart in black and white as well.
"""

import io
import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from tasks.reports import wording

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from matplotlib.axes import Axes

    from tasks.reports.document import Table

COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
HATCHES: Final = ("", "//", "--", "xx", "\\\\")
"""Of lines: a pattern of dots takes 68 kB."""
MARKERS: Final = ("o", "s", "D", "v", "P", "X", "p", "h")
LEGEND_ROW_INCHES: Final = 0.185
WIDTH_INCHES: Final = 5.4
"""On a phone of 390 pixels text of ten points is then still nine pixels high."""
SMALL: Final = 9.0
"""Points of what is written smaller, which is as small as a phone bears."""

_LINES: Final = ("-", "--", "-.", ":")
_FONT: Final = "font-family: 'DejaVu Sans', sans-serif"
"""What matplotlib measures text with, and would write beside each word."""
_TAG: Final = re.compile(r"<[^>]*>")
"""Text of a drawing holds neither of these two signs: matplotlib escapes them."""
_NEEDLESS: Final = re.compile(rf'(?<=<g) id="[^"]*"| transform="rotate\(-?0 [^"]*"|{re.escape(_FONT)}; ')
"""Names that nothing refers to, and turns by nothing."""
_HUNDREDTHS: Final = re.compile(r"(\d\.\d\d)\d+")
_TENTHS: Final = re.compile(r"(\d\.\d)\d+")
_SPACED: Final = re.compile(r'((?<=")[ML]|(?<= )[MLQC]|;|(?<=[a-z]):) (?=[-#0-9a-z])')
_LONG: Final = 500
"""Of a path of so many characters nobody sees what is beyond a tenth of a point; signs are shorter."""

Kind = Literal["distribution", "percentiles", "blocks", "stages", "nights", "concurrency", "lag", "cost"]


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture, ready for a page."""

    kind: Kind
    svg: str
    caption: str
    description: str
    """What it shows, in words, for those who do not see it."""
    table: "Table | None" = None
    """The same figures; None where the section beside it has a table of them."""


def style() -> "AbstractContextManager[None]":
    """How all pictures look; text stays text."""
    return mpl.rc_context(
        {
            "svg.fonttype": "none",
            "font.family": "sans-serif",
            "font.sans-serif": ["DejaVu Sans"],  # the others would be named with every word
            "font.size": 10.0,
            "text.parse_math": False,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.unicode_minus": False,
            "grid.alpha": 0.3,
        }
    )


def figure_and_axes(height_inches: float, labels: "Sequence[str]") -> "tuple[Figure, Axes]":
    """Axes of this height, on a figure with room for a legend of these labels below."""
    size = (WIDTH_INCHES, height_inches + LEGEND_ROW_INCHES * legend_rows(labels))
    figure = Figure(figsize=size, layout="constrained", facecolor="white")
    return figure, figure.subplots()


def legend_rows(labels: "Sequence[str]") -> int:
    """The rows that a legend of these labels takes."""
    return -(-len(labels) // _legend_columns(labels))


def _legend_columns(labels: "Sequence[str]") -> int:
    """As many as the longest label leaves room for, at about 0.085 inches a character and 0.65 a line."""
    return max(1, min(4, int(WIDTH_INCHES / (0.65 + 0.085 * max(map(len, labels))))))


def looks() -> "Iterator[tuple[str, str]]":
    """Colours with line styles, unlike for the first 28 configurations, and again from the start."""
    while True:
        for shift in range(len(_LINES)):
            for place, colour in enumerate(COLOURS):
                yield colour, _LINES[(place + shift) % len(_LINES)]


def marker(place: int) -> str:
    """The marker of a line by its place; colour and marker repeat after unlike numbers of lines."""
    return MARKERS[place % len(MARKERS)]


def log_milliseconds(axes: "Axes", which: Literal["x", "y"]) -> None:
    """A logarithmic axis of milliseconds, with figures at 1, 2 and 5."""
    log_axis(axes, which, "ms, logarithmic")


def log_axis(axes: "Axes", which: Literal["x", "y"], label: str) -> None:
    """A logarithmic axis whose figures are written out."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    axis.set_label_text(label)
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    if high < 3 * low:  # too short for 1, 2, 5: it might hold none of them
        axis.set_major_locator(MaxNLocator(5))
    else:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,), numticks=20))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axis.set_minor_formatter(NullFormatter())


def legend_below(figure: Figure, axes: "Axes") -> None:
    """The legend, outside of the axes."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=_legend_columns(labels),
        frameon=False,
        fontsize=SMALL,
    )


def svg_text(figure: Figure, name: str) -> str:
    """The figure as an SVG element, of which many stand in one page.

    Its ids are hashes salted with the name: another picture of the page must have another one. The page
    takes the drawing as it is, whatever the name.
    """
    target = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with mpl.rc_context({"svg.hashsalt": name}), warnings.catch_warnings():
        # Text stays text: what draws it has other fonts for what this one lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        figure.savefig(target, format="svg", metadata=nothing)
    drawing = wording.printable(target.getvalue())  # XML holds no control character
    drawing = _TAG.sub(lambda tag: _shorter(tag[0]), drawing[drawing.index("<svg") :])
    drawing = re.sub(r">\s+<", "><", drawing)
    return drawing.replace("<svg", f'<svg style="{_FONT}"', 1)


def _shorter(tag: str) -> str:
    """A tag without what nobody sees, which is half of it."""
    tag = _NEEDLESS.sub("", " ".join(tag.split()))
    tag = (_TENTHS if len(tag) > _LONG else _HUNDREDTHS).sub(r"\1", tag)
    return _SPACED.sub(r"\1", tag)
