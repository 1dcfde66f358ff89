"""The rows and states of each pipeline stage's layers, summed."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from model_catalog.spec import Attention, CrossAttention, Indexer, LatentAttention, Layer, Mixer, ModelSpec, Recurrent
from sizing.cache import CacheCost, Growth, shared_out, total
from sizing.engines.sglang.cache import NOTHING
from sizing.engines.sglang.rows import ELEMENT, NO_ROW, Row, latent_row, pair_row, workspace
from sizing.engines.sglang.settings import Settings
from sizing.engines.sglang.traits import traits_of
from sizing.placement import heads_per_rank, shard_mixer

Heads = TypeVar("Heads", Attention, CrossAttention)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Rows of the full and of the window pool over a stage's layers, and the bytes of one recurrent slot."""

    full: Row = NO_ROW
    full_layers: int = 0
    window: Row = NO_ROW
    window_layers: int = 0
    window_tokens: int = 0
    workspace: int = 0
    conv: int = 0
    recurrent: int = 0
    encoder_tokens: int = 0
    live: CacheCost = NOTHING

    @property
    def slot(self) -> int:
        return self.conv + self.recurrent


def sums_of(layers: Iterable[Layer], spec: ModelSpec, settings: Settings) -> Sums:
    """Layers that reuse another's cache are counted like the rest (section 3.1: Gemma 3n pays for all 35)."""
    counts = Counter(mixer for layer in layers for mixer in layer.mixers)
    indexer = traits_of(spec).indexer
    summed, costs = Sums(), []
    for mixer, count in counts.items():
        part = _part(mixer, settings, indexer)
        summed = _plus(summed, part, count)
        costs += [part.live] * count
    live = shared_out(total(costs), settings.placement.decode_context_parallel)
    return replace(summed, live=live)


def _part(mixer: Mixer, settings: Settings, indexer: Indexer | None) -> Sums:
    """One layer's mixer on one rank."""
    match mixer:
        case Attention():
            return _attention(_with_heads(mixer, settings), settings)
        case CrossAttention():
            row = pair_row(_with_heads(mixer, settings), settings.format, settings.rules, two_pools=False)
            live = CacheCost(fixed_kv=row.held * mixer.source_tokens)
            return Sums(full=row, full_layers=1, encoder_tokens=mixer.source_tokens, live=live)
        case LatentAttention():
            row = latent_row(mixer, settings.format, settings.rules, indexer)
            return Sums(full=row, full_layers=1, live=CacheCost((Growth(row.held),)))
        case Recurrent():
            return _recurrent(mixer, settings)
        case _:
            return Sums()


def _with_heads(mixer: Heads, settings: Settings) -> Heads:
    """KV heads of one rank: shared out over the attention ranks that do not share tokens."""
    ranks = max(1, settings.placement.ranks_per_replica // settings.placement.decode_context_parallel)
    return replace(mixer, kv_heads=heads_per_rank(mixer.kv_heads, ranks))


def _attention(mixer: Attention, settings: Settings) -> Sums:
    row = pair_row(mixer, settings.format, settings.rules, two_pools=settings.two_pools)
    bound = (mixer.window or mixer.chunk) if settings.two_pools else None
    live = CacheCost((Growth(row.held, bound),))
    if bound:
        return Sums(window=row, window_layers=1, window_tokens=bound, live=live)
    return Sums(full=row, full_layers=1, workspace=workspace(mixer, settings.format, settings.rules), live=live)


def _recurrent(mixer: Recurrent, settings: Settings) -> Sums:
    """Convolution in the model's 16 bits, state in fp32 unless the config or the user says otherwise (section 7)."""
    local = shard_mixer(mixer, settings.placement.ranks_per_replica)
    assert isinstance(local, Recurrent)
    conv_bytes = settings.conv_bytes or ELEMENT.get(mixer.conv_dtype or "bf16", 2)
    state_bytes = settings.recurrent_bytes or ELEMENT.get(mixer.state_dtype or "fp32", 4)
    conv = local.conv_channels * (local.conv_kernel - 1) * conv_bytes
    recurrent = local.state_elements * state_bytes
    return Sums(conv=conv, recurrent=recurrent, live=CacheCost(state=conv + recurrent))


def _plus(one: Sums, other: Sums, times: int) -> Sums:
    return Sums(
        full=one.full.plus(other.full, times),
        full_layers=one.full_layers + other.full_layers * times,
        window=one.window.plus(other.window, times),
        window_layers=one.window_layers + other.window_layers * times,
        window_tokens=max(one.window_tokens, other.window_tokens),
        workspace=max(one.workspace, other.workspace),
        conv=one.conv + other.conv * times,
        recurrent=one.recurrent + other.recurrent * times,
        encoder_tokens=max(one.encoder_tokens, other.encoder_tokens),
    )
