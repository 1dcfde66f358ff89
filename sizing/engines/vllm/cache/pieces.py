"""What is in a rank's blocks: the content of each kind of layer, and what comes on top of it."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

from sizing.cache import CacheCost, Growth
from sizing.engines.vllm.cache.groups import Group
from sizing.engines.vllm.cache.layers import LayerCache, Member


@dataclass(frozen=True, slots=True)
class Piece:
    """The groups that take blocks like `layer`. `pages`: bytes of one block of each of them on a rank, `filled`: what
    their layers put there."""

    layer: LayerCache
    groups: int
    pages: int
    filled: int

    def content(self, dcp: int, source_tokens: int) -> CacheCost:
        """What a sequence puts there, by tokens and not by blocks."""
        layer = self.layer
        common = gcd(self.filled, layer.block_size)
        size, every = self.filled // common, layer.block_size // common
        match layer.kind:
            case "state":
                return CacheCost(state=self.filled)
            case "cross":
                return CacheCost(fixed_kv=size * source_tokens // every)
            case "full":
                ranks = dcp if layer.sharded else 1
                return CacheCost((Growth(size, every=every * ranks, ahead=every * (ranks - 1)),))
            case _:
                return CacheCost((Growth(size, layer.bound, every),))


def pieces_of(groups: tuple[Group, ...], first: int, after: int) -> tuple[Piece, ...]:
    """Of the rank that holds layers `first` to `after` − 1."""
    members: defaultdict[LayerCache, list[Member]] = defaultdict(list)
    for group in groups:
        members[group.first] += [member for member in group.members if first <= member[0] < after]
    counts = Counter(group.first for group in groups)
    return tuple(
        Piece(layer, count, sum(m.page for _, m in members[layer]), sum(m.content for _, m in members[layer]))
        for layer, count in counts.items()
    )


def excess_of(piece: Piece, block_bytes: int, blocks: int, batch: int, bare: int) -> Mapping[str, int]:
    """What `blocks` blocks of each group have beyond the `bare` bytes of the content, rounding of full layers aside."""
    kind = piece.layer.kind
    named = {
        "padding layers": (block_bytes * piece.groups - piece.pages) * blocks,
        "state padding" if kind == "state" else "page padding": (piece.pages - piece.filled) * blocks,
    }
    if kind == "state":
        named["state copies"] = piece.filled * (blocks - batch)
    elif kind != "full":
        named["encoder slack" if kind == "cross" else "window slack"] = piece.filled * blocks - bare
    return named
