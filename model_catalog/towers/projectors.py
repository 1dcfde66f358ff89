"""What stands between a vision tower and the decoder, by the wrapping model's type."""

from collections.abc import Callable
from dataclasses import replace

from model_catalog.blocks.linear import norm
from model_catalog.blocks.vision import (
    Tensors,
    attention,
    column,
    gated_mlp,
    mlp,
    multihead,
    norms,
    plain,
    row,
    table,
)
from model_catalog.fields import Fields
from model_catalog.towers.parts import pair, ratio

# The wrapping config, the tower's config, the decoder's config.
Projector = Callable[[Fields, Fields, Fields], Tensors]


def width(text: Fields) -> int:
    return text.whole("hidden_size")


def perceptron(into: int, middle: int, out: int, *, bias: bool = True) -> Tensors:
    return (*column("linear_1", middle, into, bias=bias), *row("linear_2", out, middle, bias=bias))


def nothing(f: Fields, v: Fields, text: Fields) -> Tensors:
    """The tower's own merger already makes the decoder's width (Qwen-VL, GLM-V)."""
    return ()


def feature_layers(f: Fields) -> int:
    """How many of the tower's layers are laid side by side: vision_feature_layer is one index or a list of them."""
    if not isinstance(f.raw("vision_feature_layer"), list):
        return 1
    return max(1, len(f.items("vision_feature_layer", int) or ()))


def llava(f: Fields, v: Fields, text: Fields) -> Tensors:
    bias = f.flag("multimodal_projector_bias", True)
    return perceptron(v.whole("hidden_size") * feature_layers(f), width(text), width(text), bias=bias)


def llava_with_newline(f: Fields, v: Fields, text: Fields) -> Tensors:
    return (*table("image_newline", width(text)), *llava(f, v, text))


def vip_llava(f: Fields, v: Fields, text: Fields) -> Tensors:
    into = v.whole("hidden_size") * feature_layers(f)
    return (*norm("projector_layernorm", into, bias=True), *perceptron(into, width(text), width(text)))


def mistral3(f: Fields, v: Fields, text: Fields) -> Tensors:
    hidden, merge = v.whole("hidden_size"), f.whole("spatial_merge_size", 2)
    bias = f.flag("multimodal_projector_bias")
    return (
        *norm("norm", hidden),
        *plain("patch_merger.merging_layer", hidden, hidden * merge**2, bias=False),
        *perceptron(hidden * feature_layers(f), width(text), width(text), bias=bias),
    )


def gemma3(f: Fields, v: Fields, text: Fields) -> Tensors:
    hidden = v.whole("hidden_size")
    return (*table("mm_input_projection_weight", hidden, width(text)), *norm("mm_soft_emb_norm", hidden))


def gemma4(f: Fields, v: Fields, text: Fields) -> Tensors:
    into = v.whole("output_proj_dims", v.whole("hidden_size"))
    return plain("embedding_projection", width(text), into, bias=False)


def paligemma(f: Fields, v: Fields, text: Fields) -> Tensors:
    return plain("linear", f.whole("projection_dim"), v.whole("hidden_size"))


def internvl(f: Fields, v: Fields, text: Fields) -> Tensors:
    into = v.whole("hidden_size") * int(1 / ratio(f, "downsample_ratio", 0.5)) ** 2
    return (*norm("layer_norm", into, bias=True), *perceptron(into, width(text), width(text)))


def aya_vision(f: Fields, v: Fields, text: Fields) -> Tensors:
    """A gated perceptron: the first layer makes value and gate together."""
    into = v.whole("hidden_size") * f.whole("downsample_factor", 2) ** 2
    return (*norm("layernorm", into, bias=True), *_halving(f, into, text))


def cohere2_vision(f: Fields, v: Fields, text: Fields) -> Tensors:
    return _halving(f, v.whole("hidden_size") * f.whole("downsample_factor", 2) ** 2, text)


def _halving(f: Fields, into: int, text: Fields) -> Tensors:
    middle = f.whole("alignment_intermediate_size", width(text))
    return (*column("linear_1", middle, into), *row("linear_2", width(text), middle // 2))


def lfm2(f: Fields, v: Fields, text: Fields) -> Tensors:
    into = v.whole("hidden_size") * f.whole("downsample_factor", 2) ** 2
    middle, bias = f.whole("projector_hidden_size"), f.flag("projector_bias", True)
    first = norm("layer_norm", into, bias=True) if f.flag("projector_use_layernorm", True) else ()
    return (*first, *perceptron(into, middle, width(text), bias=bias))


def idefics3(f: Fields, v: Fields, text: Fields) -> Tensors:
    into = v.whole("hidden_size") * f.whole("scale_factor", 2) ** 2
    return plain("modality_projection.proj", width(text), into, bias=False)


def idefics2(f: Fields, v: Fields, text: Fields) -> Tensors:
    """A gated perceptron to the decoder's width, then a perceiver that boils each image down to a few latents."""
    p = f.part("perceiver_config")
    if p is None:
        raise f.error("perceiver_config", "an object")
    hidden, heads = width(text), p.whole("resampler_n_heads")
    layers = p.layer_count("resampler_depth")
    head_dim, kv_heads = p.whole("resampler_head_dim"), p.whole("num_key_value_heads")
    each = (
        *norms(hidden, 3, bias=False),
        *attention(hidden, heads, head_dim=head_dim, kv_heads=kv_heads, bias=False),
        *gated_mlp(hidden, 4 * hidden),
    )
    return (
        *gated_mlp(v.whole("hidden_size"), text.whole("intermediate_size"), prefix="modality", out=width(text)),
        *table("perceiver_resampler.latents", p.whole("resampler_n_latents"), hidden),
        *norm("perceiver_resampler.norm", hidden),
        *(replace(tensor, count=layers) for tensor in each),
    )


def aria(f: Fields, v: Fields, text: Fields) -> Tensors:
    """Learned queries attend to the patches; their number is the largest that the config maps a patch count to."""
    hidden, table_of = (
        v.whole("hidden_size"),
        f.raw("projector_patch_to_query_dict") or {"1225": 128, "4900": 256},
    )
    counts = [n for n in table_of.values() if type(n) is int and 0 < n <= 2**20] if isinstance(table_of, dict) else []
    if not counts:
        raise f.error("projector_patch_to_query_dict", "an object of whole numbers")
    return (
        *table("query", f.whole("max_value_projector_patch_to_query_dict", max(counts)), hidden),
        *(
            t
            for name in ("q_proj", "k_proj", "v_proj")
            for t in plain(f"cross_attn.{name}", hidden, hidden, bias=False)
        ),
        *multihead(hidden, prefix="cross_attn.multihead_attn"),
        *plain("cross_attn.linear", hidden, hidden),
        *norm("cross_attn.layer_norm", hidden, bias=True),
        *norm("cross_attn.layer_norm_kv", hidden, bias=True),
        *norm("layer_norm", hidden, bias=True),
        *column("feed_forward.linear_in", width(text), hidden, bias=False),
        *row("feed_forward.linear_out", width(text), width(text), bias=False),
    )


def llama4(f: Fields, v: Fields, text: Fields) -> Tensors:
    return plain("linear_1", width(text), v.whole("vision_output_dim"), bias=False)


def mllama(f: Fields, v: Fields, text: Fields) -> Tensors:
    return plain("multi_modal_projector", width(text), v.whole("vision_output_dim"))


def ernie(f: Fields, v: Fields, text: Fields) -> Tensors:
    """Patches, then pairs of frames, are merged by perceptrons with a norm after each."""
    wide = v.whole("hidden_size") * v.whole("spatial_merge_size") ** 2
    parts = ("spatial_linear", wide), ("temporal_linear", wide * v.whole("temporal_merge_size"))
    merging = ((*mlp(into, wide, prefix=name, out=wide), *norm(f"{name}.ln", wide, bias=True)) for name, into in parts)
    return (
        *(tensor for part in merging for tensor in part),
        *plain("mlp", width(text), wide),
        *norm("after_norm", width(text)),
    )


def kimi_k25(f: Fields, v: Fields, text: Fields) -> Tensors:
    hidden = v.whole("vt_hidden_size", v.whole("hidden_size"))
    down, across = pair(v, "merge_kernel_size", 2)
    wide = hidden * down * across
    return (
        *norm("pre_norm", f.whole("projection_hidden_size", hidden), bias=True),
        *column("in_proj", wide, wide),
        *row("out_proj", width(text), wide),
    )


def minimax_m3(f: Fields, v: Fields, text: Fields) -> Tensors:
    """Every patch to the decoder's width, then neighbouring patches merged."""
    middle, out = f.whole("projector_hidden_size"), width(text)
    merging = perceptron(out * v.whole("spatial_merge_size", 2) ** 2, middle, out)
    return (
        *perceptron(v.whole("hidden_size"), middle, out),
        *(replace(tensor, name=f"merge_{tensor.name}") for tensor in merging),
    )


def step3(f: Fields, v: Fields, text: Fields) -> Tensors:
    hidden = v.whole("width", v.whole("hidden_size"))
    return plain("multi_modal_projector", width(text), 4 * hidden, bias=f.flag("projector_bias"))


def muse(f: Fields, v: Fields, text: Fields) -> Tensors:
    middle = f.whole("projector_hidden_size")
    return (
        *mlp(f.whole("out_hidden_size"), middle, prefix="vision_adapter", out=middle, bias=False),
        *plain("vision_projection", width(text), middle, bias=False),
    )


def ovis2(f: Fields, v: Fields, text: Fields) -> Tensors:
    """A table with one embedding for each visual word, like the one for text."""
    return table("visual_embeddings_table.weight", v.whole("vocab_size"), f.whole("hidden_size", width(text)))


def paddleocr(f: Fields, v: Fields, text: Fields) -> Tensors:
    hidden = v.whole("hidden_size")
    wide = hidden * v.whole("spatial_merge_size") ** 2
    return (*norm("pre_norm", hidden, bias=True), *perceptron(wide, wide, width(text)))


def minicpm(f: Fields, v: Fields, text: Fields) -> Tensors:
    """Rounds of merging 2 × 2 patches; the last round makes the decoder's width."""
    hidden, rounds = v.whole("hidden_size"), f.whole("merger_times", 1, maximum=64)
    wide, outs = 4 * hidden, [hidden] * (rounds - 1) + [width(text)]
    return tuple(
        tensor
        for i, out in enumerate(outs)
        for tensor in (
            *norm(f"mlp.{i}.pre_norm", wide, bias=True),
            *mlp(wide, wide, prefix=f"mlp.{i}", out=out),
        )
    )


def cosmos3_edge(f: Fields, v: Fields, text: Fields) -> Tensors:
    hidden = v.whole("hidden_size")
    wide = hidden * v.whole("spatial_merge_size", 2) ** 2
    middle = f.whole("projector_hidden_size", 11520)
    return (*norm("norm", hidden, bias=True), *mlp(wide, middle, prefix="projector", out=width(text)))


def video_llama3(f: Fields, v: Fields, text: Fields) -> Tensors:
    return perceptron(v.whole("hidden_size"), width(text), width(text))


def phi3_vision(f: Fields, v: Fields, text: Fields) -> Tensors:
    """Four neighbouring patches at a time; with use_hd_transform also separators of lines and of crops."""
    wide = 4 * v.whole("hidden_size")
    return (*table("glb_GN", wide), *table("sub_GN", wide), *perceptron(wide, width(text), width(text)))


def deepseek_vl2(f: Fields, v: Fields, text: Fields) -> Tensors:
    """The downsampling perceptron of the remote code, which the published files use, and two learned separators."""
    p = f.part("projector_config")
    ratio_of, out = (p.whole("downsample_ratio", 2), p.whole("n_embed")) if p else (2, width(text))
    into = v.whole("width") * ratio_of**2
    return (*perceptron(into, out, out), *table("image_newline", out), *table("view_seperator", out))


def deepseek_vl(f: Fields, v: Fields, text: Fields) -> Tensors:
    return perceptron(v.whole("hidden_size"), width(text), width(text))


def hyperclovax(f: Fields, v: Fields, text: Fields) -> Tensors:
    return plain("projector", width(text), v.whole("out_hidden_size"))


VISION: dict[str, Projector] = {
    "llava": llava,
    "llava_next": llava_with_newline,
    "llava_next_video": llava_with_newline,
    "llava_onevision": llava_with_newline,
    "vipllava": vip_llava,
    "mistral3": mistral3,
    "mistral_large4": mistral3,
    "ministral3": mistral3,
    "lighton_ocr": mistral3,
    "gemma3": gemma3,
    "shieldgemma2": gemma3,
    "gemma4": gemma4,
    "paligemma": paligemma,
    "internvl": internvl,
    "qianfan_ocr": internvl,
    "aya_vision": aya_vision,
    "cohere2_vision": cohere2_vision,
    "lfm2_vl": lfm2,
    "idefics2": idefics2,
    "idefics3": idefics3,
    "smolvlm": idefics3,
    "aria": aria,
    "llama4": llama4,
    "mllama": mllama,
    "ernie4_5_vl_moe": ernie,
    "kimi_k25": kimi_k25,
    "minimax_m3_vl": minimax_m3,
    "step3p7": step3,
    "muse_spark": muse,
    "muse_glimmer": muse,
    "ovis2": ovis2,
    "paddleocr_vl": paddleocr,
    "minicpmv4_6": minicpm,
    "minicpmv4_7": minicpm,
    "deepseek_vl": deepseek_vl,
    "deepseek_vl_v2": deepseek_vl2,
    "phi3_v": phi3_vision,
    "video_llama_3": video_llama3,
    "cosmos3_edge": cosmos3_edge,
    "minicpm_ocr": minicpm,
    "hyperclovax_vision_v2": hyperclovax,
    **dict.fromkeys(
        [
            "qwen2_vl",
            "qwen2_5_vl",
            "qwen3_vl",
            "qwen3_vl_moe",
            "qwen3_5",
            "qwen3_5_moe",
            "qwen2_5_omni_thinker",
            "qwen3_omni_moe_thinker",
            "cosmos3_omni",
            "exaone4_5",
            "glm4v",
            "glm4v_moe",
            "glm46v",
            "glmga",
            "glm_ocr",
            "glm5_next",
        ],
        nothing,
    ),
}
