"""A Report's scenario, sized again, gives the same Report: what was put in by default means the same when it is said.

What is not compared: the logical bytes, which are those of the cache format that was asked for, and the notes, which
say what was chosen where nothing was asked.
"""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardware_catalog import get_accelerator
from model_catalog.lookup import entry_ids, find_entry
from sizing.engines import ENGINES
from sizing.placement import PlacementError
from sizing.report import Report
from sizing.scenario import Scenario, ScenarioError, make_scenario
from sizing.size import size

COMPARED = (
    *("scenario", "per_gpu", "cluster", "capacity", "needed_kv_bytes_per_gpu", "log", "verdict", "grades"),
    *("mixed", "host"),
)
RELEASES: dict[str, list[str | None]] = {
    "vllm": [None, "0.7.3", "0.9.2", "0.12"],
    "sglang": [None, "0.4.6", "0.5.8"],
    "llama.cpp": [None, "4615", "2025-06-10", "2025-11-10", "b8041", "ik 2025-06-01"],
    "tensorrt-llm": [None, "0.19"],
}

OWN: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "llama.cpp": {
        "gpu_layers": st.sampled_from([0, 9]),
        "cpu_moe_layers": st.sampled_from([0, 3, 999]),
        "split_mode": st.sampled_from(["layer", "row"]),
        "kv_offload": st.booleans(),
        "tensor_split": st.sampled_from([(3, 1), (1,)]),
        "memory_by_gpu": st.sampled_from([(2**35, 2**34), (2**36,)]),
    },
    "vllm": {
        "cpu_offload_bytes": st.sampled_from([0, 1, 2**34]),
        "media_limits": st.sampled_from([{"image": 0}, {"image": 0, "video": 0, "audio": 0}, {"image": 2}]),
        "pooling": st.booleans(),
        "lora": st.just({"max_loras": 2, "rank": 16}),
        "speculative": st.sampled_from([{"method": "ngram", "tokens": 3}, {"method": "mtp", "tokens": 1}]),
    },
    "sglang": {
        "cpu_offload_bytes": st.sampled_from([0, 2**30, 2**34]),
        "max_mamba_cache_size": st.sampled_from([4, 400]),
        "mamba_full_memory_ratio": st.sampled_from([0.1, 5.0]),
        "lora": st.just({"max_loras": 2, "rank": 16}),
        "speculative": st.sampled_from([{"method": "ngram", "tokens": 3}, {"method": "nextn", "tokens": 1}]),
    },
    "tensorrt-llm": {"speculative": st.sampled_from([{"method": "ngram", "tokens": 3}, {"method": "mtp"}])},
}
ANYWHERE: dict[str, st.SearchStrategy[Any]] = {
    "kv_dtype": st.sampled_from(["fp8", "q8_0"]),
    "context_length": st.integers(1, 300_000),
    "tensor_parallel": st.sampled_from([2, 8]),
    "data_parallel": st.sampled_from([2]),
    "max_num_seqs": st.sampled_from([1, 16]),
    "max_model_len": st.just(4096),
    "average_context_length": st.just(500),
    "media": st.just({"images": 2, "width": 900, "height": 700}),
}


def sized(scenario: Scenario) -> Report:
    card = get_accelerator(scenario.accelerator) if scenario.accelerator else None
    return size(scenario, find_entry(scenario.model).spec, card)


def differing(once: Report) -> list[str]:
    again = sized(make_scenario(once.scenario.model_dump()))
    return [name for name in COMPARED if getattr(once, name) != getattr(again, name)]


@settings(max_examples=250, deadline=None)
@given(st.data())
def test_sizing_a_resolved_scenario_changes_nothing(data: st.DataObject) -> None:
    engine = data.draw(st.sampled_from(sorted(ENGINES)))
    more = ANYWHERE | OWN.get(engine, {})
    chosen = data.draw(st.lists(st.sampled_from(sorted(more)), max_size=5, unique=True))
    values = data.draw(
        st.fixed_dictionaries(
            {
                "model": st.sampled_from(entry_ids()),
                "engine": st.just(engine),
                "accelerator": st.sampled_from([None, "h100-sxm5-80gb", "rtx-4090"]),
                "engine_version": st.sampled_from(RELEASES.get(engine, [None])),
                "batch_size": st.sampled_from([1, 3, 200]),
            }
            | {field: more[field] for field in chosen}
        )
    )
    try:
        once = sized(make_scenario(values))
    except (ScenarioError, PlacementError):
        return
    assert differing(once) == []


@pytest.mark.parametrize("batch", [1, 64])
def test_slots_of_llama_cpp_follow_the_load(batch: int) -> None:
    """Llama 3.1 8B in 16 bits on 32 GiB: slots that were not asked for do not come to be. 31 GiB less 13.98 of weights
    and 0.27 of the compute buffer are 16.75 GiB, room for 16 requests of 8,192 tokens, which take 1 GiB each."""
    values = {"model": "meta-llama/Llama-3.1-8B-Instruct", "engine": "llama.cpp", "total_memory_bytes": 32 * 2**30}
    once = sized(make_scenario(values | {"batch_size": batch}))
    assert (once.scenario.max_num_seqs, once.capacity.max_batch_at_context) == (None, 16)
    assert sized(make_scenario(once.scenario.model_dump())).capacity == once.capacity


def test_one_slot_of_november_2025_is_still_one() -> None:
    """The four that share its cache are the server's doing (#16736); said as four they would have a cache each."""
    values = {"model": "Qwen/Qwen3.5-9B", "engine": "llama.cpp", "engine_version": "2025-11-10"}
    once = sized(make_scenario(values))
    assert once.scenario.max_num_seqs is None
    assert differing(once) == []
