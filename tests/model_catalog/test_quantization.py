"""Each stated format against the config of a published checkpoint, or the format's own documentation."""

from collections.abc import Mapping
from typing import Any

import pytest

from model_catalog.importers import read_config
from model_catalog.spec import ModelSpec, Quantization
from model_catalog.tensors import TensorClass

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 256,
    "torch_dtype": "bfloat16",
}
MIXTRAL = {**LLAMA, "model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2}


def quantized(stated: Mapping[str, Any] | None, base: Mapping[str, Any] = LLAMA) -> ModelSpec:
    return read_config({**base, "quantization_config": stated})


def group(**weights: Any) -> dict[str, Any]:
    return {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}},
    }


FORMATS: list[tuple[dict[str, Any], str, int]] = [
    # deepseek-ai/DeepSeek-V3, Qwen/Qwen3-8B-FP8
    ({"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]}, "fp8-block", 0),
    # mistralai/Devstral-2-123B-Instruct-2512
    ({"quant_method": "fp8", "activation_scheme": "static", "weight_block_size": None}, "fp8-tensor", 0),
    # ibm-granite/granite-3.3-8b-instruct-FP8
    (group(num_bits=8, type="float", strategy="channel", group_size=None, symmetric=True), "fp8", 0),
    # moonshotai/Kimi-K2.5
    (group(num_bits=4, type="int", strategy="group", group_size=32, symmetric=True), "int4-group32", 32),
    (group(num_bits=4, type="int", strategy="group", group_size=128, symmetric=False), "awq-int4", 128),
    # moonshotai/Kimi-K3
    (group(num_bits=4, type="float", strategy="group", group_size=32), "mxfp4", 0),
    # compressed-tensors nvfp4-pack-quantized
    (group(num_bits=4, type="float", strategy="tensor_group", group_size=16), "nvfp4", 0),
    (group(num_bits=8, type="int", strategy="channel"), "int8", 0),
    # nvidia/GLM-5.2-NVFP4
    ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4", 0),
    # nvidia/Llama-3.1-8B-Instruct-FP8 (hf_quant_config.json nests it)
    ({"producer": {}, "quant_method": "modelopt", "quantization": {"quant_algo": "FP8"}}, "fp8-tensor", 0),
    # openai/gpt-oss-20b
    ({"quant_method": "mxfp4"}, "mxfp4", 0),
    ({"quant_method": "awq", "bits": 4, "group_size": 64}, "awq-int4", 64),
    ({"quant_method": "gptq", "bits": 8, "group_size": 128}, "gptq-int8", 128),
    ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "bnb-nf4", 0),
    ({"load_in_8bit": True}, "bnb-int8", 0),
]


@pytest.mark.parametrize(("stated", "method", "group_size"), FORMATS, ids=lambda value: str(value)[:40])
def test_a_known_format_is_named(stated: dict[str, Any], method: str, group_size: int) -> None:
    spec = quantized(stated)
    assert spec.quantization == Quantization(method=method, group_size=group_size)
    assert spec.doubts == ()


UNKNOWN: list[dict[str, Any]] = [
    {"quant_method": "exl3", "bits": 3},
    {"quant_method": "modelopt", "quant_algo": "W2A2"},
    {"quant_method": "awq", "bits": 3},
    {"quant_method": "gptq", "bits": 2},
    {"quant_method": "compressed-tensors", "config_groups": {}},
    group(num_bits=6, type="int"),
]


@pytest.mark.parametrize("stated", UNKNOWN, ids=str)
def test_an_unknown_format_is_doubted_and_not_counted(stated: dict[str, Any]) -> None:
    spec = quantized(stated)
    assert spec.quantization is None
    assert [(doubt.touches_kv, doubt.touches_weights) for doubt in spec.doubts] == [(False, True)]


def test_no_quantization_is_none() -> None:
    assert quantized(None).quantization is None


def test_skipped_names_and_the_pinned_cache_are_kept() -> None:
    scheme = {"dynamic": False, "num_bits": 8, "type": "float"}
    stated = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"], "kv_cache_scheme": scheme}
    spec = quantized(stated)
    assert spec.quantization == Quantization(method="nvfp4", skipped=("lm_head",), kv_cache="fp8")


def test_an_unknown_cache_format_touches_the_cache() -> None:
    spec = quantized({"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_quant_algo": "FP3"})
    assert [(doubt.touches_kv, doubt.touches_weights) for doubt in spec.doubts] == [(True, False)]


def test_a_nested_config_is_found() -> None:
    text = {**LLAMA, "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
    spec = read_config({"model_type": "llava", "text_config": text, "vision_config": {}})
    assert spec.quantization == Quantization(method="fp8-block")


def test_mixed_formats_stand_on_the_tensors() -> None:
    """As nvidia/MiniMax-M3-NVFP4 has it: attention in MXFP8, experts in NVFP4, the router in neither."""
    layers = {
        "model.layers.0.self_attn.q_proj": {"quant_algo": "MXFP8"},
        "model.layers.0.block_sparse_moe.experts.0.w1": {"quant_algo": "NVFP4", "group_size": 16},
    }
    stated = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": layers}
    spec = quantized(stated, MIXTRAL)
    found = {(t.kind, t.dtype) for t in spec.layers[0].layer.tensors if len(t.shape) == 2}
    assert found == {
        (TensorClass.ATTENTION, "mxfp8"),
        (TensorClass.EXPERT, "nvfp4"),
        (TensorClass.ROUTER, None),
    }
    assert {t.dtype for t in spec.tensors if t.kind is TensorClass.LM_HEAD} == {"bf16"}


def test_deepseek_v4_experts_are_in_mxfp4_and_the_rest_in_fp8_blocks() -> None:
    fp8 = {"quant_method": "fp8", "weight_block_size": [128, 128], "scale_fmt": "ue8m0"}
    spec = quantized(fp8, {**MIXTRAL, "expert_dtype": "fp4"})
    assert spec.quantization == Quantization(method="fp8-block")
    tensors = spec.layers[0].layer.tensors
    assert {t.dtype for t in tensors if t.kind is TensorClass.EXPERT} == {"mxfp4"}
    assert {t.dtype for t in tensors if t.kind is TensorClass.ATTENTION} == {None}


@pytest.mark.parametrize(
    ("stated", "dtype"),
    [("float16", "fp16"), ("torch.float32", "fp32"), ("bfloat16", "bf16"), (None, "bf16"), ("auto", "bf16")],
)
def test_the_stated_dtype(stated: str | None, dtype: str) -> None:
    assert read_config({**LLAMA, "torch_dtype": stated}).dtype == dtype
