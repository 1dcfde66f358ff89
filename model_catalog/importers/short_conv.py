"""Hybrids of short gated convolutions and attention: LFM2, LFM2-MoE, LFM3."""

from collections.abc import Callable

from model_catalog.blocks.attention import attention
from model_catalog.blocks.feed_forward import dense
from model_catalog.blocks.linear import linear, norm
from model_catalog.blocks.mixture import feed_forward
from model_catalog.blocks.recurrent import short_conv, short_conv_tensors
from model_catalog.fields import Fields
from model_catalog.importers.decoder import decoder
from model_catalog.importers.hybrid import CONV, softmax, stated_kinds
from model_catalog.layer_kinds import FULL, SLIDING
from model_catalog.spec import FeedForward, Layer, ModelSpec, Recurrent
from model_catalog.tensors import Shard, Tensor, TensorClass


def _conv(f: Fields) -> tuple[Recurrent, tuple[Tensor, ...]]:
    hidden, kernel = f.whole("hidden_size"), f.whole("conv_L_cache")
    return short_conv(hidden, kernel), short_conv_tensors(hidden, kernel, bias=f.flag("conv_bias"))


def _layer(f: Fields, kind: str, part: FeedForward) -> Layer:
    hidden = f.whole("hidden_size")
    rest = (
        *feed_forward(hidden, part, prefix="feed_forward"),
        *norm("operator_norm", hidden),
        *norm("ffn_norm", hidden),
    )
    if kind == CONV:
        state, tensors = _conv(f)
        return Layer(mixers=(state,), feed_forward=part, tensors=(*tensors, *rest))
    mixer = softmax(f)
    return Layer(
        mixers=(mixer,),
        feed_forward=part,
        tensors=(*attention(mixer, hidden, qk_norm="head"), *rest),
    )


def tied(f: Fields) -> bool:
    """The older name of the field wins where a file has it."""
    return f.flag("tie_embedding" if f.has("tie_embedding") else "tie_word_embeddings")


def read_lfm2(f: Fields) -> ModelSpec:
    """layer_types, else full_attn_idxs says which layers attend, else all do."""
    kinds = stated_kinds(f, f.layer_count(), (FULL, CONV), _lfm2_kinds)
    part = FeedForward(intermediate=_lfm2_intermediate(f))
    made = {kind: _layer(f, kind, part) for kind in set(kinds)}
    return decoder(f, [made[kind] for kind in kinds], tied=tied(f))


def _lfm2_kinds(f: Fields, layers: int) -> list[str]:
    stated = f.items("full_attn_idxs", int)
    attending = set(range(layers) if stated is None else stated)
    return [FULL if i in attending else CONV for i in range(layers)]


def _lfm2_intermediate(f: Fields) -> int:
    """Two thirds of the stated width (older files: block_ff_dim), scaled, then rounded up to block_multiple_of."""
    size = f.whole("block_ff_dim" if f.has("block_ff_dim") else "intermediate_size")
    if not f.flag("block_auto_adjust_ff_dim"):
        return size
    size = 2 * size // 3
    if f.raw("block_ffn_dim_multiplier") is None:
        return size
    multiple = f.whole("block_multiple_of")
    scaled = int(f.number("block_ffn_dim_multiplier", 1.0) * size)
    return multiple * -(-scaled // multiple)


def read_lfm2_moe(f: Fields) -> ModelSpec:
    """The first num_dense_layers are dense, the others mixtures."""
    kinds = stated_kinds(f, f.layer_count(), (FULL, CONV), _no_kinds)
    plain = FeedForward(intermediate=f.whole("intermediate_size"))
    mixture = FeedForward(
        intermediate=f.whole("moe_intermediate_size"),
        experts=f.whole("num_experts"),
        top_k=f.whole("num_experts_per_tok"),
    )
    first = f.whole("num_dense_layers", minimum=0)
    made = {(kind, part): _layer(f, kind, part) for kind in set(kinds) for part in (plain, mixture)}
    layers = [made[kind, plain if i < first else mixture] for i, kind in enumerate(kinds)]
    return decoder(f, layers, tied=tied(f))


def _no_kinds(f: Fields, layers: int) -> list[str]:
    raise f.error("layer_types", "a list with the kind of each layer")


def read_lfm3(f: Fields) -> ModelSpec:
    """Convolutions, windowed and full attention by turns; an output gate for each head and norms on both sides."""
    kinds = stated_kinds(f, f.layer_count(), (FULL, SLIDING, CONV), _lfm3_kinds)
    made = {kind: _lfm3_layer(f, kind) for kind in set(kinds)}
    return decoder(f, [made[kind] for kind in kinds])


def _lfm3_kinds(f: Fields, layers: int) -> list[str]:
    return [FULL if i % 4 == 2 else SLIDING if i % 4 == 0 and i else CONV for i in range(layers)]


def _lfm3_layer(f: Fields, kind: str) -> Layer:
    hidden, size, bias = f.whole("hidden_size"), f.whole("intermediate_size"), f.flag("attention_bias")
    sides = ("operator_norm", "ffn_norm", "post_operator_norm", "post_ffn_norm")
    norms = [norm(name, hidden) for name in sides[: 4 if f.flag("use_sandwich_norm") else 2]]
    part = FeedForward(intermediate=size)
    rest = (*dense(hidden, size, prefix="feed_forward"), *(t for pair in norms for t in pair))
    if kind == CONV:
        state, tensors = _conv(f)
        return Layer(mixers=(state,), feed_forward=part, tensors=(*tensors, *rest))
    mixer = softmax(f, f.whole("sliding_window") if kind == SLIDING else None)
    gate = linear("self_attn.g_proj", mixer.heads, hidden, TensorClass.ATTENTION, Shard.COLUMN, units=mixer.heads)
    tensors = (
        *attention(mixer, hidden, qkv_bias=bias, out_bias=bias, qk_norm="head"),
        *(gate if f.flag("use_attention_gate") else ()),
    )
    return Layer(mixers=(mixer,), feed_forward=part, tensors=(*tensors, *rest))


READERS: dict[str, Callable[[Fields], ModelSpec]] = {
    "lfm2": read_lfm2,
    "lfm2_moe": read_lfm2_moe,
    "lfm3": read_lfm3,
}
