"""The batch × context map of a Scenario: where it fits, and the exact border of that.

A cell (tokens, batch) is the Scenario with these two set, so it fits where `python -m sizing` says so for them. An
engine plans most lengths alike; where it does not (lengths beyond the model's own limit raise max_model_len, which
older releases budget for) the map is made of several Bands.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from sizing.engines.plan import EnginePlan
from sizing.media.tokens import media_tokens
from sizing.scenario import LARGEST_BATCH, LONGEST_CONTEXT, Scenario, ScenarioError
from sizing.size import plan

Counts = NDArray[Any]  # int64; Python ints where products would not fit in 64 bits
WIDE = 2**56  # bytes; beyond it, an engine's intermediate products may not fit
EACH_BATCH = 64  # smaller batches are all asked; between larger ones steps are finer than a line is wide
SPREAD = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """All lengths `first` … `last`, which the engine plans alike."""

    first: int
    last: int
    planned: EnginePlan


def bands_of(
    scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None, lengths: Sequence[int]
) -> tuple[Band, ...]:
    """The plans of ascending `lengths`, those that the engine refuses left out.

    Raises ScenarioError or PlacementError where it refuses the Scenario for more than its length.
    """
    limit, shortest = scenario.max_model_len or spec.max_context or 0, _shortest(scenario, spec)
    plans: dict[int, EnginePlan | None] = {}

    def at(length: int) -> EnginePlan | None:
        if length not in plans:
            plans[length] = _plan_at(scenario, spec, accelerator, length)
        return plans[length]

    near = [length for length in (shortest, limit, limit + 1) if lengths[0] < length < lengths[-1]]
    asked = sorted(length for length in {*lengths, *near} if length >= shortest)
    return tuple(_bands(asked, limit, at)) if asked else ()


def _shortest(scenario: Scenario, spec: ModelSpec) -> int:
    """Tokens that each sequence has in any case: its prefix and its media, and no length is below their average."""
    media = media_tokens(scenario.media, spec).known if scenario.media else 0
    return max(scenario.shared_prefix_tokens, scenario.average_context_length or 0, media)


def _plan_at(scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None, length: int) -> EnginePlan | None:
    """None for a length that cannot be asked or that the engine rejects."""
    if length > LONGEST_CONTEXT:
        return None
    try:
        return plan(scenario.model_copy(update={"context_length": length}), spec, accelerator)
    except ScenarioError as error:
        if error.field == "context_length":
            return None
        raise


def _bands(lengths: Sequence[int], limit: int, at: Callable[[int], EnginePlan | None]) -> list[Band]:
    """Settings grow with the length where they follow it, so what is alike at both ends is alike between."""
    first, last = at(lengths[0]), at(lengths[-1])
    if first is None and len(lengths) == 1:
        return []
    if first is not None and last is not None and _alike(first, last):
        return [Band(first=lengths[0], last=lengths[-1], planned=first)]
    inside = sum(length <= limit for length in lengths)
    middle = inside if 0 < inside < len(lengths) else len(lengths) // 2
    return [*_bands(lengths[:middle], limit, at), *_bands(lengths[middle:], limit, at)]


def _alike(one: EnginePlan, other: EnginePlan) -> bool:
    """Whether two plans differ in nothing but the length that was asked, or in nothing that a cell depends on."""
    asked = {"context_length": None}
    if one.scenario.model_copy(update=asked) == other.scenario.model_copy(update=asked):
        return True
    return [(rank.usable, rank.cache) for rank in one.ranks] == [(rank.usable, rank.cache) for rank in other.ranks]


def counts(planned: EnginePlan, tokens: Sequence[int], batch: Sequence[int]) -> tuple[Counts, Counts]:
    """Lengths as a column and batches as a row, of a type in which no product overflows."""
    top = max(int(rank.cache.need(max(tokens), max(batch))) for rank in planned.ranks)
    kind: type = np.int64 if top < WIDE else object
    return np.array(tokens, dtype=kind)[:, None], np.array(batch, dtype=kind)[None, :]


def room_at(planned: EnginePlan, tokens: Counts, batch: Counts) -> tuple[Counts, Counts] | None:
    """Bytes of the pool left on the rank with the least, negative where they are short, and the size of its pool.

    `batch` sequences of `tokens` tokens (arrays that broadcast), spread over the data-parallel replicas. None where
    no memory is known.
    """
    share = -(-batch // planned.scenario.data_parallel)
    least: tuple[Counts, Counts] | None = None
    for rank in planned.ranks:
        if rank.usable is None:
            return None
        left = np.asarray(rank.usable - rank.cache.need(tokens, share) + 0 * (tokens * share))
        if least is None:
            least = left, np.full_like(left, rank.usable)
        else:
            less = left < least[0]
            least = np.where(less, left, least[0]), np.where(less, rank.usable, least[1])
    return least


def most_sequences_at(bands: Sequence[Band], tokens: Sequence[int], most: int = LARGEST_BATCH) -> Counts:
    """For each length the largest batch up to `most` that fits; 0 where none does or the engine rejects the length.

    Bisection on the engine's own need, all lengths of a band at once; exact, since the need never falls.
    """
    lengths = np.array(tokens, dtype=np.int64)
    found = np.zeros_like(lengths)
    for band in bands:
        inside = (lengths >= band.first) & (lengths <= band.last)
        if inside.any():
            found[inside] = _most_sequences(band.planned, lengths[inside], most)
    return found


def _most_sequences(planned: EnginePlan, lengths: Counts, most: int) -> Counts:
    replicas = planned.scenario.data_parallel
    none = np.zeros_like(lengths)
    shares = _greatest(partial(_holds, planned, lengths), none, -(-most // replicas))
    return np.asarray(np.minimum(shares * replicas, most))


def longest_contexts_at(band: Band, batch: Counts) -> Counts:
    """For each batch the longest length within the band that fits; `first` − 1 where not even its first does."""
    share = -(-batch // band.planned.scenario.data_parallel)
    extra = band.first - 1
    none = np.zeros_like(share)
    return extra + _greatest(lambda more: _holds(band.planned, extra + more, share), none, band.last - extra)


def _holds(planned: EnginePlan, tokens: Counts, share: Counts) -> NDArray[np.bool_]:
    """Whether every rank of a replica holds `share` sequences, element by element."""
    held = np.ones(len(tokens), dtype=np.bool_)
    for rank in planned.ranks:
        held &= np.asarray(rank.usable is not None and rank.cache.need(tokens, share) <= rank.usable)
    return held


def _greatest(fits: Callable[[Counts], NDArray[np.bool_]], start: Counts, most: int) -> Counts:
    """For each element of `start`, which fits or is 0, the greatest n up to `most` that fits.

    Doubling first, so that nothing much larger than what fits is ever asked and no product overflows.
    """
    good, tried = start, np.clip(2 * start, min(1, most), most)
    growing = np.ones(len(start), dtype=np.bool_)
    while growing.any():
        fit = fits(tried) & growing
        good = np.where(fit, tried, good)
        growing = fit & (tried < most)
        tried = np.where(growing, np.minimum(2 * tried, most), tried)
    bad = np.where(good == tried, tried + 1, tried)
    while (bad - good > 1).any():
        middle = np.maximum((good + bad) // 2, 1)
        fit = fits(middle)
        good, bad = np.where(fit, middle, good), np.where(fit, bad, middle)
    return good


def cells(bands: Sequence[Band], tokens: Sequence[int], batch: Sequence[int]) -> NDArray[np.bool_]:
    """Which cells fit: a row for each length, a column for each batch."""
    limit = most_sequences_at(bands, tokens, max(batch))
    return np.asarray(np.array(batch)[None, :] <= limit[:, None])


@dataclass(frozen=True, slots=True)
class Frontier:
    """The corners of the feasible side, batches ascending and lengths falling. A corner fits; one sequence more of
    its length does not, nor does one token more for its batch unless the corner is at the end of a Band."""

    tokens: tuple[int, ...]
    batch: tuple[int, ...]


def frontier(bands: Sequence[Band], top_batch: int) -> Frontier:
    """Every corner up to EACH_BATCH sequences a replica, then those nearest to batches spread evenly on a log scale."""
    spread = np.geomspace(EACH_BATCH, max(top_batch, EACH_BATCH), SPREAD).astype(np.int64)
    asked = np.union1d(np.arange(1, EACH_BATCH + 1), spread)
    found = {most: length for band in bands for length, most in _corners(band, asked)}
    batches = sorted(found)
    return Frontier(tuple(found[batch] for batch in batches), tuple(batches))


def _corners(band: Band, shares: Counts) -> Iterator[tuple[int, int]]:
    """The longest lengths of these batches of a replica and of the most that fit, each with the most of its length."""
    planned, replicas = band.planned, band.planned.scenario.data_parallel
    (most,) = most_sequences_at([band], [band.first]).tolist()
    if not most:
        return
    asked = np.union1d(shares[shares * replicas <= most], [most // replicas])
    lengths, places = np.unique(longest_contexts_at(band, asked * replicas), return_index=True)
    fits = partial(_holds, planned, lengths)
    largest = _greatest(fits, asked[places], LARGEST_BATCH // replicas) * replicas
    yield from zip(lengths.tolist(), largest.tolist(), strict=True)
