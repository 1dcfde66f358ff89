"""Accuracy where only a browser tells: both themes and narrow screens."""

from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


def settled(page: Page) -> None:
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_passes_axe_and_does_not_scroll_sideways(
    address: str, browser: Browser, scheme: Literal["light", "dark"]
) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 1400}, color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{address}/accuracy")
    settled(page)
    expect(page.get_by_role("heading", level=1)).to_contain_text("figures are predicted")
    expect(page.get_by_role("figure")).not_to_have_count(0)
    found = Axe().run(page).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found] == []
    for width in (1280, 768, 390):
        page.set_viewport_size({"width": width, "height": 900})
        settled(page)
        for element in ("document.documentElement", "document.querySelector('[data-testid=stMain]')"):
            # figures take a new width a moment later; what stays too wide runs into the time limit
            page.wait_for_function(f"{element}.scrollWidth <= {element}.clientWidth")
    context.close()
