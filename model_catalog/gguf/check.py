"""Whether a file's tensors have the shapes that the spec read from its metadata needs for KV and state."""

from collections.abc import Iterator
from math import prod

from model_catalog.gguf.facts import Facts
from model_catalog.spec import Attention, Doubt, LatentAttention, Mixer, ModelSpec, Recurrent

CONVOLUTIONS = ("ssm_conv1d", "ssm_conv1d_q", "ssm_conv1d_k", "ssm_conv1d_v", "shortconv.conv")


def mismatches(spec: ModelSpec, facts: Facts) -> tuple[Doubt, ...]:
    """A doubt for the first layer whose tensors say something else than the metadata, or whose tensors are missing."""
    layers = enumerate(spec.each_layer())
    first = next((sentence for index, layer in layers for sentence in _layer(layer.mixers, index, facts)), None)
    return () if first is None else (Doubt("tensors", first, touches_kv=True, touches_weights=False),)


def _layer(mixers: tuple[Mixer, ...], index: int, facts: Facts) -> Iterator[str]:
    for mixer in mixers:
        match mixer:
            case Attention() if not mixer.reuses_cache:
                yield from _attention(mixer, index, facts)
            case LatentAttention() if not mixer.reuses_cache:
                yield from _compared("attn_kv_a_mqa", mixer.latent_dim + mixer.rope_dim, index, facts)
            case Recurrent():
                yield from _recurrent(mixer, index, facts)
    if not mixers and (_rows("attn_k", index, facts) or _convolution(index, facts)):
        yield f"Layer {index:,} has tensors of attention or of a recurrent state that the metadata do not tell of."


def _attention(mixer: Attention, index: int, facts: Facts) -> Iterator[str]:
    keys, values = mixer.kv_heads * mixer.head_dim, mixer.kv_heads * mixer.value_dim
    if _rows("attn_qkv", index, facts):
        yield from _compared("attn_qkv", mixer.heads * mixer.head_dim + keys + values, index, facts)
        return
    yield from _compared("attn_k", keys, index, facts)
    if _rows("attn_v", index, facts):  # Gemma 4's full layers make values of their keys
        yield from _compared("attn_v", values, index, facts)


def _recurrent(mixer: Recurrent, index: int, facts: Facts) -> Iterator[str]:
    elements, needed = _convolution(index, facts), mixer.conv_channels * mixer.conv_kernel
    if elements != needed:
        yield f"The convolution of layer {index:,} has {elements:,} weights where the metadata amount to {needed:,}."


def _convolution(index: int, facts: Facts) -> int:
    shapes = (facts.tensors.get(f"blk.{index}.{name}.weight") for name in CONVOLUTIONS)
    return sum(prod(tensor.shape) for tensor in shapes if tensor)


def _rows(name: str, index: int, facts: Facts) -> int:
    tensor = facts.tensors.get(f"blk.{index}.{name}.weight")
    return prod(tensor.shape[:-1]) if tensor else 0


def _compared(name: str, needed: int, index: int, facts: Facts) -> Iterator[str]:
    rows = _rows(name, index, facts)
    if rows != needed:
        yield f"blk.{index}.{name}.weight has {rows:,} rows where the metadata amount to {needed:,}."
