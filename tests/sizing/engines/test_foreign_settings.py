"""Each engine turns away the settings that only other engines have, and names them."""

from typing import Any

import pytest

from hardware_catalog import get_accelerator
from model_catalog.lookup import find_entry
from sizing.answer import answer
from sizing.engines import ENGINES
from sizing.engines.foreign import OWNERS
from sizing.scenario import ScenarioError, make_scenario

VALUES: dict[str, Any] = {
    "kv_unified": True,
    "flash_attention": True,
    "swa_full": True,
    "kv_offload": False,
    "hybrid_kv_cache_manager": True,
    "split_mode": "layer",
    "tensor_split": (1, 1),
    "memory_by_gpu": (2**36, 2**35),
    "media_limits": {"image": 0},
    "pooling": True,
    "swa_full_tokens_ratio": 0.5,
    "mamba_full_memory_ratio": 0.5,
}
OF_OTHERS = [
    (engine, field)
    for field, owners in OWNERS.items()
    for engine in ("vllm", "sglang", "tensorrt-llm")
    if engine not in owners
]


@pytest.mark.parametrize(("engine", "field"), OF_OTHERS)
def test_settings_of_other_engines_are_refused(engine: str, field: str) -> None:
    card = get_accelerator("h200-sxm-141gb")
    spec = find_entry("Qwen/Qwen3-30B-A3B").spec
    usual = {"model": "test", "engine": engine, "context_length": 4096}
    ENGINES[engine].plan(make_scenario(usual), spec, card)
    with pytest.raises(ScenarioError) as refused:
        ENGINES[engine].plan(make_scenario(usual | {field: VALUES.get(field, 64)}), spec, card)
    assert refused.value.field == field


@pytest.mark.parametrize("engine", ["llama.cpp", "tensorrt-llm"])
def test_adapters_that_are_not_counted_are_refused(engine: str) -> None:
    values = {"model": "test", "engine": engine, "lora": {"max_loras": 2, "rank": 16}}
    with pytest.raises(ScenarioError) as refused:
        ENGINES[engine].plan(make_scenario(values), find_entry("Qwen/Qwen3-30B-A3B").spec, None)
    assert refused.value.field == "lora"


@pytest.mark.parametrize("engine", ["minimum", "transformers"])
def test_engines_without_a_server_say_which_settings_they_do_not_use(engine: str) -> None:
    values = {"model": "meta-llama/Llama-3.1-8B-Instruct", "engine": engine, "block_size": 32, "enforce_eager": False}
    notes = answer(values)["notes"]
    assert [note for note in notes if "no effect" in note] == ["Of no effect on this engine: block_size."]
