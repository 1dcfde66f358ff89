"""The dry run against counts published for the checkpoints and cache sizes worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the dry run needs torch")
pytest.importorskip("transformers", reason="the dry run needs transformers")

from live.dry_run import DryRunError, build_config, build_model, measure_cache, parameter_count  # noqa: E402

LLAMA_3_1_8B = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "torch_dtype": "bfloat16",
}

TINY_GEMMA = {
    "model_type": "gemma3_text",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 6,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 512,
    "sliding_window": 8,
    "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
}

TINY_MIXTRAL = {
    "model_type": "mixtral",
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_local_experts": 4,
    "vocab_size": 512,
}


def built(config: dict[str, Any]) -> Any:
    return build_model(build_config(config))


def test_llama_holds_the_published_parameters_and_128_kib_a_token() -> None:
    """8,030,261,248: the count in the safetensors header of meta-llama/Llama-3.1-8B-Instruct."""
    model = built(LLAMA_3_1_8B)
    assert parameter_count(model) == (8_030_261_248, 16_060_522_496)
    cache = measure_cache(model, batch=3, length=10)
    assert cache.bytes == 3 * 10 * 131_072
    assert cache.by_kind == {"keys": 3 * 10 * 65_536, "values": 3 * 10 * 65_536}


@pytest.mark.parametrize(("length", "window_tokens"), [(6, 6), (7, 7), (8, 7), (11, 7)])
def test_a_sliding_layer_keeps_one_token_less_than_its_window(length: int, window_tokens: int) -> None:
    """A key or value of one token is 2 heads of 16 in bfloat16: 64 bytes. The next token completes the window."""
    cache = measure_cache(built(TINY_GEMMA), batch=1, length=length)
    assert cache.bytes == 128 * (5 * window_tokens + length)
    assert cache.storage_bytes == 128 * 6 * length  # a slice keeps the prefilled tensor alive


def test_tied_embeddings_are_counted_once() -> None:
    tied, _ = parameter_count(built(TINY_GEMMA))
    untied, _ = parameter_count(built({**TINY_GEMMA, "tie_word_embeddings": False}))
    assert untied - tied == 512 * 64


def test_quantization_is_left_out_of_the_model() -> None:
    quantized = {**LLAMA_3_1_8B, "num_hidden_layers": 1, "quantization_config": {"quant_method": "fp8"}}
    plain = {**LLAMA_3_1_8B, "num_hidden_layers": 1}
    assert parameter_count(built(quantized)) == parameter_count(built(plain))


def test_routing_of_experts_needs_no_values() -> None:
    cache = measure_cache(built(TINY_MIXTRAL), batch=2, length=5)
    assert cache.bytes == 2 * 5 * 2 * 2 * (2 * 16) * 2  # batch, tokens, layers, K and V, heads of 16, bfloat16


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"model_type": "no_such_model"}, "no_such_model"),
        ({"model_type": "no_such_model", "architectures": 7}, "no_such_model"),
        ({"model_type": "no_such_model", "architectures": ["pipeline"]}, "no_such_model"),
        ({**TINY_MIXTRAL, "num_local_experts": 10**8}, "num_local_experts is 100000000"),
        ({**LLAMA_3_1_8B, "num_hidden_layers": 10**9}, "num_hidden_layers is 1000000000"),
        ({**LLAMA_3_1_8B, "num_attention_heads": "many"}, "num_attention_heads"),
        ({"model_type": "gemma3", "num_hidden_layers": 7}, "text_config, which is missing"),
    ],
)
def test_an_impossible_config_is_one_clear_sentence(config: dict[str, Any], message: str) -> None:
    with pytest.raises(DryRunError, match=message):
        built(config)


def test_an_unknown_type_is_read_as_the_class_it_names() -> None:
    """As for Kimi K2, whose model_type is kimi_k2 and whose class is that of DeepSeek-V3."""
    config = build_config({**TINY_MIXTRAL, "model_type": "own_type", "architectures": ["MixtralForCausalLM"]})
    assert type(config).__name__ == "MixtralConfig"


def test_whisper_keeps_its_encoder_positions_in_the_cross_cache() -> None:
    """whisper-large-v3: 163,840 bytes for each of 1,500 positions, 245,760,000 in all."""
    whisper = {"model_type": "whisper", "d_model": 1280, "decoder_layers": 32, "decoder_attention_heads": 20}
    cache = measure_cache(built({**whisper, "encoder_attention_heads": 20}), batch=1, length=4)
    assert cache.encoder_length == 1500
    assert cache.by_kind["cross_keys"] + cache.by_kind["cross_values"] == 245_760_000


def test_states_that_layers_keep_in_themselves_are_counted() -> None:
    """RecurrentGemma returns no cache: a recurrent layer holds a float32 state and 3 columns of its convolution."""
    gemma = {"model_type": "recurrent_gemma", "num_hidden_layers": 3, "hidden_size": 64, "intermediate_size": 96}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 1, "lru_width": 64, "vocab_size": 512}
    cache = measure_cache(built({**gemma, **heads}), batch=2, length=4)
    recurrent = 2 * (64 * 4 + 64 * 3 * 2)
    assert {tensor.layer for tensor in cache.tensors if tensor.kind == "states"} == {0, 1}
    assert cache.by_kind == {"keys": 2 * 4 * 16 * 2, "values": 2 * 4 * 16 * 2, "states": 2 * recurrent}
