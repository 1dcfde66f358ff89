"""TensorRT-LLM's plan of a Scenario: weights, what is left, its pools and what it prints."""

from dataclasses import dataclass, replace

from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from model_catalog.tensors import TensorClass
from sizing.activations import widest_layer
from sizing.capacity import greatest_with_room
from sizing.drafting import sharing_ends
from sizing.engines.calibration import TENSORRT_LLM_RUNTIME
from sizing.engines.plan import EnginePlan, Printed, RankPlan
from sizing.engines.tensorrt_llm.drafts import Drafting, draft_bytes
from sizing.engines.tensorrt_llm.experts import with_padded_experts
from sizing.engines.tensorrt_llm.pools import StageCache
from sizing.engines.tensorrt_llm.printed import Started, counts_of, lines_of, printed_of
from sizing.engines.tensorrt_llm.resolving import Resolved, resolved_of
from sizing.engines.tensorrt_llm.stages import Stage
from sizing.grading import grades_of
from sizing.memory import UNKNOWN, size_of
from sizing.report import Grades, Log
from sizing.scenario import Scenario
from sizing.weights.ranks import rank_bytes

ACTIVATION_ERROR = 0.4  # of receipt t007: 0.62 GiB predicted, 0.85 printed
RESUMED_PERCENT = 95  # max_util_for_resume of the second manager


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes of one rank before the cache: weights, the draft's, activations of the profiling pass, and the rest."""

    weights: int
    draft: int
    activation: int
    runtime: int = TENSORRT_LLM_RUNTIME.bytes

    @property
    def loaded(self) -> int:
        return self.weights + self.draft

    @property
    def total(self) -> int:
        return self.loaded + self.activation + self.runtime


def plan(scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None) -> EnginePlan:
    """Raises ScenarioError or PlacementError, each naming the field at fault."""
    resolved = resolved_of(scenario, spec)
    settled = resolved.scenario
    figure = accelerator.memory_for_budget if accelerator else None
    total = size_of(settled, figure)
    held = _held(settled, with_padded_experts(settled, spec, resolved.rules, accelerator), resolved.drafting)
    ranks = tuple(_rank(resolved, one, stage, total) for one, stage in zip(held, resolved.stages, strict=True))
    fullest = max(held, key=lambda one: one.total)
    printed, lines = _printed(resolved, ranks, fullest, total)
    planned = EnginePlan(
        scenario=settled,
        spec=spec,
        ranks=ranks,
        needed_kv_bytes=max(int(rank.cache.live(settled.max_model_len or 1, 1)) for rank in ranks),
        total_memory=total,
        budget=None if total is None else fullest.total + _share(settled, total, fullest),
        printed=printed,
        log=Log(model_loading_bytes=fullest.loaded, lines=lines),
        grades=_grades(resolved, spec),
        error_bytes=_error(settled, held),
        notes=(*resolved.notes, *_shared_memory(accelerator)),
    )
    return replace(planned, notes=(*planned.notes, *_memory_notes(planned)))


def _error(scenario: Scenario, held: list[Held]) -> int:
    """Of the cache: the fraction of what runtime and activations may be off."""
    if scenario.available_kv_bytes is not None:
        return 0
    activation = ACTIVATION_ERROR * max(one.activation for one in held)
    return round((TENSORRT_LLM_RUNTIME.error_bytes + activation) * (scenario.memory_fraction or 1))


def _shared_memory(accelerator: Accelerator | None) -> list[str]:
    if accelerator is None or accelerator.kind != "unified":
        return []
    return [
        "The cache gets a share of what is free, and memory that the host's files are cached in does not count as "
        "free here: a public log of gpt-oss-120b on a DGX Spark has 49 GiB in use beside the model. Set other_memory."
    ]


def _held(scenario: Scenario, spec: ModelSpec, drafting: Drafting) -> list[Held]:
    """One rank of each stage. Replicas are whole copies, but those of attention data parallelism share one."""
    place = scenario.placement
    replica = place if place.dp_attention else replace(place, data_parallel=1)
    stages = rank_bytes(sharing_ends(spec), scenario.weights, replica)
    predictions = [stage.get(TensorClass.PREDICTION, 0) for stage in stages]
    activation = widest_layer(spec, scenario.max_num_batched_tokens or 1, scenario.tensor_parallel)
    return [
        Held(sum(stage.values()) - prediction, draft, activation)
        for stage, prediction, draft in zip(
            stages, predictions, draft_bytes(scenario, drafting, predictions), strict=True
        )
    ]


def _free(scenario: Scenario, total: int, held: Held) -> int:
    """What loading and other processes leave."""
    return total - scenario.other_memory_bytes - held.total


def _share(scenario: Scenario, total: int, held: Held) -> int:
    """The fraction of what is free, or all of what is missing."""
    free = _free(scenario, total, held)
    return int(free * (scenario.memory_fraction or 1)) if free > 0 else free


def _rank(resolved: Resolved, held: Held, stage: Stage, total: int | None) -> RankPlan:
    scenario = resolved.scenario
    available = scenario.available_kv_bytes
    if available is None and total is not None:
        available = _share(scenario, total, held)
    slots = scenario.max_num_seqs if stage.slot else 0
    return RankPlan(
        weights=held.weights,
        draft=held.draft,
        activation=held.activation,
        runtime=held.runtime,
        cache=StageCache(
            pools=stage.pools,
            block=scenario.block_size or 1,
            rounds_up=resolved.rounds_up,
            slot_bytes=stage.slot,
            slots=slots or 0,
            drafted=scenario.speculative.tokens if scenario.speculative else 0,
            prefix=scenario.shared_prefix_tokens if scenario.prefix_caching else 0,
        ),
        available=available,
        usable=_usable(available, resolved.second),
    )


def _usable(available: int | None, second: bool) -> int | None:
    return available * RESUMED_PERCENT // 100 if available is not None and second else available


def _printed(
    resolved: Resolved, ranks: tuple[RankPlan, ...], fullest: Held, total: int | None
) -> tuple[Printed, tuple[str, ...]]:
    caches = [rank.cache for rank in ranks if isinstance(rank.cache, StageCache)]
    known = [rank.available for rank in ranks if rank.available is not None]
    first = next((cache for cache in caches if cache.pools), None)
    if len(known) < len(ranks) or first is None:
        return Printed(), ()
    scenario = resolved.scenario
    started = Started(
        cache=first,
        counts=counts_of(caches, known),
        total=total if scenario.available_kv_bytes is None else None,
        peak=fullest.total + scenario.other_memory_bytes,
        free=None if total is None else _free(scenario, total, fullest),
        available=min(known),
        fraction=scenario.memory_fraction or 1,
        longest=scenario.max_model_len or 1,
    )
    return printed_of(started), tuple(lines_of(started, resolved.rules))


def _grades(resolved: Resolved, spec: ModelSpec) -> Grades:
    grades = replace(grades_of(spec), runtime="calibrated")
    return grades if resolved.exact else replace(grades, kv="assumed", state="assumed")


def _memory_notes(planned: EnginePlan) -> list[str]:
    """_validate_and_adjust_attention_windows: the longest sequence is cut to what the cache holds."""
    scenario = planned.scenario
    if planned.ranks[0].usable is None:
        return [*UNKNOWN.notes]
    notes = []
    longest = scenario.max_model_len or 1
    if not planned.fits(longest, 1):
        held = greatest_with_room(lambda tokens: planned.room(tokens, 1), longest)
        notes.append(
            f"TensorRT-LLM lowers max_seq_len to {held:,} tokens, all that the cache holds of one sequence."
            if held
            else "TensorRT-LLM does not start: not one sequence fits."
        )
    if -(-scenario.batch_size // scenario.data_parallel) > (scenario.max_num_seqs or 0):
        notes.append(f"At most {scenario.max_num_seqs:,} sequences run at once (max_batch_size); the rest wait.")
    return notes
