"""CacheCost: what a sequence of n tokens keeps, as a fixed part and parts that grow.

Every growing part is bytes × ((min(n, limit) + ahead) // every): full attention has no limit, a window or a chunk
limits it, a compressed cache adds one entry for every so many tokens, and of ranks that share a sequence's tokens the
fullest holds the rounded-up share. All functions take a single n or a numpy array of n.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from sizing.arrays import Tokens, at_most, larger, not_negative


@dataclass(frozen=True, slots=True)
class Growth:
    """`bytes` more for every `every` tokens, `ahead` tokens early, up to `limit` tokens."""

    bytes: int
    limit: int | None = None
    every: int = 1
    ahead: int = 0

    def at(self, tokens: Tokens) -> Tokens:
        bounded = at_most(tokens, self.limit)
        return self._entries(bounded)

    def shared(self, tokens: Tokens, prefix: int) -> Tokens:
        """The part of `at` that lies in the sequence's first `prefix` tokens."""
        return self._entries(not_negative(at_most(tokens, self.limit) - not_negative(tokens - prefix)))

    def _entries(self, kept: Tokens) -> Tokens:
        return self.bytes * (kept if self.every == 1 else (kept + self.ahead) // self.every)


@dataclass(frozen=True, slots=True)
class CacheCost:
    """What one sequence keeps. `state` is recurrent state, `fixed_kv` cross-attention keys and values."""

    growths: tuple[Growth, ...] = ()
    fixed_kv: int = 0
    state: int = 0

    def kv(self, tokens: Tokens) -> Tokens:
        """Bytes of keys and values of one sequence of `tokens` tokens (array in, array out)."""
        grown: Tokens = tokens * 0
        for growth in self.growths:
            grown = grown + growth.at(tokens)
        return grown + self.fixed_kv

    def batch_kv(self, tokens: Tokens, batch: Tokens = 1, prefix: int = 0) -> Tokens:
        """Keys and values of `batch` sequences whose first `prefix` tokens are stored once; arrays broadcast."""
        each = self.kv(tokens)
        if not prefix:
            return each * batch
        once: Tokens = 0
        for growth in self.growths:
            once = once + growth.shared(tokens, prefix)
        return (each - once) * batch + once

    def bytes(self, tokens: Tokens, batch: Tokens = 1, prefix: int = 0) -> Tokens:
        """Bytes of `batch` sequences of `tokens` tokens each, recurrent state included."""
        return self.batch_kv(tokens, batch, prefix) + self.state * batch

    def peak(self, tokens: Tokens, batch: Tokens = 1, prefix: int = 0) -> Tokens:
        """The most bytes on the way to `tokens`, for what waits for an entry goes once that is made."""
        most = self.bytes(tokens, batch, prefix)
        for every in {growth.every for growth in self.growths if growth.bytes < 0}:
            just_before = not_negative((tokens + 1) // every * every - 1)
            most = larger(most, self.bytes(just_before, batch, prefix))
        return most

    @property
    def fixed(self) -> int:
        """What never depends on the length."""
        return self.fixed_kv + self.state

    def rate(self, tokens: int) -> int:
        """Bytes that the next token adds to a sequence of `tokens` tokens."""
        return int(self.kv(tokens + 1) - self.kv(tokens))

    @property
    def knees(self) -> tuple[int, ...]:
        """Lengths at which a part stops growing, ascending."""
        return tuple(sorted({growth.limit for growth in self.growths if growth.limit is not None}))


def total(costs: Iterable[CacheCost]) -> CacheCost:
    """The sum of several layers' costs, with equal growth laws merged, unlimited growth first."""
    rates: Counter[Growth] = Counter()
    fixed_kv = state = 0
    for cost in costs:
        fixed_kv, state = fixed_kv + cost.fixed_kv, state + cost.state
        for growth in cost.growths:
            rates[replace(growth, bytes=0)] += growth.bytes
    growths = [replace(law, bytes=rate) for law, rate in rates.items() if rate]
    return CacheCost(tuple(sorted(growths, key=_widest_first)), fixed_kv, state)


def _widest_first(growth: Growth) -> tuple[bool, int, int]:
    return growth.limit is not None, -(growth.limit or 0), growth.every


def times(cost: CacheCost, count: int) -> CacheCost:
    """The cost of `count` equal layers."""
    growths = tuple(replace(growth, bytes=growth.bytes * count) for growth in cost.growths)
    return CacheCost(growths, cost.fixed_kv * count, cost.state * count)


def shared_out(cost: CacheCost, ranks: int) -> CacheCost:
    """The fullest of `ranks` ranks that share out the tokens of unlimited growth (decode context parallel)."""
    growths = tuple(
        replace(growth, every=growth.every * ranks, ahead=growth.ahead + growth.every * (ranks - 1))
        if growth.limit is None
        else growth
        for growth in cost.growths
    )
    return replace(cost, growths=growths)
