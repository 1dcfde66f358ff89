"""The caches of one rank's attention layers (v1/kv_cache_interface.py; odd classes as 0.33's planner has them)."""

from dataclasses import dataclass

from model_catalog.spec import Attention, CrossAttention, Indexer, LatentAttention
from sizing.cache_formats import DS_MLA, LATENT_FORMATS, CacheFormats, latent_bytes, pair_bytes
from sizing.engines.vllm.cache.layers import Kind, LayerCache
from sizing.engines.vllm.formats import Formats
from sizing.formats import format_named

INDEX_SCALES = 128  # one fp32 scale for every 128 fp8 elements of a latent model's index key
OWN_WINDOWS = {"mimo": 32_768}  # classes that heed sliding_window whatever use_sliding_window says
ENCODERS = frozenset(  # every token sees every other, and nothing is cached
    {"bert", "distilbert", "electra", "modernbert", "nomic_bert", "roberta", "xlm-roberta"}
)
FULL_ONLY = ("minicpm3",)  # latent attention whose keys and values vLLM stores per head


@dataclass(frozen=True, slots=True)
class AttentionRules:
    """What all layers of a plan share."""

    formats: Formats
    block: int
    chunks_bounded: bool
    encoder_tokens: int


def attention_layers(mixer: Attention, rules: AttentionRules, kept: CacheFormats) -> list[LayerCache]:
    """Keys and values in the format `kept`, and the index keys; nothing where another layer's are read."""
    if mixer.reuses_cache:
        return []
    row = pair_bytes(kept, mixer.kv_heads, mixer.head_dim, mixer.value_dim)
    shape = (mixer.kv_heads, mixer.head_dim, mixer.value_dim, kept.key)
    return [_windowed(mixer, row, shape, rules), *_index(mixer.indexer, rules)]


def _windowed(mixer: Attention, row: int, shape: tuple[int | str, ...], rules: AttentionRules) -> LayerCache:
    block = rules.block
    if mixer.window is not None:
        return LayerCache("sliding", block, block * row, shape, mixer.window)
    if mixer.chunk is not None and rules.chunks_bounded:
        return LayerCache("chunked", block, block * row, shape, mixer.chunk)
    return LayerCache("full", block, block * row, shape)


def _index(indexer: Indexer | None, rules: AttentionRules) -> list[LayerCache]:
    """Beside plain attention index keys have the model's dtype (MiniMax-M3)."""
    if indexer is None:
        return []
    name = indexer.key_dtype or rules.formats.model
    row = format_named(name).row_bytes(indexer.key_heads, indexer.head_dim)
    return [LayerCache("full", rules.block, rules.block * row, ("index",), latent=True)]


def latent_layers(mixer: LatentAttention, rules: AttentionRules) -> list[LayerCache]:
    """One latent for all heads, whole on every rank; index keys are fp8 with scales."""
    found = [] if mixer.indexer is None else [latent_index(mixer.indexer, rules)]
    if mixer.reuses_cache:
        return found
    page = rules.block * latent_row(mixer, rules.formats)
    kind: Kind = "full" if mixer.window is None else "sliding"
    return [*found, LayerCache(kind, rules.block, page, ("latent", page), mixer.window or 0, latent=True)]


def latent_row(mixer: LatentAttention, formats: Formats) -> int:
    name = formats.cache.key
    if formats.packed and name not in LATENT_FORMATS:
        name = DS_MLA
    return latent_bytes(name, mixer.latent_dim, mixer.rope_dim)


def latent_index(indexer: Indexer, rules: AttentionRules) -> LayerCache:
    """One key for every `pool` tokens."""
    if indexer.key_dtype is not None:
        key = format_named(indexer.key_dtype).row_bytes(indexer.key_heads, indexer.head_dim)
    else:
        key = indexer.key_heads * (indexer.head_dim + 4 * -(-indexer.head_dim // INDEX_SCALES))
    return LayerCache("full", rules.block, rules.block // indexer.pool * key, ("index", key), latent=True)


def expanded_latent(mixer: LatentAttention, rules: AttentionRules) -> list[LayerCache]:
    """MiniCPM3: keys and values of every head, values padded to the keys' size."""
    heads, dim = mixer.heads, mixer.nope_dim + mixer.rope_dim
    row = pair_bytes(rules.formats.cache, heads, dim, dim)
    return [LayerCache("full", rules.block, rules.block * row, (heads, dim, dim))]


def cross_layer(mixer: CrossAttention, rules: AttentionRules) -> LayerCache:
    row = pair_bytes(rules.formats.cache, mixer.kv_heads, mixer.head_dim, mixer.value_dim)
    tokens = max(rules.encoder_tokens, mixer.source_tokens)
    shape = (mixer.kv_heads, mixer.head_dim, mixer.value_dim)
    return LayerCache("cross", rules.block, rules.block * row, shape, tokens)
