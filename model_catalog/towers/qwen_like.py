"""Vision transformers of the Qwen2-VL kind: rotary positions in two axes, a merger of neighbouring patches."""

from model_catalog.blocks.linear import norm
from model_catalog.blocks.vision import (
    Tensors,
    attention,
    column,
    conv,
    gated_mlp,
    layer,
    mlp,
    norms,
    row,
    table,
    tower,
)
from model_catalog.fields import Fields
from model_catalog.spec import Tower
from model_catalog.tensors import TensorClass
from model_catalog.towers.parts import pair, ratio

VISION = TensorClass.VISION


def patch_embedding(v: Fields, hidden: int, *, bias: bool, temporal: bool = True) -> Tensors:
    frames = (pair(v, "temporal_patch_size", 2)[0],) if temporal else ()
    return conv("patch_embed.proj", hidden, v.whole("in_channels", 3), *frames, *pair(v, "patch_size"), bias=bias)


def merged(v: Fields, hidden: int) -> int:
    """Width of spatial_merge_size × spatial_merge_size patches side by side."""
    return hidden * v.whole("spatial_merge_size", 2) ** 2


def qwen2(v: Fields) -> Tower:
    """Qwen2-VL: embed_dim wide; hidden_size is that of the decoder."""
    hidden, heads = v.whole("embed_dim"), v.whole("num_heads")
    wide = merged(v, hidden)
    outside = (
        *patch_embedding(v, hidden, bias=False),
        *norm("merger.ln_q", hidden, bias=True),
        *mlp(wide, wide, prefix="merger.mlp", out=v.whole("hidden_size")),
    )
    each = layer(hidden, int(hidden * ratio(v, "mlp_ratio", 4)), heads)
    return tower("vision", VISION, "visual", outside, (v.layer_count("depth"), each))


def qwen2_5(v: Fields) -> Tower:
    """Qwen2.5-VL: RMSNorms, gated feed-forwards. EXAONE 4.5 groups its key and value heads."""
    hidden, heads = v.whole("hidden_size"), v.whole("num_heads")
    wide, kv_heads = merged(v, hidden), v.whole_or_none("num_key_value_heads", minimum=1)
    head_dim = hidden // heads if kv_heads else None
    outside = (
        *patch_embedding(v, hidden, bias=False),
        *norm("merger.ln_q", hidden),
        *mlp(wide, wide, prefix="merger.mlp", out=v.whole("out_hidden_size")),
    )
    each = (
        *norms(hidden, bias=False),
        *attention(hidden, heads, head_dim=head_dim, kv_heads=kv_heads),
        *gated_mlp(hidden, v.whole("intermediate_size"), bias=True),
    )
    return tower("vision", VISION, "visual", outside, (v.layer_count("depth"), each))


def qwen3(v: Fields) -> Tower:
    """Qwen3-VL: learned positions, and one more merger for each layer whose output goes into the decoder."""
    return _qwen3(v, len(v.items("deepstack_visual_indexes", int) or ()))


def qwen3_5(v: Fields) -> Tower:
    """Qwen3.5: the tower of Qwen3-VL without the deep mergers, whatever the config lists."""
    return _qwen3(v, 0)


def _qwen3(v: Fields, deep: int) -> Tower:
    hidden, heads = v.whole("hidden_size"), v.whole("num_heads")
    wide, out = merged(v, hidden), v.whole("out_hidden_size")
    main = (*norm("merger.norm", hidden, bias=True), *mlp(wide, wide, prefix="merger", out=out))
    outside = (
        *patch_embedding(v, hidden, bias=True),
        *table("pos_embed.weight", v.whole("num_position_embeddings"), hidden),
        *main,
        *(tensor for i in range(deep) for tensor in _deep_merger(f"deepstack_merger_list.{i}", wide, out)),
    )
    each = layer(hidden, v.whole("intermediate_size"), heads)
    return tower("vision", VISION, "visual", outside, (v.layer_count("depth"), each))


def _deep_merger(prefix: str, wide: int, out: int) -> Tensors:
    return (*norm(f"{prefix}.norm", wide, bias=True), *mlp(wide, wide, prefix=prefix, out=out))


def ernie(v: Fields) -> Tower:
    """ERNIE 4.5 VL: patches of one frame; the merging of patches and frames is the projector's."""
    hidden, heads = v.whole("hidden_size"), v.whole("num_heads")
    outside = (*patch_embedding(v, hidden, bias=False, temporal=False), *norm("ln", hidden, bias=True))
    each = layer(hidden, v.whole("intermediate_size"), heads)
    return tower("vision", VISION, "vision_tower", outside, (v.layer_count("depth"), each))


def glm4v(v: Fields) -> Tower:
    """GLM-4.1V: learned positions; feed-forwards out_hidden_size wide, the merger's intermediate_size wide."""
    hidden, out = v.whole("hidden_size"), v.whole("out_hidden_size")
    (height, width), (down, across) = pair(v, "image_size"), pair(v, "patch_size")
    outside = (
        *table("embeddings.position_embedding.weight", (height // down) * (width // across), hidden),
        *norm("post_conv_layernorm", hidden),
        *_glm_ends(v, v.whole("intermediate_size")),
    )
    each = (
        *norms(hidden, bias=False),
        *attention(hidden, v.whole("num_heads"), bias=v.flag("attention_bias"), out_bias=False),
        *gated_mlp(hidden, out),
    )
    return tower("vision", VISION, "visual", outside, (v.layer_count("depth"), each))


def glm_ocr(v: Fields) -> Tower:
    """GLM-OCR: the tower of GLM-5.3, with a merger three (in_channels) times the output wide."""
    return _glm_normed(v, v.whole("out_hidden_size") * v.whole("in_channels"))


def glm5(v: Fields) -> Tower:
    return _glm_normed(v, v.whole("projection_intermediate_size"))


def _glm_normed(v: Fields, merger: int) -> Tower:
    """No learned positions; query and key norms per head."""
    hidden, heads = v.whole("hidden_size"), v.whole("num_heads")
    bias = v.flag("attention_bias", True)
    each = (
        *norms(hidden, bias=False),
        *attention(hidden, heads, bias=bias, qk_norm=hidden // heads),
        *gated_mlp(hidden, v.whole("intermediate_size"), bias=bias),
    )
    return tower("vision", VISION, "visual", _glm_ends(v, merger), (v.layer_count("depth"), each))


def _glm_ends(v: Fields, merger: int) -> Tensors:
    """Patch embedding, the convolution that merges patches, and the gated merger."""
    hidden, out, merge = v.whole("hidden_size"), v.whole("out_hidden_size"), v.whole("spatial_merge_size", 2)
    return (
        *patch_embedding(v, hidden, bias=True),
        *norm("post_layernorm", hidden),
        *conv("downsample", out, hidden, merge, merge),
        *column("merger.proj", out, out, bias=False),
        *norm("merger.post_projection_norm", out, bias=True),
        *column("merger.gate_proj", merger, out, bias=False),
        *column("merger.up_proj", merger, out, bias=False),
        *row("merger.down_proj", out, merger, bias=False),
    )


READERS = {
    "qwen2_vl_vision": qwen2,
    "qwen2_5_vl_vision": qwen2_5,
    "qwen2_5_omni_vision_encoder": qwen2_5,
    "exaone4_5_vision": qwen2_5,
    "qwen3_vl_vision": qwen3,
    "qwen3_vl_moe_vision": qwen3,
    "qwen3_omni_moe_vision_encoder": qwen3,
    "qwen3_5_vision": qwen3_5,
    "qwen3_5_moe_vision": qwen3_5,
    "ernie4_5_vl_moe_vision": ernie,
    "glm4v_vision": glm4v,
    "glm4v_moe_vision": glm4v,
    "glm_ocr_vision": glm_ocr,
    "glm5_next_vision": glm5,
}
