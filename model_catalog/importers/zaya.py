"""ZAYA1: compressed convolutional attention. Queries and keys pass two convolutions, half the value is a token late."""

from collections.abc import Callable

from model_catalog.blocks.feed_forward import experts
from model_catalog.blocks.linear import linear, norm, small
from model_catalog.blocks.recurrent import per_unit
from model_catalog.fields import Fields
from model_catalog.importers.decoder import decoder
from model_catalog.importers.hybrid import known_kinds, softmax
from model_catalog.spec import Attention, FeedForward, Layer, ModelSpec, Recurrent
from model_catalog.tensors import Shard, Tensor, TensorClass


def read_zaya(f: Fields) -> ModelSpec:
    layers, hidden = f.layer_count(), f.whole("hidden_size")
    kinds = f.items("layer_types", str) or ["hybrid"] * layers
    if len(kinds) != layers:
        raise f.error("layer_types", f"a list with the kind of each of {layers:,} layers")
    kinds = known_kinds(f, kinds, ("hybrid", "hybrid_sliding"))
    bias = f.whole("vocab_size") if f.flag("lm_head_bias") else 0
    extra = (
        *small("model.input_hidden_states_scale", hidden),
        *small("model.input_hidden_states_bias", hidden),
        *(small("lm_head.bias", bias) if bias else ()),
    )
    return decoder(f, [_layer(f, kind, index > 0) for index, kind in enumerate(kinds)], extra=extra)


def _layer(f: Fields, kind: str, passes_router_state: bool) -> Layer:
    hidden = f.whole("hidden_size")
    mixer = softmax(f, f.whole("sliding_window") if kind == "hybrid_sliding" else None)
    size, count = f.whole("moe_intermediate_size"), f.whole("num_experts")
    scales = (
        small(f"{part}_residual_scale.{name}", hidden)
        for part in ("post_attention", "post_mlp")
        for name in ("hidden_states_scale", "hidden_states_bias", "residual_scale", "residual_bias")
    )
    return Layer(
        mixers=(mixer, *_states(f, mixer)),
        feed_forward=FeedForward(intermediate=size, experts=count, top_k=1),
        tensors=(
            *_projections(f, mixer),
            *_router(f, count, passes_router_state),
            *experts(hidden, size, count),
            *norm("input_layernorm", hidden),
            *norm("post_attention_layernorm", hidden),
            *(tensor for tensors in scales for tensor in tensors),
        ),
    )


def _states(f: Fields, mixer: Attention) -> tuple[Recurrent, Recurrent]:
    """Inputs that the two convolutions look back on, and the late half of the value of the last token."""
    looks_back = f.whole("cca_time0") + f.whole("cca_time1") - 2
    queries_and_keys = (mixer.heads + mixer.kv_heads) * mixer.head_dim
    late_values = mixer.kv_heads * mixer.head_dim // 2
    return (
        Recurrent(
            kind="cca",
            heads=mixer.heads,
            state_elements=0,
            conv_channels=queries_and_keys,
            conv_kernel=looks_back + 1,
        ),
        Recurrent(kind="cca", heads=mixer.heads, state_elements=0, conv_channels=late_values, conv_kernel=2),
    )


def _projections(f: Fields, mixer: Attention) -> tuple[Tensor, ...]:
    hidden, bias, dim = f.whole("hidden_size"), f.flag("attention_bias"), mixer.head_dim
    query, key = mixer.heads * dim, mixer.kv_heads * dim
    channels, kind = query + key, TensorClass.ATTENTION
    parts = (
        ("q_proj", query, mixer.heads),
        ("k_proj", key, mixer.kv_heads),
        ("v_proj_current", key // 2, mixer.kv_heads),
        ("v_proj_delayed", key // 2, mixer.kv_heads),
    )
    into = (
        linear(f"self_attn.qkv_proj.{name}", out, hidden, kind, Shard.COLUMN, bias=bias, units=units)
        for name, out, units in parts
    )
    return (
        *(tensor for tensors in into for tensor in tensors),
        *per_unit("self_attn.qkv_proj.conv_qk_depthwise.weight", channels, 1, f.whole("cca_time0")),
        *per_unit("self_attn.qkv_proj.conv_qk_depthwise.bias", channels),
        *per_unit("self_attn.qkv_proj.conv_qk_grouped.weight", channels, dim, f.whole("cca_time1")),
        *per_unit("self_attn.qkv_proj.conv_qk_grouped.bias", channels),
        *per_unit("self_attn.qk_norm.temp", mixer.kv_heads),
        *linear("self_attn.o_proj", hidden, query, kind, Shard.ROW, bias=bias, units=mixer.heads),
    )


def _router(f: Fields, count: int, passes_state: bool) -> tuple[Tensor, ...]:
    """A small network; one more class than experts, for no expert. Layers after the first add the last one's state."""
    hidden, width, kind = f.whole("hidden_size"), f.whole("router_hidden_size"), TensorClass.ROUTER
    return (
        *linear("mlp.gate.down_proj", width, hidden, kind, bias=True),
        *norm("mlp.gate.router_mlp.norm", width),
        *linear("mlp.gate.router_mlp.fc1", width, width, kind, bias=True),
        *linear("mlp.gate.router_mlp.fc2", width, width, kind, bias=True),
        *linear("mlp.gate.router_mlp.out_proj", count + 1, width, kind),
        *(small("mlp.gate.router_states_scale", width) if passes_state else ()),
    )


READERS: dict[str, Callable[[Fields], ModelSpec]] = {"zaya": read_zaya}
