"""Recurrent and hybrid decoders against published element counts, states worked out by others, and class rules."""

from itertools import islice
from typing import Any

import pytest

from model_catalog.fields import ConfigError
from model_catalog.importers import qwen4_exp, read_config
from model_catalog.lookup import find_entry
from model_catalog.spec import Attention, LatentAttention, Layer, ModelSpec, Recurrent
from model_catalog.tensors import Tensor

FULL, LINEAR = "full_attention", "linear_attention"
NEMOTRON_ULTRA = "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16"
GOOSE = {
    "model_type": "rwkv7",
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "vocab_size": 65_536,
    "head_dim": 64,
    "decay_low_rank_dim": 64,
    "a_low_rank_dim": 64,
    "v_low_rank_dim": 32,
    "gate_low_rank_dim": 128,
}
GOOSE_3B = {
    **GOOSE,
    "hidden_size": 2560,
    "num_hidden_layers": 32,
    "decay_low_rank_dim": 96,
    "a_low_rank_dim": 96,
    "v_low_rank_dim": 64,
    "gate_low_rank_dim": 320,
}
SALA = {
    "model_type": "minicpm_sala",
    "hidden_size": 4096,
    "intermediate_size": 16_384,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 2,
    "vocab_size": 73_448,
    "mixer_types": ["minicpm4"] * 8 + ["lightning-attn"] * 24,
    "lightning_nh": 32,
    "lightning_head_dim": 128,
}


def elements(tensors: tuple[Tensor, ...]) -> int:
    return sum(tensor.elements for tensor in tensors)


def decoder_elements(spec: ModelSpec) -> int:
    return elements(spec.tensors) + sum(run.count * elements(run.layer.tensors) for run in spec.layers)


def prediction_elements(spec: ModelSpec) -> int:
    return sum(elements(tower.tensors) for tower in spec.towers if tower.name == "multi-token prediction")


def published(model_id: str) -> ModelSpec:
    return read_config(find_entry(model_id).config)


def states(spec: ModelSpec) -> list[Recurrent]:
    return [mixer for layer in spec.each_layer() for mixer in layer.mixers if isinstance(mixer, Recurrent)]


def kinds(spec: ModelSpec) -> str:
    """One letter for each layer: M state, * attention, H both, - neither."""

    def letter(layer: Layer) -> str:
        has_state = any(isinstance(mixer, Recurrent) for mixer in layer.mixers)
        has_attention = any(isinstance(mixer, (Attention, LatentAttention)) for mixer in layer.mixers)
        return {(True, False): "M", (False, True): "*", (True, True): "H"}.get((has_state, has_attention), "-")

    return "".join(letter(layer) for layer in spec.each_layer())


# --- elements: safetensors.total of the Hugging Face repositories ---


@pytest.mark.parametrize(
    ("model_id", "total"),
    [
        ("ai21labs/Jamba-v0.1", 51_570_323_328),
        ("Zyphra/Zamba-7B-v1", 7_232_490_496),
        ("LiquidAI/LFM2-1.2B", 1_170_340_608),
        ("LiquidAI/LFM2-8B-A1B", 8_339_929_856),
        ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", 8_888_227_328),
        ("nvidia/Nemotron-H-56B-Base-8K", 56_324_350_464),
        ("MiniMaxAI/MiniMax-M1-80k", 456_089_655_296),
        ("RWKV/rwkv-5-world-1b5", 1_577_754_624),
        ("moonshotai/Kimi-Linear-48B-A3B-Instruct", 49_122_681_728 - 26 * 256),  # less the router biases
    ],
)
def test_the_decoder_has_the_published_number_of_elements(model_id: str, total: int) -> None:
    assert decoder_elements(published(model_id)) == total


@pytest.mark.parametrize(
    ("config", "total"),
    [
        pytest.param({"model_type": "olmo_hybrid"}, 7_430_870_688, id="Olmo-Hybrid-7B"),
        pytest.param(GOOSE, 191_034_624, id="RWKV7-Goose-World2.8-0.1B-HF"),
        pytest.param(GOOSE_3B, 2_947_735_040, id="RWKV7-Goose-World3-2.9B-HF"),
        pytest.param(SALA, 9_477_203_968, id="MiniCPM-SALA"),
    ],
)
def test_a_config_written_here_has_the_published_number_of_elements(config: dict[str, Any], total: int) -> None:
    assert decoder_elements(read_config(config)) == total


@pytest.mark.parametrize(
    ("model_id", "total"),
    [
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", 81_324_862_720),
        (NEMOTRON_ULTRA, 560_524_578_816),
        ("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8", 123_611_012_096),
        ("inclusionAI/Ling-3.0-Flash", 127_486_405_600 - 41 * 512),  # less the router biases
    ],
)
def test_prediction_layers_make_up_the_rest_of_the_checkpoint(model_id: str, total: int) -> None:
    spec = published(model_id)
    assert decoder_elements(spec) + prediction_elements(spec) == total


@pytest.mark.parametrize(
    ("model_id", "beside_the_class"),
    [
        ("Qwen/Qwen3.5-27B", 27_781_427_952 - 27_356_728_560),
        ("Qwen/Qwen3.5-9B", 9_653_104_368 - 9_409_813_744),
        ("Qwen/Qwen3.5-35B-A3B", 35_951_822_704 - 35_107_181_936),
        ("Qwen/Qwen3.5-397B-A17B", 403_397_928_944 - 396_802_360_816),
    ],
)
def test_qwen35_prediction_is_what_transformers_does_not_build(model_id: str, beside_the_class: int) -> None:
    """safetensors.total less the parameters of the class in transformers 5.24.0, vision tower included in both."""
    assert prediction_elements(published(model_id)) == beside_the_class


# --- states: conv elements and recurrent elements of one layer, as vLLM 0.33 and SGLang 0.5.23 allocate them ---


@pytest.mark.parametrize(
    ("model_id", "layers", "window_elements", "state_elements"),
    [
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", 36, 8192 * 3, 32 * 128 * 128),
        ("moonshotai/Kimi-Linear-48B-A3B-Instruct", 20, 73_728 // 2, 2_097_152 // 4),
        ("moonshotai/Kimi-K3", 69, 36_864 * 3, 96 * 128 * 128),
        ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 23, 36_864 // 2, 2_097_152 // 4),
        ("LiquidAI/LFM2-1.2B", 10, 8192 // 2, 0),
        ("ai21labs/Jamba-v0.1", 28, 8192 * 3, 8192 * 16),
        ("MiniMaxAI/MiniMax-M1-80k", 70, 0, 64 * 128 * 128),
    ],
)
def test_state_of_one_layer(model_id: str, layers: int, window_elements: int, state_elements: int) -> None:
    found = states(published(model_id))
    assert len(found) == layers
    assert {mixer.conv_channels * (mixer.conv_kernel - 1) for mixer in found} == {window_elements}
    assert {mixer.state_elements for mixer in found} == {state_elements}


def test_lightning_state_of_minicpm_sala_is_what_sglang_prints() -> None:
    assert sum(4 * mixer.state_elements for mixer in states(read_config(SALA))) == 50_331_648


def test_the_format_that_the_config_asks_for_its_state_is_kept() -> None:
    assert {mixer.state_dtype for mixer in states(published(NEMOTRON_ULTRA))} == {"fp32"}
    assert {mixer.state_dtype for mixer in states(published("Qwen/Qwen3.5-27B"))} == {"fp32"}
    odd = read_config({"model_type": "nemotron_h", "mamba_ssm_cache_dtype": "float6"})
    assert [doubt.config_field for doubt in odd.doubts] == ["mamba_ssm_cache_dtype"]


# --- which layer is which ---


@pytest.mark.parametrize(
    ("config", "letters"),
    [
        ({"model_type": "jamba", "attn_layer_period": 3, "attn_layer_offset": 1}, "M*MM*MM"),
        ({"model_type": "bamba", "attn_layer_indices": [2, 5]}, "MM*MM*M"),
        ({"model_type": "falcon_h1"}, "HHHHHHH"),
        ({"model_type": "granitemoehybrid", "layers_block_type": ["mamba"] * 6 + ["attention"]}, "MMMMMM*"),
        ({"model_type": "granitemoehybrid"}, "MMMMMMM"),
        ({"model_type": "zamba", "attn_layer_period": 3, "attn_layer_offset": 0}, "MMHHMMH"),
        ({"model_type": "zamba2", "layers_block_type": ["mamba"] * 6 + ["hybrid"]}, "MMMMMMH"),
        ({"model_type": "qwen3_next", "full_attention_interval": 3}, "MM*MM*M"),
        ({"model_type": "qwen3_5_text"}, "MMM*MMM"),
        ({"model_type": "olmo_hybrid"}, "MMM*MMM"),
        ({"model_type": "kimi_linear"}, "MMMM*MM"),
        ({"model_type": "bailing_hybrid", "layer_group_size": 2}, "M*M*M*M"),
        ({"model_type": "lfm2", "full_attn_idxs": [0, 6]}, "*MMMMM*"),
        ({"model_type": "lfm2"}, "*******"),
        ({"model_type": "lfm3"}, "MM*M*M*"),
        ({"model_type": "minimax"}, "*M*M*M*"),
        ({"model_type": "recurrent_gemma"}, "MM*MM*M"),
        ({"model_type": "lara_mini"}, "M*M**M*"),
        ({"model_type": "zaya"}, "HHHHHHH"),
        ({"model_type": "mamba2"}, "MMMMMMM"),
    ],
)
def test_seven_layers_by_the_rule_of_the_class(config: dict[str, Any], letters: str) -> None:
    assert kinds(read_config({**config, "num_hidden_layers": 7})) == letters


def test_nemotron_takes_its_layers_from_the_pattern_and_ignores_num_hidden_layers() -> None:
    spec = read_config({"model_type": "nemotron_h", "hybrid_override_pattern": "MEM*-", "num_hidden_layers": 52})
    assert kinds(spec) == "M-M*-"
    parts = [layer.feed_forward for layer in spec.each_layer()]
    assert [part.experts if part else None for part in parts] == [None, 8, None, None, 0]


def test_kimi_counts_layers_from_one() -> None:
    part = {"full_attn_layers": [3], "kda_layers": [1, 2, 4]}
    spec = read_config({"model_type": "kimi_linear", "num_hidden_layers": 4, "linear_attn_config": part})
    assert kinds(spec) == "MM*M"


@pytest.mark.parametrize(
    ("config", "field"),
    [
        (
            {"model_type": "kimi_linear", "linear_attn_config": {"full_attn_layers": [0], "kda_layers": [1]}},
            "linear_attn_config.full_attn_layers",
        ),
        ({"model_type": "nemotron_h", "hybrid_override_pattern": "MX"}, "hybrid_override_pattern"),
        ({"model_type": "qwen3_next", "layer_types": [FULL]}, "layer_types"),
        ({"model_type": "minimax_m1", "num_hidden_layers": 2, "attn_type_list": [0, 7]}, "attn_type_list"),
        ({"model_type": "lfm2_moe"}, "layer_types"),
    ],
)
def test_layers_that_cannot_be_are_an_error_at_the_field(config: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError) as error:
        read_config(config)
    assert error.value.field == field


def test_a_kind_of_layer_that_is_not_known_is_attention_and_doubted() -> None:
    spec = read_config({"model_type": "qwen3_next", "num_hidden_layers": 2, "layer_types": [LINEAR, "holographic"]})
    assert kinds(spec) == "M*"
    assert [doubt.config_field for doubt in spec.doubts if doubt.touches_kv] == ["layer_types"]


# --- what single models do in their own way ---


def test_zamba_holds_its_shared_block_once_and_caches_it_at_every_use() -> None:
    spec = published("Zyphra/Zamba-7B-v1")
    shared = [tensor for tensor in spec.tensors if "shared_transf" in tensor.name]
    assert elements(tuple(shared)) == 3 * 7424 * 7424 + 3712 * 7424 + 3 * 3712 * 14_848 + 7424 + 3712
    attending = [m for layer in spec.each_layer() for m in layer.mixers if isinstance(m, Attention)]
    assert len(attending) == 13
    assert {(mixer.kv_heads, mixer.head_dim) for mixer in attending} == {(16, 464)}


def test_inkling_loop_keeps_a_cache_for_every_pass() -> None:
    text = {"loop_layer_index_start": 6, "loop_layer_index_end": 12, "loop_num_passes": 3}
    spec = read_config({"model_type": "inkling2_loop_text", **text})
    assert [len(layer.mixers) for layer in spec.each_layer()] == [2] * 6 + [6] * 6 + [2] * 12


def test_qwen4_tables_have_a_prime_number_of_rows_for_each_head() -> None:
    assert list(islice(qwen4_exp._primes_from(20), 5)) == [23, 29, 31, 37, 41]
    assert next(qwen4_exp._primes_from(10**12)) == 1_000_000_000_039


def test_recurrent_gemma_repeats_its_blocks_over_windowed_attention() -> None:
    spec = read_config({"model_type": "recurrent_gemma", "num_hidden_layers": 3})
    assert [m.window for layer in spec.each_layer() for m in layer.mixers if isinstance(m, Attention)] == [2048]
    assert {(m.conv_channels, m.conv_kernel, m.state_elements) for m in states(spec)} == {(2560, 4, 2560)}


def test_mamba_widths_that_the_config_states_itself() -> None:
    """transformers 5.24 sets them after it derived its own: 2 layers × 1,536 × (4 columns × 2 B + 16 × 4 B)."""
    spec = read_config({"model_type": "mamba", "num_hidden_layers": 2, "hidden_size": 512, "intermediate_size": 1536})
    (run,) = spec.layers
    (mixer,) = run.layer.mixers
    assert isinstance(mixer, Recurrent)
    assert (mixer.conv_channels, mixer.state_elements) == (1536, 1536 * 16)


def test_zamba_2_heads_that_the_config_states_itself() -> None:
    kinds = ["mamba", "hybrid"]
    config = {"model_type": "zamba2", "num_hidden_layers": 2, "layers_block_type": kinds, "attention_head_dim": 64}
    attention = read_config(config).layers[1].layer.mixers[0]
    assert isinstance(attention, Attention)
    assert attention.head_dim == 64
