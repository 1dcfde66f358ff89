"""Blocks of one rank's layers, by the pool that they are in, and the bytes of a recurrent slot."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from model_catalog.spec import (
    Attention,
    CompressedAttention,
    CrossAttention,
    Indexer,
    LatentAttention,
    Layer,
    Mixer,
    Recurrent,
)
from sizing.cache_formats import CacheFormats, compressed_bytes, latent_bytes, own_conv_bytes, pair_bytes
from sizing.engines.minimum import indexer_growth
from sizing.formats import format_named
from sizing.placement import shard_mixer

WHOLE_KERNEL = ("kda",)  # mixers that keep a column more (the vendor's 454.5 MB a request of Kimi-K3)


@dataclass(frozen=True, slots=True, order=True)
class Lane:
    """Layers that keep equally many tokens of a sequence: all, a window, or those of an encoder."""

    kind: Literal["full", "window", "cross"] = "full"
    tokens: int = 0


FULL = Lane()


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerRules:
    """What all layers share. `longest`: max_seq_len. `windows`: window layers keep their window only, in
    pools of `equal` parts of the memory.
    """

    formats: CacheFormats
    model_dtype: str
    ranks: int
    block: int
    longest: int
    windows: bool
    equal: bool = False


@dataclass(frozen=True, slots=True)
class Sums:
    """Bytes of a block over all layers of each lane, and of one slot of recurrent state."""

    blocks: tuple[tuple[Lane, int], ...]
    slot: int

    @property
    def windows(self) -> frozenset[int]:
        return frozenset(lane.tokens for lane, _ in self.blocks if lane.kind == "window")


def sums_of(layers: Iterable[Layer], by: LayerRules) -> Sums:
    """Of the layers on one rank."""
    counts = Counter(mixer for layer in layers for mixer in layer.mixers)
    blocks: Counter[Lane] = Counter()
    slot = 0
    for mixer, count in counts.items():
        local = shard_mixer(mixer, by.ranks)
        if isinstance(local, Recurrent):
            slot += count * _state(local, by)
        for lane, size in _blocks(local, by):
            blocks[lane] += count * size
    return Sums(tuple(sorted((lane, size) for lane, size in blocks.items() if size)), slot)


def _blocks(mixer: Mixer, by: LayerRules) -> Iterator[tuple[Lane, int]]:
    match mixer:
        case Attention() if not mixer.reuses_cache:
            yield _lane(mixer.window, by), by.block * _pair(mixer, by)
        case CrossAttention():
            yield Lane("cross", mixer.source_tokens), by.block * _pair(mixer, by)
        case LatentAttention() if not mixer.reuses_cache:
            row = latent_bytes(by.formats.key, mixer.latent_dim, mixer.rope_dim)
            yield _lane(mixer.window, by), by.block * row
        case CompressedAttention():
            yield from _compressed(mixer, by)
    if isinstance(mixer, Attention | LatentAttention) and mixer.indexer:
        yield FULL, _index(mixer.indexer, by.block)


def _lane(window: int | None, by: LayerRules) -> Lane:
    return Lane("window", window) if by.windows and window and window < by.longest else FULL


def _pair(mixer: Attention | CrossAttention, by: LayerRules) -> int:
    """Key and value, for which the manager knows one head_dim."""
    widest = max(mixer.head_dim, mixer.value_dim)
    return pair_bytes(by.formats, mixer.kv_heads, widest, widest)


def _compressed(mixer: CompressedAttention, by: LayerRules) -> Iterator[tuple[Lane, int]]:
    """Raw entries of the window, compressed ones for every `ratio` tokens, and the index keys of those."""
    entry = compressed_bytes(by.formats.key, mixer.head_dim, mixer.rope_dim)
    yield Lane("window", min(mixer.window, by.longest)), by.block * entry
    if mixer.ratio:
        yield FULL, -(-by.block // mixer.ratio) * entry + _index(mixer.indexer, by.block, mixer.ratio)


def _index(indexer: Indexer | None, block: int, ratio: int = 1) -> int:
    """Keys of a block of tokens."""
    return sum(-(-block // growth.every) * growth.bytes for growth in indexer_growth(indexer, ratio))


def _state(mixer: Recurrent, by: LayerRules) -> int:
    """Convolution in the model's dtype, state in mamba_ssm_cache_dtype: the config's, else the model's; KDA fp32."""
    model = format_named(by.model_dtype).block_bytes
    columns = mixer.conv_kernel if mixer.kind in WHOLE_KERNEL else mixer.conv_kernel - 1
    if not by.formats.state_is_auto:
        return mixer.conv_channels * columns * by.formats.conv_bytes + mixer.state_elements * by.formats.recurrent_bytes
    own = "fp32" if mixer.kind == "kda" else mixer.state_dtype or by.model_dtype
    conv = mixer.conv_channels * columns * own_conv_bytes(mixer, model)
    return conv + mixer.state_elements * format_named(own).block_bytes
