"""How large the pools come out of what loading leaves, and how many requests then run at once."""

from dataclasses import dataclass, replace

from model_catalog.spec import ModelSpec
from sizing.engines.sglang.cache import Stage
from sizing.engines.sglang.choices import Choices
from sizing.engines.sglang.defaults import running_default
from sizing.engines.sglang.layers import Sums
from sizing.engines.sglang.settings import Settings
from sizing.engines.sglang.stages import stages_of
from sizing.scenario import ScenarioError


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Tokens of the full and window pool, recurrent slots, and requests that may run at once."""

    full: int
    window: int
    slots: int
    running: int


def sizes_of(spec: ModelSpec, choices: Choices, pools: list[int | None], context: int) -> Sizes | None:
    """None where no memory is known. `pools`: bytes for the pools of each pipeline stage.

    Raises ScenarioError for a window pool that SGLang does not start with.
    """
    known = [pool for pool in pools if pool is not None]
    if not known:
        return None
    sizes = _sizes(stages_of(spec, choices.settings), known, choices.settings, context)
    _check_window(spec, choices, known, context, sizes.window)
    return sizes


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
