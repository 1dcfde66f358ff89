"""Reserved − logical, item by item: the items add up, and each has a case whose size is known."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model_catalog.lookup import find_entry
from sizing.differences import ORDER
from sizing.engines import ENGINES
from sizing.placement import PlacementError
from sizing.report import Report
from sizing.scenario import ScenarioError, make_scenario
from sizing.size import size

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
GEMMA = "google/gemma-3-27b-it"
NEXT = "Qwen/Qwen3-Next-80B-A3B-Instruct"
DEEPSEEK = "deepseek-ai/DeepSeek-V3"
GPT_OSS = "openai/gpt-oss-120b"
SCOUT = "meta-llama/Llama-4-Scout-17B-16E-Instruct"
MODELS = [LLAMA, GEMMA, NEXT, DEEPSEEK, GPT_OSS, SCOUT, "deepseek-ai/DeepSeek-V4-Flash", "google/gemma-4-26B-A4B"]


def report(model: str, engine: str, **values: Any) -> Report:
    return size(make_scenario({"model": model, "engine": engine, **values}), find_entry(model).spec)


def items(model: str, engine: str, **values: Any) -> dict[str, int]:
    return {each.name: each.bytes for each in report(model, engine, **values).differences}


@settings(max_examples=250, deadline=None)
@given(
    st.sampled_from(MODELS),
    st.sampled_from(sorted(ENGINES)),
    st.fixed_dictionaries(
        {
            "context_length": st.integers(2000, 200_000),
            "batch_size": st.integers(1, 300),
            "tensor_parallel": st.sampled_from([1, 2, 4, 8]),
            "pipeline_parallel": st.sampled_from([1, 2]),
            "data_parallel": st.sampled_from([1, 3]),
            "shared_prefix_tokens": st.integers(0, 2000),
        },
        optional={
            "hybrid_kv_cache_manager": st.booleans(),
            "prefix_caching": st.booleans(),
            "max_num_seqs": st.integers(1, 64),
        },
    ),
)
def test_items_add_up(model: str, engine: str, values: dict[str, Any]) -> None:
    try:
        found = report(model, engine, **values)
    except (ScenarioError, PlacementError):
        return
    assert sum(each.bytes for each in found.differences) == found.cache.reserved_bytes - found.cache.logical_bytes
    named = {each.name: each.bytes for each in found.differences}
    assert len(named) == len(found.differences)
    assert set(named) <= set(ORDER)
    if values["batch_size"] >= values["data_parallel"]:
        assert all(size > 0 for name, size in named.items() if name not in ("state format", "other"))


def test_nothing_differs_where_nothing_is_rounded() -> None:
    assert report(LLAMA, "minimum", context_length=1000, batch_size=7).differences == ()
    assert report(LLAMA, "vllm", context_length=1600, batch_size=7).differences == ()


@pytest.mark.parametrize("engine", ["minimum", "vllm", "sglang", "tensorrt-llm"])
def test_copies_of_heads(engine: str) -> None:
    """Llama-3.1-8B at TP 16 stores 262,144 B a token, twice the minimum: one copy more."""
    assert items(LLAMA, engine, tensor_parallel=16, context_length=8192) == {"replication": 131_072 * 8192}


def test_copies_of_latents() -> None:
    """Latents lie on every rank, 7 copies more at TP 8."""
    assert items(DEEPSEEK, "sglang", tensor_parallel=8, context_length=1000) == {"replication": 7 * 70_272_000}


def test_pages_are_rounded_up() -> None:
    """1,000 tokens are 62.5 blocks of 16, 31.25 of 32, 3.9 pages of 256."""
    for engine, page in (("vllm", 16), ("tensorrt-llm", 32), ("llama.cpp", 256)):
        assert items(LLAMA, engine, context_length=1000) == {"page rounding": (-1000 % page) * 131_072}


def test_padding_layers_of_gemma_3() -> None:
    """vLLM 0.33's planner: 62 layers in 7 groups of 10, 8 of 70 are padding.

    A window layer of one sequence of 32,768 tokens has ceil((1,023 + 2 × 8,192) / 16) + 1 = 1,089 blocks of 131,072 B.
    """
    found = items(GEMMA, "vllm", context_length=32_768, max_num_batched_tokens=8192)
    assert found["padding layers"] == 8 * 1089 * 131_072
    assert found["window slack"] == 52 * (1089 * 131_072 - 1024 * 8192)
    assert set(found) == {"padding layers", "window slack"}


def test_windows_that_are_not_heeded() -> None:
    """SGLang keeps the windows of models outside of its list at full length; Gemma 3 is one.

    52 layers × 8,192 B × (32,768 − 1,024) tokens.
    """
    behind = 52 * 8192 * (32_768 - 1024)
    assert items(GEMMA, "sglang", context_length=32_768) == {"windows kept at full length": behind}
    off = items(GEMMA, "vllm", context_length=32_768, hybrid_kv_cache_manager=False)
    assert off == {"windows kept at full length": behind}
    old = items(GEMMA, "tensorrt-llm", context_length=32_768, engine_version="1.1")
    assert old == {"windows kept at full length": behind}


def test_windows_of_llama_cpp_and_tensorrt_llm() -> None:
    """llama.cpp: 1,024 + 512 cells; TensorRT-LLM: a block of 32 more than the window; 52 layers × 8,192 B."""
    assert items(GEMMA, "llama.cpp", context_length=32_768) == {"window slack": 52 * 8192 * 512}
    windows = {"context_length": 32_768, "hybrid_kv_cache_manager": True}  # max_attention_window
    assert items(GEMMA, "tensorrt-llm", **windows) == {"window slack": 52 * 8192 * 32}
    kept = items(GEMMA, "tensorrt-llm", context_length=32_768)
    assert kept == {"windows kept at full length": 52 * 8192 * (32_768 - 1024)}


def test_states_of_qwen3_next() -> None:
    """36 layers of 49,152 + 1,048,576 B in vLLM, 2,097,152 in the minimum; llama.cpp's are all f32.

    SGLang sets five slots of 77,266,944 B aside for a request; TensorRT-LLM those of max_batch_size.
    """
    vllm = items(NEXT, "vllm", context_length=32_768)
    assert vllm["state format"] == -36 * 1_048_576
    assert items(NEXT, "sglang", context_length=32_768) == {"state slots": 4 * 77_266_944}
    assert items(NEXT, "llama.cpp", context_length=32_768) == {"state format": 79_036_416 - 77_266_944}
    trt = items(NEXT, "tensorrt-llm", context_length=32_768, max_num_seqs=10)
    assert trt == {"state format": -36 * 1_048_576, "unused slots": 9 * 39_518_208}


def test_a_prefix_that_slots_do_not_share() -> None:
    again = items(LLAMA, "llama.cpp", context_length=2048, batch_size=4, shared_prefix_tokens=1024)
    assert again == {"prefix stored again": 3 * 1024 * 131_072}


def test_slots_without_a_sequence() -> None:
    """Four slots of 2,048 cells for one sequence."""
    assert items(LLAMA, "llama.cpp", context_length=2048, max_num_seqs=4) == {"unused slots": 3 * 2048 * 131_072}


def test_a_report_lists_them() -> None:
    listed = report(LLAMA, "vllm", context_length=1000).to_dict()["differences"]
    assert listed == [{"name": "page rounding", "bytes": 8 * 131_072}]
