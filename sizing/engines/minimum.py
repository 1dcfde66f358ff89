"""Engine `minimum`: what the architecture needs and no more.

Every full layer keeps every token, a window layer its window, a recurrent layer its state: the convolution's last
kernel − 1 inputs and the recurrent state. Nothing is rounded to pages.
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
from sizing.cache_formats import (
    LATENT_FORMATS,
    CacheFormats,
    cache_formats,
    compressed_bytes,
    latent_bytes,
    own_conv_bytes,
    pair_bytes,
)
from sizing.engines.plan import Engine, EnginePlan
from sizing.engines.simple import SimpleRules, plan_simple
from sizing.formats import FORMATS, TURBOQUANT, format_named
from sizing.scenario import Scenario

INDEX_SCALE_BLOCK = 128  # one fp32 scale for every 128 fp8 elements of an indexer key


def mixer_cost(mixer: Mixer, formats: CacheFormats) -> CacheCost:
    """What one layer's mixer keeps of one sequence."""
    match mixer:
        case Attention():
            return _attention(mixer, formats)
        case LatentAttention():
            return _latent(mixer, formats)
        case CompressedAttention():
            return _compressed(mixer, formats)
        case CrossAttention():
            each = pair_bytes(formats, mixer.kv_heads, mixer.head_dim, mixer.value_dim)
            return CacheCost(fixed_kv=each * mixer.source_tokens)
        case Recurrent():
            return CacheCost(state=state_bytes(mixer, formats, mixer.conv_kernel - 1))


def _attention(mixer: Attention, formats: CacheFormats) -> CacheCost:
    if mixer.reuses_cache:
        return CacheCost()
    each = pair_bytes(formats, mixer.kv_heads, mixer.head_dim, mixer.value_dim)
    return CacheCost((Growth(each, mixer.window or mixer.chunk), *indexer_growth(mixer.indexer)))


def _latent(mixer: LatentAttention, formats: CacheFormats) -> CacheCost:
    latent = latent_bytes(formats.key, mixer.latent_dim, mixer.rope_dim)
    own = () if mixer.reuses_cache else (Growth(latent, mixer.window),)
    return CacheCost((*own, *indexer_growth(mixer.indexer)))


def indexer_growth(indexer: Indexer | None, ratio: int = 1) -> tuple[Growth, ...]:
    """The sparse-attention key: fp8 with fp32 scales, whatever the cache format, as the models' own code keeps it."""
    if indexer is None:
        return ()
    if indexer.key_dtype is not None:
        own = format_named(indexer.key_dtype).row_bytes(indexer.key_heads, indexer.head_dim)
        return (Growth(own, every=ratio * indexer.pool),)
    scales = 4 * -(-indexer.head_dim // INDEX_SCALE_BLOCK)
    return (Growth(indexer.key_heads * (indexer.head_dim + scales), every=ratio * indexer.pool),)


def _compressed(mixer: CompressedAttention, formats: CacheFormats) -> CacheCost:
    entry = compressed_bytes(formats.key, mixer.head_dim, mixer.rope_dim)
    growths = [Growth(entry, mixer.window)]
    if mixer.ratio:
        growths += [Growth(entry, every=mixer.ratio), *indexer_growth(mixer.indexer, mixer.ratio)]
    return CacheCost(tuple(growths))


def state_bytes(mixer: Recurrent, formats: CacheFormats, columns: int) -> int:
    """Convolution window of `columns` inputs and recurrent state of one layer and sequence."""
    conv = mixer.conv_channels * columns * own_conv_bytes(mixer, formats.conv_bytes)
    return conv + mixer.state_elements * formats.recurrent_bytes


RULES = SimpleRules(
    name="minimum",
    version="1",
    fraction=0.9,
    holds_prediction=True,
    formats=cache_formats,
    mixer_cost_of=lambda spec: mixer_cost,
    notes=("Activations, CUDA graphs and the runtime are not counted; they must fit in the share left outside.",),
)


def plan(scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None) -> EnginePlan:
    """What the architecture needs, in a labelled share of the memory that the driver reports."""
    planned = plan_simple(scenario, spec, accelerator, RULES)
    if planned.total_memory is None or scenario.available_kv_bytes is not None:
        return planned
    share = f"The budget is {planned.scenario.memory_fraction:.0%} of the memory that the driver reports."
    return replace(planned, notes=(*planned.notes, share))


ENGINE = Engine(
    name="minimum",
    label="What the architecture needs",
    versions=(RULES.version,),
    kv_dtypes=("auto", *FORMATS, *TURBOQUANT, *LATENT_FORMATS),
    plan=plan,
)
