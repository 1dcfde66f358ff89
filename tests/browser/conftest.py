from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser import server

expect.set_options(timeout=30_000)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = server.chromium()
    if path is None:
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=server.FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def address(browser: Browser) -> Iterator[str]:
    """A server that all warm tests share; asking for the browser first skips without starting one."""
    with server.running() as url:
        yield url


@pytest.fixture
def cold_address(browser: Browser) -> Iterator[str]:
    """A server that nobody has visited."""
    with server.running() as url:
        yield url


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    opened = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    opened.set_default_timeout(30_000)
    yield opened
    opened.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page that must not have raised an error by the end of the test."""
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    assert errors == []
