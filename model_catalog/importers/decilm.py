"""Decoders whose every layer has a shape of its own: Nemotron-NAS (DeciLM) and OpenELM."""

from collections.abc import Callable
from math import ceil

from model_catalog.blocks.attention import attention
from model_catalog.blocks.feed_forward import dense
from model_catalog.blocks.linear import linear, norm
from model_catalog.fields import ConfigError, Fields
from model_catalog.importers.common import head_dim_of
from model_catalog.importers.decoder import decoder
from model_catalog.spec import Attention, FeedForward, Layer, ModelSpec
from model_catalog.tensors import Tensor, TensorClass


def read_nemotron_nas(f: Fields) -> ModelSpec:
    """Nemotron-NAS: block_configs says for each layer how many heads share a KV head, or that a part is left out."""
    layers, blocks = f.layer_count(), f.items("block_configs", dict)
    if blocks is None or len(blocks) != layers:
        raise f.error("block_configs", f"an object for each of {layers:,} layers")
    return decoder(f, [_nas_layer(f, i, block) for i, block in enumerate(blocks)])


def _block_part(f: Fields, index: int, block: dict[str, object], name: str) -> Fields:
    part = block.get(name)
    path = f"{f.path}block_configs[{index}].{name}"
    if not isinstance(part, dict):
        raise ConfigError(path, f"{path} is not an object.")
    fields = Fields(part, "", f"{path}.")
    fields.reading = f.reading
    return fields


def _nas_layer(f: Fields, index: int, block: dict[str, object]) -> Layer:
    mixer, attention_tensors = _nas_attention(f, _block_part(f, index, block, "attention"))
    part, dense_tensors = _nas_feed_forward(f, _block_part(f, index, block, "ffn"))
    return Layer(mixers=(mixer,) if mixer else (), feed_forward=part, tensors=(*attention_tensors, *dense_tensors))


def _nas_attention(f: Fields, own: Fields) -> tuple[Attention | None, tuple[Tensor, ...]]:
    """Attention with its norm; a plain linear layer, which stores nothing; or nothing at all."""
    hidden, heads, bias = f.whole("hidden_size"), f.whole("num_attention_heads"), f.flag("attention_bias")
    if own.flag("no_op"):
        return None, ()
    before = norm("input_layernorm", hidden)
    if own.flag("replace_with_linear"):
        return None, (*linear("self_attn.linear_attn", hidden, hidden, TensorClass.ATTENTION, bias=bias), *before)
    group = own.whole("n_heads_in_group", maximum=heads)
    if heads % group:
        raise own.error("n_heads_in_group", f"a divisor of {heads:,}")
    head_dim = head_dim_of(f)
    mixer = Attention(
        heads=heads,
        kv_heads=heads // group,
        head_dim=head_dim,
        value_dim=head_dim,
        window=own.whole_or_none("window_length", minimum=1),
    )
    for name in ("sparsify", "num_sink_tokens"):
        if own.raw(name):
            own.doubt(name, f"{name} is not understood; the layer is counted without it.")
    return mixer, (*attention(mixer, hidden, qkv_bias=bias, out_bias=bias), *before)


def _nas_feed_forward(f: Fields, own: Fields) -> tuple[FeedForward | None, tuple[Tensor, ...]]:
    hidden, bias = f.whole("hidden_size"), f.flag("mlp_bias")
    if own.flag("no_op"):
        return None, ()
    before = norm("post_attention_layernorm", hidden)
    if own.flag("replace_with_linear"):
        return None, (*linear("mlp.linear_mlp", hidden, hidden, TensorClass.FEED_FORWARD, bias=bias), *before)
    size = ceil_to(int(2 * _multiple(own, "ffn_mult") * hidden / 3), 256)
    return FeedForward(intermediate=size), (*dense(hidden, size, bias=bias), *before)


def _multiple(f: Fields, name: str) -> float:
    """A positive width multiple that stays finite."""
    value = f.number(name, 0.0)
    if not 0 < value < 2**20:
        raise f.error(name, "a positive number")
    return value


def ceil_to(size: int, step: int) -> int:
    return ceil(size / step) * step


def read_openelm(f: Fields) -> ModelSpec:
    """OpenELM: query heads, KV heads and feed-forward width grow from layer to layer."""
    layers, width, head_dim = f.layer_count("num_transformer_layers"), f.whole("model_dim"), f.whole("head_dim")
    heads, kv_heads = _list(f, "num_query_heads", layers), _list(f, "num_kv_heads", layers)
    step = f.whole("ffn_dim_divisor", 256)
    sizes = [_rounded(multiple * width, step) for multiple in _multipliers(f, layers)]
    built = [_openelm_layer(f, width, head_dim, heads[i], kv_heads[i], sizes[i]) for i in range(layers)]
    names = {"hidden_size": width, "max_position_embeddings": f.whole("max_context_length", 2048)}
    other = Fields({**f.data, **names}, f.model_type, f.path)
    other.reading = f.reading
    return decoder(other, built, tied=f.flag("share_input_output_layers", True))


def _rounded(size: float, step: int) -> int:
    """To the nearest multiple, never more than a tenth below (the model's make_divisible)."""
    near = max(step, int(size + step / 2) // step * step)
    return near + step if near < 0.9 * size else near


def _list(f: Fields, name: str, layers: int) -> list[int]:
    stated = f.items(name, int)
    if stated is None or len(stated) != layers or min(stated) < 1:
        raise f.error(name, f"a whole number for each of {layers:,} layers")
    return stated


def _multipliers(f: Fields, layers: int) -> list[float]:
    raw = f.raw("ffn_multipliers")
    values = raw if isinstance(raw, list) else [raw] * layers
    usable = [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool) and 0 < v < 2**20]
    if len(usable) != layers or len(values) != layers:
        raise f.error("ffn_multipliers", f"a positive number for each of {layers:,} layers")
    return [float(value) for value in usable]


def _openelm_layer(f: Fields, width: int, head_dim: int, heads: int, kv_heads: int, size: int) -> Layer:
    mixer = Attention(heads=heads, kv_heads=kv_heads, head_dim=head_dim, value_dim=head_dim)
    return Layer(
        mixers=(mixer,),
        feed_forward=FeedForward(intermediate=size),
        tensors=(
            *attention(mixer, width, qk_norm="head" if f.flag("normalize_qk_projections") else "none"),
            *dense(width, size, gated=f.flag("ffn_with_glu", True)),
            *norm("attn_norm", width),
            *norm("ffn_norm", width),
        ),
    )


READERS: dict[str, Callable[[Fields], ModelSpec]] = {"nemotron-nas": read_nemotron_nas, "openelm": read_openelm}
