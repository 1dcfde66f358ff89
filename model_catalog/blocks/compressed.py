"""Tensors of DeepSeek-V4's compressed attention: one shared key-value vector, grouped output, compressor, indexer."""

from model_catalog.blocks.linear import linear, norm, small
from model_catalog.spec import CompressedAttention
from model_catalog.tensors import Shard, Tensor, TensorClass

ATTENTION, INDEXER = TensorClass.ATTENTION, TensorClass.INDEXER


def compressed_attention(
    mixer: CompressedAttention,
    hidden: int,
    *,
    query_rank: int,
    groups: int,
    output_rank: int,
    prefix: str = "self_attn",
) -> tuple[Tensor, ...]:
    """Queries through `query_rank`; the output leaves through `groups` projections of `output_rank` each."""
    heads, width = mixer.heads, mixer.heads * mixer.head_dim
    middle = groups * output_rank
    return (
        *linear(f"{prefix}.q_a_proj", query_rank, hidden, ATTENTION),
        *norm(f"{prefix}.q_a_norm", query_rank),
        *linear(f"{prefix}.q_b_proj", width, query_rank, ATTENTION, Shard.COLUMN, units=heads),
        *linear(f"{prefix}.kv_proj", mixer.head_dim, hidden, ATTENTION),
        *norm(f"{prefix}.kv_norm", mixer.head_dim),
        *linear(f"{prefix}.o_a_proj", middle, width // groups, ATTENTION, Shard.COLUMN, units=groups),
        *linear(f"{prefix}.o_b_proj", hidden, middle, ATTENTION, Shard.ROW, units=groups),
        *small(f"{prefix}.sinks", heads, shard=Shard.COLUMN, dtype="fp32"),
        *_compressors(mixer, hidden, query_rank, f"{prefix}.compressor"),
    )


def _compressors(mixer: CompressedAttention, hidden: int, query_rank: int, prefix: str) -> tuple[Tensor, ...]:
    """With an indexer, entries are made of two overlapping windows, so projections are twice as wide."""
    if not mixer.ratio:
        return ()
    if mixer.indexer is None:
        return _compressor(prefix, hidden, mixer.head_dim, mixer.ratio, 1, ATTENTION)
    index, inner = mixer.indexer, f"{prefix}.indexer"
    return (
        *_compressor(prefix, hidden, mixer.head_dim, mixer.ratio, 2, ATTENTION),
        *_compressor(inner, hidden, index.head_dim, mixer.ratio, 2, INDEXER),
        *linear(f"{inner}.q_b_proj", index.heads * index.head_dim, query_rank, INDEXER),
        *linear(f"{inner}.scorer.weights_proj", index.heads, hidden, INDEXER),
    )


def _compressor(prefix: str, hidden: int, dim: int, ratio: int, series: int, kind: TensorClass) -> tuple[Tensor, ...]:
    """Values and gates of the tokens that one entry is made of."""
    return (
        *linear(f"{prefix}.kv_proj", series * dim, hidden, kind),
        *linear(f"{prefix}.gate_proj", series * dim, hidden, kind),
        *small(f"{prefix}.position_bias", ratio, series * dim, dtype="fp32"),
        *norm(f"{prefix}.kv_norm", dim),
    )
