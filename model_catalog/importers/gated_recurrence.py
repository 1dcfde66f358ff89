"""Recurrences of other kinds: xLSTM's matrix memory, and RecurrentGemma's RG-LRU among windowed attention layers."""

from collections.abc import Callable

from model_catalog.blocks.attention import attention
from model_catalog.blocks.feed_forward import dense
from model_catalog.blocks.linear import linear, norm, small
from model_catalog.blocks.recurrent import causal_conv, per_unit
from model_catalog.fields import Fields
from model_catalog.importers.decoder import decoder
from model_catalog.importers.hybrid import known_kinds, softmax
from model_catalog.spec import FeedForward, Layer, ModelSpec, Recurrent
from model_catalog.tensors import Shard, Tensor, TensorClass

MIXER = TensorClass.MIXER


def read_xlstm(f: Fields) -> ModelSpec:
    """A key × value matrix, a normaliser and a running maximum for each head."""
    name = "num_blocks" if f.raw("num_hidden_layers") is None else "num_hidden_layers"
    layers = f.layer_count(name)
    if f.whole("num_blocks", layers) != layers:
        f.doubt("num_blocks", "num_blocks differs from num_hidden_layers, which is taken.")
    return decoder(f, [_xlstm_layer(f)] * layers)


def _rounded(size: float, multiple: int) -> int:
    """The next multiple, by the class's own rounding of a float."""
    return int((size + multiple - 1) // multiple * multiple)


def _xlstm_layer(f: Fields) -> Layer:
    hidden, heads, bias = f.whole("hidden_size"), f.whole("num_heads"), f.flag("use_bias")
    key, value = hidden * f.number("qk_dim_factor", 0.5), hidden * f.number("v_dim_factor", 1.0)
    key_dim, value_dim = _rounded(key, 64) // heads, _rounded(value, 64) // heads
    size = _rounded(hidden * f.number("ffn_proj_factor", 2.667), f.whole("ffn_round_up_to_multiple_of"))
    state = Recurrent(kind="xlstm", heads=heads, state_elements=heads * (key_dim * value_dim + key_dim + 1))
    into = (("q", int(key)), ("k", int(key)), ("v", int(value)), ("ogate_preact", int(value)))
    projections = [
        *(
            linear(f"mlstm_layer.{name}", out, hidden, MIXER, Shard.COLUMN, bias=bias, units=heads)
            for name, out in into
        ),
        *(
            linear(f"mlstm_layer.{name}", heads, hidden, MIXER, Shard.COLUMN, bias=True, units=heads)
            for name in ("igate_preact", "fgate_preact")
        ),
        linear("mlstm_layer.out_proj", hidden, int(value), MIXER, Shard.ROW, bias=bias, units=heads),
    ]
    norms = (("norm_mlstm", hidden), ("norm_ffn", hidden), ("mlstm_layer.multihead_norm", int(value)))
    return Layer(
        mixers=(state,),
        feed_forward=FeedForward(intermediate=size),
        tensors=(
            *(tensor for tensors in projections for tensor in tensors),
            *(tensor for name, width in norms for tensor in norm(name, width, bias=bias)),
            *dense(hidden, size, prefix="ffn", bias=bias),
        ),
    )


def read_recurrent_gemma(f: Fields) -> ModelSpec:
    """block_types is repeated over the layers; attention layers have a window."""
    turn = f.items("block_types", str)
    if not turn:
        raise f.error("block_types", "a list of recurrent and attention")
    turn = known_kinds(f, turn, ("attention", "recurrent"), "block_types")
    made = {kind: _gemma_layer(f, kind) for kind in set(turn)}
    return decoder(f, [made[turn[i % len(turn)]] for i in range(f.layer_count())])


def _gemma_layer(f: Fields, kind: str) -> Layer:
    hidden, size = f.whole("hidden_size"), max(f.whole("intermediate_size") // 2, 1)
    part = FeedForward(intermediate=size)
    rest = (
        *dense(hidden, size, prefix="mlp_block", bias=True),
        *norm("temporal_pre_norm", hidden),
        *norm("channel_pre_norm", hidden),
    )
    if kind == "recurrent":
        state, tensors = _rg_lru(f)
        return Layer(mixers=(state,), feed_forward=part, tensors=(*tensors, *rest))
    mixer, bias = softmax(f, f.whole("attention_window_size")), f.flag("attention_bias")
    tensors = attention(mixer, hidden, prefix="temporal_block", qkv_bias=bias, out_bias=True)
    return Layer(mixers=(mixer,), feed_forward=part, tensors=(*tensors, *rest))


def _rg_lru(f: Fields) -> tuple[Recurrent, tuple[Tensor, ...]]:
    """A real-gated linear recurrence of one number per channel; its gates are block-diagonal, a block for each head."""
    hidden, heads = f.whole("hidden_size"), f.whole("num_attention_heads")
    width, kernel = f.whole("lru_width", hidden), f.whole("conv1d_width")
    block, prefix = width // heads, "temporal_block"
    state = Recurrent(kind="rg_lru", heads=heads, state_elements=width, conv_channels=width, conv_kernel=kernel)
    gates = (
        (
            *small(f"{prefix}.rg_lru.{name}_gate_weight", heads, block, block, shard=Shard.COLUMN),
            *small(f"{prefix}.rg_lru.{name}_gate_bias", heads, block, shard=Shard.COLUMN),
        )
        for name in ("input", "recurrent")
    )
    return state, (
        *linear(f"{prefix}.linear_y", width, hidden, MIXER, Shard.COLUMN, bias=True),
        *linear(f"{prefix}.linear_x", width, hidden, MIXER, Shard.COLUMN, bias=True),
        *linear(f"{prefix}.linear_out", hidden, width, MIXER, Shard.ROW, bias=True),
        *causal_conv(f"{prefix}.conv_1d", width, kernel, bias=True),
        *per_unit(f"{prefix}.rg_lru.recurrent_param", width),
        *(tensor for tensors in gates for tensor in tensors),
    )


READERS: dict[str, Callable[[Fields], ModelSpec]] = {
    "xlstm": read_xlstm,
    "recurrent_gemma": read_recurrent_gemma,
}
