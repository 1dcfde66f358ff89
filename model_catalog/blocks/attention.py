"""Tensors of softmax attention."""

from typing import Literal

from model_catalog.blocks.linear import linear, norm
from model_catalog.spec import Attention, CrossAttention
from model_catalog.tensors import Shard, Tensor, TensorClass

# What the query and key norms span: one head (weights shared by all heads), the whole projection, or nothing.
QkNorm = Literal["none", "head", "width"]


def attention(
    mixer: Attention | CrossAttention,
    hidden: int,
    *,
    prefix: str = "self_attn",
    qkv_bias: bool = False,
    out_bias: bool = False,
    qk_norm: QkNorm = "none",
    qk_norm_bias: bool = False,
    gated: bool = False,
    source_hidden: int | None = None,
) -> tuple[Tensor, ...]:
    """Query, key, value and output projections, and the norms of query and key.

    `gated`: the query projection also makes a gate of the same width (Qwen3-Next). `source_hidden`: width of what
    keys and values are made from, where it differs (cross attention). A layer that reuses another layer's cache is
    given its own projections here; readers of models that leave them out use `query_and_output`.
    """
    source = hidden if source_hidden is None else source_hidden
    return (
        *query_and_output(mixer, hidden, prefix=prefix, qkv_bias=qkv_bias, out_bias=out_bias, gated=gated),
        *_key_value(f"{prefix}.k_proj", mixer.kv_heads, mixer.head_dim, source, qkv_bias),
        *_key_value(f"{prefix}.v_proj", mixer.kv_heads, mixer.value_dim, source, qkv_bias),
        *_qk_norms(mixer, prefix, qk_norm, qk_norm_bias),
    )


def query_and_output(
    mixer: Attention | CrossAttention,
    hidden: int,
    *,
    prefix: str = "self_attn",
    qkv_bias: bool = False,
    out_bias: bool = False,
    gated: bool = False,
) -> tuple[Tensor, ...]:
    query = mixer.heads * mixer.head_dim * (2 if gated else 1)
    kind, heads = TensorClass.ATTENTION, mixer.heads
    return (
        *linear(f"{prefix}.q_proj", query, hidden, kind, Shard.COLUMN, bias=qkv_bias, units=heads),
        *linear(f"{prefix}.o_proj", hidden, heads * mixer.value_dim, kind, Shard.ROW, bias=out_bias, units=heads),
    )


def _key_value(name: str, kv_heads: int, dim: int, source: int, bias: bool) -> tuple[Tensor, ...]:
    return linear(name, kv_heads * dim, source, TensorClass.ATTENTION, Shard.COLUMN, bias=bias, units=kv_heads)


def _qk_norms(mixer: Attention | CrossAttention, prefix: str, qk_norm: QkNorm, bias: bool) -> tuple[Tensor, ...]:
    match qk_norm:
        case "none":
            return ()
        case "head":
            query = key = mixer.head_dim
        case "width":
            query, key = mixer.heads * mixer.head_dim, mixer.kv_heads * mixer.head_dim
    return (*norm(f"{prefix}.q_norm", query, bias=bias), *norm(f"{prefix}.k_norm", key, bias=bias))
