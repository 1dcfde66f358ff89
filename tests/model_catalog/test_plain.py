"""Plain decoders: layer kinds, cache dimensions and parameters, against published counts and the classes' own rules."""

from collections.abc import Mapping
from typing import Any

import pytest

from model_catalog.fields import ConfigError
from model_catalog.importers import read_config
from model_catalog.spec import Attention, ModelSpec

LLAMA_2_7B = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "vocab_size": 32000,
}
SMALL = {
    "hidden_size": 64,
    "num_hidden_layers": 8,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "vocab_size": 100,
}


def attentions(spec: ModelSpec) -> list[Attention]:
    return [mixer for layer in spec.each_layer() for mixer in layer.mixers if isinstance(mixer, Attention)]


def windows(config: Mapping[str, Any]) -> list[int | None]:
    return [mixer.window for mixer in attentions(read_config(config))]


def parameters(spec: ModelSpec, *, prediction: bool = False) -> int:
    towers = [tower for tower in spec.towers if prediction or tower.name != "multi-token prediction"]
    apart = [*spec.tensors, *(tensor for tower in towers for tensor in tower.tensors)]
    layers = sum(run.count * tensor.elements for run in spec.layers for tensor in run.layer.tensors)
    return layers + sum(tensor.elements for tensor in apart)


def kv_bytes_per_token(spec: ModelSpec) -> int:
    return sum(2 * mixer.kv_heads * (mixer.head_dim + mixer.value_dim) for mixer in attentions(spec))


def kv_doubted(config: Mapping[str, Any]) -> bool:
    return any(doubt.touches_kv for doubt in read_config(config).doubts)


def test_llama_2_7b() -> None:
    """6,738,415,616 parameters (the model's safetensors), and the half MiB a token that multi-head attention takes."""
    spec = read_config(LLAMA_2_7B)
    assert parameters(spec) == 6_738_415_616
    assert kv_bytes_per_token(spec) == 524_288
    assert spec.doubts == ()


@pytest.mark.parametrize(
    ("config", "count"),
    [
        pytest.param(
            {
                "model_type": "mixtral",
                "hidden_size": 4096,
                "intermediate_size": 14336,
                "num_hidden_layers": 32,
                "num_attention_heads": 32,
                "num_key_value_heads": 8,
                "vocab_size": 32000,
                "num_local_experts": 8,
            },
            46_702_792_704,
            id="Mixtral 8x7B: experts",
        ),
        pytest.param(
            {
                "model_type": "gpt_oss",
                "num_hidden_layers": 24,
                "num_local_experts": 32,
                "hidden_size": 2880,
                "intermediate_size": 2880,
                "num_attention_heads": 64,
                "num_key_value_heads": 8,
                "head_dim": 64,
                "vocab_size": 201088,
            },
            20_914_757_184,
            id="gpt-oss-20b: sinks, expert and router biases",
        ),
        pytest.param(
            {
                "model_type": "qwen2_moe",
                "hidden_size": 2048,
                "intermediate_size": 5632,
                "num_hidden_layers": 24,
                "num_attention_heads": 16,
                "num_key_value_heads": 16,
                "moe_intermediate_size": 1408,
                "shared_expert_intermediate_size": 5632,
                "num_experts": 60,
                "vocab_size": 151936,
            },
            14_315_784_192,
            id="Qwen1.5-MoE-A2.7B: gated shared expert",
        ),
        pytest.param(
            {
                "model_type": "olmo2",
                "hidden_size": 5120,
                "intermediate_size": 13824,
                "num_hidden_layers": 40,
                "num_attention_heads": 40,
                "vocab_size": 100352,
            },
            13_716_198_400,
            id="OLMo-2-13B: query and key norms over the whole width",
        ),
        pytest.param(
            {
                "model_type": "phi",
                "hidden_size": 2560,
                "intermediate_size": 10240,
                "num_hidden_layers": 32,
                "num_attention_heads": 32,
                "vocab_size": 51200,
            },
            2_779_683_840,
            id="phi-2: one LayerNorm a layer, biases, head bias",
        ),
        pytest.param(
            {
                "model_type": "stablelm",
                "hidden_size": 2048,
                "intermediate_size": 5632,
                "num_hidden_layers": 24,
                "num_attention_heads": 32,
                "num_key_value_heads": 32,
                "use_qkv_bias": True,
                "vocab_size": 100352,
            },
            1_644_515_328,
            id="StableLM 2 1.6B: biases of queries, keys and values only",
        ),
    ],
)
def test_published_parameter_counts(config: dict[str, Any], count: int) -> None:
    assert parameters(read_config(config)) == count


def test_prediction_layers_stand_apart() -> None:
    """GLM-4.5-Air: 106,852,245,504 parameters as built, 110,468,824,832 in the checkpoint, where there are also the
    46 load-balancing biases of 128 experts, which are buffers."""
    config = {
        "model_type": "glm4_moe",
        "hidden_size": 4096,
        "intermediate_size": 10944,
        "num_hidden_layers": 46,
        "num_attention_heads": 96,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "attention_bias": True,
        "moe_intermediate_size": 1408,
        "n_routed_experts": 128,
        "n_shared_experts": 1,
        "first_k_dense_replace": 1,
        "num_nextn_predict_layers": 1,
        "vocab_size": 151552,
    }
    spec = read_config(config)
    assert parameters(spec) == 106_852_245_504
    assert parameters(spec, prediction=True) == 110_468_824_832 - 46 * 128


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"model_type": "mistral", "sliding_window": 16}, [16] * 8),
        ({"model_type": "mistral", "sliding_window": None}, [None] * 8),
        ({"model_type": "gemma2", "sliding_window": 16, "sliding_window_pattern": 4}, [16, None] * 4),
        ({"model_type": "gemma3_text", "sliding_window": 16, "sliding_window_pattern": 4}, ([16] * 3 + [None]) * 2),
        (
            {"model_type": "gemma3_text", "sliding_window": 16, "use_bidirectional_attention": True},
            [9] * 5 + [None, 9, 9],
        ),
        ({"model_type": "qwen2", "sliding_window": 16, "max_window_layers": 6}, [None] * 8),
        (
            {"model_type": "qwen2", "sliding_window": 16, "max_window_layers": 6, "use_sliding_window": True},
            [None] * 6 + [16] * 2,
        ),
        (
            {"model_type": "qwen2_moe", "sliding_window": 16, "max_window_layers": 3, "use_sliding_window": True},
            [16, None, 16] + [None] * 5,
        ),
        ({"model_type": "cohere2", "sliding_window": 16}, ([16] * 3 + [None]) * 2),
        ({"model_type": "cwm", "sliding_window": 16}, ([None] + [16] * 3) * 2),
        (
            {"model_type": "cohere2_moe", "sliding_window": 16, "first_k_dense_replace": 2},
            [None] * 2 + [16] * 3 + [None] + [16] * 2,
        ),
        (
            {"model_type": "smollm3", "sliding_window": 16, "use_sliding_window": True, "no_rope_layer_interval": 4},
            ([None] * 3 + [16]) * 2,
        ),
        ({"model_type": "modernbert-decoder", "local_attention": 128}, [None, 64, 64] * 2 + [None, 64]),
        ({"model_type": "exaone4", "sliding_window": None}, [None] * 8),
    ],
)
def test_which_layers_have_the_window(config: dict[str, Any], expected: list[int | None]) -> None:
    """By each class's own __post_init__ (transformers 5.24.0, models/*/configuration_*.py)."""
    assert windows({**SMALL, "num_key_value_heads": 2, **config}) == expected


def test_stated_layer_types_come_first() -> None:
    stated = ["full_attention", "sliding_attention"] * 4
    assert windows({**SMALL, "model_type": "gemma2", "sliding_window": 16, "layer_types": stated}) == [None, 16] * 4


def test_layer_types_of_another_length() -> None:
    with pytest.raises(ConfigError) as caught:
        read_config({**SMALL, "model_type": "gemma2", "layer_types": ["full_attention"]})
    assert caught.value.field == "layer_types"


def test_a_layer_kind_that_is_not_known_is_doubted() -> None:
    assert kv_doubted({**SMALL, "model_type": "gemma2", "layer_types": ["spiral_attention"] * 8})


@pytest.mark.parametrize("stray", [{"sliding_window": 4096}, {"attention_chunk_size": 64}])
def test_a_window_that_the_class_does_not_have(stray: dict[str, int]) -> None:
    """Llama attends to everything; transformers' cache (get_layer_types_and_kwargs) would slide all the same."""
    config = {**LLAMA_2_7B, **stray}
    assert windows(config) == [None] * 32
    assert kv_doubted(config)


def test_stray_layer_types() -> None:
    full, half = ["full_attention"] * 8, ["full_attention", "sliding_attention"] * 4
    assert not kv_doubted({**SMALL, "model_type": "llama", "sliding_window": 16, "layer_types": full})
    assert kv_doubted({**SMALL, "model_type": "llama", "sliding_window": 16, "layer_types": half})
    assert kv_doubted({**SMALL, "model_type": "mistral", "sliding_window": 16, "layer_types": half})


def test_head_dim_is_rounded_down_where_the_class_does() -> None:
    """GLM-4.5's class defaults: 4096 over 96 heads; Llama's class refuses what does not divide."""
    assert attentions(read_config({"model_type": "glm4_moe"}))[0].head_dim == 42
    with pytest.raises(ConfigError) as caught:
        read_config({**LLAMA_2_7B, "num_attention_heads": 96})
    assert caught.value.field == "num_attention_heads"


def test_sparse_layers() -> None:
    """Qwen3 MoE: every second layer, but for the listed one (configuration_qwen3_moe.py)."""
    config = {**SMALL, "model_type": "qwen3_moe", "decoder_sparse_step": 2, "mlp_only_layers": [3]}
    feed_forwards = [layer.feed_forward for layer in read_config(config).each_layer()]
    sparse = [index for index, part in enumerate(feed_forwards) if part and part.experts]
    assert sparse == [1, 5, 7]


def test_looped_layers_keep_a_cache_for_each_pass() -> None:
    """Dory's defaults: 36 layers, of which 20 run twice; 3,975,229,440 parameters."""
    spec = read_config({"model_type": "dory"})
    assert len(attentions(spec)) == 56
    assert sum(mixer.head_dim + mixer.value_dim for mixer in attentions(spec)) == 56 * 2 * 256
    assert parameters(spec) == 3_975_229_440
