"""A scenario with SGLang's defaults put in; planned again it gives the same."""

from model_catalog.spec import ModelSpec
from sizing.engines.sglang.choices import Choices
from sizing.engines.sglang.defaults import MAX_PREFILL_TOKENS
from sizing.engines.sglang.refusals import SINCE
from sizing.engines.sglang.settings import Settings
from sizing.engines.sglang.sizes import Sizes
from sizing.engines.sglang.traits import traits_of
from sizing.resolve import DEFAULT_CONTEXT
from sizing.scenario import Scenario


def resolved_of(
    scenario: Scenario, spec: ModelSpec, choices: Choices, release: str, context: int, sizes: Sizes | None
) -> Scenario:
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
