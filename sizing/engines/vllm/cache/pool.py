"""The pool of blocks that all groups of a rank draw from, and what sequences take of it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from sizing.arrays import Tokens, at_most, not_negative
from sizing.cache import total
from sizing.engines.plan import Contents
from sizing.engines.vllm.cache.groups import Group
from sizing.engines.vllm.cache.layers import LayerCache, admitted_blocks, held_blocks, live_blocks
from sizing.engines.vllm.cache.pieces import Piece, excess_of


@dataclass(frozen=True, slots=True)
class Load:
    """How sequences use blocks. `in_flight` tokens at most are scheduled ahead (v1/kv_cache_interface.py).

    `dcp`: ranks that share a sequence's tokens. `source_tokens`: of an encoder. `settled_states`: state blocks in use
    between two borders. `prefix`: tokens that all sequences share, stored once. `ahead`: drafted tokens that have
    slots beyond a sequence's own, up to `longest` (kv_cache_manager.py allocate_slots).
    """

    in_flight: int
    dcp: int = 1
    source_tokens: int = 0
    settled_states: int = 1
    prefix: int = 0
    ahead: int = 0
    longest: int = 1

    def reach(self, tokens: Tokens) -> Tokens:
        """Tokens that have slots while a sequence grows to `tokens` tokens."""
        return tokens + not_negative(at_most(self.longest - tokens, self.ahead)) if self.ahead else tokens


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks that sequences take, over all groups. `layers` are those that hold tokens, with how many groups each.

    `states`: blocks of recurrent state a sequence has set aside, `live_states`: those that it settles to.
    """

    layers: tuple[tuple[LayerCache, int], ...]
    states: int
    live_states: int
    load: Load

    def admitted(self, tokens: Tokens) -> Tokens:
        """Of one sequence when it is admitted, states aside."""
        tokens = self.load.reach(tokens)
        in_flight, dcp, total = self.load.in_flight, self.load.dcp, tokens * 0
        for layer, groups in self.layers:
            total = total + groups * admitted_blocks(layer, tokens, in_flight, dcp)
        return total

    def held(self, tokens: Tokens) -> Tokens:
        """Of one running sequence that grows to `tokens` tokens, at its widest, states aside."""
        return self._in_use(self.load.reach(tokens), held_blocks)

    def live(self, tokens: Tokens) -> Tokens:
        """Of one sequence of which `tokens` tokens are computed, states aside."""
        return self._in_use(tokens, live_blocks)

    def _in_use(self, tokens: Tokens, blocks: Callable[[LayerCache, Tokens, int, int], Tokens]) -> Tokens:
        load, total = self.load, tokens * 0
        for layer, groups in self.layers:
            total = total + groups * blocks(layer, tokens, load.dcp, load.source_tokens)
        return total

    def shared(self, tokens: Tokens) -> Tokens:
        """Whole blocks of the shared prefix, which full attention stores once; a sequence's last token is its own."""
        total: Tokens = 0
        if self.load.prefix:
            for layer, groups in self.layers:
                if layer.kind == "full":
                    span = layer.block_size * (self.load.dcp if layer.sharded else 1)
                    total = total + groups * (at_most(tokens - 1, self.load.prefix) // span)
        return total

    def taken(self, layer: LayerCache, tokens: int, batch: int) -> int:
        """Of a batch, in one group of layers like `layer`."""
        one = Blocks(((layer, 1),), 0, 0, self.load)
        if layer.kind == "state":
            settled = min(self.load.settled_states, layer.bound)
            return settled * batch + layer.bound - settled
        held, once = int(one.held(tokens)), int(one.shared(tokens))
        return (held - once) * batch + once + int(one.admitted(tokens)) - held

    def per_request(self, tokens: int) -> int:
        """What vLLM counts for one sequence of `tokens` tokens, states included."""
        return int(self.admitted(tokens)) + self.states


def blocks_of(groups: tuple[Group, ...], load: Load) -> Blocks:
    firsts = Counter(group.first for group in groups)
    states = {layer: count for layer, count in firsts.items() if layer.kind == "state"}
    return Blocks(
        layers=tuple((layer, count) for layer, count in firsts.items() if layer.kind != "state"),
        states=sum(count * layer.bound for layer, count in states.items()),
        live_states=sum(count * min(load.settled_states, layer.bound) for layer, count in states.items()),
        load=load,
    )


@dataclass(frozen=True, slots=True)
class PoolCache:
    """A rank's cache: sequences take whole blocks of `block_bytes` from one pool (RankCache).

    vLLM admits one sequence at a time: what the running ones hold and the most that the new one may come to hold must
    fit (v1/core/sched/scheduler.py, kv_cache_manager.py allocate_slots). So of a batch one sequence counts with what
    it is admitted for, the others with what they hold.
    """

    blocks: Blocks
    block_bytes: int
    pieces: tuple[Piece, ...] = ()

    def kv(self, tokens: Tokens, batch: Tokens) -> Tokens:
        newest = self.blocks.admitted(tokens) - self.blocks.held(tokens)
        return self.block_bytes * (self._batch(self.blocks.held(tokens), tokens, batch) + newest)

    def state(self, tokens: Tokens, batch: Tokens) -> Tokens:
        newest = self.blocks.states - self.blocks.live_states
        return self.block_bytes * (self.blocks.live_states * batch + newest)

    def live(self, tokens: Tokens, batch: Tokens) -> Tokens:
        return self.block_bytes * (
            self._batch(self.blocks.live(tokens), tokens, batch) + self.blocks.live_states * batch
        )

    def need(self, tokens: Tokens, batch: Tokens) -> Tokens:
        return self.kv(tokens, batch) + self.state(tokens, batch)

    def contents(self, tokens: int, batch: int) -> Contents:
        load = self.blocks.load
        costs = [piece.content(load.dcp, load.source_tokens) for piece in self.pieces]
        excess: Counter[str] = Counter()
        for piece, cost in zip(self.pieces, costs, strict=True):
            blocks = self.blocks.taken(piece.layer, tokens, batch)
            bare = int(cost.bytes(tokens, batch, load.prefix))
            excess.update(excess_of(piece, self.block_bytes, blocks, batch, bare))
        return Contents(total(costs), load.prefix, excess)

    def _batch(self, each: Tokens, tokens: Tokens, batch: Tokens) -> Tokens:
        once = self.blocks.shared(tokens)
        return (each - once) * batch + once


def block_bytes(groups: tuple[Group, ...], first: int, after: int) -> int:
    """Bytes of a block on the rank that holds layers `first` to `after` − 1: its share of the widest group."""
    return max(
        (sum(layer.page for number, layer in group.members if first <= number < after) for group in groups), default=0
    )
