"""Trade-offs where only a browser tells: clicking and hovering the map, both themes, narrow screens, a fresh visit."""

import re
from typing import Literal
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Locator, Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

GEMMA = "model=google/gemma-3-27b-it&accelerator=h200-sxm-141gb&context_length=8192&batch_size=16"
MAP = ".st-key-tradeoff_map .js-plotly-plot"


def settled(page: Page) -> Locator:
    """The map, once all three figures are drawn and no rerun is under way."""
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(3)
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)
    return page.locator(MAP)


def place(drawn: Locator, tokens: int, batch: int) -> tuple[float, float]:
    """Where a point of the map is on the screen."""
    x, y = drawn.evaluate(
        """(plot, [tokens, batch]) => {
            const {xaxis, yaxis, _size} = plot._fullLayout;
            return [_size.l + xaxis.c2p(batch), _size.t + yaxis.c2p(tokens)];
        }""",
        [tokens, batch],
    )
    box = drawn.bounding_box()
    assert box is not None
    return box["x"] + x, box["y"] + y


def test_cold_deep_link_opens_the_map_and_a_fresh_browser_draws_the_same(cold_address: str, browser: Browser) -> None:
    link = f"{cold_address}/tradeoffs?{GEMMA}&overlays=tensor_parallel:2,kv_dtype:fp8&cut=requests"
    seen = []
    for _ in range(2):
        context = browser.new_context(viewport={"width": 1280, "height": 1000})
        page = context.new_page()
        page.goto(link)
        settled(page)
        expect(page).to_have_title("Trade-offs · KV Atlas")
        paths = page.locator(f"{MAP} .scatterlayer path.js-line")
        seen.append([paths.nth(index).get_attribute("d") for index in range(paths.count())])
        context.close()
    assert len(seen[0]) == 3 and seen[0] == seen[1]


def test_clicking_a_point_moves_the_scenario_there(address: str, page: Page) -> None:
    page.goto(f"{address}/tradeoffs?{GEMMA}")
    page.mouse.click(*place(settled(page), 2048, 64))
    expect(page).to_have_url(re.compile("context_length=2048&batch_size=64"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("At 2K tokens")
    expect(page.get_by_role("slider", name="Concurrent requests")).to_have_attribute("aria-valuetext", "64")
    page.mouse.click(*place(settled(page), 131_072, 2))
    expect(page).to_have_url(re.compile("context_length=131072&batch_size=2"))


def test_hovering_anywhere_reads_what_is_there(address: str, page: Page) -> None:
    page.goto(f"{address}/tradeoffs?{GEMMA}")
    drawn = settled(page)
    label = page.locator(f"{MAP} .hoverlayer .hovertext")
    for tokens, batch, said in ((4096, 8, "Fits"), (32_768, 128, "Short by"), (3000, 200, "Short by")):
        x, y = place(drawn, tokens, batch)
        page.mouse.move(x - 9, y - 5)
        page.mouse.move(x, y)
        expect(label).to_contain_text(said)
        expect(label).to_contain_text(re.compile(r"Weights 51\.\d GiB.*KV .* GiB"))


def test_the_map_can_be_taken_along_as_a_picture(address: str, page: Page) -> None:
    page.goto(f"{address}/tradeoffs?{GEMMA}")
    settled(page).hover()
    with page.expect_download() as download:
        page.locator(f"{MAP} .modebar-btn").click()
    assert download.value.suggested_filename == "kv-atlas-map.png"
    assert page.locator(f"{MAP} .modebar-btn").count() == 1


def test_going_to_another_page_and_back_keeps_scenario_and_overlays(address: str, page: Page) -> None:
    page.goto(f"{address}/tradeoffs?{GEMMA}&overlays=tensor_parallel:2")
    settled(page)
    page.get_by_role("link", name="Plan").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("16 requests of 8,192 tokens")
    page.get_by_role("link", name="Trade-offs").first.click()
    settled(page)
    expect(page.get_by_role("heading", level=1)).to_contain_text("At 8K tokens")
    expect(page).to_have_url(re.compile("overlays="))
    query = parse_qs(urlsplit(page.url).query)
    assert (query["model"], query["overlays"]) == (["google/gemma-3-27b-it"], ["tensor_parallel:2"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes_pass_axe(address: str, browser: Browser, scheme: Literal["light", "dark"]) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 1400}, color_scheme=scheme)
    page = context.new_page()
    for link in (GEMMA, "model=Qwen/Qwen3.5-27B&overlays=tensor_parallel:16,engine:sglang,bad&cut=requests"):
        page.goto(f"{address}/tradeoffs?{link}")
        settled(page)
        found = Axe().run(page).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found] == []
    context.close()


def test_narrow_screens_do_not_scroll_sideways_and_figures_have_names(address: str, page: Page) -> None:
    page.goto(f"{address}/tradeoffs?{GEMMA}")
    settled(page)
    for name in ("You are at 16 requests of 8,192 tokens", "stacked by term", "by architecture"):
        expect(page.get_by_role("figure", name=re.compile(name))).to_be_visible()
    for width in (1280, 768, 390):
        page.set_viewport_size({"width": width, "height": 900})
        settled(page)
        for element in ("document.documentElement", "document.querySelector('[data-testid=stMain]')"):
            # figures take a new width a moment later; what stays too wide runs into the time limit
            page.wait_for_function(f"{element}.scrollWidth <= {element}.clientWidth")
