"""What an engine makes of one Scenario: its ranks, their cache and pool, and what it prints."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from sizing.arrays import Tokens
from sizing.cache import CacheCost
from sizing.report import Grades, Host, Log
from sizing.scenario import KvFormats, Scenario


@dataclass(frozen=True, slots=True)
class Contents:
    """What a rank's cache is made of. `cost`: what a sequence really puts there, nothing rounded or set aside.

    `prefix`: tokens at the start of all sequences that are stored once. `excess`: named bytes of a load beyond its
    cost; what is left of what is set aside is rounding to whole pages.
    """

    cost: CacheCost
    prefix: int = 0
    excess: Mapping[str, int] = field(default_factory=dict)


class RankCache(Protocol):
    """What sequences take on one rank by the engine's own rule. `tokens` and `batch` are numbers or arrays.

    `kv` and `state` are what the engine has set aside once it has admitted the batch: all of it, or, where it admits
    one sequence at a time, what the others hold and the most the newest may take. `live` is what the batch then uses,
    and `need` the smallest pool that admits it, which is more where pools are split by a fixed share or rounded.
    """

    def kv(self, tokens: Tokens, batch: Tokens) -> Tokens: ...

    def state(self, tokens: Tokens, batch: Tokens) -> Tokens: ...

    def live(self, tokens: Tokens, batch: Tokens) -> Tokens: ...

    def need(self, tokens: Tokens, batch: Tokens) -> Tokens: ...

    def contents(self, tokens: int, batch: int) -> Contents: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RankPlan:
    """One GPU of a pipeline stage. `available` is what is left for the cache, `usable` the part that sequences get.

    Both are None where no memory is known, and negative where the rest alone exceeds the budget. `memory`: the GPU's
    own size and budget, where they are not those of the plan. `encoder`: of one in a file of its own; `tower`: the part
    of `weights` that encoders in the checkpoint take.
    """

    weights: int
    cache: RankCache
    draft: int = 0
    encoder: int = 0
    tower: int = 0
    activation: int = 0
    graphs: int = 0
    runtime: int = 0
    available: int | None = None
    usable: int | None = None
    memory: tuple[int, int] | None = None


Pools = tuple[tuple[RankCache, int], ...]


def pools_of(ranks: tuple[RankPlan, ...]) -> Pools:
    """The different caches of the ranks, each with the least that is usable for one like it.

    Empty where the memory of a rank is not known.
    """
    found: list[tuple[RankCache, int]] = []
    for rank in ranks:
        if rank.usable is None:
            return ()
        alike = next((number for number, (cache, _) in enumerate(found) if cache == rank.cache), None)
        if alike is None:
            found.append((rank.cache, rank.usable))
        else:
            found[alike] = rank.cache, min(rank.usable, found[alike][1])
    return tuple(found)


def room_in(pools: Pools, tokens: int, replica_batch: int) -> int:
    """Bytes that `replica_batch` sequences of `tokens` tokens leave of the tightest pool, negative if short."""
    return min(usable - int(cache.need(tokens, replica_batch)) for cache, usable in pools)


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """The figures of the start-up log. None where no memory is known or memory sets no limit."""

    kv_tokens: int | None = None
    num_blocks: int | None = None
    max_concurrency: float | None = None


@dataclass(frozen=True, kw_only=True)
class EnginePlan:
    """A resolved Scenario with all that its questions are answered from; one RankPlan a pipeline stage.

    `budget` is what the engine may use of each GPU's `total_memory`, of the smallest where they differ. Batches are
    those of one data-parallel replica.
    `needed_kv_bytes` is what one sequence of max_model_len needs on the fullest rank, as the engine checks it.
    `error_bytes`: how far what is left for the cache on a GPU may be off either way, because terms beside it are
    estimates; 0 where none is counted or the pool is given.
    `host` is what one replica leaves in host memory. `fallback`: a sentence on what the engine starts with where the
    load does not fit, worked out when it is asked for; None where it does not start, or the load fits.
    `asked_kv` is the kv_dtype before it was resolved; None where the plan was made without `sizing.size.plan`.
    """

    scenario: Scenario
    spec: ModelSpec
    ranks: tuple[RankPlan, ...]
    needed_kv_bytes: int
    total_memory: int | None = None
    budget: int | None = None
    printed: Printed = field(default_factory=Printed)
    log: Log = field(default_factory=Log)
    grades: Grades = field(default_factory=Grades)
    notes: tuple[str, ...] = ()
    error_bytes: int = 0
    host: Host | None = None
    fallback: Callable[[], str | None] = lambda: None
    asked_kv: str | KvFormats | None = None

    def memory_of(self, rank: RankPlan) -> tuple[int | None, int | None]:
        """Size and budget of a rank's GPU."""
        return rank.memory or (self.total_memory, self.budget)

    @cached_property
    def pools(self) -> Pools:
        return pools_of(self.ranks)

    def room(self, tokens: int, replica_batch: int) -> int:
        """Bytes that `replica_batch` sequences of `tokens` tokens leave of the tightest rank's pool, negative if short.

        The memory has to be known.
        """
        return room_in(self.pools, tokens, replica_batch)

    def fits(self, tokens: int, replica_batch: int) -> bool:
        """Whether every rank holds `replica_batch` sequences of `tokens` tokens; False where no memory is known."""
        return bool(self.pools) and self.room(tokens, replica_batch) >= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """An engine as the core sees it.

    `plan` raises ScenarioError or PlacementError for settings that the engine rejects at start-up, each with the
    field at fault and the engine's reason. `kv_dtypes` are the names its own option takes. `draft_methods`: its methods
    of speculation, each with the kind of checkpoint that it takes (sizing.drafting.Needs), or "" for none.
    """

    name: str
    label: str
    versions: tuple[str, ...]
    kv_dtypes: tuple[str, ...]
    plan: Callable[[Scenario, ModelSpec, Accelerator | None], EnginePlan]
    draft_methods: Mapping[str, str] = field(default_factory=dict)

    @property
    def newest(self) -> str:
        return self.versions[-1]
