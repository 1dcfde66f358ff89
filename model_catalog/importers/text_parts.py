"""The decoders inside image and audio models of transformers 5.24.0 that have a class of their own, where plain."""

from dataclasses import replace

from model_catalog import layer_kinds as kinds
from model_catalog.blocks.attention import QkNorm
from model_catalog.blocks.linear import linear, norm, small
from model_catalog.fields import Fields
from model_catalog.importers import mixtures as moe
from model_catalog.importers.common import derived_head_dim
from model_catalog.importers.families import ERNIE, GLM4, GLM4_MOE, LLAMA, PHI3, QWEN2, QWEN3_MOE, output_gate
from model_catalog.importers.plain import Family, read_plain, readers
from model_catalog.spec import Attention, ModelSpec
from model_catalog.tensors import Shard, Tensor, TensorClass


def ernie_vl_experts(f: Fields, index: int) -> moe.Mixture | None:
    """ERNIE 4.5 VL: text experts, and as many narrower ones for image tokens."""
    if not moe.listed_or(moe.dense_first(1))(f, index):
        return None
    widths = f.items("moe_intermediate_size", int, most=2) or [1536, 512]
    if len(widths) != 2 or min(widths) < 1:
        raise f.error("moe_intermediate_size", "a list of two widths, of text and of image experts,")
    count, hidden = f.whole("moe_num_experts"), f.whole("hidden_size")
    name, image = "mlp.vision_moe", (widths[1], hidden)
    return moe.Mixture(
        experts=count,
        top_k=f.whole("moe_k"),
        intermediate=widths[0],
        shared_intermediate=f.whole("moe_num_shared_experts", 0, minimum=0) * widths[0],
        shared_bias=f.flag("use_bias"),
        correction=True,
        beside=(
            *linear(f"{name}.gate", count, hidden, TensorClass.ROUTER),
            *small(f"{name}.gate.moe_statics.e_score_correction_bias", count, dtype="fp32"),
            Tensor(f"{name}.experts", TensorClass.EXPERT, image, Shard.EXPERT, 3 * count),
        ),
    )


def muse_experts(f: Fields, index: int) -> moe.Mixture | None:
    """Muse Spark: the experts work at a width of their own, moe_hidden_size, with projections into and out of it."""
    if not moe.listed_or(moe.dense_first(0))(f, index):
        return None
    hidden, inner = f.whole("hidden_size"), f.whole("moe_hidden_size")
    kind = TensorClass.FEED_FORWARD
    return moe.Mixture(
        experts=f.whole("num_local_experts"),
        top_k=f.whole("num_experts_per_tok"),
        intermediate=f.whole("moe_intermediate_size"),
        expert_hidden=inner,
        beside=(
            *linear("mlp.pre_expert_proj", inner, hidden, kind),
            *norm("mlp.pre_expert_norm", inner),
            *norm("mlp.experts.post_expert_norm", inner),
            *linear("mlp.post_expert_proj", hidden, inner, kind),
        ),
    )


def gate_and_residual_gates(f: Fields, mixer: Attention) -> tuple[Tensor, ...]:
    return (*output_gate(f, mixer), *small("residual_gates", 2, f.whole("hidden_size")))


def adaptive_norm(f: Fields, mixer: Attention) -> tuple[Tensor, ...]:
    """Voxtral Realtime: the norm's scale follows the delay, through 32 channels."""
    hidden = f.whole("hidden_size")
    return (
        *linear("ada_rms_norm.linear1", 32, hidden, TensorClass.FEED_FORWARD),
        *linear("ada_rms_norm.linear2", hidden, 32, TensorClass.FEED_FORWARD),
    )


def additional_embedding(f: Fields) -> tuple[Tensor, ...]:
    """Molmo 2: rows for its own tokens, which the output head does without."""
    rows = f.whole("additional_vocab_size", 0, minimum=0)
    return (Tensor("additional_embedding", TensorClass.EMBEDDING, (rows, f.whole("hidden_size"))),) if rows else ()


def molmo_norm(f: Fields) -> QkNorm:
    return "head" if f.text("qk_norm_type", "qwen3") == "qwen3" else "width"


def prompt_and_window(f: Fields, layers: int) -> list[str]:
    """Unlimited-OCR keeps the whole prompt and, of what it generates, only the window."""
    stated = kinds.stated_or(lambda f, layers: ["reference_sliding_attention"] * layers)(f, layers)
    if f.raw("sliding_window") is None or "reference_sliding_attention" not in stated:
        return [kinds.FULL if kind == "reference_sliding_attention" else kind for kind in stated]
    message = (
        "Of generated tokens only the last sliding_window stay in the cache; all tokens are counted as the prompt's."
    )
    f.doubt("sliding_window", message, weights=False)
    return [kinds.FULL if kind == "reference_sliding_attention" else kind for kind in stated]


OCR = Family(
    head_dim=derived_head_dim,
    mlp_bias="mlp_bias",
    mixture=moe.routed(
        count="n_routed_experts",
        shared=moe.product("n_shared_experts"),
        shared_bias="mlp_bias",
        sparse=moe.listed_or(lambda f, index: index >= f.whole("first_k_dense_replace", 1, minimum=0)),
    ),
)
MUSE_KINDS = kinds.stated_or(kinds.counted_from_the_end(4))

FAMILIES: dict[str, Family] = {
    "cosmos3_edge_text": Family(gated=False, mlp_bias="mlp_bias"),
    "deepseek_ocr2_text": OCR,
    "emu3_text_model": LLAMA,
    "ernie4_5_vl_moe_text": Family(qkv_bias="use_bias", mlp_bias="use_bias", mixture=ernie_vl_experts),
    "glm4v_moe_text": replace(GLM4_MOE, qk_norm="none"),
    "glm4v_text": replace(GLM4, qkv_bias=True),
    "glm_ocr_text": replace(GLM4, qkv_bias=False),
    "granite4_vision_text": LLAMA,
    "granite_docling_text": LLAMA,
    "hunyuan_vl_text": Family(qk_norm="head"),
    "molmo2_text": Family(out_bias=False, qk_norm=molmo_norm, outside=additional_embedding),
    "muse_glimmer_text": Family(layer_kinds=MUSE_KINDS, norms=4, beside=output_gate),
    "muse_spark_text": Family(layer_kinds=MUSE_KINDS, norms=3, beside=gate_and_residual_gates, mixture=muse_experts),
    "paddleocr_vl_text": ERNIE,
    "qwen2_5_omni_text": QWEN2,
    "qwen2_5_vl_text": QWEN2,
    "qwen2_vl_text": QWEN2,
    "qwen3_omni_moe_text": QWEN3_MOE,
    "qwen3_vl_moe_text": QWEN3_MOE,
    "qwen3_vl_text": Family(qk_norm="head"),
    "unlimited_ocr_text": replace(OCR, layer_kinds=prompt_and_window),
    "voxtral_realtime_text": Family(layer_kinds=kinds.all_sliding, qkv_bias=False, beside=adaptive_norm),
}


def read_phi4_multimodal(f: Fields) -> ModelSpec:
    """Phi-4 multimodal: Phi-3's decoder in a flat config, with the towers' configs beside its fields."""
    f.doubt("model_type", "The image and audio towers and their adapters are not counted.", kv=False)
    return read_plain(f, PHI3)


READERS = {**readers(FAMILIES), "phi4_multimodal": read_phi4_multimodal}
