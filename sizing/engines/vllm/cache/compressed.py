"""DeepSeek-V4 in vLLM: window, compressed entries, indexer keys and the compressors' states of one layer (2.5)."""

from model_catalog.spec import CompressedAttention, Indexer
from sizing.cache_formats import compressed_bytes
from sizing.engines.vllm.cache.layers import Kind, LayerCache

ALIGNMENT = 576
BLOCK = 256
WINDOW_BLOCK = 64
STATE_BYTES = 4  # fp32
INDEXER_SCALES = 128


def compressed_layers(mixer: CompressedAttention, format_name: str) -> list[LayerCache]:
    """In the order of their first use, which decides the order of the groups."""
    entry = compressed_bytes(format_name, mixer.head_dim, mixer.rope_dim)
    window = _layer("sliding", WINDOW_BLOCK, WINDOW_BLOCK * entry, "window", mixer.window)
    if not mixer.ratio:
        return [window]
    entries = _layer("full", BLOCK, BLOCK // mixer.ratio * entry, f"entries of {mixer.ratio}")
    if mixer.indexer is None:
        return [window, entries, _state(mixer.head_dim, mixer.ratio, overlaps=False)]
    keys = _layer("full", BLOCK, BLOCK // mixer.ratio * _key(mixer.indexer), "index keys")
    overlapping = [_state(dim, mixer.ratio, overlaps=True) for dim in (mixer.indexer.head_dim, mixer.head_dim)]
    return [window, keys, overlapping[0], entries, overlapping[1]]


def _key(indexer: Indexer) -> int:
    return indexer.key_heads * (indexer.head_dim + 4 * -(-indexer.head_dim // INDEXER_SCALES))


def _state(dim: int, ratio: int, *, overlaps: bool) -> LayerCache:
    """Key and gate of the tokens not yet compressed: of two blocks of `ratio` where they overlap, else of one."""
    width, bound, block = (4 * dim, 2 * ratio, 4) if overlaps else (2 * dim, ratio, 8)
    return _layer("sliding", block, block * width * STATE_BYTES, f"state of {width}", bound)


def _layer(kind: Kind, block: int, page: int, shape: str, bound: int = 0) -> LayerCache:
    padded = -(-page // ALIGNMENT) * ALIGNMENT
    return LayerCache(kind, block, padded, (shape,), bound, latent=True, filled=page)
