"""Activations of one forward pass, by the shapes of the widest layer."""

from dataclasses import dataclass

from model_catalog.spec import (
    Attention,
    CompressedAttention,
    FeedForward,
    LatentAttention,
    Layer,
    Mixer,
    ModelSpec,
    Recurrent,
)
from model_catalog.tensors import Shard

HALF = 2


@dataclass(frozen=True, slots=True)
class ExpertWidths:
    """Numbers of one token in each of the `top_k` experts that it goes through, on one rank.

    `hidden`: what goes in and comes out. `first`: what the first projections give. `product`: what the last one takes.
    """

    top_k: int
    hidden: int
    first: int
    product: int


def widest_layer(spec: ModelSpec, tokens: int, ranks: int) -> int:
    """Bytes on one of `ranks` ranks for a pass of `tokens` tokens in 16 bits."""
    return max((layer_bytes(run.layer, spec, tokens, ranks) for run in spec.layers), default=0)


def layer_bytes(layer: Layer, spec: ModelSpec, tokens: int, ranks: int) -> int:
    """Of `tokens` tokens: two hidden states and the widest of what stands beside them."""
    wide = max((mixer_width(mixer) // ranks for mixer in layer.mixers), default=0)
    dense, routed = _feed_forward(layer.feed_forward, spec.hidden_size, ranks)
    return HALF * tokens * (2 * spec.hidden_size + max(wide, dense, routed))


def mixer_width(mixer: Mixer) -> int:
    """Numbers of one token on all ranks: queries, keys, values and output; inputs and outputs of a convolution."""
    match mixer:
        case Attention():
            return (mixer.heads + mixer.kv_heads) * (mixer.head_dim + mixer.value_dim)
        case LatentAttention():
            return mixer.heads * (mixer.nope_dim + mixer.rope_dim + mixer.value_dim)
        case CompressedAttention():
            return 2 * mixer.heads * mixer.head_dim
        case Recurrent():
            return 2 * mixer.conv_channels
        case _:
            return 0


def dense_width(part: FeedForward) -> int:
    """Gate, up and their product, of a dense part or of the shared experts, on all ranks."""
    return 3 * (part.shared_intermediate if part.experts else part.intermediate)


def expert_widths(layer: Layer, hidden: int, ranks: int) -> ExpertWidths | None:
    """By the shapes of the experts' tensors where they are known: some have no gate or a narrower hidden state."""
    part = layer.feed_forward
    if part is None or not part.experts:
        return None
    product = part.intermediate // ranks
    firsts = [t.shape for t in layer.tensors if t.shard is Shard.EXPERT and t.shape[1:] and "down_proj" not in t.name]
    if not firsts:
        return ExpertWidths(part.top_k, hidden, 2 * product, product)
    return ExpertWidths(part.top_k, firsts[0][-1], sum(shape[0] for shape in firsts) // ranks, product)


def _feed_forward(part: FeedForward | None, hidden: int, ranks: int) -> tuple[int, int]:
    """Gate, up and their product of a dense part; the two workspaces of the Triton experts."""
    if part is None:
        return 0, 0
    if not part.experts:
        return dense_width(part) // ranks, 0
    gate_up = 2 * part.intermediate // ranks
    return 0, part.top_k * (hidden + max(gate_up, hidden))
