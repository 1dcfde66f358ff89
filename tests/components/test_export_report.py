"""The report: it stands alone, runs nothing, loads nothing, and shows what anybody wrote as text."""

import re
from datetime import date
from html.parser import HTMLParser
from typing import get_args

import pytest

from components.compare_rows import Row, rows_of
from components.export_html import document, footer
from components.export_report import Frame, comparison_report, scenario_report
from components.export_svg import HATCHES
from components.pins import Pin
from components.scenario_state import Held, held_from
from components.segments import Texture
from components.solve import solve

FRAME = Frame("https://atlas.example/compare?model=a%2Fb&batch_size=16", date(2026, 11, 29), "GiB")
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&"
GEMMA = {
    "model": "google/gemma-3-27b-it",
    "context_length": "32768",
    "batch_size": "16",
    "accelerator": "h100-sxm5-80gb",
}


class Found(HTMLParser):
    """Every tag with its attributes, and the texts; unbalanced tags are noted."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def visit(**query: str) -> Held:
    return held_from(GEMMA | query, "plan")


def of_scenario(held: Held) -> str:
    return scenario_report(held, solve(held.values, held.config_text), FRAME)


def of_comparison(held: Held) -> tuple[str, list[Row]]:
    rows = rows_of(held, {})
    return comparison_report(held, rows, {}, FRAME), rows


def pinned() -> Held:
    held = visit(tensor_parallel="2")
    held.pins = (
        Pin(visit().values, HOSTILE),
        Pin(visit(accelerator="", total_memory_bytes="300000000000").values, "", HOSTILE),
        Pin(visit(model="Qwen/Qwen3.5-27B", tensor_parallel="16").values, "cannot be"),
    )
    return held


def check_alone(text: str) -> Found:
    """No script, no handler, nothing loaded, every tag closed."""
    found = Found(text)
    assert found.open == []
    assert not {"script", "img", "link", "iframe", "object", "embed", "base", "form"} & {tag for tag, _ in found.tags}
    for _, attributes in found.tags:
        assert not any(name.startswith("on") or name in ("src", "srcset", "xlink:href") for name in attributes)
        assert all(
            link.startswith("https://atlas.example/") for name, link in attributes.items() if name == "href" and link
        )
    assert not re.search(r"url\((?!#)|@import|javascript:", text)
    assert "default-src 'none'" in text
    return found


def test_a_scenario_says_all_that_plan_says() -> None:
    found = check_alone(of_scenario(visit(engine="minimum")))
    for said in (
        "KV Atlas report, 29 Nov 2026 · google/gemma-3-27b-it · BF16 weights",
        "16 requests of 32,768 tokens",
        "Weights and KV are exact",
        "Max requests",
        "budget ",
        "Smallest changes that make it fit",
        "2 GPUs, TP 2",
        "Terms",
        "exact",
        "python -m sizing",
        "https://atlas.example/compare?model=a%2Fb&batch_size=16",
        "GiB (2^30 bytes)",
        "KV Atlas 1.0",
    ):
        assert said in found.text, said
    (figure,) = [attributes for tag, attributes in found.tags if tag == "svg" and attributes.get("role") == "img"]
    assert "Weights 51." in (figure["aria-label"] or "") or "Weights 50." in (figure["aria-label"] or "")


def test_every_texture_is_drawn() -> None:
    assert set(HATCHES) == set(get_args(Texture)) - {"solid"}
    tall = visit(engine="vllm", accelerator="h200-sxm-141gb")
    tags = check_alone(of_scenario(tall)).tags
    used = {match for _, attributes in tags for match in re.findall(r"url\(#(\w+)\)", attributes.get("fill") or "")}
    assert used
    assert used <= {attributes["id"] for tag, attributes in tags if tag == "pattern"}


def test_start_up_log_of_an_engine_that_prints_one() -> None:
    text = Found(of_scenario(visit(engine="vllm"))).text
    assert "GPU KV cache size: " in text
    assert "vllm serve google/gemma-3-27b-it" in text


def test_a_comparison_has_figures_tables_grades_and_prices() -> None:
    held = pinned()
    held.view = {"baseline": "A", "against": "Now"}
    text, rows = of_comparison(held)
    found = check_alone(text)
    assert [row.key for row in rows] == ["A", "B", "C", "Now"]
    for said in (
        "Differences from A, GiB per GPU",
        "From A to Now: what changes the room",
        "How sure: weights exact, KV exact",
        "cannot be. ",
        "24 attention heads",
        "H100 SXM5 80 GB3.9",
        "2026-10-20",
    ):
        assert said in found.text, said
    assert sum(tag == "svg" and attributes.get("role") == "img" for tag, attributes in found.tags) == 2


def test_what_anybody_wrote_is_shown_as_text() -> None:
    text, _ = of_comparison(pinned())
    assert HOSTILE[:40] in check_alone(text).text
    alone = visit(accelerator="", total_memory_bytes="300000000000", accelerator_name=HOSTILE)
    assert HOSTILE[:40] in check_alone(of_scenario(alone)).text
    assert "<script" not in document(HOSTILE, [])


@pytest.mark.parametrize("link", ["javascript:alert(1)", "data:text/html,x", "?model=x", 'https://x/"><b>'])
def test_only_web_addresses_become_links(link: str) -> None:
    found = Found(footer(link, "note"))
    links = [attributes["href"] for tag, attributes in found.tags if tag == "a"]
    assert links == ([link] if link.startswith("https://") else [])
    assert link in found.text


def test_without_a_memory_it_is_still_a_report() -> None:
    found = check_alone(of_scenario(visit(accelerator="", engine="minimum")))
    assert "no memory size is known" in found.text
