"""Full-size dry runs: every layer's parameters and cache bytes as the library builds them are those predicted."""

import pytest

from model_catalog.lookup import find_entry

pytest.importorskip("torch", reason="torch is not installed; requirements-live.txt has it")
pytest.importorskip("transformers", reason="transformers is not installed; requirements-live.txt has it")

from live.layers import dry_run

ENTRIES = [
    "meta-llama/Llama-3.1-70B-Instruct",
    "deepseek-ai/DeepSeek-V3",
    "deepseek-ai/DeepSeek-V2-Lite",
    "Qwen/Qwen3-Next-80B-A3B-Instruct",
    "Qwen/Qwen3-235B-A22B",
    "nvidia/NVIDIA-Nemotron-Nano-9B-v2",
    "google/gemma-3-27b-it",
    "openai/gpt-oss-120b",
    "mistralai/Mixtral-8x7B-Instruct-v0.1",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct",
    "LiquidAI/LFM2-1.2B",
]


@pytest.mark.conformance
@pytest.mark.parametrize("model", ENTRIES)
def test_each_layer_is_built_and_cached_as_predicted(model: str) -> None:
    done = dry_run(find_entry(model).config, batch=2, tokens=40)
    assert done.parameters == done.predicted_parameters
    assert done.cache == done.predicted_cache == sum(row.cache for row in done.layers)
    assert all(row.parameters == row.predicted_parameters > 0 for row in done.layers)
    assert all(row.cache == row.predicted_cache for row in done.layers)


@pytest.mark.conformance
def test_a_671b_model_has_its_published_parameters_and_70272_bytes_a_token() -> None:
    """61 layers × (512 + 64) × 2 bytes; 671B is the count in DeepSeek-V3's model card, without its prediction layer."""
    done = dry_run(find_entry("deepseek-ai/DeepSeek-V3").config, batch=1, tokens=1000)
    assert round(done.parameters, -9) == 671_000_000_000
    assert done.cache == 1000 * 70_272
    assert {row.cache for row in done.layers} == {1000 * 1152}


@pytest.mark.conformance
def test_a_window_beyond_its_length_is_kept_alive_behind_a_slice() -> None:
    done = dry_run(find_entry("google/gemma-3-27b-it").config, batch=1, tokens=2000)
    windows = [row for row in done.layers if "window 1,024" in row.kind]
    assert len(windows) == 52
    assert {row.cache for row in windows} == {2 * 16 * 128 * 2 * 1023}
    assert done.storage > done.cache == done.predicted_cache
