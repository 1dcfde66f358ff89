"""Rotary tables against the rope buffers of vLLM 0.33's own model classes (16-bit: positions × dim × 2 bytes)."""

from typing import Any

import pytest

from model_catalog.importers import read_config

LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 2,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
}
YARN = {"type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096}
LINEAR = {"type": "linear", "factor": 4.0}


def table_bytes(config: dict[str, Any]) -> int:
    return sum(rope.positions * rope.dim * 2 for rope in read_config(config).ropes)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, 33_554_432),  # Llama-3.1-8B
        ({"max_position_embeddings": 4096}, 1_048_576),  # Yi-34B
        ({"rope_scaling": YARN, "max_position_embeddings": 1}, 33_554_432),  # 32 × 4,096 positions
        ({"rope_scaling": LINEAR, "max_position_embeddings": 8192}, 8_388_608),
    ],
)
def test_plain_tables(changes: dict[str, Any], expected: int) -> None:
    assert table_bytes({**LLAMA, **changes}) == expected


def test_half_of_the_head_is_rotated() -> None:
    assert table_bytes({**LLAMA, "model_type": "glm4_moe", "partial_rotary_factor": 0.5}) == 16_777_216  # GLM-4.5


def test_windows_have_a_table_of_their_own() -> None:
    """Gemma-3-27B: 8 × 131,072 positions for full layers, 131,072 for window layers."""
    text = {**LLAMA, "model_type": "gemma3_text", "head_dim": 128, "num_hidden_layers": 6, "sliding_window": 1024}
    text["rope_scaling"] = {"rope_type": "linear", "factor": 8.0}
    assert table_bytes({"model_type": "gemma3", "text_config": text}) == 301_989_888


def test_no_table_without_rotation() -> None:
    config = {"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "vocab_size": 50257}
    assert read_config(config).ropes == ()


@pytest.mark.parametrize("wrong", [{"type": "yarn", "factor": "many"}, {"type": ["yarn"]}, {"factor": float("inf")}])
def test_odd_settings_are_no_error(wrong: dict[str, Any]) -> None:
    assert table_bytes({**LLAMA, "rope_scaling": wrong}) in (33_554_432, 0)
