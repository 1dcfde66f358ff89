"""Decoders with uneven layers against published element counts, cache sizes and the classes' own rules."""

from typing import Any

import pytest

from model_catalog.fields import ConfigError
from model_catalog.importers import read_config
from model_catalog.spec import Attention, ModelSpec
from model_catalog.tensors import Tensor

GEMMA_3N_E4B = {"model_type": "gemma3n_text"}  # the class's defaults
GEMMA_4_26B = {
    "model_type": "gemma4_text",
    "hidden_size": 2816,
    "intermediate_size": 2112,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "num_global_key_value_heads": 2,
    "attention_k_eq_v": True,
    "enable_moe_block": True,
    "num_experts": 128,
    "top_k_experts": 8,
    "moe_intermediate_size": 704,
    "hidden_size_per_layer_input": 0,
    "sliding_window": 1024,
}
MIMO = {"model_type": "mimo_v2_flash", "sliding_window": 128, "sliding_window_size": 128}
SCOUT = {"model_type": "llama4_text"}
STEP = {
    "model_type": "step3p5",
    "vocab_size": 128896,
    "num_nextn_predict_layers": 3,
    "sliding_window": 512,
    "attention_other_setting": {"num_attention_heads": 96},
    "layer_types": (["full_attention"] + ["sliding_attention"] * 3) * 12,
}
OPENELM_270M = {
    "model_type": "openelm",
    "ffn_dim_divisor": 256,
    "ffn_multipliers": [0.5, 0.73, 0.97, 1.2, 1.43, 1.67, 1.9, 2.13, 2.37, 2.6, 2.83, 3.07, 3.3, 3.53, 3.77, 4.0],
    "head_dim": 64,
    "model_dim": 1280,
    "normalize_qk_projections": True,
    "num_kv_heads": [3] * 5 + [4] * 7 + [5] * 4,
    "num_query_heads": [12] * 5 + [16] * 7 + [20] * 4,
    "num_transformer_layers": 16,
    "share_input_output_layers": True,
    "vocab_size": 32000,
}


def elements(tensors: tuple[Tensor, ...]) -> int:
    return sum(tensor.elements for tensor in tensors)


def decoder_elements(spec: ModelSpec) -> int:
    return elements(spec.tensors) + sum(run.count * elements(run.layer.tensors) for run in spec.layers)


def attentions(spec: ModelSpec) -> list[Attention | None]:
    """The attention of each layer, None where it has none."""
    found = [[m for m in layer.mixers if isinstance(m, Attention)] for layer in spec.each_layer()]
    return [mixers[0] if mixers else None for mixers in found]


def stored(spec: ModelSpec, *, windowed: bool) -> int:
    """Bytes a token of the layers with or without a bound, two bytes a number."""
    mixers = [m for m in attentions(spec) if m and not m.reuses_cache]
    bound = [m for m in mixers if (m.window is not None or m.chunk is not None) == windowed]
    return sum(2 * m.kv_heads * (m.head_dim + m.value_dim) for m in bound)


@pytest.mark.parametrize(
    ("config", "full", "windowed"),
    [
        pytest.param(GEMMA_3N_E4B, 4 * 2_048, 16 * 2_048, id="Gemma 3n E4B: 15 of 35 layers store nothing"),
        pytest.param(GEMMA_4_26B, 5 * 4_096, 25 * 8_192, id="Gemma 4 26B: K = V, both are stored"),
        pytest.param(MIMO, 9 * 2_560, 39 * 5_120, id="MiMo-V2-Flash: windowed layers have more heads"),
        pytest.param(SCOUT, 12 * 4_096, 36 * 4_096, id="Llama 4 Scout: three layers of four are chunked"),
    ],
)
def test_bytes_a_token(config: dict[str, Any], full: int, windowed: int) -> None:
    """Layer by layer as vLLM 0.33's own cache specs have them (bf16, one GPU)."""
    spec = read_config(config)
    assert (stored(spec, windowed=False), stored(spec, windowed=True)) == (full, windowed)
    assert not spec.doubts


def test_gemma_3n_reusing_layers_have_no_keys() -> None:
    spec = read_config(GEMMA_3N_E4B)
    last = list(spec.each_layer())[-1]
    assert not [tensor.name for tensor in last.tensors if "k_proj" in tensor.name or "v_proj" in tensor.name]
    # transformers 5.24.0 builds this many parameters from the text config of google/gemma-3n-E4B.
    assert decoder_elements(spec) == 6_835_235_568


def test_reuse_needs_an_earlier_layer_of_the_kind() -> None:
    with pytest.raises(ConfigError, match="num_kv_shared_layers"):
        read_config({**GEMMA_3N_E4B, "num_hidden_layers": 5, "num_kv_shared_layers": 2})


def test_gemma_4_ends_in_a_full_layer_whatever_the_list_says() -> None:
    config = {"model_type": "gemma4_text", "num_hidden_layers": 3, "layer_types": ["sliding_attention"] * 3}
    mixers = attentions(read_config(config))
    assert [(m.window, m.head_dim) for m in mixers if m] == [(512, 256), (512, 256), (None, 512)]


def test_gemma_4_halves_the_window_of_two_way_attention() -> None:
    config = {"model_type": "gemma4_text", "num_hidden_layers": 2, "use_bidirectional_attention": "all"}
    (first, _) = attentions(read_config(config))
    assert first and first.window == 257


def test_gemma_4_assistant_stores_nothing() -> None:
    text = {"model_type": "gemma4_text", "hidden_size_per_layer_input": 0, "num_hidden_layers": 4}
    spec = read_config({"model_type": "gemma4_assistant", "text_config": text})
    assert all(mixer and mixer.reuses_cache for mixer in attentions(spec))


def test_mimo_sees_128_older_tokens_and_the_newest() -> None:
    assert {m.window for m in attentions(read_config(MIMO)) if m} == {None, 129}


def test_llama_4_without_a_chunk_size_is_full() -> None:
    mixers = attentions(read_config({**SCOUT, "attention_chunk_size": None}))
    assert all(mixer and mixer.chunk is None for mixer in mixers)


def test_minimax_m3_indexes_its_sparse_layers_only() -> None:
    config = {
        "model_type": "minimax_m3_vl_text",
        "num_hidden_layers": 3,
        "sparse_attention_config": {"sparse_attention_freq": [0, 1, 1], "sparse_index_dim": 64},
    }
    dims = [mixer.indexer and mixer.indexer.head_dim for mixer in attentions(read_config(config)) if mixer]
    assert dims == [None, 64, 64]


def test_step_37_with_its_prediction_layers() -> None:
    """stepfun-ai/Step-3.7-Flash holds 201,365,316,160 elements: decoder, three prediction layers, vision, biases."""
    spec = read_config(STEP)
    (drafts,) = spec.towers
    vision, router_biases = 1_955_848_960 + 25_165_824, 42 * 288
    assert decoder_elements(spec) + elements(drafts.tensors) + vision + router_biases == 201_365_316_160


def test_openelm_270m() -> None:
    """apple/OpenELM-270M: 271,527,168 parameters."""
    spec = read_config(OPENELM_270M)
    assert decoder_elements(spec) == 271_527_168
    assert [mixer.kv_heads for mixer in attentions(spec) if mixer] == [3] * 5 + [4] * 7 + [5] * 4


def nas(*blocks: tuple[dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
    return {
        "model_type": "nemotron-nas",
        "hidden_size": 8192,
        "num_attention_heads": 64,
        "num_key_value_heads": None,
        "num_hidden_layers": len(blocks),
        "vocab_size": 128256,
        "block_configs": [{"attention": attention, "ffn": ffn} for attention, ffn in blocks],
    }


def test_nemotron_nas_blocks() -> None:
    """Llama-3.3-Nemotron-Super-49B: groups of 8 heads, blocks without attention, widths by ffn_mult."""
    usual, none = {"n_heads_in_group": 8}, {"no_op": True}
    spec = read_config(
        nas((usual, {"ffn_mult": 2.625}), (none, {"ffn_mult": 5.25}), ({"replace_with_linear": True}, none))
    )
    mixers = attentions(spec)
    assert [mixer and mixer.kv_heads for mixer in mixers] == [8, None, None]
    widths = [layer.feed_forward and layer.feed_forward.intermediate for layer in spec.each_layer()]
    assert widths == [14_336, 28_672, None]


@pytest.mark.parametrize("group", [0, 7, "8", None])
def test_nemotron_nas_bad_group_names_its_field(group: object) -> None:
    with pytest.raises(ConfigError, match="n_heads_in_group"):
        read_config(nas(({"n_heads_in_group": group}, {"ffn_mult": 1.0})))


def test_laguna_heads_by_layer() -> None:
    config = {"model_type": "laguna", "num_hidden_layers": 2, "num_attention_heads_per_layer": [48, 64]}
    assert [mixer.heads for mixer in attentions(read_config(config)) if mixer] == [48, 64]
    with pytest.raises(ConfigError, match="num_attention_heads_per_layer"):
        read_config({**config, "num_attention_heads_per_layer": [48]})


def test_muse_glimmer_30b() -> None:
    """meta-models/Muse-Glimmer-30B: every fourth layer, counted from the last, is full."""
    windows = [mixer.window for mixer in attentions(read_config({"model_type": "muse_glimmer_text"})) if mixer]
    assert windows == [2048, 2048, 2048, None] * 13


def test_gemma_4_with_a_null_in_place_of_what_layers_change() -> None:
    """transformers 5.24.0: 204,800 bytes for 5 tokens of 2 sequences without the field, 163,840 with a null."""
    for stated, dims in (({}, {256, 512}), ({"per_layer_config": None}, {256})):
        spec = read_config({"model_type": "gemma4_text", "num_hidden_layers": 4, **stated})
        mixers = [mixer for layer in spec.each_layer() for mixer in layer.mixers]
        assert {mixer.head_dim for mixer in mixers if isinstance(mixer, Attention)} == dims


@pytest.mark.parametrize("model_type", ["kimi_linear", "bailing_hybrid", "nemotron_h", "inkling_text"])
def test_heads_that_are_never_tied(model_type: str) -> None:
    """transformers 5.24.0: _tied_weights_keys = {}; Kimi Linear has 377,487,360 parameters more than if it tied."""
    stated = {"hybrid_override_pattern": "M*-M"} if model_type == "nemotron_h" else {"num_hidden_layers": 8}
    assert not read_config({"model_type": model_type, "tie_word_embeddings": True, **stated}).tied_embeddings
