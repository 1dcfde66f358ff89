"""Engine `transformers`: the tensors of a DynamicCache after a prefill (transformers 5.24.0, cache_utils.py).

Sliding and chunked layers keep one token less than their window, convolutions keep all kernel columns, and every
tensor has the dtype the model runs in but for recurrent states that the model returns in float32. Each rule was
read off the caches that the classes return on the meta device (scripts/conformance.py).
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
from sizing.cache_formats import CacheFormats, cache_formats, latent_bytes, own_conv_bytes, pair_bytes
from sizing.costs import MixerCost
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


def mixer_cost_of(spec: ModelSpec) -> MixerCost:
    """The rule for one mixer of this model, whose class may cache in a way of its own."""
    match spec.model_type:
        case "falcon":
            return _with_all_heads
        case "gpt_neo":
            return _without_windows
        case _:
            return mixer_cost


def mixer_cost(mixer: Mixer, formats: CacheFormats) -> CacheCost:
    """What one layer's cache holds of one sequence."""
    match mixer:
        case Attention():
            return _attention(mixer, formats)
        case LatentAttention():
            return _latent(mixer, formats)
        case CompressedAttention():
            return _compressed(mixer, _element(formats))
        case CrossAttention():
            each = pair_bytes(formats, mixer.kv_heads, mixer.head_dim, mixer.value_dim)
            return CacheCost(fixed_kv=each * mixer.source_tokens)
        case Recurrent():
            return CacheCost(state=_state(mixer, formats))


def _with_all_heads(mixer: Mixer, formats: CacheFormats) -> CacheCost:
    """Falcon's new decoder repeats its shared heads for every query head before it caches them."""
    if isinstance(mixer, Attention) and mixer.kv_heads > 1:
        mixer = replace(mixer, kv_heads=mixer.heads)
    return mixer_cost(mixer, formats)


def _without_windows(mixer: Mixer, formats: CacheFormats) -> CacheCost:
    """GPT-Neo's config names no window that the cache knows, so its local layers keep every token."""
    return mixer_cost(replace(mixer, window=None) if isinstance(mixer, Attention) else mixer, formats)


def _element(formats: CacheFormats) -> int:
    return format_named(formats.key).block_bytes


def _kept(window: int | None) -> int | None:
    """DynamicSlidingWindowLayer keeps the last window − 1 tokens; the newest comes with the next step.

    It cuts them off by [-window + 1:], which for a window of 1 keeps everything.
    """
    return window - 1 if window is not None and window > 1 else None


def _attention(mixer: Attention, formats: CacheFormats) -> CacheCost:
    if mixer.reuses_cache:
        return CacheCost()
    each = pair_bytes(formats, mixer.kv_heads, mixer.head_dim, mixer.value_dim)
    return CacheCost((Growth(each, _kept(mixer.window or mixer.chunk)), *_indexer(mixer.indexer, formats)))


def _latent(mixer: LatentAttention, formats: CacheFormats) -> CacheCost:
    latent = latent_bytes(formats.key, mixer.latent_dim, mixer.rope_dim)
    own = () if mixer.reuses_cache else (Growth(latent, _kept(mixer.window)),)
    return CacheCost((*own, *_indexer(mixer.indexer, formats)))


def _indexer(indexer: Indexer | None, formats: CacheFormats) -> tuple[Growth, ...]:
    """DynamicIndexedLayer keeps an index key for every token; one that pools keeps key, gate and a flag of each."""
    if indexer is None:
        return ()
    width = indexer.head_dim if indexer.pool == 1 else 2 * indexer.head_dim + 1
    element = format_named(indexer.key_dtype or formats.key).block_bytes
    return (Growth(indexer.key_heads * width * element),)


def _compressed(mixer: CompressedAttention, element: int) -> CacheCost:
    """DeepSeek-V4 (modeling_deepseek_v4.py): raw entries in the window, entries per `ratio` tokens, and what waits.

    Window-only layers keep key and value apart, the others one tensor for both.
    """
    entry = mixer.head_dim * element
    if not mixer.ratio:
        return CacheCost((Growth(2 * entry, _kept(mixer.window)),))
    growths = [Growth(entry, _kept(mixer.window))]
    if mixer.indexer is None:
        growths += _compressor(mixer.head_dim, mixer.ratio, element)
    else:
        for width in (mixer.head_dim, mixer.indexer.head_dim):
            growths += _overlapping_compressor(width, mixer.ratio, element)
    return CacheCost(tuple(growths))


def _compressor(width: int, ratio: int, element: int, waiting_width: int = 0) -> list[Growth]:
    """An entry for every `ratio` tokens; of the tokens since the last one, key-value and gate wait."""
    waiting = 2 * (waiting_width or width) * element
    return [Growth(width * element, every=ratio), Growth(waiting), Growth(-waiting * ratio, every=ratio)]


def _overlapping_compressor(width: int, ratio: int, element: int) -> list[Growth]:
    """Entries overlap, so waiting inputs are twice as wide, and the last block is kept, its gate in float32."""
    last_block = Growth(ratio * width * (element + 4), limit=ratio, every=ratio)
    return [*_compressor(width, ratio, element, 2 * width), last_block]


# Mixers that keep kernel − 1 columns; the others keep all kernel columns, the newest input among them.
ONE_COLUMN_LESS = ("rwkv", "cca", "past_inputs", "rg_lru")
# Mixers whose recurrent state has the dtype the model runs in; the others return float32.
STATE_IN_MODEL_DTYPE = ("lightning", "xlstm")


def _state(mixer: Recurrent, formats: CacheFormats) -> int:
    columns = mixer.conv_kernel - (mixer.kind in ONE_COLUMN_LESS)
    conv = mixer.conv_channels * columns * own_conv_bytes(mixer, formats.conv_bytes)
    in_model_dtype = mixer.kind in STATE_IN_MODEL_DTYPE and formats.state_is_auto
    return conv + mixer.state_elements * (_element(formats) if in_model_dtype else formats.recurrent_bytes)


def static_cost(cost: CacheCost, max_cache_len: int) -> CacheCost:
    """A StaticCache of `max_cache_len` tokens by what a DynamicCache of the model costs (cache_utils.py, StaticLayer).

    All of it is there from the first token on, and a windowed layer has its whole window (StaticSlidingWindowLayer).
    Raises ScenarioError for layers that add an entry for several tokens, which have no static counterpart.
    """
    if any(growth.every > 1 for growth in cost.growths):
        raise ScenarioError("model", "transformers has no static cache for compressed attention.")
    lengths = [max_cache_len if g.limit is None else min(max_cache_len, g.limit + 1) for g in cost.growths]
    whole = sum(growth.bytes * length for growth, length in zip(cost.growths, lengths, strict=True))
    return CacheCost(fixed_kv=cost.fixed_kv + whole, state=cost.state)


RULES = SimpleRules(
    name="transformers",
    version="5.24.0",
    fraction=1.0,
    holds_prediction=False,
    formats=formats,
    mixer_cost_of=mixer_cost_of,
    notes=("transformers sets no budget: the cache grows until memory is full. Temporary copies are not counted.",),
)


def plan(scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None) -> EnginePlan:
    """A model loaded and run with the library alone, in all the memory that the driver reports."""
    return plan_simple(scenario, spec, accelerator, RULES)


ENGINE = Engine(name="transformers", label="Transformers", versions=(RULES.version,), kv_dtypes=RUNS_IN, plan=plan)
