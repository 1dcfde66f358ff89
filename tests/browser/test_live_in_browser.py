"""Live in a browser: both themes, a phone, playback, and the ink that follows the theme."""

import re
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.test_browser import serious_violations

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

GROWTH = ".st-key-live_growth"


def arrived(page: Page, address: str) -> None:
    page.goto(f"{address}/live")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Measured equals predicted")
    expect(page.locator(f"{GROWTH} .js-plotly-plot")).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(2)


def choose(page: Page, source: str) -> None:
    page.get_by_role("combobox", name="Source").click()
    page.get_by_role("option", name=source).click()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes_pass_axe(address: str, browser: Browser, scheme: Literal["light", "dark"]) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 1100}, color_scheme=scheme)
    page = context.new_page()
    arrived(page, address)
    ring = page.locator(f"{GROWTH} .scatterlayer .points path").first
    red = int(re.findall(r"\d+", ring.evaluate("ring => getComputedStyle(ring).stroke"))[0])
    assert red < 64 if scheme == "light" else red > 192
    assert serious_violations(page) == []
    for source, title in (
        ("Run here", "Run a small model"),
        ("Full-size dry run", "Build"),
        ("Running server", "Paste"),
    ):
        choose(page, source)
        expect(page.get_by_role("heading", level=1)).to_contain_text(title)
        assert serious_violations(page) == []
    context.close()


def test_a_phone_does_not_scroll_sideways(address: str, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    arrived(page, address)
    page.wait_for_function("document.documentElement.scrollWidth <= 390")
    context.close()


def test_a_recorded_run_plays(address: str, page: Page) -> None:
    arrived(page, address)
    rings = page.locator(f"{GROWTH} .scatterlayer .trace").nth(1).locator(".points path")
    every = rings.count()
    page.locator(f"{GROWTH} .updatemenu-button").click()
    page.wait_for_timeout(500)
    assert 0 < rings.count() < every
    expect(rings).to_have_count(every)
