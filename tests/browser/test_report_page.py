"""The page of a report as a person sees it: on a desk, on a phone, and on paper."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

DESK: Final = 1400
PHONE: Final = 390
PAPER: Final = 703
"""A4 without its margins."""
SCREENSHOTS = Path(__file__).parent / "screenshots"
Opened = Callable[[int], Page]

_SMALLEST_TEXT = """() => Math.min(...[...document.querySelectorAll('svg text')].map(one => {
    const drawn = one.ownerSVGElement;
    return parseFloat(getComputedStyle(one).fontSize) * drawn.clientWidth / drawn.viewBox.baseVal.width;
}))"""
_CUT_TEXT = """() => [...document.querySelectorAll('svg text')].filter(one => {
    const mine = one.getBoundingClientRect(), drawn = one.ownerSVGElement.getBoundingClientRect();
    return mine.left < drawn.left - 1 || mine.right > drawn.right + 1
        || mine.top < drawn.top - 1 || mine.bottom > drawn.bottom + 1;
}).map(one => one.textContent)"""
_OVERLAPPING = """() => [...document.querySelectorAll('svg')].flatMap(drawn => {
    const all = [...drawn.querySelectorAll('text')]
        .map(one => [one.textContent, one.getBoundingClientRect()]);
    return all.flatMap(([text, one], place) => all.slice(place + 1).filter(([, other]) =>
        Math.min(one.right, other.right) - Math.max(one.left, other.left) > 1
        && Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 3
    ).map(([other]) => `${text} | ${other}`));
})"""
_BROKEN_FIGURES = """() => [...document.querySelectorAll('td:not(.words)')].filter(one =>
    /^[0-9,.]+$/.test(one.textContent) && one.getClientRects().length
    && (() => { const range = document.createRange(); range.selectNodeContents(one);
        return new Set([...range.getClientRects()].map(box => Math.round(box.top))).size > 1; })()
).map(one => one.textContent)"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of twenty nights of an example store."""
    folder = tmp_path_factory.mktemp("report")
    s3bench = str(Path(sys.executable).with_name("s3bench"))
    for command in (
        ["example", "store", "--nights", "20"],
        ["report", "--results", "store", "--html", "report.html"],
    ):
        subprocess.run([s3bench, *command], cwd=folder, check=True, capture_output=True)
    return folder / "report.html"


@pytest.fixture
def opened(browser: Browser, file: Path) -> Iterator[Opened]:
    """Opens it so many pixels wide, in a browser that is offline."""
    contexts = []

    def open_it(width: int) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 1000}, offline=True)
        contexts.append(context)
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        assert asked == [file.as_uri()]
        page.screenshot(path=SCREENSHOTS / f"report-{width}.png", full_page=True)
        return page

    yield open_it
    for context in contexts:
        context.close()


@pytest.mark.parametrize("width", [DESK, PHONE])
def test_nothing_is_wider_than_the_screen_but_tables_that_scroll_by_themselves(
    opened: Opened, width: int
) -> None:
    page = opened(width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_the_text_of_pictures_is_whole_apart_and_large_enough_on_a_phone(opened: Opened) -> None:
    page = opened(PHONE)
    assert page.locator("svg").count() > 20
    assert page.evaluate(_SMALLEST_TEXT) >= 8
    assert page.evaluate(_CUT_TEXT) == []
    assert page.evaluate(_OVERLAPPING) == []


def test_the_weeks_of_the_calendar_fit_on_a_phone(opened: Opened) -> None:
    calendar = opened(PHONE).locator("#history-nights .scroll")
    assert calendar.evaluate("one => one.scrollWidth - one.clientWidth") <= 0


def test_on_paper_every_table_is_open_and_no_figure_is_broken(opened: Opened) -> None:
    page = opened(PAPER)
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") == PAPER
    folded = page.locator("details:not(.long)")
    assert folded.count() > 20
    assert all(one.evaluate("one => one.querySelector('td').clientHeight > 0") for one in folded.all())
    assert page.evaluate(_BROKEN_FIGURES) == []
