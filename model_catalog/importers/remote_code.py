"""Decoders whose class comes with the checkpoint, not with transformers (Qwen 1, ChatGLM, Ling, Hunyuan, ...).

Names and defaults are those of the checkpoint's own configuration and modeling files; counts are checked against
the published number of parameters where there is one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from model_catalog.blocks.linear import linear, small
from model_catalog.fields import Fields
from model_catalog.importers import mixtures as moe
from model_catalog.importers.common import derived_head_dim, head_dim_of, query_heads_of
from model_catalog.importers.families import PHI3, QWEN2, norm_if
from model_catalog.importers.legacy import GPT, inner_or_fourfold
from model_catalog.importers.plain import Family, read_plain
from model_catalog.spec import Attention, Layer, ModelSpec, Tower, run_length
from model_catalog.tensors import TensorClass
from model_catalog.towers.clip_like import clip


@dataclass(frozen=True, kw_only=True)
class Remote:
    """A family, the names its fields go by (common name → its own), and what its config class fills in."""

    family: Family
    names: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)


def read_remote(remote: Remote) -> Callable[[Fields], ModelSpec]:
    return lambda f: read_plain(f.described(remote.names, remote.defaults), remote.family)


def chatglm_kv_heads(f: Fields) -> int:
    if f.flag("multi_query_attention"):
        return f.whole("multi_query_group_num", 1)
    return f.whole("num_attention_heads")


def read_chatglm(f: Fields) -> ModelSpec:
    """ChatGLM 2 and 3, GLM-4. The first ChatGLM has inner_hidden_size and is another architecture."""
    names = {"num_hidden_layers": "num_layers", "vocab_size": "padded_vocab_size"}
    names |= {"intermediate_size": "ffn_hidden_size", "head_dim": "kv_channels"}
    if f.has("inner_hidden_size"):
        names |= {"intermediate_size": "inner_hidden_size"}
        f.doubt("inner_hidden_size", "The first ChatGLM's weights are counted as the second's.", kv=False)
    names = {common: own for common, own in names.items() if f.raw(own) is not None}
    family = Family(
        kv_heads=chatglm_kv_heads,
        qkv_bias="add_qkv_bias" if f.has("add_qkv_bias") else "add_bias_linear",
        out_bias="add_bias_linear",
        mlp_bias="add_bias_linear",
        final_norm=f.flag("post_layer_norm", True),
    )
    return read_plain(f.described(names, {"num_layers": 28, "tie_word_embeddings": False}), family)


def halved_intermediate(f: Fields) -> int:
    """Qwen 1 states the width of gate and up projection together."""
    return f.whole("intermediate_size", minimum=2) // 2


def read_qwen(f: Fields) -> ModelSpec:
    family = Family(
        kv_heads=query_heads_of,
        qkv_bias=True,
        out_bias=not f.flag("no_bias", True),
        mlp_bias=not f.flag("no_bias", True),
        intermediate=halved_intermediate,
    )
    return read_plain(f.described({"head_dim": "kv_channels"}), family)


def read_minicpm(f: Fields) -> ModelSpec:
    """MiniCPM 1 and 2, dense or with num_experts experts as wide as intermediate_size."""
    sparse = bool(f.whole_or_none("num_experts"))
    family = Family(mixture=moe.routed(size="intermediate_size") if sparse else None)
    return read_plain(f.described(defaults={"tie_word_embeddings": True, "num_experts_per_tok": 2}), family)


def bailing_shared(f: Fields) -> int:
    width = f.whole("moe_shared_expert_intermediate_size", f.whole("moe_intermediate_size"))
    return f.whole("num_shared_experts", 0, minimum=0) * width


def read_bailing(f: Fields, *, query_norm: bool) -> ModelSpec:
    """Ling: biases of queries, keys and values where use_qkv_bias or use_bias is on."""
    family = Family(
        qkv_bias=f.flag("use_qkv_bias") or f.flag("use_bias"),
        out_bias="use_bias",
        qk_norm=norm_if("use_qk_norm", "head"),
        mixture=moe.routed(shared=bailing_shared, sparse=moe.from_layer()),
    )
    return read_plain(f.described(defaults={"use_qk_norm": query_norm}), family)


def at_layer(f: Fields, name: str, index: int, default: int | None = None) -> int:
    """A whole number that the config states once for all layers or as a list, one for each."""
    if not isinstance(f.raw(name), list):
        return f.whole(name, default)
    values = f.items(name, int) or []
    if index >= len(values) or values[index] < 1:
        raise f.error(name, "a whole number for each layer")
    return int(values[index])


def hunyuan_experts(f: Fields, index: int) -> moe.Mixture | None:
    """Hunyuan: a mixture from moe_layer_num_skipped on; counts and widths may be lists, one place a layer."""
    experts = at_layer(f, "num_experts", index, 1)
    if experts <= 1 or index < f.whole("moe_layer_num_skipped", 0, minimum=0):
        return None
    width = f.whole("intermediate_size")
    shared = at_layer(f, "num_shared_expert", index, 1) * width if f.flag("use_mixed_mlp_moe") else 0
    return moe.Mixture(
        experts=experts,
        top_k=at_layer(f, "moe_topk", index, 1),
        intermediate=at_layer(f, "moe_intermediate_size", index, width),
        shared_intermediate=shared,
    )


def read_hunyuan(f: Fields) -> ModelSpec:
    """Hunyuan Large and A13B. With use_cla only every cla_share_factor-th layer makes keys and values."""
    if f.flag("use_mla") or f.raw("kv_lora_rank"):
        f.doubt("use_mla", "Latent attention of Hunyuan is not understood; it is counted as plain attention.")
    family = Family(
        head_dim=lambda f: f.whole("attention_head_dim", head_dim_of(f)),
        qk_norm=norm_if("use_qk_norm", "head"),
        mlp_bias="mlp_bias",
        mixture=hunyuan_experts,
    )
    spec = read_plain(f.described(defaults={"tie_word_embeddings": True}), family)
    return _with_shared_cache(spec, f.whole("cla_share_factor", 1)) if f.flag("use_cla") else spec


def _with_shared_cache(spec: ModelSpec, factor: int) -> ModelSpec:
    layers = [layer if index % factor == 0 else _reusing(layer) for index, layer in enumerate(spec.each_layer())]
    return replace(spec, layers=run_length(layers))


def _reusing(layer: Layer) -> Layer:
    from_others = ("self_attn.k_proj", "self_attn.v_proj", "self_attn.k_norm")
    tensors = tuple(tensor for tensor in layer.tensors if not tensor.name.startswith(from_others))
    mixers = tuple(replace(m, reuses_cache=True) if isinstance(m, Attention) else m for m in layer.mixers)
    return replace(layer, mixers=mixers, tensors=tensors)


def hunyuan_v1_experts(f: Fields, index: int) -> moe.Mixture:
    """Hunyuan in transformers: every layer is a mixture, with one shared expert of the same width."""
    width = f.whole("intermediate_size")
    return moe.Mixture(
        experts=at_layer(f, "num_experts", index),
        top_k=at_layer(f, "moe_topk", index),
        intermediate=width,
        shared_intermediate=width,
    )


CLIP_LARGE = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16}
CLIP_LARGE |= {"image_size": 336, "patch_size": 14}


def read_phi3_vision(f: Fields) -> ModelSpec:
    """Phi-3 and 3.5 vision: CLIP ViT-L/14 at 336 pixels, four of its patches joined, and a projector of two layers."""
    spec = read_plain(f, PHI3)
    images = f.part("img_processor")
    if images is None:
        return spec
    if images.text("model_name") != "openai/clip-vit-large-patch14-336":
        f.doubt("img_processor", "The vision tower is not known here; its weights are not counted.", kv=False)
        return spec
    joined, hidden, kind = 4 * CLIP_LARGE["hidden_size"], spec.hidden_size, TensorClass.VISION
    projector = (
        *linear("img_projection.0", hidden, joined, kind, bias=True),
        *linear("img_projection.2", hidden, hidden, kind, bias=True),
        *small("separators", 2, joined),
    )
    return replace(
        spec, towers=(clip(Fields(CLIP_LARGE, "clip_vision_model")), Tower(name="projector", tensors=projector))
    )


# Block-sparse layers attend to fewer tokens but keep all of them in the cache
PHI3_SMALL = Family(
    head_dim=derived_head_dim,
    qkv_bias=True,
    mlp_bias=True,
    norm_bias=True,
    intermediate=lambda f: f.whole("ff_intermediate_size"),
)
PHI_MSFT = replace(
    GPT, norms=1, head_bias=True, intermediate=inner_or_fourfold, kv_heads=lambda f: f.whole("n_head_kv", _heads(f))
)
MIMO = replace(QWEN2, qkv_bias="attention_bias", prediction=False)


def _heads(f: Fields) -> int:
    return f.whole("num_attention_heads")


REMOTES: dict[str, Remote] = {
    "PanguEmbedded": Remote(family=Family(qkv_bias="bias")),
    "baichuan": Remote(family=Family(kv_heads=query_heads_of, qkv_bias=False)),
    "deepseek": Remote(
        family=Family(
            mixture=moe.routed(
                count="n_routed_experts", shared=moe.product("n_shared_experts"), sparse=moe.deepseek_frequency
            )
        )
    ),
    "internlm": Remote(family=Family(kv_heads=query_heads_of, qkv_bias="bias"), defaults={"bias": True}),
    "internlm2": Remote(family=Family(qkv_bias="bias"), defaults={"bias": True}),
    "mimo": Remote(family=MIMO, defaults={"attention_bias": True}),
    "orion": Remote(family=Family(norm_bias=True)),
    "phi-msft": Remote(
        family=PHI_MSFT,
        names={
            "hidden_size": "n_embd",
            "num_hidden_layers": "n_layer",
            "num_attention_heads": "n_head",
            "max_position_embeddings": "n_positions",
        },
    ),
    "phi3small": Remote(family=PHI3_SMALL, defaults={"tie_word_embeddings": True}),
    "xverse": Remote(family=Family(kv_heads=query_heads_of)),
}
READERS: dict[str, Callable[[Fields], ModelSpec]] = {
    **{model_type: read_remote(remote) for model_type, remote in REMOTES.items()},
    "bailing_moe": lambda f: read_bailing(f, query_norm=False),
    "bailing_moe_v2": lambda f: read_bailing(f, query_norm=True),
    "chatglm": read_chatglm,
    "hunyuan": read_hunyuan,
    "hunyuan_v1_moe": lambda f: read_plain(f, Family(qk_norm="head", mixture=hunyuan_v1_experts)),
    "minicpm": read_minicpm,
    "phi3_v": read_phi3_vision,
    "qwen": read_qwen,
}
