"""Older field names, classes that come with the checkpoint, and types that no reader knows."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model_catalog.fields import ConfigError
from model_catalog.importers import read_config
from model_catalog.spec import ModelSpec
from tests.model_catalog.test_plain import attentions, kv_bytes_per_token, kv_doubted, parameters

GPT2 = {"model_type": "gpt2", "n_layer": 12, "n_head": 12, "n_embd": 768, "vocab_size": 50257, "n_positions": 1024}
FALCON_40B = {
    "model_type": "falcon",
    "hidden_size": 8192,
    "num_hidden_layers": 60,
    "num_attention_heads": 128,
    "num_kv_heads": 8,
    "new_decoder_architecture": True,
    "vocab_size": 65024,
}
MOE_16B = {
    "model_type": "deepseek",
    "hidden_size": 2048,
    "intermediate_size": 10944,
    "moe_intermediate_size": 1408,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "n_routed_experts": 64,
    "n_shared_experts": 2,
    "num_experts_per_tok": 6,
    "first_k_dense_replace": 1,
    "moe_layer_freq": 1,
    "vocab_size": 102400,
}
HUNYUAN_A13B = {
    "model_type": "hunyuan",
    "hidden_size": 4096,
    "intermediate_size": 3072,
    "moe_intermediate_size": [3072] * 32,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "attention_head_dim": 128,
    "num_experts": 64,
    "moe_topk": [8] * 32,
    "num_shared_expert": [1] * 32,
    "use_mixed_mlp_moe": True,
    "use_qk_norm": True,
    "use_cla": False,
    "cla_share_factor": 2,
    "tie_word_embeddings": True,
    "vocab_size": 128167,
}


@pytest.mark.parametrize(
    ("config", "count"),
    [
        pytest.param(GPT2, 124_439_808, id="GPT-2"),
        pytest.param(
            {"model_type": "bloom", "n_layer": 70, "n_head": 112, "hidden_size": 14336, "vocab_size": 250880},
            176_247_271_424,
            id="BLOOM",
        ),
        pytest.param(FALCON_40B, 41_303_293_952, id="Falcon-40B"),
        pytest.param(MOE_16B, 16_375_728_128, id="DeepSeekMoE 16B"),
        pytest.param(HUNYUAN_A13B, 80_393_183_232, id="Hunyuan-A13B"),
        pytest.param(
            {
                "model_type": "qwen",
                "hidden_size": 4096,
                "intermediate_size": 22016,
                "kv_channels": 128,
                "num_hidden_layers": 32,
                "num_attention_heads": 32,
                "no_bias": True,
                "vocab_size": 151936,
            },
            7_721_324_544,
            id="Qwen-7B",
        ),
        pytest.param(
            {
                "model_type": "phi3small",
                "hidden_size": 4096,
                "ff_intermediate_size": 14336,
                "num_hidden_layers": 32,
                "num_attention_heads": 32,
                "num_key_value_heads": 8,
                "vocab_size": 100352,
            },
            7_392_272_384,
            id="Phi-3-small-128k",
        ),
        pytest.param(
            {
                "model_type": "chatglm",
                "num_layers": 28,
                "hidden_size": 4096,
                "ffn_hidden_size": 13696,
                "kv_channels": 128,
                "num_attention_heads": 32,
                "multi_query_attention": True,
                "multi_query_group_num": 2,
                "add_qkv_bias": True,
                "padded_vocab_size": 65024,
            },
            6_243_584_000,
            id="ChatGLM3-6B",
        ),
    ],
)
def test_published_parameter_counts(config: dict[str, Any], count: int) -> None:
    """Safetensors totals of the repositories."""
    spec = read_config(config)
    assert parameters(spec) == count
    assert not any(doubt.touches_weights for doubt in spec.doubts)


def test_prediction_layer_of_mimo() -> None:
    """MiMo-7B: 7,833,409,536 parameters in the checkpoint, the prediction layer's among them."""
    config = {
        "model_type": "mimo",
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "num_nextn_predict_layers": 1,
        "vocab_size": 151680,
    }
    assert parameters(read_config(config), prediction=True) == 7_833_409_536


def test_falcon_key_value_heads() -> None:
    """Falcon-7B shares one head of 64 in 32 layers: 8,192 bytes a token; Falcon-40B shares eight."""
    assert kv_bytes_per_token(read_config({"model_type": "falcon"})) == 8192
    assert attentions(read_config(FALCON_40B))[0].kv_heads == 8
    assert attentions(read_config({**FALCON_40B, "new_decoder_architecture": False}))[0].kv_heads == 1


def test_shared_key_values_of_gpt_bigcode() -> None:
    """SantaCoder and StarCoder: multi_query is the class's default."""
    assert attentions(read_config({**GPT2, "model_type": "gpt_bigcode"}))[0].kv_heads == 1
    assert attentions(read_config({**GPT2, "model_type": "gpt_bigcode", "multi_query": False}))[0].kv_heads == 12


def test_vision_tower_of_phi_3() -> None:
    """Phi-3-vision and Phi-3.5-vision: 4,146,621,440 parameters in the checkpoint."""
    config = {
        "model_type": "phi3_v",
        "hidden_size": 3072,
        "intermediate_size": 8192,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "vocab_size": 32064,
        "img_processor": {"model_name": "openai/clip-vit-large-patch14-336"},
    }
    assert parameters(read_config(config)) == 4_146_621_440


def test_gpt2_does_not_heed_fields_of_other_classes() -> None:
    assert attentions(read_config({**GPT2, "num_key_value_heads": 2, "head_dim": 8}))[0].kv_heads == 12


def test_local_layers_of_gpt_neo() -> None:
    """GPT-Neo 1.3B: every second layer sees 256 tokens."""
    config = {"model_type": "gpt_neo", "attention_types": [[["global", "local"], 12]]}
    assert [mixer.window for mixer in attentions(read_config(config))] == [None, 256] * 12
    assert not kv_doubted({"model_type": "gpt_neo", "attention_types": [[["global"], 24]]})
    listed = {"model_type": "gpt_neo", "num_layers": 3, "attention_layers": ["local", "local", "global"]}
    assert [run.count for run in read_config(listed).layers] == [2, 1]


@pytest.mark.parametrize(
    "value", [[[["global"], 23]], [["global", 24]], [[["global"], 10**9]], "global", [[["global"]]]]
)
def test_attention_types_that_make_no_sense(value: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        read_config({"model_type": "gpt_neo", "attention_types": value})
    assert caught.value.field == "attention_types"


def test_cross_layer_attention_of_hunyuan_large() -> None:
    """With use_cla every second layer reads the keys and values of the one before it."""
    spec = read_config({**HUNYUAN_A13B, "use_cla": True})
    assert [mixer.reuses_cache for mixer in attentions(spec)] == [False, True] * 16


def test_opt_350m_projects_its_embedding() -> None:
    """331,196,416 parameters: 512-wide embedding, 1024-wide layers, norms after each part."""
    config = {
        "model_type": "opt",
        "hidden_size": 1024,
        "word_embed_proj_dim": 512,
        "ffn_dim": 4096,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "do_layer_norm_before": False,
        "vocab_size": 50272,
    }
    assert parameters(read_config(config)) == 331_196_416


UNKNOWN = {"model_type": "somebody_new", "n_layer": 10, "n_head": 8, "d_model": 256, "n_vocab": 1000}


def test_an_unknown_type_is_read_in_any_spelling_and_doubted() -> None:
    spec = read_config({**UNKNOWN, "multi_query_group_num": 2, "kv_channels": 16})
    assert (spec.num_layers, spec.hidden_size, spec.vocab_size) == (10, 256, 1000)
    assert (attentions(spec)[0].kv_heads, attentions(spec)[0].head_dim) == (2, 16)
    assert any(doubt.touches_kv and doubt.touches_weights for doubt in spec.doubts)
    assert "intermediate_size" in {doubt.config_field for doubt in spec.doubts}


def test_an_unknown_type_with_recurrent_layers() -> None:
    kinds = ["linear_attention"] * 8 + ["full_attention", "sliding_attention"]
    spec = read_config({**UNKNOWN, "layer_types": kinds, "sliding_window": 64})
    assert [mixer.window for mixer in attentions(spec)] == [None, 64]
    assert kv_doubted({**UNKNOWN, "layer_types": kinds, "sliding_window": 64})


def test_an_unknown_type_with_latent_attention_says_so() -> None:
    spec = read_config({**UNKNOWN, "kv_lora_rank": 512})
    assert "kv_lora_rank" in {doubt.config_field for doubt in spec.doubts}


def test_an_unknown_type_with_its_sizes_in_a_part() -> None:
    spec = read_config({"model_type": "somebody_new", "decoder": {"n_layer": 3, "n_head": 8, "d_model": 256}})
    assert (spec.model_type, spec.num_layers, spec.hidden_size) == ("somebody_new", 3, 256)
    assert "decoder" in {doubt.config_field for doubt in spec.doubts}


def test_a_part_without_a_model_type_is_known_by_its_class() -> None:
    part = {**SMALL, "architectures": ["Qwen2ForCausalLM"], "num_key_value_heads": 2}
    spec = read_config({"model_type": "somebody_new", "llm_config": part})
    assert attentions(spec)[0].kv_heads == 2
    assert "llm_config.model_type" in {doubt.config_field for doubt in spec.doubts}
    assert any("self_attn.k_proj.bias" in tensor.name for tensor in spec.layers[0].layer.tensors)


def test_an_unknown_type_needs_layers_heads_and_width() -> None:
    for missing in ("n_layer", "n_head", "d_model"):
        with pytest.raises(ConfigError):
            read_config({name: value for name, value in UNKNOWN.items() if name != missing})


@pytest.mark.parametrize(
    ("name", "model_type"),
    [
        ("LlamaForCausalLM", "llama"),
        ("Qwen3MoeForCausalLM", "qwen3_moe"),
        ("QWenLMHeadModel", "qwen"),
        ("GPTNeoXForCausalLM", "gpt_neox"),
        ("Qwen3VLTextModel", "qwen3_vl_text"),
        ("ChatGLMModel", "chatglm"),
    ],
)
def test_model_type_from_architectures(name: str, model_type: str) -> None:
    spec = read_config({"architectures": [name], **SMALL})
    assert spec.model_type == model_type
    assert "model_type" in {doubt.config_field for doubt in spec.doubts}


SMALL = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "ffn_hidden_size": 96,
    "vocab_size": 100,
}
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 300),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.integers(0, 9), max_size=3),
)
NAMES = st.sampled_from(
    [
        *("n_layer", "n_head", "d_model", "head_dim", "num_kv_heads", "layer_types", "sliding_window", "n_inner"),
        *("num_experts", "top_k", "vocab_size", "moe_intermediate_size", "n_shared_experts", "use_cla", "kv_channels"),
        *("num_key_value_heads", "attention_types", "multi_query", "attn_config", "ffn_config", "img_processor"),
    ]
)
TYPES = [
    "somebody_new",
    "gpt_neo",
    "mpt",
    "dbrx",
    "falcon",
    "chatglm",
    "hunyuan",
    "qwen",
    "jetmoe",
    "minicpm",
    "opt",
    "phi3_v",
]


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(TYPES), st.dictionaries(NAMES, VALUES, max_size=5))
def test_any_values_give_a_spec_or_a_sentence(model_type: str, changed: dict[str, Any]) -> None:
    try:
        spec = read_config({**SMALL, **UNKNOWN, "model_type": model_type, **changed})
    except ConfigError:
        return
    assert isinstance(spec, ModelSpec)
    assert all(mixer.kv_heads > 0 and mixer.head_dim > 0 for mixer in attentions(spec))
