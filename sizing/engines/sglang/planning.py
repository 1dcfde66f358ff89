"""SGLang's plan of a Scenario: settings, weights, budget, pools and what it prints."""

from dataclasses import replace

from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from sizing.engines import calibration
from sizing.engines.drafts import notes_of
from sizing.engines.plan import EnginePlan, Printed, RankPlan
from sizing.engines.sglang.cache import Stage, StageCache
from sizing.engines.sglang.choices import Choices, card_of, choose
from sizing.engines.sglang.drafts import drafting_of
from sizing.engines.sglang.lines import lines_of
from sizing.engines.sglang.loading import Memory, error_bytes, is_linked, memory_of, weights_of
from sizing.engines.sglang.refusals import check, check_release
from sizing.engines.sglang.resolving import resolved_of
from sizing.engines.sglang.rules import release_of, rules_of
from sizing.engines.sglang.settings import Settings
from sizing.engines.sglang.sizes import Sizes, sizes_of
from sizing.engines.sglang.stages import stages_of
from sizing.engines.sglang.traits import Traits, traits_of
from sizing.grading import grades_of
from sizing.placement import check_placement
from sizing.report import Log
from sizing.resolve import DEFAULT_CONTEXT, model_notes
from sizing.scenario import LONGEST_CONTEXT, Scenario


def plan(scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None) -> EnginePlan:
    """Raises ScenarioError or PlacementError, each with the field and SGLang's reason."""
    traits = traits_of(spec)
    check(scenario, spec, traits)
    release, version, release_notes = release_of(scenario.engine_version)
    rules = rules_of(version)
    check_release(scenario, rules)
    choices = choose(scenario, spec, traits, rules, card_of(scenario, accelerator))
    check_placement(spec, scenario.placement)
    context = min(scenario.max_model_len or spec.max_context or DEFAULT_CONTEXT, LONGEST_CONTEXT)
    linked = is_linked(scenario, accelerator)
    memory = memory_of(scenario, accelerator, choices, traits, linked=linked)
    drafting = drafting_of(scenario, spec)
    held = weights_of(scenario, spec, drafting)
    pools = [_pool(scenario, memory, sum(weights)) for weights in held]
    stages = stages_of(spec, choices.settings)
    sizes = sizes_of(spec, choices, pools, context)
    ranks = tuple(
        _rank(weights, stage, pool, scenario) for weights, (_, stage), pool in zip(held, stages, pools, strict=True)
    )
    resolved = resolved_of(scenario, spec, choices, release, context, sizes)
    return EnginePlan(
        scenario=resolved,
        spec=spec,
        ranks=ranks,
        needed_kv_bytes=max(int(rank.cache.need(context, 1)) for rank in ranks),
        total_memory=memory.total,
        budget=memory.budget,
        printed=_printed(sizes, choices.settings, context),
        log=Log(
            model_loading_bytes=max(weights + draft for weights, draft in held),
            lines=lines_of(*stages[0], sizes, choices.settings, context) if sizes and sizes.full else (),
        ),
        grades=replace(grades_of(spec), runtime="calibrated"),
        error_bytes=error_bytes(choices.fraction, linked=linked) if scenario.available_kv_bytes is None else 0,
        notes=(
            *_notes(resolved, spec, sizes),
            *release_notes,
            *choices.notes,
            *(notes_of(drafting.draft) if drafting.draft else ()),
            *_unknown(choices, traits),
        ),
    )


def _pool(scenario: Scenario, memory: Memory, loaded: int) -> int | None:
    """What SGLang calls rest: the budget less what loading took."""
    if scenario.available_kv_bytes is not None:
        return scenario.available_kv_bytes
    return None if memory.budget is None else memory.budget - loaded - calibration.SGLANG_LOADING.bytes


def _rank(weights: tuple[int, int], stage: Stage, pool: int | None, scenario: Scenario) -> RankPlan:
    prefix = scenario.shared_prefix_tokens if scenario.prefix_caching is not False else 0
    return RankPlan(
        weights=weights[0],
        draft=weights[1],
        runtime=calibration.SGLANG_LOADING.bytes,
        cache=StageCache(stage, prefix, pool),
        available=pool,
        usable=pool,
    )


def _printed(sizes: Sizes | None, settings: Settings, context: int) -> Printed:
    if sizes is None:
        return Printed()
    pages = sizes.full // settings.page if settings.page > 1 else None
    return Printed(kv_tokens=sizes.full, num_blocks=pages, max_concurrency=sizes.full / context)


def _notes(scenario: Scenario, spec: ModelSpec, sizes: Sizes | None) -> list[str]:
    notes = model_notes(scenario, spec)
    batch = -(-scenario.batch_size // scenario.data_parallel)
    if sizes and 0 < sizes.running < batch:
        notes.append(f"SGLang runs at most {sizes.running:,} requests at once here; the rest wait.")
    return notes


def _unknown(choices: Choices, traits: Traits) -> list[str]:
    """What is not counted, or stands in for something that is not known."""
    notes = []
    if traits.compressed and not choices.settings.rules.compressed_pools:
        notes.append("This release of SGLang does not know the model yet; the rules used are those of 0.5.12.")
    return notes
