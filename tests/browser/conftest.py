"""A real browser before the real UI; every request that it makes is remembered."""

import shutil
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM: Final = "/usr/bin/chromium"
_SWITCHES: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if shutil.which(CHROMIUM) is None:
        pytest.skip(f"there is no {CHROMIUM}: sudo apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_SWITCHES))
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page whose requests all stayed on this machine; what it looked like at last is kept as a picture."""
    page = browser.new_page(viewport={"width": 1280, "height": 1600})
    page.set_default_timeout(20_000)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda socket: asked.append(socket.url))
    yield page
    page.close()
    hosts = {urlsplit(url).hostname for url in asked if not url.startswith(("data:", "blob:"))}
    assert hosts == {"127.0.0.1"}
