"""SGLang's plan of a Scenario: settings, weights, budget, pools and what it prints."""

from dataclasses import replace

from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from sizing.engines import calibration
from sizing.engines.drafts import notes_of
from sizing.engines.plan import EnginePlan, Printed, RankPlan
from sizing.engines.sglang.cache import Stage, StageCache
from sizing.engines.sglang.choices import Choices, card_of, choose
from sizing.engines.sglang.defaults import MAX_PREFILL_TOKENS, running_default
from sizing.engines.sglang.drafts import drafting_of
from sizing.engines.sglang.layers import Sums
from sizing.engines.sglang.lines import Sizes, lines_of
from sizing.engines.sglang.loading import Memory, error_bytes, is_linked, memory_of, weights_of
from sizing.engines.sglang.refusals import SINCE, check, check_release
from sizing.engines.sglang.rules import release_of, rules_of
from sizing.engines.sglang.settings import Settings
from sizing.engines.sglang.stages import stages_of
from sizing.engines.sglang.traits import Traits, traits_of
from sizing.grading import grades_of
from sizing.placement import check_placement
from sizing.report import Log
from sizing.resolve import DEFAULT_CONTEXT, model_notes
from sizing.scenario import LONGEST_CONTEXT, Scenario, ScenarioError


def plan(scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None) -> EnginePlan:
    """Raises ScenarioError or PlacementError, each with the field and SGLang's reason."""
    traits = traits_of(spec)
    check(scenario, spec, traits)
    release, version, notes = release_of(scenario.engine_version)
    rules = rules_of(version)
    check_release(scenario, rules)
    choices = choose(scenario, spec, traits, rules, card_of(scenario, accelerator))
    check_placement(spec, scenario.placement)
    context = min(scenario.max_model_len or spec.max_context or DEFAULT_CONTEXT, LONGEST_CONTEXT)
    figure = accelerator.memory_for_budget if accelerator else None
    total = scenario.total_memory_bytes or (figure.bytes if figure else None)
    linked = is_linked(scenario, accelerator)
    memory = memory_of(scenario, total, choices.fraction, choices.settings, traits, linked=linked)
    drafting = drafting_of(scenario, spec)
    held = weights_of(scenario, spec, drafting)
    pools = [_pool(scenario, memory, sum(weights)) for weights in held]
    known = [pool for pool in pools if pool is not None]
    stages = stages_of(spec, choices.settings)
    sizes = _sizes(stages, known, choices.settings, context) if known else None
    if sizes:
        _check_window(spec, choices, known, context, sizes.window)
    ranks = tuple(
        _rank(weights, stage, pool, scenario) for weights, (_, stage), pool in zip(held, stages, pools, strict=True)
    )
    resolved = _resolved(scenario, spec, choices, release, context, sizes)
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
            *notes,
            *choices.notes,
            *(notes_of(drafting.draft) if drafting.draft else ()),
            *_unknown(scenario, choices, traits),
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


def _sizes(stages: list[tuple[Sums, Stage]], budgets: list[int], settings: Settings, context: int) -> Sizes:
    """The smallest of all stages, which they agree on."""
    each = [_stage_sizes(stage, budget) for (_, stage), budget in zip(stages, budgets, strict=True)]
    full, window = min(tokens for tokens, _, _ in each), min(tokens for _, tokens, _ in each)
    if all(stage.all_window for _, stage in stages):
        full = window
    slots = min(count for _, _, count in each)
    running = running_default(full, context)
    if settings.running is not None:
        running = min(settings.running, full // 2)
    if any(stage.slots for _, stage in stages):
        running = min(running, slots // settings.slots_each)
    return Sizes(full=full, window=window, slots=slots, running=running)


def _stage_sizes(stage: Stage, budget: int) -> tuple[int, int, int]:
    if stage.slots is None:
        return (*stage.pools.sizes(budget), 0)
    slots = stage.slots.count(budget)
    return (*stage.pools.sizes(budget - int(stage.slots.charge(slots))), slots)


def _check_window(spec: ModelSpec, choices: Choices, budgets: list[int], context: int, window: int) -> None:
    """A ratio that leaves the window pool less than a window and a page, where SGLang's own ratio would not."""
    settings, own_ratio = choices.settings, choices.own_ratio
    least = max(stage.pools.least_window for _, stage in stages_of(spec, settings))
    if settings.ratio == own_ratio or window >= least:
        return
    usual = replace(settings, ratio=own_ratio)
    if _sizes(stages_of(spec, usual), budgets, usual, context).window >= least:
        raise ScenarioError(
            "swa_full_tokens_ratio",
            f"SGLang does not start: at this ratio the window pool has {window:,} tokens, fewer than the "
            f"{least:,} that one window and a page need.",
        )


def _printed(sizes: Sizes | None, settings: Settings, context: int) -> Printed:
    if sizes is None:
        return Printed()
    pages = sizes.full // settings.page if settings.page > 1 else None
    return Printed(kv_tokens=sizes.full, num_blocks=pages, max_concurrency=sizes.full / context)


def _resolved(
    scenario: Scenario, spec: ModelSpec, choices: Choices, release: str, context: int, sizes: Sizes | None
) -> Scenario:
    """The same Scenario with SGLang's defaults in; planned again it gives the same."""
    settings = choices.settings
    paired = (settings.two_pools or traits_of(spec).compressed) and settings.rules.since(SINCE["swa_full_tokens_ratio"])
    return scenario.model_copy(
        update={
            "max_model_len": context,
            "context_length": scenario.context_length or min(DEFAULT_CONTEXT, context),
            "engine_version": release,
            "kv_dtype": settings.format,
            "memory_fraction": choices.fraction,
            "block_size": settings.page,
            "chunked_prefill_size": settings.chunk,
            "max_num_batched_tokens": scenario.max_num_batched_tokens or MAX_PREFILL_TOKENS,
            "max_num_seqs": scenario.max_num_seqs or _requests(scenario, settings, sizes),
            "prefix_caching": settings.radix,
            "swa_full_tokens_ratio": float(settings.ratio) if paired else scenario.swa_full_tokens_ratio,
            "mamba_full_memory_ratio": _state_ratio(scenario, spec, settings),
            "enforce_eager": bool(scenario.enforce_eager),
        }
    )


def _state_ratio(scenario: Scenario, spec: ModelSpec, settings: Settings) -> float | None:
    automatic = traits_of(spec).recurrent and settings.rules.since(SINCE["mamba_full_memory_ratio"])
    return float(settings.state_ratio) if automatic else scenario.mamba_full_memory_ratio


def _requests(scenario: Scenario, settings: Settings, sizes: Sizes | None) -> int | None:
    """max_running_requests. Left open where it follows from the pool but, once set, would change the pool."""
    replicas = scenario.data_parallel if scenario.dp_attention else 1
    if settings.running is not None:
        return settings.running * replicas
    return sizes.running * replicas or None if sizes and settings.radix else None


def _notes(scenario: Scenario, spec: ModelSpec, sizes: Sizes | None) -> list[str]:
    notes = model_notes(scenario, spec)
    batch = -(-scenario.batch_size // scenario.data_parallel)
    if sizes and 0 < sizes.running < batch:
        notes.append(f"SGLang runs at most {sizes.running:,} requests at once here; the rest wait.")
    return notes


def _unknown(scenario: Scenario, choices: Choices, traits: Traits) -> list[str]:
    """What is not counted, or stands in for something that is not known."""
    notes = []
    if traits.compressed and not choices.settings.rules.compressed_pools:
        notes.append("This release of SGLang does not know the model yet; the rules used are those of 0.5.12.")
    return notes
