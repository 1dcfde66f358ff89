"""Hybrids of lightning (linear) attention and softmax attention: MiniMax-Text-01, MiniMax-M1, MiniCPM-SALA."""

from collections.abc import Callable

from model_catalog.blocks.attention import attention
from model_catalog.blocks.linear import linear, norm
from model_catalog.blocks.mixture import feed_forward
from model_catalog.blocks.recurrent import lightning
from model_catalog.fields import Fields
from model_catalog.importers.common import head_dim_of
from model_catalog.importers.decoder import decoder, read_as
from model_catalog.importers.hybrid import softmax, stated_kinds
from model_catalog.layer_kinds import FULL, LINEAR, Rule
from model_catalog.spec import FeedForward, Layer, ModelSpec
from model_catalog.tensors import Shard, Tensor, TensorClass

KNOWN = (FULL, LINEAR)


def lightning_tensors(hidden: int, heads: int, head_dim: int) -> tuple[Tensor, ...]:
    """Query, key, value and output gate, one norm over all heads, and the output projection."""
    width, kind = heads * head_dim, TensorClass.MIXER
    into = (
        linear(f"self_attn.{part}", width, hidden, kind, Shard.COLUMN, units=heads)
        for part in ("q_proj", "k_proj", "v_proj", "output_gate")
    )
    return (
        *(tensor for tensors in into for tensor in tensors),
        *norm("self_attn.norm", width),
        *linear("self_attn.out_proj", hidden, width, kind, Shard.ROW, units=heads),
    )


def read_minimax(f: Fields) -> ModelSpec:
    """A mixture in every layer. Without a stated list, layers attend and recur by turns."""
    return _read(f, _by_turns)


def _read(f: Fields, rule: Rule) -> ModelSpec:
    if f.whole_or_none("sliding_window") is not None:
        f.doubt("sliding_window", "Attention layers are counted at full length, as the cache of this type keeps them.")
    kinds = stated_kinds(f, f.layer_count(), KNOWN, rule)
    made = {kind: _layer(f, kind) for kind in set(kinds)}
    return decoder(f, [made[kind] for kind in kinds])


def _by_turns(f: Fields, layers: int) -> list[str]:
    return [LINEAR if i % 2 else FULL for i in range(layers)]


def _layer(f: Fields, kind: str) -> Layer:
    hidden, heads, head_dim = f.whole("hidden_size"), f.whole("num_attention_heads"), head_dim_of(f)
    part = FeedForward(
        intermediate=f.whole("intermediate_size"),
        experts=f.whole("num_local_experts"),
        top_k=f.whole("num_experts_per_tok"),
    )
    rest = (
        *feed_forward(hidden, part),
        *norm("input_layernorm", hidden),
        *norm("post_attention_layernorm", hidden),
    )
    if kind == LINEAR:
        tensors = (*lightning_tensors(hidden, heads, head_dim), *rest)
        return Layer(mixers=(lightning(heads, head_dim),), feed_forward=part, tensors=tensors)
    mixer = softmax(f)
    return Layer(mixers=(mixer,), feed_forward=part, tensors=(*attention(mixer, hidden), *rest))


def read_minimax_remote(f: Fields) -> ModelSpec:
    """MiniMax-Text-01 and M1 as first published: attn_type_list has 1 for attention and 0 for lightning."""
    if f.whole("shared_intermediate_size", 0, minimum=0):
        f.doubt("shared_intermediate_size", "Shared experts are not counted.", kv=False)
    return _read(read_as(f, "minimax"), _attn_type_list)


def _attn_type_list(f: Fields, layers: int) -> list[str]:
    stated = f.items("attn_type_list", int)
    if stated is None or len(stated) != layers or set(stated) - {0, 1}:
        raise f.error("attn_type_list", f"a list of {layers:,} numbers 0 (lightning) and 1 (attention)")
    return [FULL if kind else LINEAR for kind in stated]


def read_minicpm_sala(f: Fields) -> ModelSpec:
    """MiniCPM-SALA (remote code): mixer_types names sparse attention ("minicpm4") and "lightning-attn" layers.

    The sum of elements is that of openbmb/MiniCPM-SALA, 9,477,203,968.
    """
    layers = f.layer_count()
    stated = f.items("mixer_types", str)
    if stated is None or len(stated) != layers:
        raise f.error("mixer_types", f"a list with the kind of each of {layers:,} layers")
    f.doubt(
        "mixer_types", "Sparse attention layers are counted as full attention, without the keys that choose blocks."
    )
    made = {recurs: _sala_layer(f, recurs) for recurs in (True, False)}
    return decoder(f, [made["lightning" in kind] for kind in stated])


def _sala_layer(f: Fields, recurs: bool) -> Layer:
    hidden = f.whole("hidden_size")
    part = FeedForward(intermediate=f.whole("intermediate_size"))
    rest = (
        *feed_forward(hidden, part),
        *norm("input_layernorm", hidden),
        *norm("post_attention_layernorm", hidden),
    )
    if recurs:
        heads, dim = f.whole("lightning_nh", f.whole("num_attention_heads")), f.whole("lightning_head_dim", 128)
        head_norms = (*norm("self_attn.q_norm", dim), *norm("self_attn.k_norm", dim))
        tensors = (*lightning_tensors(hidden, heads, dim), *head_norms, *rest)
        return Layer(mixers=(lightning(heads, dim),), feed_forward=part, tensors=tensors)
    mixer = softmax(f)
    width, kind = mixer.heads * mixer.head_dim, TensorClass.ATTENTION
    gate = linear("self_attn.o_gate", width, hidden, kind, Shard.COLUMN, units=mixer.heads)
    tensors = (*attention(mixer, hidden), *(gate if f.flag("attn_use_output_gate", True) else ()), *rest)
    return Layer(mixers=(mixer,), feed_forward=part, tensors=tensors)


READERS: dict[str, Callable[[Fields], ModelSpec]] = {
    "minimax": read_minimax,
    "minimax_m1": read_minimax_remote,
    "minimax_text_01": read_minimax_remote,
    "minicpm_sala": read_minicpm_sala,
}
