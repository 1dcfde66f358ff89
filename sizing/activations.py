"""Activations of one forward pass, by the shapes of the widest layer (ENGINE_MEMORY section 11)."""

from model_catalog.spec import Attention, CompressedAttention, FeedForward, LatentAttention, Layer, Mixer, ModelSpec

HALF = 2


def widest_layer(spec: ModelSpec, tokens: int, ranks: int) -> int:
    """Bytes on one of `ranks` ranks for a pass of `tokens` tokens in 16 bits."""
    return max((layer_bytes(run.layer, spec, tokens, ranks) for run in spec.layers), default=0)


def layer_bytes(layer: Layer, spec: ModelSpec, tokens: int, ranks: int) -> int:
    """Of `tokens` tokens: two hidden states and the widest of what stands beside them."""
    wide = max((_attention(mixer) // ranks for mixer in layer.mixers), default=0)
    dense, routed = _feed_forward(layer.feed_forward, spec.hidden_size, ranks)
    return HALF * tokens * (2 * spec.hidden_size + max(wide, dense, routed))


def _attention(mixer: Mixer) -> int:
    """Queries, keys, values and output of one token."""
    match mixer:
        case Attention():
            return (mixer.heads + mixer.kv_heads) * (mixer.head_dim + mixer.value_dim)
        case LatentAttention():
            return mixer.heads * (mixer.nope_dim + mixer.rope_dim + mixer.value_dim)
        case CompressedAttention():
            return 2 * mixer.heads * mixer.head_dim
        case _:
            return 0


def _feed_forward(part: FeedForward | None, hidden: int, ranks: int) -> tuple[int, int]:
    """Gate, up and their product of a dense part; the two workspaces of the Triton experts."""
    if part is None:
        return 0, 0
    if not part.experts:
        return 3 * part.intermediate // ranks, 0
    gate_up = 2 * part.intermediate // ranks
    return 0, part.top_k * (hidden + max(gate_up, hidden))
