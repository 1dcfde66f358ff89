"""One token in one layer: what the budget is charged for it, and what the pools hold (srt/mem_cache/memory_pool.py)."""

from dataclasses import dataclass

from model_catalog.spec import Attention, CrossAttention, Indexer, LatentAttention
from sizing.engines.sglang.rules import Rules

FP4 = ("fp4_e2m1", "nvfp4")
ELEMENT = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "fp8_ds_mla": 1, "mxfp8": 1, "fp4_e2m1": 1, "nvfp4": 1}
SCALE_BLOCK = {"mxfp8": 32, "fp4_e2m1": 16, "nvfp4": 16}
INDEX_BLOCK = 128  # elements of an indexer key, or of a latent in fp8, that share a 4-byte scale


@dataclass(frozen=True, slots=True)
class Row:
    """Bytes a token: `charged` to the budget, allocated as `key` and `value`, and what the log counts of each.

    Latent attention has no value.
    """

    charged: int = 0
    key: int = 0
    value: int = 0
    shown_key: int = 0
    shown_value: int = 0

    @property
    def held(self) -> int:
        return self.key + self.value

    def plus(self, other: "Row", times: int = 1) -> "Row":
        return Row(
            self.charged + other.charged * times,
            self.key + other.key * times,
            self.value + other.value * times,
            self.shown_key + other.shown_key * times,
            self.shown_value + other.shown_value * times,
        )


NO_ROW = Row()


def pair_row(mixer: Attention | CrossAttention, name: str, rules: Rules, *, two_pools: bool) -> Row:
    """Keys and values. With two pools fp4 is charged as if it had one byte an element (HybridSWAPoolConfigurator)."""
    key_width, value_width = mixer.kv_heads * mixer.head_dim, mixer.kv_heads * mixer.value_dim
    charged_width = 2 * key_width if rules.doubles_key else key_width + value_width
    if name in FP4:
        charged = charged_width if two_pools else charged_width // 2 + 2 * key_width // SCALE_BLOCK[name]
    else:
        charged = _vector(charged_width, name)
    key, value = _vector(key_width, name), _vector(value_width, name)
    shown = name not in FP4 or rules.fp4_scales_shown
    row = Row(charged, key, value, key if shown else key_width // 2, value if shown else value_width // 2)
    indexer = mixer.indexer if isinstance(mixer, Attention) else None
    return row.plus(_plain_index(indexer)) if indexer else row


def _vector(width: int, name: str) -> int:
    """Bytes of `width` elements with their scales."""
    if name in FP4:
        return width // 2 + width // SCALE_BLOCK[name]
    scales = width // SCALE_BLOCK[name] if name in SCALE_BLOCK else 0
    return width * ELEMENT[name] + scales


def _plain_index(indexer: Indexer) -> Row:
    """MiniMax sparse layers keep one key head for the indexer in the model's dtype."""
    size = 2 * indexer.key_heads * indexer.head_dim // indexer.pool
    return Row(size, size, 0, size, 0)


def workspace(mixer: Attention, name: str, rules: Rules) -> int:
    """fp4 prefill dequantizes into one fp8 buffer that all layers share; its bytes a token are charged once."""
    return 2 * mixer.kv_heads * mixer.head_dim if name in FP4 and rules.fp4_workspace else 0


def latent_row(mixer: LatentAttention, name: str, rules: Rules, indexer: Indexer | None) -> Row:
    """Latent and rotary key, undivided. `indexer` is the model's: every layer is charged for it, those with it hold it.

    fp8 sparse MLA keeps the latent in fp8 with scales and the rotary part in 16 bits (656 bytes of 512 + 64).
    """
    width = mixer.latent_dim + mixer.rope_dim
    if name in FP4:
        held = charged = width // 2 + width // SCALE_BLOCK[name]
    elif indexer and name in ("fp8", "fp8_ds_mla"):
        held = mixer.latent_dim + mixer.latent_dim // INDEX_BLOCK * 4 + mixer.rope_dim * 2
        charged = width if rules.undercharges_sparse else held
    else:
        held = charged = width * ELEMENT[name]
    index = index_bytes(indexer) if indexer else 0
    held += index if mixer.indexer else 0
    return Row(charged + index, held, 0, held, 0)


def index_bytes(indexer: Indexer) -> int:
    """fp8 keys with a scale for every 128 elements: 132 bytes of 128."""
    return (indexer.head_dim + indexer.head_dim // INDEX_BLOCK * 4) * indexer.key_heads // indexer.pool
