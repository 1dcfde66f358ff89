"""Size one Scenario: weights and cache on each GPU, what fits, and the verdict."""

from dataclasses import fields, replace
from typing import Any

from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from sizing.cache import CacheCost
from sizing.capacity import longest_context, most_sequences
from sizing.differences import differences
from sizing.drafting import check_is_model, check_takes_model
from sizing.engines import ENGINES
from sizing.engines.plan import EnginePlan, RankPlan
from sizing.grading import of_foreign_files
from sizing.logical import logical_cost
from sizing.media.tokens import MediaTokens, check_media, media_notes, media_tokens
from sizing.memory import shared_notes
from sizing.mixed import mixed_load
from sizing.report import (
    Answer,
    CacheReport,
    Capacity,
    Footprint,
    MediaReport,
    Report,
    Speed,
    State,
    Verdict,
)
from sizing.room import fullest_load, is_tight, replica_batches, room, tightest_rank
from sizing.scenario import LONGEST_CONTEXT, Scenario, check_average, check_prefix
from sizing.shared_host import host_overflow


def size(scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None = None) -> Report:
    """The Report of one Scenario. Raises ScenarioError or PlacementError, each naming the field at fault."""
    return report_of(plan(scenario, spec, accelerator))


def plan(scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None = None) -> EnginePlan:
    """What the scenario's engine makes of it; maps and tables ask it for arrays. Raises as `size`."""
    check_is_model(spec)
    check_takes_model(scenario.speculative)
    planned = of_foreign_files(ENGINES[scenario.engine].plan(scenario, spec, accelerator))
    check_prefix(planned.scenario)
    check_average(planned.scenario)
    check_media(planned.scenario, planned.spec)
    overflow = host_overflow(planned, accelerator)
    notes = (*planned.notes, *shared_notes(scenario, accelerator), *([overflow] if overflow else []))
    return replace(planned, asked_kv=scenario.kv_dtype, notes=notes)


def answer_of(planned: EnginePlan) -> Answer:
    """Whether the load fits, and what else would: the part of a Report that long lists of Scenarios are asked for."""
    return Answer(verdict=_verdict(planned), capacity=_capacity(planned))


def report_of(planned: EnginePlan) -> Report:
    scenario = planned.scenario
    tokens = scenario.context_length or 1
    logical = logical_cost(planned)
    cluster = _cluster(planned)
    capacity = _capacity(planned)
    media = media_tokens(scenario.media, planned.spec) if scenario.media else None
    more = (*_capacity_notes(capacity), *(media_notes(media, planned.spec) if media else ()))
    return Report(
        scenario=scenario,
        per_gpu=_fullest(planned),
        cluster=cluster,
        cache=CacheReport(
            logical_bytes=int(logical.bytes(tokens, scenario.batch_size, scenario.shared_prefix_tokens)),
            reserved_bytes=cluster.cache_bytes,
            fixed_bytes_per_sequence=logical.fixed,
            bytes_per_token=logical.rate(tokens),
            bytes_per_sequence=int(logical.bytes(tokens)),
        ),
        capacity=capacity,
        needed_kv_bytes_per_gpu=planned.needed_kv_bytes,
        log=planned.log,
        verdict=replace(_verdict(planned), starts_with=planned.fallback()),
        speed=Speed(),
        grades=planned.grades,
        notes=tuple(dict.fromkeys([*planned.notes, *more])),
        differences=differences(planned, replica_batches(scenario)),
        mixed=mixed_load(planned),
        host=planned.host,
        media=_media(media, logical, tokens) if media else None,
    )


def _media(media: MediaTokens, logical: CacheCost, length: int) -> MediaReport:
    """Bytes that a sequence of so many tokens would have less without them."""

    def taken(tokens: int | None) -> int | None:
        return None if tokens is None else int(logical.bytes(length)) - int(logical.bytes(length - tokens))

    return MediaReport(
        images=media.images,
        image_tokens=media.image,
        image_bytes=taken(media.image),
        video_tokens=media.video,
        audio_tokens=media.audio,
        tokens=media.total,
        cache_bytes=taken(media.total),
    )


def _footprint(planned: EnginePlan, rank: RankPlan, replica_batch: int) -> Footprint:
    tokens = planned.scenario.context_length or 1
    return _with_memory(
        planned.memory_of(rank),
        rank.available,
        rank.tower,
        weights_bytes=rank.weights,
        draft_bytes=rank.draft,
        encoder_bytes=rank.encoder,
        kv_bytes=int(rank.cache.kv(tokens, replica_batch)),
        state_bytes=int(rank.cache.state(tokens, replica_batch)),
        activation_bytes=rank.activation,
        graph_bytes=rank.graphs,
        runtime_bytes=rank.runtime,
    )


def _with_memory(memory: tuple[int | None, int | None], available: int | None, tower: int, **terms: int) -> Footprint:
    total, budget = memory
    if total is None or budget is None:
        return Footprint(**terms, tower_bytes=tower, available_kv_bytes=available)
    return Footprint(
        **terms,
        tower_bytes=tower,
        free_bytes=budget - sum(terms.values()),
        outside_budget_bytes=total - budget,
        total_bytes=total,
        available_kv_bytes=available,
    )


TERMS = (
    "weights_bytes",
    "draft_bytes",
    "encoder_bytes",
    "kv_bytes",
    "state_bytes",
    "activation_bytes",
    "graph_bytes",
    "runtime_bytes",
)


def _fullest(planned: EnginePlan) -> Footprint:
    """Each term at its largest over the ranks, so that what fits here fits on every rank.

    Of GPUs that differ in size, the one with the least room.
    """
    batch = replica_batches(planned.scenario)[0]
    if planned.ranks[0].memory:
        return _footprint(planned, tightest_rank(planned), batch)
    each = [_footprint(planned, rank, batch) for rank in planned.ranks]
    terms = {name: max(getattr(footprint, name) for footprint in each) for name in TERMS}
    pools = [rank.available for rank in planned.ranks if rank.available is not None]
    tower = max(rank.tower for rank in planned.ranks)
    return _with_memory((planned.total_memory, planned.budget), min(pools) if pools else None, tower, **terms)


def _cluster(planned: EnginePlan) -> Footprint:
    """The terms summed over all ranks."""
    each = [_footprint(planned, rank, batch) for batch in replica_batches(planned.scenario) for rank in planned.ranks]
    columns = {field.name: [getattr(footprint, field.name) for footprint in each] for field in fields(Footprint)}
    ranks = planned.scenario.placement.ranks_per_replica
    sums: dict[str, Any] = {name: None if None in values else sum(values) * ranks for name, values in columns.items()}
    return Footprint(**sums)


def _capacity(planned: EnginePlan) -> Capacity:
    printed = planned.printed
    if not planned.pools:
        return Capacity()
    scenario = planned.scenario
    batch = replica_batches(scenario)[0]
    tokens = scenario.context_length or 1
    return Capacity(
        kv_tokens=printed.kv_tokens,
        num_blocks=printed.num_blocks,
        max_concurrency=printed.max_concurrency,
        max_context_at_batch=longest_context(lambda length: planned.room(length, batch)),
        max_batch_at_context=most_sequences(lambda share: planned.room(tokens, share), scenario.data_parallel),
    )


def _verdict(planned: EnginePlan) -> Verdict:
    """By the rank with the least room."""
    rank, left = tightest_rank(planned), room(planned)
    if rank.usable is None or left is None:
        return Verdict()
    error = planned.error_bytes
    state: State = "short" if left < 0 else "tight" if is_tight(left, rank.usable, error) else "fits"
    return Verdict(
        state=state,
        fits=left >= 0,
        short_by_bytes=max(0, -left),
        short_term=_largest(planned, rank) if left < 0 else None,
        error_bytes=error,
        stands=abs(left) >= error,
    )


def _largest(planned: EnginePlan, rank: RankPlan) -> str:
    """The largest of the terms that have to shrink: those before the cache where nothing is left for it."""
    before = ("weights", "draft", "encoder", "activation", "graphs", "runtime")
    load = fullest_load(planned)
    cache = {"kv": int(rank.cache.kv(*load)), "state": int(rank.cache.state(*load))}
    sizes = cache if (rank.usable or 0) > 0 else {name: getattr(rank, name) for name in before}
    return max(sizes, key=lambda name: sizes[name])


def _capacity_notes(capacity: Capacity) -> list[str]:
    if capacity.max_context_at_batch == LONGEST_CONTEXT:
        return ["At this number of sequences memory does not limit the context."]
    return []
