"""Zamba and Zamba 2: Mamba in every layer, and now and then an attention block whose weights are shared by many layers.

Each use of the shared block caches keys and values of its own. The shared tensors stand outside the layers, once.
"""

from collections.abc import Callable
from math import ceil

from model_catalog.blocks.feed_forward import dense
from model_catalog.blocks.linear import linear, norm
from model_catalog.blocks.recurrent import Mamba1, Mamba2
from model_catalog.fields import Fields
from model_catalog.importers.decoder import decoder
from model_catalog.importers.hybrid import stated_kinds
from model_catalog.importers.mamba import jamba_mamba
from model_catalog.layer_kinds import LINEAR
from model_catalog.spec import Attention, FeedForward, Layer, ModelSpec
from model_catalog.tensors import Shard, Tensor, TensorClass

HYBRID = "hybrid"
KNOWN = (HYBRID, LINEAR)


def read_zamba(f: Fields) -> ModelSpec:
    """Attention works on the hidden state and the embedding side by side: twice the hidden size in."""
    hidden, heads = f.whole("hidden_size"), f.whole("num_attention_heads")
    kinds = stated_kinds(f, f.layer_count(), KNOWN, _zamba_kinds)
    wide = f.whole("attention_hidden_size", 2 * hidden)
    mixer = _attention(f, f.whole("attention_head_dim", 2 * hidden // heads), f.whole("num_key_value_heads", heads))
    shared = _shared_block(f, mixer, wide, f.whole("intermediate_size"), "shared_transf")
    return _spec(f, kinds, mixer, jamba_mamba(f, f.whole("n_mamba_heads")), shared if HYBRID in kinds else ())


def _zamba_kinds(f: Fields, layers: int) -> list[str]:
    period, offset = f.whole("attn_layer_period"), f.whole("attn_layer_offset", minimum=0)
    later = [HYBRID if i % period == offset else LINEAR for i in range(layers - 3)]
    return [LINEAR, LINEAR, HYBRID, *later][:layers]


def read_zamba2(f: Fields) -> ModelSpec:
    """num_mem_blocks shared blocks take turns; adapters make each use of a block a little different."""
    hidden, heads = f.whole("hidden_size"), f.whole("num_attention_heads")
    kinds = stated_kinds(f, f.layer_count(), KNOWN, _zamba2_kinds)
    mixer = _attention(f, f.whole("attention_head_dim", 2 * hidden // heads), f.whole("num_key_value_heads", heads))
    uses = kinds.count(HYBRID)
    blocks = min(f.whole("num_mem_blocks"), uses)
    shared = [
        tensor
        for block in range(blocks)
        for tensor in _zamba2_block(f, mixer, f"shared_transformer.{block}", _uses(uses, blocks, block))
    ]
    return _spec(f, kinds, mixer, _zamba2_mamba(f), tuple(shared))


def _uses(uses: int, blocks: int, block: int) -> int:
    return ceil((uses - block) / blocks)


def _zamba2_kinds(f: Fields, layers: int) -> list[str]:
    """The class's own list has 54 layers whatever num_hidden_layers says."""
    default = [LINEAR, *([LINEAR] * 5 + [HYBRID]) * 7]
    default += [*[LINEAR] * 4, HYBRID, *[LINEAR] * 3, HYBRID, LINEAR, LINEAR]
    if layers != len(default):
        f.doubt("layers_block_type", f"No layers are named; those of Zamba2-2.7B are taken ({len(default)} layers).")
    return default


def _zamba2_mamba(f: Fields) -> Mamba2:
    hidden, heads = f.whole("hidden_size"), f.whole("n_mamba_heads")
    channels = f.whole("mamba_expand") * hidden
    return Mamba2(
        hidden=hidden,
        channels=channels,
        heads=heads,
        head_dim=f.whole("mamba_headdim", channels // heads),
        state=f.whole("mamba_d_state"),
        groups=f.whole("mamba_ngroups"),
        kernel=f.whole("mamba_d_conv"),
        bias=f.flag("add_bias_linear"),
    )


def _zamba2_block(f: Fields, mixer: Attention, prefix: str, uses: int) -> tuple[Tensor, ...]:
    hidden, rank = f.whole("hidden_size"), f.whole("adapter_rank")
    size = f.whole_or_none("intermediate_size") or 4 * hidden
    adapted = [("feed_forward.gate_up_proj", hidden, 2 * size)]
    if f.flag("use_shared_attention_adapter"):
        adapted += [(f"self_attn.{part}_proj", 2 * hidden, 2 * hidden) for part in "qkv"]
    kind = TensorClass.FEED_FORWARD
    adapters = (
        linear(f"{prefix}.{name}.adapter.{end}", *shape, kind, count=uses)
        for name, into, out in adapted
        for end, shape in (("a", (rank, into)), ("b", (out, rank)))
    )
    block = _shared_block(f, mixer, 2 * hidden, size, prefix, bias=f.flag("add_bias_linear"))
    return (*block, *(tensor for tensors in adapters for tensor in tensors))


def _attention(f: Fields, head_dim: int, kv_heads: int) -> Attention:
    heads = f.whole("num_attention_heads")
    return Attention(heads=heads, kv_heads=kv_heads, head_dim=head_dim, value_dim=head_dim)


def _shared_block(
    f: Fields, mixer: Attention, wide: int, size: int, prefix: str, *, bias: bool = False
) -> tuple[Tensor, ...]:
    """Attention from `wide` inputs back to the hidden size, and a feed-forward."""
    hidden, heads, dim, kind = f.whole("hidden_size"), mixer.heads, mixer.head_dim, TensorClass.ATTENTION
    attn = f"{prefix}.self_attn"
    into = (
        linear(f"{attn}.{part}_proj", count * dim, wide, kind, Shard.COLUMN, units=count)
        for part, count in (("q", heads), ("k", mixer.kv_heads), ("v", mixer.kv_heads))
    )
    return (
        *(tensor for tensors in into for tensor in tensors),
        *linear(f"{attn}.o_proj", hidden, heads * dim, kind, Shard.ROW, units=heads),
        *dense(hidden, size, prefix=f"{prefix}.feed_forward", bias=bias),
        *norm(f"{prefix}.input_layernorm", wide),
        *norm(f"{prefix}.pre_ff_layernorm", hidden),
    )


def _spec(
    f: Fields, kinds: list[str], mixer: Attention, mamba: Mamba1 | Mamba2, shared: tuple[Tensor, ...]
) -> ModelSpec:
    hidden = f.whole("hidden_size")
    own = (*mamba.tensors("mamba"), *norm("input_layernorm", hidden))
    joining = linear("linear", hidden, hidden, TensorClass.MIXER)
    layers = {
        LINEAR: Layer(mixers=(mamba.mixer(),), tensors=own),
        HYBRID: Layer(
            mixers=(mixer, mamba.mixer()),
            feed_forward=FeedForward(intermediate=f.whole_or_none("intermediate_size") or 4 * hidden),
            tensors=(*own, *joining),
        ),
    }
    return decoder(f, [layers[kind] for kind in kinds], extra=shared)


READERS: dict[str, Callable[[Fields], ModelSpec]] = {"zamba": read_zamba, "zamba2": read_zamba2}
