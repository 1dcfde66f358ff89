"""What a layer keeps in llama.cpp: a cell's key and value, and recurrent state.

Sources: src/llama-kv-cache.cpp, llama-memory-recurrent.cpp, llama-hparams.cpp.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from model_catalog.spec import (
    Attention,
    CompressedAttention,
    Indexer,
    LatentAttention,
    Mixer,
    ModelSpec,
    Recurrent,
)
from sizing.engines.llama_cpp.cells import FULL, Law
from sizing.engines.llama_cpp.rules import Latent
from sizing.formats import FormatError, format_named
from sizing.scenario import ScenarioError

STATE_BYTES = 4  # recurrent state is f32 whatever the cache types are
POOLED_WIDTH = 3  # an indexer that pools keys keeps three vectors a token (llama-memory-hybrid-idx.cpp)
OVERLAPPING = 4  # compressed attention of this ratio overlaps its windows and keeps twice the width


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerRules:
    """`key` and `value` are cache types; `plain_windows` keeps those of window caches f16.

    `windows`: window layers have a cache of their own; without, they keep every token like the others.

    `widest_value`: elements of the widest value row of the model, to which rows are padded without flash attention;
    0 with it. `values_in_indexer`: MiniMax's indexer cache has a value as well.
    """

    key: str
    value: str
    latent: Latent
    widest_value: int
    windows: bool
    plain_windows: bool
    values_in_indexer: bool


@dataclass(frozen=True, slots=True)
class Rows:
    """Bytes of a cell's key and value in `layers` layers of a cache. `role` tells caches of one law apart."""

    law: Law
    key: int
    value: int
    layers: int = 1
    role: str = "main"


@dataclass(frozen=True, slots=True)
class State:
    """f32 bytes of each slot: `conv` (R in the log) and `recurrent` (S); `streamed`, that of compressed attention."""

    conv: int = 0
    recurrent: int = 0
    streamed: int = 0

    @property
    def total(self) -> int:
        return self.conv + self.recurrent + self.streamed


def row(name: str, elements: int) -> int:
    """Bytes of a row. Raises ScenarioError where quantised blocks do not fill it."""
    try:
        return format_named(name).row_bytes(1, elements)
    except FormatError as error:
        raise ScenarioError("kv_dtype", f"{name} does not suit this model: {error}.") from None


def widest_value(spec: ModelSpec) -> int:
    """Elements of the widest value row, of layers that store none too (n_embd_v_gqa_max)."""
    rows = (m.kv_heads * m.value_dim for m in spec.mixers() if isinstance(m, Attention))
    return max(rows, default=0)


def rows_of(mixer: Mixer, by: LayerRules) -> Iterator[Rows]:
    match mixer:
        case Attention():
            yield from _attention(mixer, by)
        case LatentAttention():
            yield from _latent(mixer, by)
        case CompressedAttention():
            yield from _compressed(mixer, by)
        case _:
            return  # recurrent layers have no cells, and cross-attention is computed again at each step


def _attention(mixer: Attention, by: LayerRules) -> Iterator[Rows]:
    if mixer.reuses_cache:
        return
    window = mixer.window or mixer.chunk
    plain = by.plain_windows and window
    key, value = ("fp16", "fp16") if plain else (by.key, by.value)
    width = max(mixer.kv_heads * mixer.value_dim, by.widest_value)
    yield Rows(_law(window, by), row(key, mixer.kv_heads * mixer.head_dim), row(value, width))
    if mixer.indexer:
        beside = row(by.value, mixer.value_dim) if by.values_in_indexer else 0
        yield Rows(FULL, _index_key(mixer.indexer, by), beside, role="indexer")


def _law(window: int | None, by: LayerRules) -> Law:
    return Law("window", window) if window and by.windows else FULL


def _latent(mixer: LatentAttention, by: LayerRules) -> Iterator[Rows]:
    """The latent once; twice between #12801 and #19067; full heads before, and in files without the MLA keys."""
    if not mixer.reuses_cache:
        law = _law(mixer.window, by)
        if by.latent == "heads":
            key = row(by.key, mixer.heads * (mixer.nope_dim + mixer.rope_dim))
            yield Rows(law, key, row(by.value, mixer.heads * mixer.value_dim))
        else:
            copy = by.latent in ("copied", "transposed")
            yield Rows(
                law,
                row(by.key, mixer.latent_dim + mixer.rope_dim),
                row(by.value, mixer.latent_dim) if copy else 0,
            )
    if mixer.indexer:
        yield Rows(FULL, _index_key(mixer.indexer, by), 0, role="indexer")


def _index_key(indexer: Indexer, by: LayerRules) -> int:
    """In the key's cache type, with no scales beside."""
    return row(by.key, indexer.head_dim * (POOLED_WIDTH if indexer.pool > 1 else 1))


def _compressed(mixer: CompressedAttention, by: LayerRules) -> Iterator[Rows]:
    """DeepSeek-V4: a window of raw entries, compressed entries, and index keys for those; no values."""
    yield Rows(Law("raw", mixer.window), row(by.key, mixer.head_dim), 0)
    if mixer.ratio:
        law = Law("compressed", mixer.ratio)
        yield Rows(law, row(by.key, mixer.head_dim), 0)
        if mixer.indexer:
            yield Rows(law, row(by.key, mixer.indexer.head_dim), 0, role="indexer")


def state_of(mixer: Mixer) -> State:
    """Of one slot: the convolution's last kernel − 1 inputs and the recurrent state, all f32."""
    if isinstance(mixer, Recurrent):
        conv = mixer.conv_channels * (mixer.conv_kernel - 1)
        return State(conv * STATE_BYTES, mixer.state_elements * STATE_BYTES)
    if isinstance(mixer, CompressedAttention) and mixer.ratio:
        compressors = _compressor(mixer.ratio, mixer.head_dim)
        if mixer.indexer:
            compressors += _compressor(mixer.ratio, mixer.indexer.head_dim)
        return State(streamed=compressors)
    return State()


def _compressor(ratio: int, width: int) -> int:
    """Keys and weights of the tokens not yet compressed: 65,536 B for ratio 4, 524,288 for 128, width 512."""
    overlap = 2 if ratio == OVERLAPPING else 1
    return 2 * (overlap * ratio) * (overlap * width) * STATE_BYTES


def summed(rows: Iterable[Rows]) -> tuple[Rows, ...]:
    """Caches of the same law and role together, the full ones first."""
    held: dict[tuple[Law, str], Rows] = {}
    for each in rows:
        key = (each.law, each.role)
        had = held.get(key, Rows(each.law, 0, 0, 0, each.role))
        held[key] = Rows(each.law, had.key + each.key, had.value + each.value, had.layers + each.layers, each.role)
    return tuple(sorted(held.values(), key=lambda each: (each.law.kind != "full", each.role != "main", each.law.size)))


def summed_states(states: Iterable[State]) -> State:
    listed = list(states)
    return State(
        sum(state.conv for state in listed),
        sum(state.recurrent for state in listed),
        sum(state.streamed for state in listed),
    )
