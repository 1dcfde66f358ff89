"""What TensorRT-LLM prints at start-up about its cache, in the words of the C++ runtime and of the PyTorch path.

Sources: kvCacheManager.cpp and _torch/pyexecutor/_util.py; receipts t001, t004 to t006. GiB are 2^30 bytes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from sizing.engines.plan import Printed
from sizing.engines.tensorrt_llm.layers import FULL, Lane
from sizing.engines.tensorrt_llm.pools import StageCache
from sizing.engines.tensorrt_llm.rules import Rules
from sizing.units import GIB

Counts = dict[Lane, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """One rank's pools as they are printed. `counts`: blocks of each pool.

    `total`, `peak`: of the GPU and what loading took, `free` what both leave; None where no memory is known.
    `available`: what the cache may have of it.
    """

    cache: StageCache
    counts: Counts
    total: int | None
    peak: int
    free: int | None
    available: int
    fraction: float
    longest: int

    @property
    def blocks(self) -> int:
        """Of the pools of a sequence's own tokens."""
        return sum(count for lane, count in self.counts.items() if lane.kind != "cross")

    @property
    def tokens(self) -> int:
        return self.blocks * self.cache.block

    @property
    def rate(self) -> int:
        """Bytes of a token in all layers."""
        return sum(pool.block_bytes for pool in self.cache.pools if pool.lane.kind != "cross") // self.cache.block

    @property
    def bytes(self) -> int:
        return sum(self.counts[pool.lane] * pool.block_bytes for pool in self.cache.pools)


def counts_of(caches: list[StageCache], budgets: list[int]) -> Counts:
    """Blocks of each pool: the fewest of any rank, which all agree on."""
    counts: Counts = {}
    for cache, budget in zip(caches, budgets, strict=True):
        for pool in cache.pools:
            blocks = pool.blocks_of(budget - cache.fixed, cache.block, rounds_up=cache.rounds_up)
            counts[pool.lane] = min(blocks, counts.get(pool.lane, blocks))
    return counts


def printed_of(started: Started) -> Printed:
    """max_concurrency, which is not printed: sequences of max_seq_len that all pools hold."""
    cache = started.cache
    held = [Fraction(started.counts[pool.lane], int(cache.blocks(pool, started.longest, 1))) for pool in cache.pools]
    return Printed(kv_tokens=started.tokens, num_blocks=started.blocks, max_concurrency=float(min(held)))


def lines_of(started: Started, rules: Rules) -> Iterator[str]:
    yield from _profile_lines(started, rules.per_token) if rules.profiles else _memory_lines(started)
    pools = started.cache.pools
    if len(pools) > 1:
        yield "Blocks per window size:"
        for pool in pools:
            window = started.longest if pool.lane == FULL else pool.lane.tokens
            yield f"[windowSize={window}] {{.primaryBlocks={started.counts[pool.lane]}, .secondayBlocks=0}}"
    elif not rules.profiles:
        yield f"Number of blocks in KV cache primary pool: {started.blocks}"
    yield f"Number of tokens per block: {started.cache.block}."
    size = f"{started.bytes / GIB:.2f}"
    yield f"[MemUsageChange] Allocated {size} GiB for max tokens in paged KV cache ({started.tokens})."


def _memory_lines(started: Started) -> Iterator[str]:
    if started.total is not None and started.free is not None:
        yield (
            f"Memory usage when calculating max tokens in paged kv cache: total: {started.total / GIB:.2f} GiB, "
            f"available: {started.free / GIB:.2f} GiB"
        )


def _profile_lines(started: Started, per_token: bool) -> Iterator[str]:
    if started.total is not None:
        yield (
            f"Peak memory during memory usage profiling (torch + non-torch): {started.peak / GIB:.2f} GiB, "
            f"available KV cache memory when calculating max tokens: {started.available / GIB:.2f} GiB, "
            f"fraction is set {started.fraction}, kv size {'per token ' if per_token else ''}is {started.rate}. "
            f"device total memory {started.total / GIB:.2f} GiB"
        )
