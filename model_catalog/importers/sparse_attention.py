"""MiniMax-M3: ordinary attention whose later layers choose blocks of tokens by an index key (MSA)."""

from collections.abc import Callable, Mapping

from model_catalog.blocks.attention import attention
from model_catalog.blocks.linear import linear, norm
from model_catalog.blocks.mixture import feed_forward
from model_catalog.fields import Fields
from model_catalog.importers.decoder import decoder, per_layer, read_as
from model_catalog.importers.latent_parts import two_norms
from model_catalog.layer_kinds import FULL
from model_catalog.spec import Attention, FeedForward, Indexer, Layer, ModelSpec
from model_catalog.tensors import Tensor, TensorClass

SPARSE = "minimax_m3_sparse"
# Fields of sparse_attention_config in published files, and their names in the class, which they win over.
OLDER = {
    "index_n_heads": "sparse_num_index_heads",
    "index_head_dim": "sparse_index_dim",
    "index_block_size": "sparse_block_size",
    "index_topk_blocks": "sparse_topk_blocks",
}


def read_minimax_m3(f: Fields) -> ModelSpec:
    """The decoder of MiniMax-M3 (transformers 5.24.0, models/minimax_m3_vl)."""
    layers = f.layer_count()
    kinds = _stated_kinds(f, layers)
    mixtures = _mixtures(f, layers)
    return decoder(f, [_layer(f, kinds[i] != FULL, mixtures[i]) for i in range(layers)])


def _stated_kinds(f: Fields, layers: int) -> list[str]:
    """layer_types, else sparse_attention_freq with a 1 for each sparse layer; all are full without either."""
    stated = per_layer(f, "layer_types", layers, (SPARSE, FULL))
    if stated is not None:
        return stated
    older = _older(f)
    flags = older.items("sparse_attention_freq", int) if older else None
    if flags is None:
        return [FULL] * layers
    if older and len(flags) != layers:
        raise older.error("sparse_attention_freq", f"a whole number for each of {layers:,} layers")
    return [SPARSE if flag else FULL for flag in flags]


def _older(f: Fields) -> Fields | None:
    return f.part("sparse_attention_config") if isinstance(f.raw("sparse_attention_config"), Mapping) else None


def _mixtures(f: Fields, layers: int) -> list[bool]:
    """mlp_layer_types, else moe_layer_freq with a 1 for each mixture; all are mixtures without either."""
    stated = per_layer(f, "mlp_layer_types", layers, ("sparse", "dense"), kv=False)
    if stated is not None:
        return [kind != "dense" for kind in stated]
    flags = f.items("moe_layer_freq", int)
    if flags is None:
        return [True] * layers
    if len(flags) != layers:
        raise f.error("moe_layer_freq", f"a whole number for each of {layers:,} layers")
    return [bool(flag) for flag in flags]


def _layer(f: Fields, sparse: bool, mixture: bool) -> Layer:
    hidden, head_dim = f.whole("hidden_size"), f.whole("head_dim")
    mixer = Attention(
        heads=f.whole("num_attention_heads"),
        kv_heads=f.whole("num_key_value_heads"),
        head_dim=head_dim,
        value_dim=head_dim,
        indexer=_indexer(f) if sparse else None,
    )
    part = FeedForward(intermediate=f.whole("dense_intermediate_size"))
    if mixture:
        part = FeedForward(
            intermediate=f.whole("intermediate_size"),
            experts=f.whole("num_local_experts"),
            top_k=f.whole("num_experts_per_tok"),
            shared_intermediate=f.whole("shared_intermediate_size", minimum=0),
        )
    return Layer(
        mixers=(mixer,),
        feed_forward=part,
        tensors=(
            *attention(mixer, hidden, qk_norm="head"),
            *(_indexer_tensors(mixer.indexer, hidden) if mixer.indexer else ()),
            *feed_forward(hidden, part),
            *two_norms(f, mixture),
        ),
    )


def _indexer(f: Fields) -> Indexer:
    older = _older(f)
    heads, head_dim, block, blocks = (
        older.whole(OLDER[name], f.whole(name)) if older else f.whole(name) for name in OLDER
    )
    return Indexer(heads=heads, head_dim=head_dim, top_k=block * blocks)


def _indexer_tensors(indexer: Indexer, hidden: int) -> tuple[Tensor, ...]:
    prefix, kind = "self_attn.indexer", TensorClass.INDEXER
    return (
        *linear(f"{prefix}.q_proj", indexer.heads * indexer.head_dim, hidden, kind),
        *linear(f"{prefix}.k_proj", indexer.head_dim, hidden, kind),
        *norm(f"{prefix}.q_norm", indexer.head_dim),
        *norm(f"{prefix}.k_norm", indexer.head_dim),
    )


READERS: dict[str, Callable[[Fields], ModelSpec]] = {
    "minimax_m3_vl_text": read_minimax_m3,
    "minimax_m3": lambda f: read_minimax_m3(read_as(f, "minimax_m3_vl_text")),
}
