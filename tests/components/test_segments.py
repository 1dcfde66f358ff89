"""The bar's segments: they add up, copies and what is set aside are told apart, unequal stages have rows."""

from typing import Any, get_args

import pytest

from components.export_svg import textures
from components.legend import of_bar
from components.memory_bar import alternative_text, marker, memory_bar
from components.segments import NO_ROOM, Bar, Texture, bar_of, bars_of
from hardware_catalog import get_accelerator
from model_catalog.lookup import find_entry
from sizing.engines import ENGINES
from sizing.engines.plan import EnginePlan
from sizing.room import fullest_load, tightest_rank
from sizing.scenario import ScenarioError, make_scenario
from sizing.size import plan, report_of

LLAMA, GEMMA, DEEPSEEK = "meta-llama/Llama-3.1-8B-Instruct", "google/gemma-3-27b-it", "deepseek-ai/DeepSeek-V3"
HYBRID = "Qwen/Qwen3.5-27B"


def planned(model: str, **values: Any) -> EnginePlan:
    usual = {"model": model, "engine": "vllm", "accelerator": "h200-sxm-141gb", "context_length": 8192}
    scenario = make_scenario(usual | {"batch_size": 16} | values)
    return plan(scenario, find_entry(model).spec, get_accelerator(scenario.accelerator or ""))


def sizes(bar: Bar) -> dict[str, int]:
    return {segment.name: segment.size for segment in bar.segments}


@pytest.mark.parametrize("engine", sorted(ENGINES))
@pytest.mark.parametrize("model", [LLAMA, GEMMA, HYBRID, DEEPSEEK])
@pytest.mark.parametrize("batch", [1, 16, 5000])
def test_segments_are_the_terms_in_a_row(engine: str, model: str, batch: int) -> None:
    try:
        answer = planned(model, engine=engine, batch_size=batch, tensor_parallel=4)
    except ScenarioError:
        pytest.skip("the engine does not have this")
    bar, rank = bar_of(answer), tightest_rank(answer)
    assert [segment.start for segment in bar.segments][1:] == [
        segment.start + segment.size for segment in bar.segments[:-1]
    ]
    drawn = sizes(bar)
    verdict = report_of(answer).verdict
    load = fullest_load(answer)
    kept = int(rank.cache.kv(*load)) + int(rank.cache.state(*load))
    cache = sum(drawn.get(name, 0) for name in ("State", "KV needed", "KV copies", "Set aside"))
    if verdict.fits:
        assert cache == kept
        assert drawn.get("Reserved, unused", 0) == (rank.usable or 0) - int(rank.cache.need(*load))
    elif (rank.usable or 0) >= 0:
        assert drawn["Short"] == verdict.short_by_bytes


def test_seven_eighths_of_a_latent_on_eight_ranks_are_copies() -> None:
    drawn = sizes(bar_of(planned(DEEPSEEK, tensor_parallel=8)))
    assert drawn["KV copies"] == 7 * drawn["KV needed"]


def test_heads_that_divide_are_not_copied() -> None:
    assert "KV copies" not in sizes(bar_of(planned(LLAMA, tensor_parallel=8)))
    sixteen = sizes(bar_of(planned(LLAMA, tensor_parallel=16)))
    assert sixteen["KV copies"] == sixteen["KV needed"]  # 8 KV heads on 16 ranks


def test_draft_and_encoder_are_weights_with_a_hatch_of_their_own() -> None:
    answer = planned(HYBRID, speculative={"method": "mtp", "tokens": 1})
    bar = bar_of(answer)
    by_name = {segment.name: segment for segment in bar.segments}
    looks = [repr(marker(by_name[name])) for name in ("Weights", "Draft", "Encoder")]
    assert {by_name[name].colour for name in ("Weights", "Draft", "Encoder")} == {by_name["Weights"].colour}
    assert len(set(looks)) == 3
    swatches = {item.name: item.swatch for item in of_bar(bar, "GiB")}
    assert len({swatches[name] for name in ("Weights", "Draft", "Encoder")}) == 3
    assert all(f'id="{name}"' in textures() for name in get_args(Texture) if name != "solid")


def test_short_is_what_the_report_is_short_by_or_goes_by_another_name() -> None:
    """Where the weights alone are too large, the cache is only a part of what is missing."""
    card = planned("meta-llama/Llama-3.3-70B-Instruct", accelerator="rtx-4090")
    assert "Short" not in sizes(bar_of(card))
    assert sizes(bar_of(card))[NO_ROOM] == 16 * 8192 * 80 * 2 * 8 * 128 * 2


@pytest.mark.parametrize("name", ["rtx-4090", "h100-sxm5-80gb", "b300-sxm"])
def test_the_capacity_label_has_room_beside_its_anchor(name: str) -> None:
    bar = bar_of(planned("meta-llama/Llama-3.3-70B-Instruct", accelerator=name))
    label = memory_bar([bar], "GiB")["layout"]["annotations"][-1]
    room = label["x"] if label["xanchor"] == "right" else bar.extent - label["x"]
    assert room > 0.6 * bar.extent


def test_windows_in_flight_are_set_aside() -> None:
    """vLLM reserves a window and the batch in flight for each of Gemma 3's 52 window layers, and 1 padding layer."""
    drawn = sizes(bar_of(planned(GEMMA)))
    assert drawn["KV needed"] == 16 * (10 * 8192 + 52 * 1024) * 2 * 16 * 128 * 2
    assert drawn["Set aside"] > 0


def test_equal_stages_have_one_bar_and_unequal_ones_a_row_each() -> None:
    assert [bar.name for bar in bars_of(planned(LLAMA, engine="minimum"))] == [""]
    rows = bars_of(planned(LLAMA, engine="minimum", pipeline_parallel=4))
    assert [bar.name for bar in rows] == ["Stage 1", "Stages 2 to 3", "Stage 4"]
    figure = memory_bar(rows, "GiB")
    assert {trace["y"][0] for trace in figure["data"]} == {0, 1, 2}
    assert [note["text"] for note in figure["layout"]["annotations"]][:3] == [bar.name for bar in rows]
    assert "Stages 2 to 3: Weights" in alternative_text(rows, "GiB")


def test_names_above_the_bar_do_not_run_into_each_other() -> None:
    """gpt-oss-120b on a DGX Spark, far too much load: weights and the cache that fits are both narrow, at the left."""
    bar = bar_of(
        planned(
            "openai/gpt-oss-120b",
            engine="sglang",
            accelerator="dgx-spark-gb10",
            context_length=131_072,
            batch_size=64,
        )
    )
    names = [note["text"] for note in memory_bar([bar], "GiB")["layout"]["annotations"][:-1]]
    assert [name.partition("</b>")[0] for name in names] == ["<b>Weights", "<b>Short"]
    wide = [note["text"] for note in memory_bar([bar_of(planned(LLAMA))], "GiB")["layout"]["annotations"][:-1]]
    assert [name.partition("</b>")[0][3:] for name in wide] == ["Weights", "KV needed", "KV reserved, unused"]
