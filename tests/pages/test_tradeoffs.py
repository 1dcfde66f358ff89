"""Trade-offs through Streamlit's own test runner: the map's figures, every control, and what an address may say."""

import json
import re
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Widget

from components.tradeoff_architectures import apart
from components.tradeoff_variants import Variant, read_overlays, write_overlays
from sizing.answer import answer

ROOT = Path(__file__).parents[2]
GEMMA = {"model": "google/gemma-3-27b-it", "accelerator": "h200-sxm-141gb", "engine": "vllm"}


def opened(**query: object) -> AppTest:
    """The page as a visitor with this address sees it; it must not have raised."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for name, value in query.items():
        app.query_params[name] = str(value)
    app.run()
    return ran(app.switch_page("pages/tradeoffs.py"))


def ran(step: AppTest | Widget) -> AppTest:
    app = step.run()
    assert [error.message for error in app.exception] == []
    return app


def headline(app: AppTest) -> str:
    return app.title[0].value


def captions(app: AppTest) -> str:
    shown = "\n".join(caption.value for caption in app.caption)
    return re.sub(r"\\(.)", r"\1", shown).replace("\u2060", "")  # without what keeps texts from being read as markup


def figure(app: AppTest, index: int = 0) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(app.get("plotly_chart")[index].proto.spec)
    return spec


def borders(app: AppTest) -> list[dict[str, Any]]:
    """The frontiers on the map, the scenario's own last."""
    return [trace for trace in figure(app)["data"] if trace["mode"] == "lines"]


def notes(app: AppTest, index: int = 0) -> list[str]:
    return [re.sub("<[^>]*>", " ", note["text"]).strip() for note in figure(app, index)["layout"]["annotations"]]


def bought(app: AppTest) -> dict[str, list[str]]:
    """The table of what each overlay buys, by name."""
    (body,) = [each.proto.body for each in app.get("html") if "Drawn as" in each.proto.body]
    rows = [
        [unescape(re.sub("<[^>]*>", "", cell)) for cell in re.findall("<td.*?</td>", row)] for row in body.split("<tr>")
    ]
    return {row[0]: row[1:] for row in rows if row}


def query(app: AppTest, name: str) -> str:
    value = app.query_params[name]
    return str(value[0] if isinstance(value, list) else value)


def test_it_answers_on_arrival_with_three_figures() -> None:
    app = opened(**GEMMA)
    said = answer({**GEMMA, "context_length": 8192, "batch_size": 16})["capacity"]
    most, longest = said["max_batch_at_context"], said["max_context_at_batch"]
    assert headline(app) == f"At 8K tokens {most:,} requests fit; at 16 requests, {longest:,} tokens"
    assert len(app.get("plotly_chart")) == 3
    assert {"you are here  16 × 8K", f"{most:,} requests", f"{longest:,} tokens"} <= set(notes(app))
    assert "the model's limit, 128K" in notes(app)
    assert list(bought(app)) == ["KV BF16", "KV FP8", "KV NVFP4"]
    assert bought(app)["KV BF16"][:2] == [f"{most:,}", f"{longest:,}"]


def test_the_drawn_border_is_the_cores() -> None:
    """Corners fit and one request more does not; the axes reach beyond the model's limit and to a thousand."""
    app = opened(**GEMMA)
    layout = figure(app)["layout"]
    assert 10 ** layout["yaxis"]["range"][1] > 131_072 and 10 ** layout["xaxis"]["range"][1] > 1000
    own = borders(app)[-1]
    assert own["line"]["color"] == "#CA580F" and own["line"]["shape"] == "vh"
    corners = list(zip(own["x"], own["y"], strict=True))[1:-1]
    for batch, tokens in corners[:: len(corners) // 5]:
        load = {**GEMMA, "context_length": tokens}
        assert answer({**load, "batch_size": batch})["verdict"]["fits"] is True
        assert answer({**load, "batch_size": batch + 1})["verdict"]["fits"] is False


def test_hover_points_read_the_reports_figures() -> None:
    app = opened(**GEMMA)
    grid = [trace for trace in figure(app)["data"] if "customdata" in trace]
    assert {trace["name"] for trace in grid} >= {"Fits", "Short"}
    for trace in grid:
        batch, tokens, (kv, state, room) = trace["x"][0], trace["y"][0], trace["customdata"][0]
        report = answer({**GEMMA, "context_length": tokens, "batch_size": batch})
        assert report["verdict"]["state"] == trace["name"].lower()
        assert kv == pytest.approx(report["per_gpu"]["kv_bytes"] / 2**30, rel=5e-4)
        assert state == 0
        if trace["name"] == "Short":
            assert room == pytest.approx(report["verdict"]["short_by_bytes"] / 2**30, rel=5e-4)


def test_overlays_differ_by_dash_and_not_by_hue() -> None:
    app = opened(**GEMMA, overlays="tensor_parallel:2,kv_dtype:fp8,weights:fp8,engine:sglang,accelerator:b200-sxm")
    *others, own = borders(app)
    assert len({line["line"]["dash"] for line in others}) == len(others) == 5
    assert {line["line"]["color"] for line in others} == {"#000037"}
    assert "dash" not in own["line"]
    names = set(bought(app))
    assert names == {"Yours", "2 GPUs", "KV FP8", "Weights FP8", "SGLang", "B200 SXM"}
    assert names <= set(notes(app))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("weights", {"Weights BF16", "Weights FP8"}),
        ("tensor_parallel", {"1 GPU", "2 GPUs", "4 GPUs", "8 GPUs"}),
        ("accelerator", {"H200 SXM 141 GB", "B200 SXM"}),
        ("engine", {"vLLM", "SGLang", "llama.cpp"}),
    ],
)
def test_each_kind_of_overlay_is_one_choice_and_in_the_address(kind: str, expected: set[str]) -> None:
    app = opened(**GEMMA)
    ran(app.button_group(key="form_overlay_kind").set_value(kind))
    assert query(app, "overlays") == kind
    assert expected <= set(bought(app))
    assert set(bought(opened(**GEMMA, overlays=kind))) == set(bought(app))


def test_single_overlays_come_and_go() -> None:
    app = opened(**GEMMA)
    ran(app.button_group(key="form_overlays").set_value(["kv_dtype:fp8"]))
    assert query(app, "overlays") == "kv_dtype:fp8"
    ran(app.selectbox(key="form_more_overlays").set_value("tensor_parallel:4"))
    assert query(app, "overlays") == "kv_dtype:fp8,tensor_parallel:4"
    assert list(bought(app)) == ["Yours", "KV FP8", "4 GPUs"]
    ran(app.button_group(key="form_overlays").set_value([]))
    assert query(app, "overlays") == "none"
    assert len(borders(app)) == 1


def test_a_seventh_overlay_is_refused_with_a_word() -> None:
    six = "tensor_parallel:2,tensor_parallel:4,tensor_parallel:8,kv_dtype:fp8,weights:fp8,engine:sglang"
    app = opened(**GEMMA, overlays=six)
    ran(app.selectbox(key="form_more_overlays").set_value("accelerator:b200-sxm"))
    assert "The map holds 6 overlays" in captions(app)
    assert query(app, "overlays") == six
    ran(app)
    assert "The map holds 6 overlays" not in captions(app)


def test_an_overlay_that_cannot_be_says_why() -> None:
    app = opened(model="Qwen/Qwen3.5-27B", engine="minimum", overlays="tensor_parallel:16,tensor_parallel:2")
    (reason,) = bought(app)["16 GPUs"]
    assert "24" in reason and "16" in reason
    assert len(borders(app)) == 2


def test_typing_a_point_moves_the_scenario_there() -> None:
    app = opened(**GEMMA)
    ran(app.number_input(key="form_point_tokens").set_value(12_345))
    ran(app.number_input(key="form_point_requests").set_value(7))
    assert (query(app, "context_length"), query(app, "batch_size")) == ("12345", "7")
    assert "you are here  7 × 12,345" in notes(app)
    ran(app.select_slider(key="form_batch_size").set_value(32))
    assert app.number_input(key="form_point_requests").value == 32


def test_the_cut_runs_both_ways_and_names_where_kv_overtakes_the_weights() -> None:
    app = opened(**GEMMA)
    assert [trace["name"] for trace in figure(app, 1)["data"][:2]] == ["Weights", "Activations"]
    along_tokens = next(note for note in notes(app, 1) if note.startswith("KV = weights"))
    assert along_tokens.endswith("tokens")
    ran(app.button_group(key="form_cut").set_value("requests"))
    assert query(app, "cut") == "requests"
    crossing = next(note for note in notes(app, 1) if note.startswith("KV = weights"))
    batch = int(re.sub(r"\D", "", crossing))
    weights = answer({**GEMMA, "context_length": 8192})["per_gpu"]["weights_bytes"]
    kept = [answer({**GEMMA, "context_length": 8192, "batch_size": n})["per_gpu"] for n in (batch - 1, batch)]
    encoder = kept[0]["encoder_bytes"]
    assert kept[0]["kv_bytes"] < weights + encoder <= kept[1]["kv_bytes"]


def test_architectures_show_the_bend_the_floor_and_the_copies() -> None:
    app = opened(model="meta-llama/Llama-3.1-8B-Instruct")
    data = {
        trace["hovertemplate"].partition("<extra>")[2].removesuffix("</extra>"): trace
        for trace in figure(app, 2)["data"]
    }
    assert len({trace["line"]["dash"] for trace in data.values()}) >= 4
    full, split = data["Llama-3.1-8B"], data["Llama-3.1-8B, TP 16"]
    assert full["line"]["color"] == "#CA580F"
    assert full["y"][-1] == 16.0 and split["y"][-1] == 32.0  # 131,072 × 128 KiB; eight heads on 16 GPUs
    gemma = dict(zip(data["gemma-3-27b"]["x"], data["gemma-3-27b"]["y"], strict=True))
    assert gemma[1024] / gemma[512] == pytest.approx(2, rel=1e-3)
    assert gemma[2048] / gemma[1024] < 1.2
    hybrid = data["Qwen3.5-27B"]["y"]
    assert hybrid[0] > full["y"][0] * 5 and hybrid[8] < hybrid[0] * 1.5
    assert "bends at 1,024 tokens, where 52 of its 62 layers stop growing" in captions(app)
    assert "16 GPUs keep each 2 times" in captions(app)


def test_latents_are_kept_by_every_gpu() -> None:
    """A latent cannot be divided: 16 GPUs keep 16 copies, 61 layers × 576 × 2 bytes a token each."""
    app = opened(model="deepseek-ai/DeepSeek-V3", tensor_parallel=16, accelerator="h200-sxm-141gb")
    lines = {note.partition(" · ")[0].strip(): note for note in notes(app, 2)}
    assert {"DeepSeek-V3", "DeepSeek-V3, TP 16"} <= set(lines)
    assert "With TP 16, DeepSeek-V3 is kept 16 times." in captions(app)
    split = next(trace for trace in figure(app, 2)["data"] if "DeepSeek-V3, TP 16" in trace["hovertemplate"])
    assert split["y"][-1] == pytest.approx(16 * 61 * 576 * 2 * 131_072 / 2**30, rel=1e-3)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("nonsense", '"nonsense" is not an overlay'),
        ("kv_dtype:fp8,engine:none", '"engine:none" is not an overlay'),
        ("tensor_parallel:3", '"tensor_parallel:3" is not an overlay'),
        (",".join(f"tensor_parallel:{n}" for n in (1, 2, 4, 8, 16)) + ",kv_dtype:fp8,weights:fp8", "has 7 overlays"),
    ],
)
def test_a_foreign_link_says_what_was_left_out_and_keeps_the_rest(text: str, complaint: str) -> None:
    app = opened(**GEMMA, overlays=text, context_length=4096)
    assert complaint in captions(app)
    assert headline(app).startswith("At 4K tokens")


def test_without_memory_nothing_bounds_the_map() -> None:
    app = opened(accelerator="", engine="minimum")
    assert "no memory size is known" in headline(app)
    assert "nothing bounds this map" in captions(app)
    assert borders(app) == []


def test_weights_beyond_the_budget_leave_the_overlays() -> None:
    app = opened(model="meta-llama/Llama-3.1-70B-Instruct", engine="minimum", overlays="tensor_parallel:4")
    assert "the weights alone exceed the budget" in headline(app)
    assert "Nothing fits at any length" in captions(app)
    assert len(borders(app)) == 1


def test_an_impossible_scenario_shows_its_way_out_above_the_map_without_the_fault() -> None:
    app = opened(model="Qwen/Qwen3.5-27B", tensor_parallel=16, engine="minimum")
    assert "No split of Qwen3.5-27B over 16 GPUs" in headline(app)
    assert "left out" in captions(app)
    assert next(iter(bought(app))) == "KV BF16" and len(borders(app)) > 1
    ran(app.button(key="fix_0").click())
    assert headline(app).startswith("At 8K tokens")


def test_a_model_that_is_not_known_has_no_map() -> None:
    app = opened(model="nobody/nothing")
    assert "not known here" in headline(app)
    assert len(app.get("plotly_chart")) == 0


@pytest.mark.parametrize(
    "load",
    [
        {"batch_size": 2**20},
        {"context_length": 2**31 - 1},
        {"context_length": 2**31 - 1, "batch_size": 2**20},
        {"context_length": 1, "batch_size": 1},
    ],
)
def test_extreme_loads_are_drawn(load: dict[str, int]) -> None:
    app = opened(engine="vllm", **load)
    assert headline(app).startswith("At ")
    assert len(app.get("plotly_chart")) == 3


def test_units() -> None:
    app = opened(**GEMMA, units="GB")
    assert "GB per GPU" in notes(app, 1)
    assert "GB one request keeps, no engine rounding" in notes(app, 2)


def test_alternative_texts_tell_what_is_drawn() -> None:
    app = opened(**GEMMA, overlays="kv_dtype:fp8")
    texts = [chart.proto.alt for chart in app.get("plotly_chart")]
    assert "You are at 16 requests of 8,192 tokens" in texts[0] and "KV FP8: " in texts[0]
    assert "KV overtakes the weights at" in texts[1]
    assert "Qwen3.5-27B (hybrid)" in texts[2]


def test_overlays_read_back_as_they_are_written() -> None:
    variants = [Variant("kv_dtype", "fp8"), Variant("tensor_parallel", 2), Variant("accelerator", "mi300x")]
    assert read_overlays(write_overlays(variants), "vllm") == (variants, [])
    assert read_overlays(write_overlays([]), "vllm") == ([], [])


def test_names_are_pushed_apart_in_their_order() -> None:
    placed = apart([1.0, 0.99, 0.98, 0.3])
    assert placed == sorted(placed, reverse=True) and placed[0] <= 1
    assert min(one - other for one, other in pairwise(placed)) > 0.05
