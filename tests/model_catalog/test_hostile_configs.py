"""Configs that are wrong or hostile: a sentence that names the field, in bounded time."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model_catalog.fields import ConfigError
from model_catalog.importers import read_config

GOOD: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"num_hidden_layers": 10**9}, "num_hidden_layers"),
        ({"num_hidden_layers": "many"}, "num_hidden_layers"),
        ({"num_hidden_layers": True}, "num_hidden_layers"),
        ({"num_attention_heads": 0}, "num_attention_heads"),
        ({"num_attention_heads": -8}, "num_attention_heads"),
        ({"num_key_value_heads": 1.5}, "num_key_value_heads"),
        ({"hidden_size": 10**30}, "hidden_size"),
        ({"hidden_size": [4096]}, "hidden_size"),
        ({"hidden_size": 4095}, "num_attention_heads"),
        ({"model_type": 7}, "model_type"),
        ({"attention_bias": "yes"}, "attention_bias"),
    ],
)
def test_the_field_at_fault_is_named(change: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_config(GOOD | change)
    assert caught.value.field == field
    assert caught.value.message.endswith(".")


values: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-10, 10**20)
    | st.floats()
    | st.text(max_size=5)
    | st.just([1])
    | st.just({})
)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(["llama", "gemma3_text", "qwen3_moe", "deepseek_v3", "mixtral", "gpt_oss", "unheard_of"]),
    st.dictionaries(
        st.sampled_from(
            [
                "hidden_size",
                "num_hidden_layers",
                "num_attention_heads",
                "num_key_value_heads",
                "head_dim",
                "sliding_window",
                "layer_types",
                "num_experts",
                "num_local_experts",
                "intermediate_size",
                "kv_lora_rank",
                "quantization_config",
                "text_config",
            ]
        ),
        values,
        max_size=4,
    ),
)
def test_no_value_of_any_field_is_more_than_a_sentence(model_type: str, change: dict[str, Any]) -> None:
    try:
        spec = read_config(GOOD | {"model_type": model_type} | change)
    except ConfigError:
        return
    assert spec.num_layers >= 1
