"""What a config says about attention and no reader knows is named; what cannot touch the cache is not."""

from typing import Any

import pytest

from model_catalog.importers import read_config
from model_catalog.lookup import all_entries


def doubted(model_type: str, **stated: Any) -> list[str]:
    """The fields that make the cache doubtful."""
    spec = read_config({"model_type": model_type, "num_hidden_layers": 4, **stated})
    return [doubt.config_field for doubt in spec.doubts if doubt.touches_kv]


@pytest.mark.parametrize("model_type", ["llama", "qwen3", "mixtral", "gemma3_text", "qwen3_next", "gpt_oss", "lfm2"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("attention_type", "sparse"),
        ("use_mla", True),
        ("cross_attention_layers", [1]),
        ("kv_cache_share_factor", 2),
        ("local_window", 100),
        ("token_mixer", "rwkv"),
        ("index_topk", 2048),
        ("hybrid_override_pattern", "M*M*"),
        ("depth_of_each", [1, 1, 2, 2]),  # one entry a layer
        ("layer_types", ["novel_attention"] * 4),
    ],
)
def test_an_unknown_field_about_attention_is_named(model_type: str, name: str, value: object) -> None:
    assert name in doubted(model_type, **{name: value})


@pytest.mark.parametrize(
    "stated",
    [
        {"no_such_field": 3},
        {"attention_type": None},
        {"use_mla": False},
        {"_attn_implementation": "flash_attention_2", "attn_implementation": "sdpa", "use_flash_attn": True},
        {"attention_dropout": 0.1, "attn_pdrop": 0.1, "attention_softmax_in_fp32": True, "rope_theta": 5e5},
        {"use_cache": True, "torch_dtype": "bfloat16", "pretraining_tp": 1, "initializer_range": 0.02},
        {"use_sliding_window": False, "sliding_window": 4096, "max_window_layers": 2},
    ],
)
def test_a_field_that_cannot_touch_the_cache_is_not_doubted(stated: dict[str, Any]) -> None:
    assert doubted("qwen3", **stated) == []


def test_a_nested_part_is_named_with_its_path() -> None:
    spec = read_config({"model_type": "gemma3", "text_config": {"num_hidden_layers": 4, "attention_type": "sparse"}})
    assert "text_config.attention_type" in [doubt.config_field for doubt in spec.doubts]


def test_no_entry_of_the_catalog_has_such_a_field() -> None:
    messages = [doubt.message for entry in all_entries() for doubt in entry.spec.doubts]
    assert not [message for message in messages if "is not a field of" in message]
