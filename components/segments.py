"""The terms of one GPU's memory as segments: what the bar, its legend and its alternative text are drawn from."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from components import inks
from sizing.engines.plan import EnginePlan, RankPlan
from sizing.report import Grade
from sizing.room import fullest_load, room, tightest_rank

Texture = Literal["solid", "unused", "short"]


@dataclass(frozen=True)
class Segment:
    """`start` and `size` in bytes from the left end of the bar. An estimate carries ≈ in the legend."""

    name: str
    start: int
    size: int
    colour: str
    texture: Texture = "solid"
    estimate: bool = False


@dataclass(frozen=True)
class Bar:
    """One GPU. Without a known memory there is neither budget nor card, and nothing is unused or short."""

    segments: tuple[Segment, ...]
    budget: int | None
    card: int | None
    other: int = 0

    @property
    def extent(self) -> int:
        return max(self.card or 0, sum(segment.size for segment in self.segments), 1)


def bar_of(planned: EnginePlan) -> Bar:
    """The GPU with the least room."""
    rank = tightest_rank(planned)
    segments, start = [], 0
    for name, size, colour, texture, estimate in [*_static(rank, planned), *_cache(rank, planned)]:
        if size > 0:
            segments.append(Segment(name, start, size, colour, texture, estimate))
            start += size
    return Bar(tuple(segments), planned.budget, planned.total_memory, planned.scenario.other_memory_bytes)


Term = tuple[str, int, str, Texture, bool]


def _static(rank: RankPlan, planned: EnginePlan) -> Iterator[Term]:
    grades = planned.grades
    yield "Weights", rank.weights, inks.WEIGHTS, "solid", _estimated(grades.weights)
    yield "Draft", rank.draft, inks.WEIGHTS, "solid", _estimated(grades.weights)
    yield "Encoder", rank.encoder, inks.WEIGHTS, "solid", _estimated(grades.weights)
    yield "Activations", rank.activation, inks.ACTIVATIONS, "solid", _estimated(grades.activation)
    yield "CUDA graphs", rank.graphs, inks.GRAPHS, "solid", _estimated(grades.graphs)
    yield "Runtime", rank.runtime, inks.RUNTIME, "solid", _estimated(grades.runtime)


def _cache(rank: RankPlan, planned: EnginePlan) -> Iterator[Term]:
    """State, then keys and values: what fits the pool solid, what does not crossed out, what is left hatched."""
    load = fullest_load(planned)
    state, kv = int(rank.cache.state(*load)), int(rank.cache.kv(*load))
    left, estimate = room(planned), _estimated(planned.grades.kv)
    if left is None or rank.usable is None:
        fits_state, fits_kv, short, unused = state, kv, 0, 0
    elif left >= 0:
        fits_state, fits_kv, short, unused = state, kv, 0, left
    else:
        pool = max(0, rank.usable)
        fits_state = min(state, pool)
        fits_kv = min(kv, pool - fits_state)
        short, unused = state + kv - fits_state - fits_kv, 0
    yield "State", fits_state, inks.STATE, "solid", estimate
    yield ("KV that fits" if short else "KV needed"), fits_kv, inks.KV, "solid", estimate
    yield "Short", short, inks.KV, "short", estimate
    yield "Reserved, unused", unused, inks.KV, "unused", False


def _estimated(grade: Grade) -> bool:
    return grade != "exact"
