"""Parts of vision and audio towers: the encoder layer, its ends, small perceptrons, and the tower around them."""

from dataclasses import replace

from model_catalog.blocks.linear import linear, norm
from model_catalog.spec import Tower
from model_catalog.tensors import Shard, Tensor, TensorClass

Tensors = tuple[Tensor, ...]
Stack = tuple[int, Tensors]  # so many layers that each hold these tensors


def tower(name: str, kind: TensorClass, prefix: str, outside: Tensors, *stacks: Stack) -> Tower:
    """A tower: what it holds once, and stacks of equal layers. All its tensors are of class `kind`."""
    inside = [
        replace(tensor, name=f"layers.{tensor.name}", count=tensor.count * layers)
        for layers, layer in stacks
        for tensor in layer
    ]
    tensors = (replace(tensor, name=f"{prefix}.{tensor.name}", kind=kind) for tensor in (*outside, *inside))
    return Tower(name=name, tensors=tuple(tensors), layers=sum(layers for layers, _ in stacks))


def plain(name: str, out: int, into: int, *, bias: bool = True) -> Tensors:
    """A linear layer that every rank holds whole."""
    return linear(name, out, into, TensorClass.VISION, bias=bias)


def column(name: str, out: int, into: int, *, bias: bool = True, units: int = 0) -> Tensors:
    return linear(name, out, into, TensorClass.VISION, Shard.COLUMN, bias=bias, units=units)


def row(name: str, out: int, into: int, *, bias: bool = True, units: int = 0) -> Tensors:
    return linear(name, out, into, TensorClass.VISION, Shard.ROW, bias=bias, units=units)


def table(name: str, *shape: int) -> Tensors:
    """Learned positions, class tokens, scales: a parameter that is no linear layer."""
    return (Tensor(name, TensorClass.VISION, shape),)


def conv(name: str, out: int, into: int, *kernel: int, bias: bool = True) -> Tensors:
    """A convolution of any number of axes. Patch embeddings written as a linear layer have the same elements."""
    return (*table(f"{name}.weight", out, into, *kernel), *(table(f"{name}.bias", out) if bias else ()))


def attention(
    hidden: int,
    heads: int,
    *,
    prefix: str = "attn",
    head_dim: int | None = None,
    kv_heads: int | None = None,
    bias: bool = True,
    key_bias: bool | None = None,
    out_bias: bool | None = None,
    qk_norm: int = 0,
    source: int | None = None,
) -> Tensors:
    """Query, key, value and output projection; key and output biases as the others unless said.

    `qk_norm`: width of the query and key norms, 0 for none. `source`: width of what keys and values are made from.
    """
    width = heads * head_dim if head_dim else hidden
    key_width = kv_heads * head_dim if kv_heads and head_dim else width
    groups, into = kv_heads or heads, hidden if source is None else source
    key_bias, out_bias = bias if key_bias is None else key_bias, bias if out_bias is None else out_bias
    norms = (*norm(f"{prefix}.q_norm", qk_norm), *norm(f"{prefix}.k_norm", qk_norm)) if qk_norm else ()
    return (
        *column(f"{prefix}.q_proj", width, hidden, bias=bias, units=heads),
        *column(f"{prefix}.k_proj", key_width, into, bias=key_bias, units=groups),
        *column(f"{prefix}.v_proj", key_width, into, bias=bias, units=groups),
        *row(f"{prefix}.proj", hidden, width, bias=out_bias, units=heads),
        *norms,
    )


def mlp(hidden: int, intermediate: int, *, prefix: str = "mlp", out: int | None = None, bias: bool = True) -> Tensors:
    """Two linear layers with an activation between them."""
    return (
        *column(f"{prefix}.fc1", intermediate, hidden, bias=bias),
        *row(f"{prefix}.fc2", hidden if out is None else out, intermediate, bias=bias),
    )


def gated_mlp(
    hidden: int, intermediate: int, *, prefix: str = "mlp", out: int | None = None, bias: bool = False
) -> Tensors:
    return (
        *column(f"{prefix}.gate_proj", intermediate, hidden, bias=bias),
        *column(f"{prefix}.up_proj", intermediate, hidden, bias=bias),
        *row(f"{prefix}.down_proj", hidden if out is None else out, intermediate, bias=bias),
    )


def norms(hidden: int, count: int = 2, *, bias: bool = True) -> Tensors:
    """The norms of one layer: LayerNorm with bias, RMSNorm without."""
    return tuple(tensor for i in range(1, count + 1) for tensor in norm(f"norm{i}", hidden, bias=bias))


def layer(hidden: int, intermediate: int, heads: int) -> Tensors:
    """The encoder layer of CLIP, SigLIP and their many descendants: LayerNorms, and a bias everywhere."""
    return (*norms(hidden), *attention(hidden, heads), *mlp(hidden, intermediate))


def multihead(hidden: int, *, prefix: str) -> Tensors:
    """torch.nn.MultiheadAttention: one input projection for query, key and value; whole on every rank."""
    return (
        *table(f"{prefix}.in_proj_weight", 3 * hidden, hidden),
        *table(f"{prefix}.in_proj_bias", 3 * hidden),
        *plain(f"{prefix}.out_proj", hidden, hidden),
    )
