"""What only a browser shows: the first deep link after a start, the address, both themes, narrow screens."""

import re
from typing import Literal
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, FilePayload, Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

GEMMA = "model=google/gemma-3-27b-it&context_length=32768&batch_size=16"
SHORT = re.compile("Short by .* 16 requests of 32,768 tokens do not fit")
BAR = ".st-key-memory_bar"


def settled(page: Page) -> None:
    """The answer and both figures are drawn and no rerun is under way."""
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)


def query(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


@pytest.mark.parametrize("path", ["/plan", "/"])
def test_cold_deep_link_opens_the_right_page_in_the_right_state(cold_address: str, page: Page, path: str) -> None:
    page.goto(f"{cold_address}{path}?{GEMMA}")
    expect(page.get_by_role("heading", level=1)).to_have_text(SHORT)
    expect(page).to_have_title("Plan · KV Atlas")
    assert query(page)["model"] == ["google/gemma-3-27b-it"]
    assert query(page)["context_length"] == ["32768"]
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_test_id("stSidebarNav")).to_have_count(0)
    expect(page.get_by_test_id("stApp")).not_to_contain_text("Page not found")


def test_every_change_is_in_the_address_and_the_address_brings_it_back(address: str, page: Page) -> None:
    page.goto(f"{address}/?{GEMMA}&tensor_parallel=2")
    settled(page)
    page.get_by_role("radio", name="4", exact=True).click()
    expect(page).to_have_url(re.compile("tensor_parallel=4"))
    page.get_by_role("slider", name="Tokens per request").press("ArrowRight")
    expect(page).to_have_url(re.compile("context_length=49152"))
    headline = page.get_by_role("heading", level=1)
    expect(headline).to_contain_text("49,152 tokens")
    said = headline.inner_text()
    page.goto(page.url)
    expect(headline).to_have_text(said)
    assert query(page)["tensor_parallel"] == ["4"]


def test_exact_numbers_from_a_link_stay_until_they_are_changed(address: str, page: Page) -> None:
    page.goto(f"{address}/?context_length=33333&batch_size=17")
    headline = page.get_by_role("heading", level=1)
    expect(headline).to_contain_text("17 requests of 33,333 tokens")
    page.get_by_role("slider", name="Concurrent requests").press("ArrowRight")
    expect(headline).to_contain_text("24 requests of 33,333 tokens")
    expect(page).to_have_url(re.compile("context_length=33333&batch_size=24"))


def test_going_back_undoes_the_last_change(address: str, page: Page) -> None:
    page.goto(f"{address}/?batch_size=8")
    headline = page.get_by_role("heading", level=1)
    expect(headline).to_contain_text("8 requests of")
    page.get_by_role("slider", name="Concurrent requests").press("ArrowRight")
    expect(headline).to_contain_text("12 requests of")
    expect(page).to_have_url(re.compile("batch_size=12"))
    page.go_back()
    expect(headline).to_contain_text("8 requests of")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes_pass_axe(address: str, browser: Browser, scheme: Literal["light", "dark"]) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 1100}, color_scheme=scheme)
    page = context.new_page()
    for link in (GEMMA, "model=Qwen/Qwen3.5-27B&tensor_parallel=16&foo=1"):
        page.goto(f"{address}/?{link}")
        expect(page.locator(".js-plotly-plot").first).to_be_visible()
        page.get_by_role("tab", name="Formula").click()
        expect(page.get_by_text("One copy of the model keeps")).to_be_visible()
        if link == GEMMA:
            assert_ink_follows_the_theme(page, scheme)
        assert serious_violations(page) == []
    context.close()


def serious_violations(page: Page) -> list[tuple[str, str]]:
    found = Axe().run(page).response["violations"]
    return [(each["id"], each["nodes"][0]["html"][:200]) for each in found if each["impact"] in ("serious", "critical")]


def assert_ink_follows_the_theme(page: Page, scheme: str) -> None:
    """Rests on placeholders that Streamlit swaps in every figure, which its documentation does not promise."""
    budget = page.locator(f"{BAR} .shapelayer path").nth(1)
    label = page.locator(f"{BAR} .annotation-text").first
    for element, style in ((budget, "stroke"), (label, "fill")):
        colour = element.evaluate(f"element => getComputedStyle(element).{style}")
        channels = [int(channel) for channel in re.findall(r"\d+", colour)[:3]]
        assert max(channels) < 80 if scheme == "light" else min(channels) > 200, colour


def test_narrow_screens_do_not_scroll_sideways_and_figures_have_names(address: str, page: Page) -> None:
    page.goto(f"{address}/?{GEMMA}")
    settled(page)
    expect(page.get_by_role("figure", name=re.compile(r"Weights [\d.]+ GiB.* KV that fits"))).to_be_visible()
    expect(page.get_by_role("figure", name=re.compile("62 layers.*52 × window of 1,024"))).to_be_visible()
    page.get_by_role("tab", name="Formula").click()
    expect(page.get_by_text("One copy of the model keeps")).to_be_visible()
    for width in (1280, 768, 390):
        page.set_viewport_size({"width": width, "height": 900})
        settled(page)
        for element in ("document.documentElement", "document.querySelector('[data-testid=stMain]')"):
            # figures take a new width a moment later; what stays too wide runs into the time limit
            page.wait_for_function(f"{element}.scrollWidth <= {element}.clientWidth")


def test_a_dropped_config_is_sized_and_its_link_opens_it(address: str, page: Page) -> None:
    page.goto(f"{address}/?model=config.json")
    file = FilePayload(name="config.json", mimeType="application/json", buffer=CONFIG.encode())
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files([file])
    expect(page.get_by_label("or paste its text")).to_have_value(CONFIG)
    headline = page.get_by_role("heading", level=1)
    expect(headline).to_contain_text("Fits")
    expect(page).to_have_url(re.compile("config="))
    page.goto(page.url)
    expect(headline).to_contain_text("Fits")


CONFIG = """{"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 8,
 "num_key_value_heads": 2, "intermediate_size": 2816, "vocab_size": 32000, "torch_dtype": "bfloat16"}"""
