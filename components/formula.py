"""The cache formula with this model's numbers put in: one line for each thing that layers of one kind keep.

Results come from the core alone. Factors are the model's own numbers; where they would not multiply to the core's
result, the core's bytes of one entry stand in their place, so that a shown product is always the shown result.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod

from components.choices import cache_rules
from components.layer_kinds import RECURRENT_NAMES, first_kv, kind_of
from model_catalog.spec import (
    Attention,
    CompressedAttention,
    CrossAttention,
    LatentAttention,
    Mixer,
    Recurrent,
)
from sizing.cache import CacheCost, Growth
from sizing.cache_formats import CacheFormats
from sizing.engines.plan import EnginePlan
from sizing.formats import FORMATS

CostOf = Callable[[Mixer], CacheCost]
ELEMENT_BYTES = (1, 2, 4)


@dataclass(frozen=True)
class Factor:
    value: int
    label: str


@dataclass(frozen=True)
class Line:
    """The product of the factors is `result`, in bytes."""

    name: str
    factors: tuple[Factor, ...]
    result: int


@dataclass(frozen=True)
class Load:
    """What is stored: `batch` sequences of `tokens` tokens, the first `prefix` of which are stored once."""

    tokens: int
    batch: int
    prefix: int


def formula_lines(planned: EnginePlan) -> list[Line]:
    """One copy of the whole model, by the rules of the scenario's engine. The results add up to all it keeps."""
    scenario, rules = planned.scenario, cache_rules(planned.scenario.engine)
    formats = rules.formats(scenario, planned.spec)
    mixer_cost = rules.mixer_cost_of(planned.spec)
    load = Load(scenario.context_length or 1, scenario.batch_size, scenario.shared_prefix_tokens)
    counts: dict[Mixer, int] = {}
    for run in planned.spec.layers:
        for mixer in run.layer.mixers:
            counts[mixer] = counts.get(mixer, 0) + run.count
    return [
        line
        for mixer, count in sorted(counts.items(), key=lambda pair: first_kv(pair[0]))
        for line in _lines(mixer, count, lambda each: mixer_cost(each, formats), formats, load)
    ]


def _lines(mixer: Mixer, count: int, cost_of: CostOf, formats: CacheFormats, load: Load) -> Iterator[Line]:
    layers = Factor(count, "layer" if count == 1 else "layers")
    requests = Factor(load.batch, "request" if load.batch == 1 else "requests")
    cost = cost_of(mixer)
    if isinstance(mixer, Recurrent):
        yield from _state_lines(mixer, cost_of, formats, layers, requests)
        return
    for growth, of_index_key in _told_apart(mixer, cost, cost_of):
        yield _growth_line(mixer, growth, of_index_key, formats, layers, load)
    if cost.fixed_kv and isinstance(mixer, CrossAttention):
        entry = _entry(mixer, cost.fixed_kv // mixer.source_tokens, formats)
        source = Factor(mixer.source_tokens, "source tokens")
        yield _line(_named(mixer), (layers, *entry, source, requests), layers.value * cost.fixed_kv * load.batch)


def _told_apart(mixer: Mixer, cost: CacheCost, cost_of: CostOf) -> Iterator[tuple[Growth, bool]]:
    """The growths of a mixer, and whether each is that of the indexer's key: those a mixer without one lacks."""
    rest: list[Growth] = []
    if not isinstance(mixer, CrossAttention | Recurrent) and mixer.indexer:
        rest = list(cost_of(replace(mixer, indexer=None)).growths)
        for growth in cost.growths:
            own = growth in rest
            if own:
                rest.remove(growth)
            yield growth, not own
        return
    for growth in cost.growths:
        yield growth, False


def _growth_line(
    mixer: Mixer, growth: Growth, of_index_key: bool, formats: CacheFormats, layers: Factor, load: Load
) -> Line:
    one = replace(growth, bytes=1)
    entries, once = int(one.at(load.tokens)), int(one.shared(load.tokens, load.prefix))
    stored = (entries - once) * load.batch + once
    result = layers.value * growth.bytes * stored
    kept = _entries_label(growth, load.tokens)
    if once:
        tail: tuple[Factor, ...] = (Factor(stored, f"{kept}, prefix once"),)
    else:
        tail = (Factor(entries, kept), Factor(load.batch, "request" if load.batch == 1 else "requests"))
    entry = (Factor(growth.bytes, "bytes an index key"),) if of_index_key else _entry(mixer, growth.bytes, formats)
    name = f"Index keys of {kind_of(mixer).name}" if of_index_key else _named(mixer, growth)
    return _line(name, (layers, *entry, *tail), result)


def _entries_label(growth: Growth, tokens: int) -> str:
    if growth.every > 1:
        return f"entries, one for {growth.every:,} tokens"
    if growth.limit is not None:
        return f"min({tokens:,}, {growth.limit:,}) tokens"
    return "tokens"


def _named(mixer: Mixer, growth: Growth | None = None) -> str:
    if isinstance(mixer, CompressedAttention) and growth:
        if growth.limit is not None:
            return f"Window of {mixer.window:,}, raw entries"
        return f"Compressed entries, one for {mixer.ratio:,} tokens"
    return kind_of(mixer).name.removesuffix(", with indexer").capitalize().replace("(mla)", "(MLA)")


def _entry(mixer: Mixer, size: int, formats: CacheFormats) -> tuple[Factor, ...]:
    """Factors of one token's bytes in one layer, in the model's own numbers where they multiply to `size`."""
    factors = _entry_numbers(mixer, formats)
    if factors and prod(factor.value for factor in factors) == size:
        return factors
    return (Factor(size, _entry_label(mixer, formats)),)


def _entry_label(mixer: Mixer, formats: CacheFormats) -> str:
    if not isinstance(mixer, Attention | CrossAttention):
        return f"bytes a token in {formats.key.upper()}"
    key = f"{mixer.kv_heads} × {mixer.head_dim} K in {formats.key.upper()}"
    value = f"{mixer.kv_heads} × {mixer.value_dim} V in {formats.value.upper()}"
    return f"bytes a token: {key} + {value}"


def _entry_numbers(mixer: Mixer, formats: CacheFormats) -> tuple[Factor, ...]:
    element = _element_bytes(formats)
    if element is None:
        return ()
    size = Factor(element, "bytes" if element > 1 else "byte")
    match mixer:
        case Attention() | CrossAttention() if mixer.head_dim == mixer.value_dim:
            return (
                Factor(2, "K and V"),
                Factor(mixer.kv_heads, "KV heads"),
                Factor(mixer.head_dim, "head dim"),
                size,
            )
        case Attention() | CrossAttention():
            both = Factor(mixer.head_dim + mixer.value_dim, f"{mixer.head_dim} K + {mixer.value_dim} V dims")
            return (Factor(mixer.kv_heads, "KV heads"), both, size)
        case LatentAttention():
            both = Factor(
                mixer.latent_dim + mixer.rope_dim, f"{mixer.latent_dim} latent + {mixer.rope_dim} rotary dims"
            )
            return (both, size)
        case CompressedAttention():
            return (Factor(mixer.head_dim, "head dim, K and V in one"), size)
    return ()


def _element_bytes(formats: CacheFormats) -> int | None:
    """Bytes of one element where keys and values have one format without blocks or scales."""
    known = FORMATS.get(formats.key)
    plain = known is not None and known.block == 1 and not known.per_head
    return known.block_bytes if known and plain and formats.key == formats.value else None


def _state_lines(
    mixer: Recurrent, cost_of: CostOf, formats: CacheFormats, layers: Factor, requests: Factor
) -> Iterator[Line]:
    """The convolution's last inputs and the recurrent state, each by the core's own count."""
    conv = cost_of(replace(mixer, state_elements=0)).state
    recurrent = cost_of(replace(mixer, conv_channels=0)).state
    name = RECURRENT_NAMES[mixer.kind].capitalize().replace("Rwkv", "RWKV").replace("Xlstm", "xLSTM")
    if conv:
        factors = _conv_factors(mixer, conv, formats.conv_bytes)
        yield _line(f"{name}, convolution", (layers, *factors, requests), layers.value * conv * requests.value)
    if recurrent:
        factors = _state_factors(mixer, recurrent)
        yield _line(f"{name}, recurrence", (layers, *factors, requests), layers.value * recurrent * requests.value)


def _conv_factors(mixer: Recurrent, size: int, usual_bytes: int) -> tuple[Factor, ...]:
    """Channels × remembered inputs × bytes; the engine decides whether kernel − 1 or all columns are kept."""
    columns_bytes, rest = divmod(size, mixer.conv_channels)
    for element in (usual_bytes, *ELEMENT_BYTES):
        columns = columns_bytes // element
        if not rest and columns * element == columns_bytes and columns in (mixer.conv_kernel - 1, mixer.conv_kernel):
            return (
                Factor(mixer.conv_channels, "channels"),
                Factor(columns, "inputs"),
                Factor(element, "bytes"),
            )
    return (Factor(size, "bytes"),)


def _state_factors(mixer: Recurrent, size: int) -> tuple[Factor, ...]:
    element, rest = divmod(size, mixer.state_elements)
    each, uneven = divmod(mixer.state_elements, mixer.heads)
    if rest or uneven:
        return (Factor(size, "bytes"),)
    return (Factor(mixer.heads, "heads"), Factor(each, "elements a head"), Factor(element, "bytes"))


def _line(name: str, factors: tuple[Factor, ...], result: int) -> Line:
    """Raises ArithmeticError where the product is not the result: a page must never show that."""
    if prod(factor.value for factor in factors) != result:
        raise ArithmeticError(f"{name}: the factors do not multiply to {result:,}")
    return Line(name, factors, result)
