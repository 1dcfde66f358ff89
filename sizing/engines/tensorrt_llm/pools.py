"""Pools of blocks: how a budget is split over them, and what sequences take.

Each window has a pool. In C++ its share is window × bytes a token of its layers over the sum of these products, so
that all hold equally many full windows (kvCacheManager.cpp calculateWindowSizeToShare); the PyTorch path gives each the
same part of the memory (resource_manager.py calculate_max_num_blocks_for_vswa).
"""

from dataclasses import dataclass
from fractions import Fraction
from math import gcd

from sizing.arrays import Tokens, at_most, larger, not_negative
from sizing.cache import CacheCost, Growth, total
from sizing.engines.plan import Contents
from sizing.engines.tensorrt_llm.layers import FULL, Lane
from sizing.integers import times

CROSS_SHARE = Fraction(1, 2)  # cross_kv_cache_fraction, which has to be given; half is what examples take


@dataclass(frozen=True, slots=True)
class Pool:
    """`block_bytes` over the pool's layers; `charge`: bytes of the whole budget for one token of this pool."""

    lane: Lane
    block_bytes: int
    charge: Fraction

    def content(self, block: int) -> CacheCost:
        """What a sequence puts there, by tokens and not by blocks."""
        common = gcd(self.block_bytes, block)
        size, every = self.block_bytes // common, block // common
        if self.lane.kind == "cross":
            return CacheCost(fixed_kv=size * self.lane.tokens // every)
        return CacheCost((Growth(size, self.lane.tokens or None, every),))

    def blocks_of(self, budget: int, block: int, *, rounds_up: bool) -> int:
        """Blocks that a budget gives."""
        tokens = max(0, budget) * self.charge.denominator // self.charge.numerator
        return -(-tokens // block) if rounds_up else tokens // block


def pools_of(
    blocks: tuple[tuple[Lane, int], ...], block: int, longest: int, *, equal: bool = False
) -> tuple[Pool, ...]:
    """`blocks`: bytes of a block by lane; `longest`: max_seq_len, the window of full layers."""
    cross = sum(size for lane, size in blocks if lane.kind == "cross")
    own = [(lane, size) for lane, size in blocks if lane.kind != "cross"]
    share = 1 - CROSS_SHARE if cross else Fraction(1)
    if equal and not cross:
        return tuple(Pool(lane, size, Fraction(size * len(own), block)) for lane, size in own)
    products = sum(_window(lane, longest) * size for lane, size in own)
    return tuple(
        Pool(lane, size, Fraction(size, block) / CROSS_SHARE)
        if lane.kind == "cross"
        else Pool(lane, size, Fraction(products, _window(lane, longest) * block) / share)
        for lane, size in blocks
    )


def _window(lane: Lane, longest: int) -> int:
    return longest if lane == FULL else lane.tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class StageCache:
    """RankCache of one rank. A sequence is admitted when all blocks that it will ever take are free, and keeps them.

    `slots` recurrent states of `slot_bytes` are set aside when the server starts. `drafted` tokens follow each
    sequence. The first `prefix` tokens are stored once, by whole blocks of layers without a window. A sequence in a
    window has a block more than its window, which it may straddle. `rounds_up`: how a budget becomes blocks.
    """

    pools: tuple[Pool, ...]
    block: int
    rounds_up: bool
    slot_bytes: int = 0
    slots: int = 0
    drafted: int = 0
    prefix: int = 0

    def kv(self, tokens: Tokens, batch: Tokens) -> Tokens:
        total: Tokens = 0 * (tokens * batch)
        for pool in self.pools:
            total = total + pool.block_bytes * self.blocks(pool, tokens, batch)
        return total

    def state(self, tokens: Tokens, batch: Tokens) -> Tokens:
        return self.slot_bytes * larger(batch, self.slots) + 0 * tokens

    def live(self, tokens: Tokens, batch: Tokens) -> Tokens:
        return self.kv(tokens, batch) + self.slot_bytes * batch

    def need(self, tokens: Tokens, batch: Tokens) -> Tokens:
        """The smallest budget whose every pool has the blocks, beside the states."""
        least: Tokens = 0 * (tokens * batch)
        for pool in self.pools:
            blocks = self.blocks(pool, tokens, batch)
            full = (blocks - 1) * self.block + 1 if self.rounds_up else blocks * self.block
            least = larger(least, times(full, pool.charge))
        return self.state(tokens, batch) + least

    def blocks(self, pool: Pool, tokens: Tokens, batch: Tokens) -> Tokens:
        """Blocks of `batch` sequences in a pool."""
        lane = pool.lane
        if lane.kind == "cross":
            return -(-lane.tokens // self.block) * batch + 0 * tokens
        own = -(-(tokens + self.drafted) // self.block)
        if lane.kind == "window":
            return at_most(own, -(-lane.tokens // self.block) + 1) * batch
        once = not_negative(at_most(tokens - 1, self.prefix)) // self.block
        return (own - once) * batch + once

    def contents(self, tokens: int, batch: int) -> Contents:
        costs = [pool.content(self.block) for pool in self.pools]
        slack = sum(
            pool.block_bytes * int(self.blocks(pool, tokens, batch)) - int(cost.bytes(tokens, batch, self.prefix))
            for pool, cost in zip(self.pools, costs, strict=True)
            if pool.lane.kind == "window"
        )
        unused = self.slot_bytes * (max(batch, self.slots) - batch)
        excess = {"window slack": slack, "unused slots": unused}
        return Contents(total([*costs, CacheCost(state=self.slot_bytes)]), self.prefix, excess)

    @property
    def fixed(self) -> int:
        """Bytes of state that the pools cannot have."""
        return self.slot_bytes * self.slots
