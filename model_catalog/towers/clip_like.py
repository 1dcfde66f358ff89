"""Vision transformers of the CLIP kind: patch embedding, positions, encoder layers, last norm."""

from model_catalog.blocks.linear import norm
from model_catalog.blocks.vision import (
    Stack,
    Tensors,
    attention,
    conv,
    gated_mlp,
    layer,
    mlp,
    multihead,
    norms,
    plain,
    table,
    tower,
)
from model_catalog.fields import Fields
from model_catalog.spec import Tower
from model_catalog.tensors import TensorClass
from model_catalog.towers.parts import grid, pair, ratio

VISION = TensorClass.VISION


def sizes(v: Fields) -> tuple[int, int, int]:
    """Hidden size, feed-forward size, heads."""
    return v.whole("hidden_size"), v.whole("intermediate_size"), v.whole("num_attention_heads")


def patch_embedding(v: Fields, *, bias: bool) -> Tensors:
    return conv(
        "patch_embedding",
        v.whole("hidden_size"),
        v.whole("num_channels", 3),
        *pair(v, "patch_size"),
        bias=bias,
    )


def stack(v: Fields) -> Stack:
    return v.layer_count(), layer(*sizes(v))


def clip(v: Fields) -> Tower:
    """CLIP: a class token, positions, norms before and after."""
    hidden = v.whole("hidden_size")
    outside = (
        *table("class_embedding", hidden),
        *patch_embedding(v, bias=False),
        *table("position_embedding", grid(v) + 1, hidden),
        *norm("pre_layrnorm", hidden, bias=True),
        *norm("post_layernorm", hidden, bias=True),
    )
    return tower("vision", VISION, "vision_tower", outside, stack(v))


def siglip(v: Fields) -> Tower:
    """SigLIP: no class token; an attention-pooling head unless vision_use_head is off."""
    return _siglip(v, grid(v), head=v.flag("vision_use_head", True))


def siglip2(v: Fields) -> Tower:
    """SigLIP 2 (NaFlex): positions by number of patches."""
    return _siglip(v, v.whole("num_patches"), head=v.flag("vision_use_head", True))


def headless(v: Fields) -> Tower:
    """The SigLIP encoder of Idefics 2 and 3, SmolVLM and others, which has no pooling head."""
    return _siglip(v, grid(v), head=False)


def headless_by_patches(v: Fields) -> Tower:
    return _siglip(v, v.whole("num_patches"), head=False)


def _siglip(v: Fields, positions: int, *, head: bool, extra: Tensors = ()) -> Tower:
    hidden, intermediate, _ = sizes(v)
    pooling = (
        *table("head.probe", hidden),
        *multihead(hidden, prefix="head.attention"),
        *norm("head.layernorm", hidden, bias=True),
        *mlp(hidden, intermediate, prefix="head.mlp"),
    )
    outside = (
        *patch_embedding(v, bias=True),
        *(table("position_embedding", positions, hidden) if positions else ()),
        *norm("post_layernorm", hidden, bias=True),
        *(pooling if head else ()),
        *extra,
    )
    return tower("vision", VISION, "vision_tower", outside, stack(v))


def without_positions(v: Fields) -> Tower:
    """VideoLLaMA 3: a headless SigLIP with rotary positions."""
    return _siglip(v, 0, head=False)


def timm_siglip(v: Fields) -> Tower:
    """timm's siglip_so400m_patch14_384 as DeepSeek-VL2 builds it, with the attention pooling that it leaves unused."""
    if v.text("model_name") != "siglip_so400m_patch14_384":
        v.doubt("model_name", "Only the siglip_so400m_patch14_384 tower is known here.", kv=False)
    hidden, patch = v.whole("width"), v.whole("patch_size", maximum=2**20)
    intermediate = int(hidden * ratio(v, "mlp_ratio", 3.7362))
    outside = (
        *conv("patch_embed.proj", hidden, 3, patch, patch),
        *table("pos_embed", (384 // patch) ** 2, hidden),
        *norm("norm", hidden, bias=True),
        *table("attn_pool.latent", hidden),
        *attention(hidden, 16, prefix="attn_pool"),
        *norm("attn_pool.norm", hidden, bias=True),
        *mlp(hidden, intermediate, prefix="attn_pool.mlp"),
    )
    return tower("vision", VISION, "vision", outside, (v.layer_count("layers"), layer(hidden, intermediate, 16)))


def minicpm(v: Fields) -> Tower:
    """MiniCPM-V 4.6: a headless SigLIP whose patches are merged, window by window, inside the tower."""
    hidden, intermediate, heads = sizes(v)
    down, across = pair(v, "window_kernel_size", 2)
    patches = down * across
    merged = patches * hidden
    merger = (
        *attention(hidden, heads, prefix="vit_merger.self_attn"),
        *norm("vit_merger.layer_norm1", hidden, bias=True),
        *norm("vit_merger.pre_norm", merged, bias=True),
        *mlp(merged, patches * intermediate, prefix="vit_merger", out=hidden),
    )
    return _siglip(v, grid(v), head=False, extra=merger)


def pixtral(v: Fields) -> Tower:
    """Pixtral: RMSNorms, gated feed-forwards, no biases, rotary positions."""
    hidden, intermediate, heads = sizes(v)
    outside = (*patch_embedding(v, bias=False), *norm("ln_pre", hidden))
    each = (
        *norms(hidden, bias=False),
        *attention(hidden, heads, bias=False),
        *gated_mlp(hidden, intermediate),
    )
    return tower("vision", VISION, "vision_tower", outside, (v.layer_count(), each))


def internvl(v: Fields) -> Tower:
    """InternViT: a class token, scales on both branches of a layer."""
    hidden, intermediate, heads = sizes(v)
    positions = v.flag("use_absolute_position_embeddings", True)
    outside = (
        *table("cls_token", hidden),
        *(table("mask_token", hidden) if v.flag("use_mask_token") else ()),
        *patch_embedding(v, bias=True),
        *(table("position_embeddings", grid(v) + 1, hidden) if positions else ()),
        *(() if v.flag("use_mean_pooling", True) else norm("layernorm", hidden, bias=True)),
    )
    bias, qk_norm = v.flag("attention_bias"), hidden if v.flag("use_qk_norm") else 0
    each = (
        *norms(hidden, bias=v.text("norm_type", "layer_norm") == "layer_norm"),
        *attention(hidden, heads, bias=bias, out_bias=True, qk_norm=qk_norm),
        *mlp(hidden, intermediate),
        *scales(hidden),
    )
    return tower("vision", VISION, "vision_tower", outside, (v.layer_count(), each))


def scales(hidden: int) -> Tensors:
    return (*table("lambda_1", hidden), *table("lambda_2", hidden))


def ovis2(v: Fields) -> Tower:
    """Ovis 2: RMSNorms and gated feed-forwards; a head that maps each patch to a visual vocabulary."""
    hidden, intermediate, heads = sizes(v)
    words = v.whole("vocab_size") - v.whole("num_visual_indicator_tokens", minimum=0)
    if words < 1:
        raise v.error("vocab_size", "a number above num_visual_indicator_tokens")
    outside = (
        *patch_embedding(v, bias=True),
        *table("position_embedding", grid(v), hidden),
        *norm("embeddings.rms_norm", hidden),
        *norm("rms_norm", hidden),
        *plain("head_linear", words, hidden * v.whole("hidden_stride", 1) ** 2, bias=False),
        *norm("head_norm", words, bias=True),
    )
    each = (
        *norms(hidden, bias=False),
        *attention(hidden, heads, bias=v.flag("qkv_bias")),
        *gated_mlp(hidden, intermediate, bias=v.flag("mlp_bias")),
    )
    return tower("vision", VISION, "vision_tower", outside, (v.layer_count(), each))


READERS = {
    "clip_vision_model": clip,
    "siglip_vision_model": siglip,
    "siglip2_vision_model": siglip2,
    "idefics2_vision": headless,
    "idefics3_vision": headless,
    "smolvlm_vision": headless,
    "paddleocr_vl_vision": headless,
    "cosmos3_edge_vision": headless_by_patches,
    "minicpm_ocr_vision": minicpm,
    "video_llama_3_vision": without_positions,
    "vision": timm_siglip,
    "minicpmv4_6_vision": minicpm,
    "minicpmv4_7_vision": minicpm,
    "pixtral": pixtral,
    "internvl_vision": internvl,
    "qianfan_ocr_vision": internvl,
    "ovis2_vision": ovis2,
}
