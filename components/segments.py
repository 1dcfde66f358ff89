"""The terms of one GPU's memory as segments: what the bar, its legend and its alternative text are drawn from."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, groupby
from typing import Literal

from components import inks
from sizing.differences import differences
from sizing.engines.plan import EnginePlan, RankPlan
from sizing.logical import logical_cost_as_kept
from sizing.report import Grade
from sizing.room import fullest_load, replica_batches, tightest_rank

Texture = Literal["solid", "draft", "encoder", "copies", "aside", "unused", "short"]

NO_ROOM = "KV without room"  # the cache where weights and the like leave nothing: the card is short by more than it


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
    """One GPU, or one of each stage that `name` tells.

    Without a known memory there is neither budget nor card, and nothing is unused or short.
    """

    segments: tuple[Segment, ...]
    budget: int | None
    card: int | None
    other: int = 0
    name: str = ""

    @property
    def extent(self) -> int:
        return max(self.card or 0, sum(segment.size for segment in self.segments), 1)


def bar_of(planned: EnginePlan) -> Bar:
    """The GPU with the least room."""
    return _bar(tightest_rank(planned), planned)


def bars_of(planned: EnginePlan) -> list[Bar]:
    """One bar for all GPUs where they hold the same, else one for each run of equal pipeline stages.

    llama.cpp knows no stages of several GPUs.
    """
    runs = [list(run) for _, run in groupby((_bar(rank, planned) for rank in planned.ranks), key=lambda bar: bar)]
    if len(runs) == 1:
        return runs[0][:1]
    word = "GPU" if planned.scenario.engine == "llama.cpp" else "Stage"
    ends = list(accumulate(len(run) for run in runs))
    starts = [end - len(run) + 1 for end, run in zip(ends, runs, strict=True)]
    return [
        replace(run[0], name=f"{word} {first}" if first == last else f"{word}s {first} to {last}")
        for run, first, last in zip(runs, starts, ends, strict=True)
    ]


def _bar(rank: RankPlan, planned: EnginePlan) -> Bar:
    segments, start = [], 0
    for name, size, colour, texture, estimate in [*_static(rank, planned), *_cache(rank, planned)]:
        if size > 0:
            segments.append(Segment(name, start, size, colour, texture, estimate))
            start += size
    card, budget = planned.memory_of(rank)
    return Bar(tuple(segments), budget, card, planned.scenario.other_memory_bytes)


Term = tuple[str, int, str, Texture, bool]


def _static(rank: RankPlan, planned: EnginePlan) -> Iterator[Term]:
    grades = planned.grades
    yield "Weights", rank.weights - rank.tower, inks.WEIGHTS, "solid", _estimated(grades.weights)
    yield "Draft", rank.draft, inks.WEIGHTS, "draft", _estimated(grades.weights)
    yield "Encoder", rank.encoder + rank.tower, inks.WEIGHTS, "encoder", _estimated(grades.weights)
    yield "Activations", rank.activation, inks.ACTIVATIONS, "solid", _estimated(grades.activation)
    yield "CUDA graphs", rank.graphs, inks.GRAPHS, "solid", _estimated(grades.graphs)
    yield "Runtime", rank.runtime, inks.RUNTIME, "solid", _estimated(grades.runtime)


def _cache(rank: RankPlan, planned: EnginePlan) -> Iterator[Term]:
    """State, then keys and values: what fits the pool solid, what does not crossed out, what is left hatched."""
    load = fullest_load(planned)
    state, kv, estimate = int(rank.cache.state(*load)), int(rank.cache.kv(*load)), _estimated(planned.grades.kv)
    need = int(rank.cache.need(*load))
    if rank.usable is None or rank.usable >= need:
        yield "State", state, inks.STATE, "solid", estimate
        yield from _held(rank, planned, kv)
        yield "Reserved, unused", (rank.usable or need) - need, inks.KV, "unused", False
        return
    pool = max(0, min(rank.usable, rank.usable if rank.available is None else rank.available))
    fits_state = min(state, pool)
    yield "State", fits_state, inks.STATE, "solid", estimate
    yield "KV that fits", min(kv, pool - fits_state), inks.KV, "solid", estimate
    short = "Short" if rank.usable >= 0 else NO_ROOM
    yield short, need - max(0, rank.usable), inks.KV, "short", estimate


def _held(rank: RankPlan, planned: EnginePlan, kv: int) -> Iterator[Term]:
    """Keys and values once, their copies, and what is set aside beyond what the requests store."""
    load, estimate = fullest_load(planned), _estimated(planned.grades.kv)
    contents = rank.cache.contents(*load)
    stored = min(kv, int(contents.cost.batch_kv(*load, contents.prefix)))
    copies = int(stored * copied_share(planned))
    yield "KV needed", stored - copies, inks.KV, "solid", estimate
    yield "KV copies", copies, inks.KV, "copies", estimate
    yield "Set aside", kv - stored, inks.KV, "aside", estimate


def copied_share(planned: EnginePlan) -> Fraction:
    """The part of what all GPUs keep that others of them keep as well."""
    scenario = planned.scenario
    copies = sum(each.bytes for each in differences(planned, replica_batches(scenario)) if each.name == "replication")
    load = scenario.context_length or 1, scenario.batch_size, scenario.shared_prefix_tokens
    once = int(logical_cost_as_kept(planned).bytes(*load))
    return Fraction(copies, copies + once) if copies > 0 else Fraction(0)


def _estimated(grade: Grade) -> bool:
    return grade != "exact"
