"""Tensors of multi-head latent attention (MLA) and of the indexer that makes it sparse."""

from model_catalog.blocks.linear import linear, norm
from model_catalog.spec import Indexer, LatentAttention
from model_catalog.tensors import Shard, Tensor, TensorClass


def latent_attention(
    mixer: LatentAttention,
    hidden: int,
    *,
    query_rank: int | None,
    prefix: str = "self_attn",
    bias: bool = False,
    out_bias: bool | None = None,
    out_dim: int | None = None,
) -> tuple[Tensor, ...]:
    """Query (through `query_rank` dimensions where given), compressed key and value, and output projections.

    `bias` is that of the down projections and, unless `out_bias` says otherwise, of the output. `out_dim` is the
    width of the output, `hidden` by default. Down projections and norms are whole on every rank.
    """
    kind, heads = TensorClass.ATTENTION, mixer.heads
    up = heads * (mixer.nope_dim + mixer.value_dim)
    o_bias = bias if out_bias is None else out_bias
    return (
        *_query(mixer, hidden, query_rank, prefix, bias),
        *linear(f"{prefix}.kv_a_proj_with_mqa", mixer.latent_dim + mixer.rope_dim, hidden, kind, bias=bias),
        *norm(f"{prefix}.kv_a_layernorm", mixer.latent_dim),
        *linear(f"{prefix}.kv_b_proj", up, mixer.latent_dim, kind, Shard.COLUMN, units=heads),
        *linear(
            f"{prefix}.o_proj",
            hidden if out_dim is None else out_dim,
            heads * mixer.value_dim,
            kind,
            Shard.ROW,
            bias=o_bias,
            units=heads,
        ),
    )


def _query(mixer: LatentAttention, hidden: int, query_rank: int | None, prefix: str, bias: bool) -> tuple[Tensor, ...]:
    kind, heads = TensorClass.ATTENTION, mixer.heads
    out = heads * (mixer.nope_dim + mixer.rope_dim)
    if query_rank is None:
        return linear(f"{prefix}.q_proj", out, hidden, kind, Shard.COLUMN, units=heads)
    return (
        *linear(f"{prefix}.q_a_proj", query_rank, hidden, kind, bias=bias),
        *norm(f"{prefix}.q_a_layernorm", query_rank),
        *linear(f"{prefix}.q_b_proj", out, query_rank, kind, Shard.COLUMN, units=heads),
    )


def lightning_indexer(
    indexer: Indexer, hidden: int, *, query_rank: int, prefix: str = "self_attn.indexer"
) -> tuple[Tensor, ...]:
    """DeepSeek-V3.2's indexer: queries from the query latent, one key per token, one weight per head."""
    kind = TensorClass.INDEXER
    return (
        *linear(f"{prefix}.wq_b", indexer.heads * indexer.head_dim, query_rank, kind),
        *linear(f"{prefix}.wk", indexer.head_dim, hidden, kind),
        *norm(f"{prefix}.k_norm", indexer.head_dim, bias=True),
        *linear(f"{prefix}.weights_proj", indexer.heads, hidden, kind),
    )
