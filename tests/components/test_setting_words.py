"""Rarer settings in words: nothing of defaults, every field of an engine, and names that tell rows apart."""

from typing import Any

import pytest

from components.compare_rows import differing
from components.setting_words import setting_words
from sizing.engines.words import ENGINE_FIELDS, OPTIONS
from sizing.scenario import make_scenario

GIB = 2**30


def words(**values: Any) -> list[str]:
    return list(setting_words(make_scenario({"model": "a/b"} | values)).values())


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, []),
        ({"context_length": 8192, "batch_size": 16, "tensor_parallel": 2, "weights": "fp8"}, []),
        ({"memory_fraction": 0.95, "max_num_seqs": 2048}, ["max_num_seqs 2,048", "gpu_memory_utilization 0.95"]),
        ({"enforce_eager": True, "prefix_caching": False}, ["enforce_eager on", "enable_prefix_caching off"]),
        ({"speculative": {"method": "eagle3", "tokens": 3, "model": "c/d"}}, ["draft eagle3 × 3"]),
        ({"speculative": {"method": "draft_model", "tokens": 5, "model": "c/d"}}, ["draft d × 5"]),
        ({"lora": {"max_loras": 4, "rank": 64}}, ["4 × LoRA of rank 64"]),
        ({"media": {"images": 4, "width": 1024, "height": 768}}, ["4 images of 1,024 × 768"]),
        (
            {"media": {"images": 1, "width": 64, "height": 64, "audio_seconds": 30}},
            ["1 image of 64 × 64, 30 s of audio"],
        ),
        ({"media": {"audio_seconds": 2.5}}, ["2.5 s of audio"]),
        ({"media_limits": {"image": 0, "video": 0, "audio": 0}}, ["text only"]),
        ({"media_limits": {"image": 4}}, ["at most 4 images"]),
        ({"cpu_offload_bytes": 8 * GIB}, ["8.00 GiB of weights on the host"]),
        ({"engine": "llama.cpp", "cpu_moe_layers": 1}, ["experts of 1 layer on the host"]),
        ({"engine": "llama.cpp", "memory_by_gpu": [24 * GIB, 12 * GIB]}, ["GPUs of 24.0 GiB and 12.0 GiB"]),
        (
            {"engine": "llama.cpp", "tensor_split": "3,1.5", "kv_offload": False},
            ["cache on the host", "tensor-split 3,1.5"],
        ),
        ({"pooling": True, "shared_prefix_tokens": 1024}, ["1K tokens shared", "embeddings"]),
        ({"total_memory_bytes": 24 * GIB}, []),
        ({"accelerator": "h100-sxm5-80gb", "total_memory_bytes": 24 * GIB}, ["24.0 GiB of memory"]),
    ],
)
def test_settings_in_words(values: dict[str, Any], said: list[str]) -> None:
    assert words(**values) == said


def test_no_setting_of_an_engine_is_forgotten() -> None:
    others = {
        "media_limits": {"image": 0},
        "tensor_split": "3,1",
        "split_mode": "row",
        "memory_by_gpu": "8,9",
        "kv_offload": False,
    }
    for engine, options in OPTIONS.items():
        for field in ENGINE_FIELDS & set(options):
            for value in (others.get(field, True), 1, 0.5):
                try:
                    scenario = make_scenario({"model": "a/b", "engine": engine, field: value})
                except ValueError:
                    continue
                assert field in setting_words(scenario), (engine, field)
                break
            else:
                pytest.fail(f"no value for {field}")


def test_only_what_tells_rows_apart_is_named() -> None:
    rows = [{"a": "x", "b": "1"}, {"a": "x", "b": "2"}, {"a": "x"}]
    assert differing(rows) == [["1"], ["2"], []]
    assert differing(rows[:1]) == [[]]
