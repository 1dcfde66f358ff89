"""Engine `transformers`: the tensors of a DynamicCache after a prefill (transformers 5.24.0, cache_utils.py).

Sliding and chunked layers keep one token less than their window, convolutions keep all kernel columns, and every
tensor has the dtype the model runs in but for recurrent states that the model returns in float32.
"""

from dataclasses import replace

from hardware_catalog.schema import Accelerator
from model_catalog.spec import (
    Attention,
    CompressedAttention,
    CrossAttention,
    Indexer,
    LatentAttention,
    Mixer,
    ModelSpec,
    Recurrent,
)
from sizing.cache import CacheCost, Growth
from sizing.cache_formats import CacheFormats, cache_formats, latent_bytes, pair_bytes
from sizing.engines.plan import Engine, EnginePlan
from sizing.engines.simple import SimpleRules, plan_simple
from sizing.formats import format_named
from sizing.scenario import Scenario, ScenarioError

RUNS_IN = ("auto", "bf16", "fp16", "fp32")


def formats(scenario: Scenario, spec: ModelSpec) -> CacheFormats:
    """kv_dtype is the dtype the model runs in; a DynamicCache has no other."""
    asked = scenario.kv_dtype
    dtype = spec.dtype if asked == "auto" else asked
    chosen = cache_formats(scenario.model_copy(update={"kv_dtype": dtype}), spec)
    if chosen.key != chosen.value or chosen.key not in RUNS_IN:
        raise ScenarioError(
            "kv_dtype", f"transformers keeps the cache in the dtype the model runs in: {', '.join(RUNS_IN)}."
        )
    own = format_named(chosen.key).block_bytes
    return replace(chosen, conv_bytes=own) if scenario.state_dtype == "auto" else chosen


def mixer_cost(mixer: Mixer, formats: CacheFormats) -> CacheCost:
    """What one layer's cache holds of one sequence."""
    match mixer:
        case Attention():
            return _attention(mixer, formats)
        case LatentAttention():
            latent = latent_bytes(formats.key, mixer.latent_dim, mixer.rope_dim)
            return CacheCost((Growth(latent, _kept(mixer.window)), *_indexer(mixer.indexer, formats)))
        case CompressedAttention():
            return _compressed(mixer, formats)
        case CrossAttention():
            each = pair_bytes(formats, mixer.kv_heads, mixer.head_dim, mixer.value_dim)
            return CacheCost(fixed_kv=each * mixer.source_tokens)
        case Recurrent():
            return CacheCost(state=_state(mixer, formats))


def _kept(window: int | None) -> int | None:
    """DynamicSlidingWindowLayer keeps the last window − 1 tokens; the newest comes with the next step."""
    return None if window is None else window - 1


def _attention(mixer: Attention, formats: CacheFormats) -> CacheCost:
    if mixer.reuses_cache:
        return CacheCost()
    each = pair_bytes(formats, mixer.kv_heads, mixer.head_dim, mixer.value_dim)
    return CacheCost((Growth(each, _kept(mixer.window or mixer.chunk)), *_indexer(mixer.indexer, formats)))


def _indexer(indexer: Indexer | None, formats: CacheFormats) -> tuple[Growth, ...]:
    """DynamicIndexedLayer keeps the index keys in the model's dtype."""
    if indexer is None:
        return ()
    element = format_named(formats.key).block_bytes
    return (Growth(indexer.key_heads * indexer.head_dim * element, every=indexer.pool),)


def _compressed(mixer: CompressedAttention, formats: CacheFormats) -> CacheCost:
    entry = format_named(formats.key).row_bytes(1, mixer.head_dim)
    return CacheCost((Growth(entry, _kept(mixer.window)),))


def _state(mixer: Recurrent, formats: CacheFormats) -> int:
    conv = mixer.conv_channels * mixer.conv_kernel * formats.conv_bytes
    return conv + mixer.state_elements * formats.recurrent_bytes


RULES = SimpleRules(
    name="transformers",
    version="5.24.0",
    fraction=1.0,
    holds_prediction=False,
    formats=formats,
    mixer_cost=mixer_cost,
    notes=("transformers sets no budget: the cache grows until memory is full. Temporary copies are not counted.",),
)


def plan(scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None) -> EnginePlan:
    """A model loaded and run with the library alone, in all the memory that the driver reports."""
    return plan_simple(scenario, spec, accelerator, RULES)


ENGINE = Engine(name="transformers", label="Transformers", versions=(RULES.version,), kv_dtypes=RUNS_IN, plan=plan)
