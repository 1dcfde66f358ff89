"""The plain decoders of transformers 5.24.0 with today's field names, one row each.

A row says how the type departs from Llama; plain.py explains the columns, mixtures.py the experts.
"""

from collections.abc import Callable

from model_catalog import layer_kinds as kinds
from model_catalog.blocks.attention import QkNorm
from model_catalog.blocks.linear import linear, norm, small
from model_catalog.fields import Fields
from model_catalog.importers import mixtures as moe
from model_catalog.importers.common import derived_head_dim, query_heads_of
from model_catalog.importers.plain import Family, readers, stated_intermediate
from model_catalog.spec import Attention
from model_catalog.tensors import Shard, Tensor, TensorClass


def norm_if(field: str, kind: QkNorm) -> Callable[[Fields], QkNorm]:
    return lambda f: kind if f.flag(field) else "none"


def bidirectional_window(f: Fields) -> int:
    """Gemma 3's embedding variant halves the window, which then reaches both ways."""
    window = f.whole("sliding_window")
    return window // 2 + 1 if f.flag("use_bidirectional_attention") else window


def half_local_attention(f: Fields) -> int:
    """ModernBERT counts the window over both sides; the decoder looks back over one. sliding_window overrides it."""
    return f.whole("sliding_window", f.whole("local_attention", minimum=2) // 2)


def output_gate(f: Fields, mixer: Attention) -> tuple[Tensor, ...]:
    """A gate on the attention output, as wide as the queries (AFMoE)."""
    width, hidden = mixer.heads * mixer.head_dim, f.whole("hidden_size")
    name = "self_attn.gate_proj"
    return linear(name, width, hidden, TensorClass.ATTENTION, Shard.COLUMN, units=mixer.heads)


def biased_output_gate(f: Fields, mixer: Attention) -> tuple[Tensor, ...]:
    return (*output_gate(f, mixer), *small("self_attn.gate_bias", mixer.heads))


def bitnet_norms(f: Fields, mixer: Attention) -> tuple[Tensor, ...]:
    inner = norm("self_attn.attn_sub_norm", f.whole("hidden_size"))
    return (*inner, *norm("mlp.ffn_sub_norm", f.whole("intermediate_size")))


def lambdas(f: Fields, mixer: Attention) -> tuple[Tensor, ...]:
    """The mixing vectors of differential attention, shared by all heads."""
    return small("self_attn.lambdas", 4, mixer.head_dim)


def xielu(f: Fields, mixer: Attention) -> tuple[Tensor, ...]:
    """The two learned numbers of the xIELU activation."""
    return small("mlp.act_fn.alpha", 2) if f.text("hidden_act", "xielu") == "xielu" else ()


def doge_parts(f: Fields, mixer: Attention) -> tuple[Tensor, ...]:
    """Doge: residual weights, the dynamic mask, and with is_moe a feed-forward of many one-vector experts."""
    hidden, bias = f.whole("hidden_size"), f.flag("attention_bias")
    width = mixer.kv_heads * mixer.head_dim
    return (
        *small("residual", 2, hidden),
        *small("self_attn.A", mixer.kv_heads),
        *linear("self_attn.dt_proj", mixer.kv_heads, width, TensorClass.ATTENTION, bias=bias),
        *(_doge_experts(f, hidden) if f.flag("is_moe") else ()),
    )


def _doge_experts(f: Fields, hidden: int) -> tuple[Tensor, ...]:
    count = f.whole("num_experts", maximum=2**32)
    keys = int(count**0.5)
    return (
        *linear("mlp.router_gate", 2 * keys, hidden, TensorClass.ROUTER),
        Tensor("mlp.down_embed.weight", TensorClass.EXPERT, (count, hidden)),
        Tensor("mlp.up_embed.weight", TensorClass.EXPERT, (count, hidden)),
    )


def modernbert_outside(f: Fields) -> tuple[Tensor, ...]:
    """Embedding norm, prediction head, and the attention norms, which the first layer does without."""
    hidden, bias = f.whole("hidden_size"), f.flag("norm_bias")
    return (
        *norm("model.embeddings.norm", hidden, bias=bias),
        *linear("lm_head.dense", hidden, hidden, TensorClass.LM_HEAD, bias=f.flag("classifier_bias")),
        *norm("lm_head.norm", hidden, bias=bias),
        *norm("attn_norm", hidden, bias=bias, count=f.layer_count() - 1),
    )


def dense_prefix_width(f: Fields) -> int:
    """Cohere 2 MoE: the dense layers may have a width of their own."""
    return f.whole("prefix_dense_intermediate_size", stated_intermediate(f))


def cohere_moe_kinds(f: Fields, layers: int) -> list[str]:
    """The dense layers at the front follow a pattern of their own, and the count starts anew after them."""
    dense = min(f.whole("first_k_dense_replace", 0, minimum=0), layers)
    prefix, rest = f.whole("prefix_dense_sliding_window_pattern", 1), f.whole("sliding_window_pattern", 4)
    return kinds.full_where(dense, kinds.last_of(prefix)) + kinds.full_where(layers - dense, kinds.last_of(rest))


def flint_kinds(f: Fields, layers: int) -> list[str]:
    return kinds.full_where(layers, lambda i: i < 2 or i % 4 == 1 or i == layers - 1)


def beam_kinds(f: Fields, layers: int) -> list[str]:
    return kinds.full_where(layers, lambda i: (i + 1) % 6 == 0 or i == layers - 1)


def without_rope_sliding(f: Fields, layers: int) -> list[str]:
    """SmolLM 3: with use_sliding_window, the layers without rotary positions have the window."""
    if not f.flag("use_sliding_window") or f.raw("sliding_window") is None:
        return [kinds.FULL] * layers
    rotary = f.items("no_rope_layers", int)
    interval = f.whole("no_rope_layer_interval", 4)
    if rotary is None:
        rotary = [int((i + 1) % interval != 0) for i in range(layers)]
    if len(rotary) < layers:
        raise f.error("no_rope_layers", "an entry for each layer")
    return [kinds.FULL if rotary[i] else kinds.SLIDING for i in range(layers)]


def exaone_kinds(f: Fields, layers: int) -> list[str]:
    if f.raw("sliding_window") is None:
        return [kinds.FULL] * layers
    return kinds.one_full_in(4)(f, layers)


QWEN_WINDOW = kinds.stated_or(kinds.sliding_after_max_window_layers)
QWEN2 = Family(layer_kinds=QWEN_WINDOW, qkv_bias=True, out_bias=False)
QWEN3_MOE = Family(layer_kinds=kinds.all_full, qk_norm="head", mixture=moe.qwen3_moe_experts)
LLAMA = Family(mlp_bias="mlp_bias")
ERNIE = Family(qkv_bias="use_bias", mlp_bias="use_bias")
GEMMA2_KINDS = kinds.stated_or(kinds.fixed_one_full_in(2))
GLM4 = Family(out_bias=False, norms=4)
GLM4_MOE = Family(out_bias=False, qk_norm=norm_if("use_qk_norm", "head"), mixture=moe.glm_experts, prediction=True)
GRANITE_MOE = Family(
    mixture=moe.routed(
        count="num_local_experts", size="intermediate_size", shared=moe.stated_width("shared_intermediate_size")
    )
)
SWA_KINDS = kinds.stated_or(kinds.first_full_in(4))
PHI3 = Family(layer_kinds=kinds.all_sliding, qkv_bias=False)
APERTUS = Family(qk_norm="head", gated=False, beside=xielu)

FAMILIES: dict[str, Family] = {
    "afmoe": Family(
        layer_kinds=kinds.stated_or(kinds.one_full_in(4, "global_attn_every_n_layers")),
        qk_norm="head",
        norms=4,
        beside=output_gate,
        mixture=moe.routed(
            shared=moe.product("num_shared_experts"), sparse=moe.from_layer("num_dense_layers"), correction=True
        ),
    ),
    "apertus": APERTUS,
    "apertus1p5_text": APERTUS,
    "arcee": Family(gated=False, mlp_bias="mlp_bias"),
    "aria_text": Family(
        mixture=moe.routed(
            count="moe_num_experts",
            top_k="moe_topk",
            size="intermediate_size",
            shared=moe.product("moe_num_shared_experts", "intermediate_size"),
            shared_bias="mlp_bias",
        )
    ),
    "beam": Family(
        layer_kinds=kinds.stated_or(beam_kinds),
        qk_norm="head",
        norms=4,
        beside=biased_output_gate,
        mixture=moe.routed(sparse=moe.listed_or(moe.dense_first(3))),
    ),
    "bitnet": Family(beside=bitnet_norms),
    "cohere": Family(norms=1, qk_norm=norm_if("use_qk_norm", "width")),
    "cohere2": Family(layer_kinds=kinds.stated_or(kinds.one_full_in(4)), norms=1),
    "cohere2_moe": Family(
        layer_kinds=kinds.stated_or(cohere_moe_kinds),
        norms=1,
        intermediate=dense_prefix_width,
        mixture=moe.routed(
            size="intermediate_size",
            shared=moe.product("num_shared_experts", "intermediate_size"),
            sparse=moe.listed_or(moe.from_layer()),
        ),
    ),
    "cohere_compass_text": Family(layer_kinds=kinds.stated_or(lambda f, layers: [kinds.FULL] * layers), norms=1),
    "cwm": Family(layer_kinds=SWA_KINDS, qkv_bias=False, mlp_bias="mlp_bias"),
    "diffllama": Family(beside=lambdas),
    "doge": Family(layer_kinds=kinds.all_sliding, qk_norm="head", mlp_bias="mlp_bias", beside=doge_parts),
    "dots1": Family(
        layer_kinds=kinds.stated_or(kinds.windowed_after_max_window_layers), qk_norm="head", mixture=moe.glm_experts
    ),
    "ernie4_5": ERNIE,
    "ernie4_5_moe": Family(
        qkv_bias="use_bias",
        mlp_bias="use_bias",
        head_bias="use_bias",
        mixture=moe.routed(
            count="moe_num_experts",
            top_k="moe_k",
            shared=moe.product("moe_num_shared_experts"),
            shared_bias="use_bias",
            sparse=moe.ernie_range,
            correction=True,
        ),
    ),
    "exaone4": Family(layer_kinds=kinds.stated_or(exaone_kinds), qkv_bias=False, qk_norm="head"),
    "exaone_moe": Family(
        layer_kinds=kinds.stated_or(exaone_kinds),
        qkv_bias=False,
        qk_norm="head",
        mixture=moe.routed(shared=moe.product("num_shared_experts"), sparse=moe.listed_or(moe.from_layer())),
    ),
    "flex_olmo": Family(qk_norm="width", mixture=moe.routed(size="intermediate_size")),
    "flint": Family(
        layer_kinds=kinds.stated_or(flint_kinds),
        qk_norm="head",
        sinks=True,
        mixture=moe.routed(
            shared=moe.stated_width("shared_expert_intermediate_size"), sparse=moe.every_few_layers((0, 1))
        ),
    ),
    "gemma": Family(),
    "gemma2": Family(layer_kinds=GEMMA2_KINDS, norms=4),
    "gemma3_text": Family(
        layer_kinds=kinds.stated_or(kinds.one_full_in(6)), window=bidirectional_window, norms=4, qk_norm="head"
    ),
    "glm": Family(out_bias=False),
    "glm4": GLM4,
    "glm4_moe": GLM4_MOE,
    "gpt_oss": Family(
        layer_kinds=kinds.stated_or(kinds.fixed_one_full_in(2)),
        sinks=True,
        mixture=moe.routed(count="num_local_experts", size="intermediate_size", bias=True),
    ),
    "granite": LLAMA,
    "granite_swa": Family(layer_kinds=SWA_KINDS, mlp_bias="mlp_bias", sinks=True),
    "granitemoe": Family(mixture=moe.mixtral_experts),
    "granitemoe_swa": Family(layer_kinds=SWA_KINDS, sinks=True, mixture=GRANITE_MOE.mixture),
    "granitemoeshared": GRANITE_MOE,
    "helium": Family(out_bias=False, mlp_bias="mlp_bias"),
    "hunyuan_v1_dense": Family(qk_norm="head"),
    "hy_v3": Family(
        qk_norm="head",
        mlp_bias="mlp_bias",
        mixture=moe.routed(
            shared=moe.product("num_shared_experts"),
            shared_bias="mlp_bias",
            sparse=moe.listed_or(moe.dense_first(1)),
        ),
    ),
    "hyperclovax": Family(mlp_bias="mlp_bias", norms=lambda f: 4 if f.flag("use_post_norm") else 2),
    "jais2": Family(gated=False, mlp_bias="mlp_bias", norm_bias=True),
    "kolibri1": Family(
        layer_kinds=kinds.stated_or(kinds.fixed_one_full_in(5)),
        qkv_bias=False,
        qk_norm="head",
        norms=4,
        mixture=moe.routed(shared=moe.stated_width("shared_expert_intermediate_size")),
    ),
    "llama": LLAMA,
    "mellum": Family(
        layer_kinds=kinds.stated_or(lambda f, layers: [kinds.FULL] * layers),
        qk_norm="head",
        mixture=moe.routed(sparse=moe.listed_or(moe.dense_first(0))),
    ),
    "minimax_m2": Family(qkv_bias=False, qk_norm="width", mixture=moe.mixtral_experts),
    "ministral": Family(layer_kinds=kinds.stated_or(kinds.all_sliding), qkv_bias=False),
    "ministral3": Family(layer_kinds=kinds.all_sliding, qkv_bias=False),
    "mistral": Family(layer_kinds=kinds.all_sliding, qkv_bias=False),
    "mixtral": Family(layer_kinds=kinds.all_sliding, qkv_bias=False, mixture=moe.mixtral_experts),
    "modernbert-decoder": Family(
        layer_kinds=kinds.stated_or(kinds.first_full_in(3, "global_attn_every_n_layers")),
        window=half_local_attention,
        kv_heads=query_heads_of,
        head_dim=derived_head_dim,
        mlp_bias="mlp_bias",
        norms=1,
        norm_bias="norm_bias",
        head_bias="decoder_bias",
        outside=modernbert_outside,
    ),
    "nanochat": Family(gated=False, norms=0, final_norm=False),
    "nemotron": Family(gated=False, mlp_bias="mlp_bias", norm_bias=True),
    "olmo": Family(norms=0, final_norm=False),
    "olmo2": Family(qk_norm="width"),
    "olmo3": Family(layer_kinds=kinds.stated_or(kinds.fixed_one_full_in(4)), qk_norm="width"),
    "olmoe": Family(qk_norm="width", mixture=moe.routed(size="intermediate_size")),
    "phi": Family(
        qkv_bias=True,
        qk_norm=norm_if("qk_layernorm", "head"),
        qk_norm_bias=True,
        gated=False,
        mlp_bias=True,
        norms=1,
        norm_bias=True,
        head_bias=True,
    ),
    "phi3": PHI3,
    "phimoe": Family(
        layer_kinds=kinds.all_sliding, norm_bias=True, head_bias="lm_head_bias", mixture=moe.mixtral_experts
    ),
    "qwen2": QWEN2,
    "qwen2_moe": Family(
        layer_kinds=kinds.stated_or(kinds.alternating_below_max_window_layers),
        qkv_bias="qkv_bias",
        out_bias=False,
        mixture=moe.qwen_moe_experts,
    ),
    "qwen3": Family(layer_kinds=QWEN_WINDOW, qk_norm="head"),
    "qwen3_moe": Family(layer_kinds=kinds.sliding_if_used, qk_norm="head", mixture=moe.qwen3_moe_experts),
    "seed_oss": Family(out_bias="attention_out_bias", mlp_bias="mlp_bias"),
    "smollm3": Family(layer_kinds=kinds.stated_or(without_rope_sliding), mlp_bias="mlp_bias"),
    "solar_open": Family(
        out_bias=False, mixture=moe.routed(count="n_routed_experts", shared=moe.product("n_shared_experts"))
    ),
    "stablelm": Family(
        head_dim=derived_head_dim,
        qkv_bias="use_qkv_bias",
        out_bias=False,
        qk_norm=norm_if("qk_layernorm", "width"),
        norms=lambda f: 1 if f.flag("use_parallel_residual") else 2,
        norm_bias=True,
    ),
    "starcoder2": Family(
        layer_kinds=kinds.all_sliding, qkv_bias="use_bias", gated=False, mlp_bias="use_bias", norm_bias=True
    ),
    "vaultgemma": Family(layer_kinds=GEMMA2_KINDS),
}
# Types that transformers reads with the class of another
FAMILIES |= {
    "exaone": LLAMA,
    "internlm3": LLAMA,
    "iquestcoder": LLAMA,
    "sarvam_moe": GLM4_MOE,
}
READERS = readers(FAMILIES)
