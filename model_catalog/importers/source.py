"""What readers of encoder-decoder models share: the encoder as a tower, and a decoder layer's two attentions."""

from collections.abc import Iterable
from dataclasses import replace

from model_catalog.blocks.linear import norm
from model_catalog.spec import Attention, CrossAttention, Tower
from model_catalog.tensors import Shard, Tensor, TensorClass


def times(count: int, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    return tuple(replace(tensor, count=tensor.count * count) for tensor in tensors)


def encoder_tower(once: Iterable[Tensor], layer: Iterable[Tensor], layers: int) -> tuple[Tower, ...]:
    tensors = (replace(tensor, kind=TensorClass.ENCODER) for tensor in (*once, *times(layers, layer)))
    return (Tower(name="encoder", tensors=tuple(tensors), layers=layers),)


def embedding(name: str, vocab: int, hidden: int) -> Tensor:
    return Tensor(f"{name}.weight", TensorClass.EMBEDDING, (vocab, hidden), Shard.VOCAB)


def head(vocab: int, hidden: int) -> Tensor:
    return Tensor("lm_head.weight", TensorClass.LM_HEAD, (vocab, hidden), Shard.VOCAB)


def pair(heads: int, kv_heads: int, dim: int, source: int) -> tuple[Attention, CrossAttention]:
    """Self attention and cross attention of the same dimensions."""
    own = Attention(heads=heads, kv_heads=kv_heads, head_dim=dim, value_dim=dim)
    cross = CrossAttention(heads=heads, kv_heads=kv_heads, head_dim=dim, value_dim=dim, source_tokens=source)
    return own, cross


def norms(hidden: int, *names: str, bias: bool = False) -> tuple[Tensor, ...]:
    return tuple(tensor for name in names for tensor in norm(name, hidden, bias=bias))
