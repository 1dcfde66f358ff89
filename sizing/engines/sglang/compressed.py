"""The pools of DeepSeek-V4: full, window and compressed tokens, and compressor states.

Every full token is charged its share of the compressed entries and, by the ratio, of the window pool of all layers
with the states of the indexed compressors beside it. The states of the widely compressed layers are a ring per
request, paid for first (DSV4PoolConfigurator); before 0.5.15 they lay beside the window pool as well.
"""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from model_catalog.spec import CompressedAttention, Layer
from sizing.cache import CacheCost, Growth, times, total
from sizing.cache_formats import DS_MLA, compressed_bytes
from sizing.engines.sglang.cache import Stage
from sizing.engines.sglang.pools import TokenPools
from sizing.engines.sglang.rows import index_bytes
from sizing.engines.sglang.settings import Settings
from sizing.integers import up

STATE_BYTES = 4  # compressor states are fp32
ROW_STEP = 128
INDEXED, WIDE, WINDOW = 4, 128, 128  # ratios and window of the published configs


def compressed_stage(layers: Iterable[Layer], settings: Settings) -> Stage:
    counts = Counter(mixer for layer in layers for mixer in layer.mixers if isinstance(mixer, CompressedAttention))
    full, window, rings = Fraction(0), Fraction(0), 0
    for mixer, count in counts.items():
        full += count * _entries(mixer)
        window += count * (_entry(mixer) + _window_state(mixer, settings))
        rings += count * _ring(mixer, settings)
    if settings.rules.counts_prediction_window and counts:
        window += _entry(next(iter(counts)))
    page, ratio = settings.page, settings.ratio
    number = sum(counts.values())
    drafts = Fraction(number + 1, number) if settings.draft_tokens and number else Fraction(1)
    kept = max((mixer.window for mixer in counts), default=0)
    return Stage(
        pools=TokenPools(
            page=page,
            cell=(full + ratio * window) * drafts,
            ratio=ratio,
            fixed=_fixed(counts, settings),
            least_window=int(up(kept + page + 1, page)) if settings.rules.window_pool_checked else 0,
        ),
        full_page=int(full * page * drafts),
        window_page=int(window * page * drafts),
        window_kept=int(up(kept, page)) + page,
        state_each=rings,
        live=total(times(_live(mixer), count) for mixer, count in counts.items()),
    )


def _entry(mixer: CompressedAttention) -> int:
    return compressed_bytes(DS_MLA, mixer.head_dim, mixer.rope_dim)


def _entries(mixer: CompressedAttention) -> Fraction:
    """Compressed entries and indexer keys a full token."""
    if not mixer.ratio:
        return Fraction(0)
    return Fraction(_entry(mixer) + (index_bytes(mixer.indexer) if mixer.indexer else 0), mixer.ratio)


def _ring_length(mixer: CompressedAttention, settings: Settings) -> int:
    """Indexed compressors overlap, so their ring is twice the ratio; drafts double any ring."""
    length = mixer.ratio * (2 if mixer.indexer else 1)
    return length * (2 if settings.draft_tokens else 1)


def _window_state(mixer: CompressedAttention, settings: Settings) -> Fraction:
    """States of a compressor, and of its indexer, a window token: one ring for every window."""
    if not mixer.ratio or _ring(mixer, settings):
        return Fraction(0)
    row = (4 * (mixer.head_dim + mixer.indexer.head_dim) if mixer.indexer else 2 * mixer.head_dim) * STATE_BYTES
    return Fraction(_ring_length(mixer, settings) * row, mixer.window)


def _ring(mixer: CompressedAttention, settings: Settings) -> int:
    """States of a compressor without indexer that one request holds."""
    if not mixer.ratio or mixer.indexer is not None or not settings.rules.rings_by_request:
        return 0
    return _ring_length(mixer, settings) * 2 * mixer.head_dim * STATE_BYTES


def _fixed(counts: Counter[CompressedAttention], settings: Settings) -> int:
    requests = (settings.running or 0) + 1
    fixed = 0
    for mixer, count in counts.items():
        if _ring(mixer, settings):
            ring = _ring_length(mixer, settings)
            rows = up(requests * ring + ring + 1, ROW_STEP)
            fixed += count * int(rows) * 2 * mixer.head_dim * STATE_BYTES
    return fixed


def _live(mixer: CompressedAttention) -> CacheCost:
    entry = _entry(mixer)
    growths = [Growth(entry, mixer.window)]
    if mixer.ratio:
        growths.append(Growth(int(_entries(mixer) * mixer.ratio), every=mixer.ratio))
    return CacheCost(tuple(growths))


def compressed_line(full: int, window: int, settings: Settings) -> str:
    """The log line of the pools."""
    drafted = 2 if settings.draft_tokens else 1
    states = window // WINDOW * INDEXED * 2 * drafted
    rings = 0 if settings.rules.rings_by_request else window // WINDOW * WIDE * drafted
    return (
        f"DSV4 pool sizes: full={full}, swa={window}, c4={full // INDEXED}, c128={full // WIDE}, "
        f"c4_state={states}, c128_state={rings}"
    )
