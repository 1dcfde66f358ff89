"""RWKV 4 to 7. Each layer keeps the last input of its two halves, and a state that the time mixing folds tokens into.

Version 4 follows transformers 5.24.0. Versions 5, 6 and 7 (RWKV/rwkv-5-world-1b5, RWKV/rwkv-6-world-1b6, RWKV/RWKV7-*)
have no class there; their tensors follow the code published with the checkpoints.
"""

from collections.abc import Callable
from dataclasses import replace

from model_catalog.blocks.linear import linear, norm, small
from model_catalog.blocks.recurrent import per_unit
from model_catalog.fields import Fields
from model_catalog.importers.common import max_context_of
from model_catalog.importers.decoder import decoder
from model_catalog.spec import FeedForward, Layer, ModelSpec, Recurrent
from model_catalog.tensors import Shard, Tensor, TensorClass

MIXER = TensorClass.MIXER
FFN = TensorClass.FEED_FORWARD


def _state(hidden: int, heads: int, elements: int) -> Recurrent:
    return Recurrent(kind="rwkv", heads=heads, state_elements=elements, conv_channels=2 * hidden, conv_kernel=2)


def _square(prefix: str, names: str, hidden: int, width: int) -> tuple[Tensor, ...]:
    """Projections into the time mixing, and the one out of it."""
    into = (linear(f"{prefix}.{name}", width, hidden, MIXER, Shard.COLUMN) for name in names.split())
    out = linear(f"{prefix}.output", hidden, width, MIXER, Shard.ROW)
    return (*(tensor for tensors in into for tensor in tensors), *out)


def _mixes(prefix: str, names: str, hidden: int) -> tuple[Tensor, ...]:
    return tuple(tensor for name in names.split() for tensor in small(f"{prefix}.{name}", hidden))


def _channel_mixing(hidden: int, size: int, *, mixes: str, receptance: bool = True) -> tuple[Tensor, ...]:
    gate = linear("feed_forward.receptance", hidden, hidden, FFN) if receptance else ()
    return (
        *_mixes("feed_forward", mixes, hidden),
        *linear("feed_forward.key", size, hidden, FFN, Shard.COLUMN),
        *linear("feed_forward.value", hidden, size, FFN, Shard.ROW),
        *gate,
    )


def _norms(hidden: int, *names: str) -> tuple[Tensor, ...]:
    return tuple(tensor for name in names for tensor in norm(name, hidden, bias=True))


def _spec(f: Fields, layers: list[Layer]) -> ModelSpec:
    """Layer norms have biases, and one more stands before the first layer."""
    hidden = f.whole("hidden_size")
    bias = small("ln_out.bias", hidden)
    spec = decoder(f, layers, extra=(*bias, *_norms(hidden, "pre_ln")))
    return replace(spec, max_context=max_context_of(f) or f.whole_or_none("context_length"))


def read_rwkv4(f: Fields) -> ModelSpec:
    """A numerator, a denominator and a running maximum for each channel."""
    hidden = f.whole("hidden_size")
    width, size = f.whole("attention_hidden_size", hidden), f.whole("intermediate_size", 4 * hidden)
    if width != hidden:
        f.doubt("attention_hidden_size", "The class keeps a state of hidden_size whatever attention_hidden_size is.")
    layer = Layer(
        mixers=(_state(hidden, hidden, 3 * hidden),),
        feed_forward=FeedForward(intermediate=size),
        tensors=(
            *(t for name in ("time_decay", "time_first") for t in per_unit(f"attention.{name}", width)),
            *_mixes("attention", "time_mix_key time_mix_value time_mix_receptance", hidden),
            *_square("attention", "key value receptance", hidden, width),
            *_channel_mixing(hidden, size, mixes="time_mix_key time_mix_receptance"),
            *_norms(hidden, "ln1", "ln2"),
        ),
    )
    return _spec(f, [layer] * f.layer_count())


def read_rwkv5(f: Fields) -> ModelSpec:
    """A head_size² state for each head. rwkv-5-world-1b5 has 1,577,754,624 elements."""
    if f.text("model_version", "5_2") != "5_2":
        f.doubt("model_version", "Versions before 5.2 differ a little; this one is counted as 5.2.")
    return _heads(f, ("time_decay", "time_faaaa"), "time_mix_key time_mix_value time_mix_receptance time_mix_gate")


def read_rwkv6(f: Fields) -> ModelSpec:
    """As version 5, with mixing and decay that depend on the input through small ranks."""
    hidden = f.whole("hidden_size")
    width = f.whole("attention_hidden_size", hidden)
    mix, decay = (64, 128) if hidden == 4096 else (32, 64)
    own = (
        *small("attention.time_maa_w1", hidden, 5 * mix),
        *small("attention.time_maa_w2", 5, mix, hidden),
        *small("attention.time_decay_w1", hidden, decay),
        *small("attention.time_decay_w2", decay, width),
    )
    names = "time_maa_x time_maa_w time_maa_k time_maa_v time_maa_r time_maa_g"
    return _heads(f, ("time_decay", "time_faaaa"), names, own)


def _heads(f: Fields, per_head: tuple[str, ...], mixes: str, own: tuple[Tensor, ...] = ()) -> ModelSpec:
    hidden, head_size = f.whole("hidden_size"), f.whole("head_size", 64)
    width = f.whole("attention_hidden_size", hidden)
    size = f.whole("intermediate_size", 7 * hidden // 2 // 32 * 32)
    if f.flag("tie_word_embeddings"):
        f.doubt("tie_word_embeddings", "The output head is counted as the embedding; files may hold both.", kv=False)
    heads = max(width // head_size, 1)
    layer = Layer(
        mixers=(_state(hidden, heads, heads * head_size**2),),
        feed_forward=FeedForward(intermediate=size),
        tensors=(
            *(t for name in per_head for t in per_unit(f"attention.{name}", heads, head_size, units=heads)),
            *_mixes("attention", mixes, hidden),
            *own,
            *_square("attention", "key value receptance gate", hidden, width),
            *norm("attention.ln_x", width, bias=True),
            *_channel_mixing(hidden, size, mixes="time_mix_key time_mix_receptance"),
            *_norms(hidden, "ln1", "ln2"),
        ),
    )
    return _spec(f, [layer] * f.layer_count())


RANKS = {"decay_low_rank_dim": 64, "a_low_rank_dim": 64, "v_low_rank_dim": 16, "gate_low_rank_dim": 128}


def read_rwkv7(f: Fields) -> ModelSpec:
    """RWKV-7 "Goose": a head_dim² state for each head. RWKV7-Goose-World2.8-0.1B-HF has 191,034,624 elements."""
    if f.raw("attn") is not None:
        f.doubt("attn", "Attention layers among the RWKV layers are not counted.")
    for name in RANKS:
        if f.whole_or_none(name) is None:
            f.doubt(name, f"{name} is not stated; {RANKS[name]} is assumed.", kv=False)
    first, later = _goose_layer(f, own_value=True), _goose_layer(f, own_value=False)
    return _spec(f, [first, *[later] * (f.layer_count() - 1)])


def _goose_layer(f: Fields, *, own_value: bool) -> Layer:
    """The first layer's value is its own; later layers blend it in through a small rank."""
    hidden, head_dim = f.whole("hidden_size"), f.whole("head_dim", 64)
    size, heads = f.whole("intermediate_size", 4 * hidden), max(hidden // head_dim, 1)
    decay, a, value, gate = (f.whole(name, default) for name, default in RANKS.items())
    ranks = {"w": decay, "a": a, **({} if own_value else {"v": value})}
    loras = [
        *(t for name, rank in ranks.items() for t in _lora(f"attn.{name}_lora", hidden, rank, bias=True)),
        *_lora("attn.g_lora", hidden, gate, bias=False),
    ]
    return Layer(
        mixers=(_state(hidden, heads, heads * head_dim**2),),
        feed_forward=FeedForward(intermediate=size),
        tensors=(
            *_mixes("attn", "x_r x_w x_k x_v x_a x_g k_k k_a r_k", hidden),
            *_square("attn", "r_proj k_proj v_proj", hidden, hidden),
            *loras,
            *_channel_mixing(hidden, size, mixes="x_k", receptance=False),
            *_norms(hidden, "attn.g_norm", "attn_norm", "ffn_norm"),
        ),
    )


def _lora(name: str, hidden: int, rank: int, *, bias: bool) -> tuple[Tensor, ...]:
    return (
        *linear(f"{name}.0", rank, hidden, TensorClass.SMALL),
        *linear(f"{name}.2", hidden, rank, TensorClass.SMALL, bias=bias),
    )


READERS: dict[str, Callable[[Fields], ModelSpec]] = {
    "rwkv": read_rwkv4,
    "rwkv5": read_rwkv5,
    "rwkv6": read_rwkv6,
    "rwkv7": read_rwkv7,
}
