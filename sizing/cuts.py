"""Cuts through the map: the terms of one GPU along a line of lengths or batches, and where KV overtakes the weights."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sizing.arrays import Tokens
from sizing.capacity import longest_context, most_sequences
from sizing.engines.plan import EnginePlan, RankPlan
from sizing.map import Counts, room_at
from sizing.room import is_tight, replica_batches
from sizing.scenario import LARGEST_BATCH, LONGEST_CONTEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Each term at its largest over the ranks, as in a Report's per_gpu, for arrays of cells.

    `free` is what is left of the `pool` on the rank with the least, negative where it is short; both are None without
    known memory. `error` is how far it may be off. `weights` include a draft and encoders.
    """

    weights: int
    kv: Counts
    state: Counts
    free: Counts | None
    pool: Counts | None
    error: int

    @property
    def verdicts(self) -> NDArray[np.str_] | None:
        """As a Report's verdict.state."""
        if self.free is None or self.pool is None:
            return None
        tight = is_tight(self.free, self.pool, self.error)
        return np.where(self.free < 0, "short", np.where(tight, "tight", "fits"))


def cells_at(planned: EnginePlan, tokens: Counts, batch: Counts) -> Cells:
    """`batch` sequences of `tokens` tokens over all replicas; the arrays broadcast. Bytes."""
    share = -(-batch // planned.scenario.data_parallel)
    shape = np.broadcast_shapes(tokens.shape, batch.shape)

    def largest(take: Callable[[RankPlan], Tokens]) -> Counts:
        every = np.maximum.reduce([np.asarray(take(rank) + 0 * share) for rank in planned.ranks])
        return np.asarray(np.broadcast_to(every, shape))

    free, pool = room_at(planned, tokens, batch) or (None, None)
    return Cells(
        weights=max(held_weights(rank) for rank in planned.ranks),
        kv=largest(lambda rank: rank.cache.kv(tokens, share)),
        state=largest(lambda rank: rank.cache.state(tokens, share)),
        free=free,
        pool=pool,
        error=planned.error_bytes,
    )


def held_weights(rank: RankPlan) -> int:
    return rank.weights + rank.draft + rank.encoder


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Terms of one rank in bytes, each an array along the cut. `split` is what the engine needs beyond what is kept:
    pools of a fixed share make it reserve more."""

    weights: Counts
    activation: Counts
    graphs: Counts
    runtime: Counts
    state: Counts
    kv: Counts
    split: Counts

    @property
    def total(self) -> Counts:
        return self.weights + self.activation + self.graphs + self.runtime + self.state + self.kv + self.split


def cut_of(planned: EnginePlan, rank: RankPlan, tokens: Counts, batch: Counts) -> Cut:
    """Along arrays of lengths and batches of equal size (or one of them a single value)."""
    share = -(-batch // planned.scenario.data_parallel)
    nothing = 0 * (tokens + share)
    kv, state = rank.cache.kv(tokens, share) + nothing, rank.cache.state(tokens, share) + nothing
    rest = rank.cache.need(tokens, share) - kv - state
    grows = _activation_grows(planned, rank)
    return Cut(
        weights=held_weights(rank) + nothing,
        activation=rest if grows else rank.activation + nothing,
        graphs=rank.graphs + nothing,
        runtime=rank.runtime + nothing,
        state=state,
        kv=kv,
        split=nothing if grows else rest,
    )


def _activation_grows(planned: EnginePlan, rank: RankPlan) -> bool:
    """Whether the engine's need holds the activation, because it grows with the load (llama.cpp's compute buffer)."""
    tokens, share = planned.scenario.context_length or 1, replica_batches(planned.scenario)[0]
    kept = rank.cache.kv(tokens, share) + rank.cache.state(tokens, share)
    return 0 < rank.activation == int(rank.cache.need(tokens, share)) - int(kept)


def overtaking_length(planned: EnginePlan, rank: RankPlan) -> int | None:
    """The shortest length at which the scenario's batch keeps as many bytes of KV as there are weights."""
    share = replica_batches(planned.scenario)[0]
    weights = held_weights(rank)
    below = longest_context(lambda tokens: weights - 1 - int(rank.cache.kv(tokens, share)))
    return None if below == LONGEST_CONTEXT else below + 1


def overtaking_batch(planned: EnginePlan, rank: RankPlan) -> int | None:
    """The smallest batch of the scenario's length that keeps as many bytes of KV as there are weights."""
    tokens, replicas = planned.scenario.context_length or 1, planned.scenario.data_parallel
    weights = held_weights(rank)
    below = most_sequences(lambda share: weights - 1 - int(rank.cache.kv(tokens, share)), replicas)
    return None if below is None or below >= LARGEST_BATCH else below + 1
