"""LayerCache: what vLLM's planner knows of one layer's cache (its KVCacheSpec), and the sizes derived from it."""

from dataclasses import dataclass, field, replace
from typing import Literal

from sizing.arrays import Tokens, at_most, not_negative

Kind = Literal["full", "sliding", "chunked", "cross", "state"]


@dataclass(frozen=True, slots=True)
class LayerCache:
    """Blocks of `block_size` tokens (of `page` bytes) that one layer keeps (v1/kv_cache_interface.py).

    `bound`: the window of a sliding or the chunk of a chunked layer, the source tokens of cross attention, the
    number of blocks that a sequence's state takes. `shape` tells layers apart that have equal pages. `latent` pages
    cannot be padded. `sharded`: decode context parallel divides its tokens. `filled`: bytes of the page that hold
    something, where it has been padded.
    """

    kind: Kind
    block_size: int
    page: int
    shape: tuple[int | str, ...] = ()
    bound: int = 0
    latent: bool = False
    sharded: bool = True
    filled: int | None = field(default=None, compare=False)

    @property
    def row(self) -> int:
        """Bytes of one token."""
        return self.page // self.block_size

    @property
    def content(self) -> int:
        """Bytes of a page that hold something."""
        return self.page if self.filled is None else self.filled


Member = tuple[int, LayerCache]  # the number of the decoder layer, and its cache


def same_type(one: LayerCache, other: LayerCache) -> bool:
    """Whether two layers always hold the same number of tokens, so that one group can hold both."""
    return (one.kind, one.block_size, one.bound) == (other.kind, other.block_size, other.bound)


def as_full(layer: LayerCache) -> LayerCache:
    """The layer as it is allocated without the hybrid manager: every token is kept."""
    return replace(layer, kind="full", bound=0) if layer.kind in ("sliding", "chunked") else layer


def divided_up(tokens: Tokens, by: int) -> Tokens:
    return -(-tokens // by)


def admitted_blocks(layer: LayerCache, tokens: Tokens, in_flight: int, dcp: int) -> Tokens:
    """Blocks set aside for a sequence of `tokens` tokens when it is admitted (v1/kv_cache_interface.py).

    `in_flight` tokens may be scheduled ahead of what has been computed, so windows and chunks hold as many more.
    """
    size = layer.block_size
    match layer.kind:
        case "full":
            return divided_up(divided_up(tokens, dcp) if layer.sharded else tokens, size)
        case "sliding":
            return divided_up(at_most(tokens, layer.bound - 1 + in_flight), size) + 1
        case "chunked":
            return divided_up(at_most(tokens, layer.bound + in_flight), size)
        case "cross":
            return tokens * 0 + divided_up(layer.bound, size)
        case "state":
            return tokens * 0 + layer.bound


def held_blocks(layer: LayerCache, tokens: Tokens, dcp: int, source_tokens: int) -> Tokens:
    """The most blocks in use at once while a running sequence grows to `tokens` tokens, one token a step.

    A window that does not begin on a block's border lies in one block more than it fills: 65 of 16 for 1,024 tokens.
    """
    size, everything = layer.block_size, divided_up(tokens, layer.block_size)
    match layer.kind:
        case "sliding":
            return at_most(everything, -(-(layer.bound - 1) // size) + 1)
        case "chunked":
            return at_most(everything, -(-layer.bound // size) + (layer.bound % size > 0))
        case _:
            return live_blocks(layer, tokens, dcp, source_tokens)


def live_blocks(layer: LayerCache, tokens: Tokens, dcp: int, source_tokens: int) -> Tokens:
    """Blocks in use once `tokens` tokens are computed: those behind a window or chunk have been freed."""
    size = layer.block_size
    match layer.kind:
        case "full":
            return divided_up(divided_up(tokens, dcp) if layer.sharded else tokens, size)
        case "sliding":
            return divided_up(tokens, size) - not_negative(tokens - layer.bound + 1) // size
        case "chunked":
            return divided_up(tokens, size) - layer.bound * (tokens // layer.bound) // size
        case "cross":
            return tokens * 0 + divided_up(source_tokens, size)
        case "state":
            return tokens * 0 + layer.bound
