"""Every cache that a model's layers keep on one rank, first layer to last, ready to be grouped."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from model_catalog.spec import (
    Attention,
    CompressedAttention,
    CrossAttention,
    LatentAttention,
    Layer,
    Mixer,
    ModelSpec,
    Recurrent,
)
from sizing.engines.vllm.cache.attention import (
    ENCODERS,
    FULL_ONLY,
    OWN_WINDOWS,
    AttentionRules,
    attention_layers,
    cross_layer,
    expanded_latent,
    latent_layers,
)
from sizing.engines.vllm.cache.compressed import compressed_layers
from sizing.engines.vllm.cache.layers import LayerCache, Member
from sizing.engines.vllm.cache.states import StateMode, aligned_block, state_bytes
from sizing.engines.vllm.formats import Formats, in_model_dtype
from sizing.formats import TURBOQUANT
from sizing.placement import shard_mixer

SKIPPED_ENDS = 2  # TurboQuant leaves the first and the last two attention layers of dense models alone


@dataclass(frozen=True, slots=True)
class LayerRules:
    """All that the layers' caches depend on.

    `draft_layers` more layers like the last attention layer follow, and then those of a separate `draft`.
    `pooled_states`: recurrent states take blocks of the pool, for which attention blocks are made large enough.
    """

    formats: Formats
    block: int
    smallest: int
    ranks: int
    mode: StateMode
    max_model_len: int
    encoder_tokens: int
    draft_layers: int
    draft: ModelSpec | None
    bounded_chunks: bool
    pooled_states: bool


def model_layers(spec: ModelSpec, by: LayerRules) -> list[Member]:
    """(layer number, cache) of each layer; draft layers are numbered on."""
    if spec.model_type in ENCODERS:
        return []
    layers = [*spec.each_layer(), *_draft(spec, by.draft_layers)]
    ranked = {id(layer): tuple(shard_mixer(mixer, by.ranks) for mixer in layer.mixers) for layer in layers}
    sharded = [ranked[id(layer)] for layer in layers]
    attention = _attention_rules(by, by.block)
    if by.pooled_states and any(isinstance(mixer, Recurrent) for mixers in sharded for mixer in mixers):
        return _hybrid(spec, sharded, by)
    skipped = _skipped(sharded) if by.formats.cache.key in TURBOQUANT else set()
    return [
        (number, cache)
        for number, mixers in enumerate(sharded)
        for mixer in mixers
        for cache in _attention(mixer, spec, attention, number in skipped)
    ] + _separate(by, len(layers), attention)


def _separate(by: LayerRules, first: int, rules: AttentionRules) -> list[Member]:
    """The layers of a separate draft, numbered from `first` on; it runs on as many ranks as its target."""
    if by.draft is None:
        return []
    return [
        (number, cache)
        for number, layer in enumerate(by.draft.each_layer(), first)
        for mixer in layer.mixers
        for cache in _attention(shard_mixer(mixer, by.ranks), by.draft, rules)
    ]


def _draft(spec: ModelSpec, count: int) -> list[Layer]:
    """Prediction layers are decoder layers with the last layer's attention; DeepSeek-V4's has a window only."""
    if not count:
        return []
    mixer = next((m for m in reversed([*spec.mixers()]) if not isinstance(m, Recurrent | CrossAttention)), None)
    if isinstance(mixer, CompressedAttention):
        mixer = next((m for m in spec.mixers() if isinstance(m, CompressedAttention) and not m.ratio), mixer)
    return [Layer(mixers=() if mixer is None else (mixer,))] * count


def _attention_rules(by: LayerRules, block: int) -> AttentionRules:
    return AttentionRules(by.formats, block, by.bounded_chunks, by.encoder_tokens)


def _skipped(sharded: list[tuple[Mixer, ...]]) -> set[int]:
    numbers = [number for number, mixers in enumerate(sharded) if any(isinstance(m, Attention) for m in mixers)]
    return {*numbers[:SKIPPED_ENDS], *numbers[-SKIPPED_ENDS:]}


def _attention(mixer: Mixer, spec: ModelSpec, rules: AttentionRules, skipped: bool = False) -> list[LayerCache]:
    """The caches of one layer's mixer."""
    match mixer:
        case Attention():
            kept = in_model_dtype(rules.formats) if skipped else rules.formats.cache
            window = OWN_WINDOWS.get(spec.model_type, mixer.window)
            return attention_layers(replace(mixer, window=window), rules, kept)
        case LatentAttention() if spec.model_type in FULL_ONLY:
            return expanded_latent(mixer, rules)
        case LatentAttention():
            return latent_layers(mixer, rules)
        case CompressedAttention():
            return compressed_layers(mixer, rules.formats.cache.key)
        case CrossAttention():
            return [cross_layer(mixer, rules)]
        case _:
            return []


def _hybrid(spec: ModelSpec, sharded: list[tuple[Mixer, ...]], by: LayerRules) -> list[Member]:
    """Attention blocks are made large enough for a state, and states padded to them (section 2.4)."""
    states = {mixer: _state(mixer, spec, by) for mixers in sharded for mixer in mixers if isinstance(mixer, Recurrent)}
    largest = max(states.values())
    row = max(_rows(spec, sharded, by), default=0)
    block = by.block
    if row:
        latent = spec.has(LatentAttention)
        block = aligned_block(largest, row, block, by.smallest, latent, by.mode.alignment)
    page = block * row if row else largest
    kept = LayerCache("state", _state_block(block, by), page, ("state",), by.mode.blocks, sharded=False)
    attention = _attention_rules(by, block)
    return [
        (number, cache)
        for number, mixers in enumerate(sharded)
        for mixer in mixers
        for cache in (
            [replace(kept, filled=states[mixer])]
            if isinstance(mixer, Recurrent)
            else _attention(mixer, spec, attention)
        )
    ] + _separate(by, len(sharded), attention)


def _state_block(block: int, by: LayerRules) -> int:
    return block if by.mode.aligned else by.max_model_len


def _state(mixer: Recurrent, spec: ModelSpec, by: LayerRules) -> int:
    return state_bytes(mixer, by.formats.state_of(mixer, spec.model_type), by.mode.spec)


def _rows(spec: ModelSpec, sharded: list[tuple[Mixer, ...]], by: LayerRules) -> Iterator[int]:
    """Bytes of one token in each attention layer, index keys aside."""
    rules = _attention_rules(by, 1)
    for mixer in {mixer for mixers in sharded for mixer in mixers if not isinstance(mixer, Recurrent)}:
        yield from (cache.page for cache in _attention(mixer, spec, rules) if cache.shape[:1] != ("index",))
