"""What each family of models makes of an image, a video or an audio clip. What is not here is not known.

Pixel limits are those of the published preprocessor_config.json, else of the processor's class in transformers 5.24.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil
from types import MappingProxyType

from sizing.media import hearing
from sizing.media.item import Item, merged
from sizing.media.resizing import filling, longest_side, to_multiples, up_to_multiples, within_patches
from sizing.media.tiling import tiles_of_shape, tiles_that_fit

Image = Callable[[int, int], Item]  # height and width
Video = Callable[[int, int, int], Item]  # frames, height and width
Audio = Callable[[float], Item]  # seconds


@dataclass(frozen=True, slots=True)
class Family:
    """Rules by kind of input, None where the rule is not known."""

    image: Image | None = None
    video: Video | None = None
    audio: Audio | None = None


def _qwen(height: int, width: int, patch: int, least: int, most: int) -> Item:
    high, wide = to_multiples(height, width, 2 * patch, least, most)
    return merged(high // patch * (wide // patch), 2)


def _qwen_video(frames: int, height: int, width: int, patch: int, least: int, most: int, shared: bool) -> Item:
    """Two frames make one patch; the area is limited for each frame or `shared` by all."""
    counted = max(2, frames) if shared else 1
    high, wide = to_multiples(height, width, 2 * patch, least, most, counted, 2 * round(counted / 2) if shared else 1)
    return merged(ceil(frames / 2) * (high // patch) * (wide // patch), 2)


def _glm5(height: int, width: int) -> Item:
    high, wide = up_to_multiples(height, width, 28, 16, 8000)
    return merged(high // 14 * (wide // 14), 2)


def _kimi(height: int, width: int, most: int = 16_384) -> Item:
    high, wide = within_patches(height, width, 14, 2, most, 512)
    return merged(high // 14 * (wide // 14), 2)


def _kimi_video(frames: int, height: int, width: int) -> Item:
    """Frames of at most 4,096 patches, pooled four by four (video_processing_kimi_k25.py, processing_kimi_k25.py)."""
    one = _kimi(height, width, 4096)
    encoded = ceil(frames / 4) * one.encoded
    return Item(frames * one.patches, encoded, encoded)


def _gemma4(height: int, width: int, most: int = 280) -> Item:
    high, wide = filling(height, width, 48, most)
    encoded = high // 48 * (wide // 48)
    return Item(9 * most, encoded, encoded)


def _gemma4_video(frames: int, height: int, width: int) -> Item:
    """Frames of at most 70 embeddings (video_processing_gemma4.py)."""
    one = _gemma4(height, width, 70)
    return Item(frames * one.patches, frames * one.encoded, frames * one.tokens)


def _pixtral(height: int, width: int, patch: int, merge: int, longest: int) -> Item:
    """A break ends every row (_get_num_multimodal_tokens of processing_pixtral.py)."""
    high, wide = longest_side(height, width, merge * patch, longest)
    rows, columns = high // (merge * patch), wide // (merge * patch)
    return Item(rows * columns * merge**2, rows * columns, rows * (columns + 1))


def _llama4(height: int, width: int) -> Item:
    """Tiles of 336 pixels, 144 embeddings each, and the whole image as one more; a separator after every tile."""
    rows, columns = tiles_that_fit(height, width, 336, 16)
    tiles = rows * columns
    views = tiles + 1 if tiles > 1 else 1
    return Item(views * 577, views * 144, views * 144 + (tiles if tiles > 1 else 0))


def _intern(height: int, width: int) -> Item:
    """Tiles of 448 pixels, 256 embeddings each, and the whole image as one more (image_processing_got_ocr2.py)."""
    rows, columns = tiles_of_shape(height, width, 448, 12)
    views = rows * columns + 1 if rows * columns > 1 else 1
    return Item(views * 1025, views * 256, views * 256)


def _fixed(height: int, width: int, item: Item) -> Item:
    return item


_QWEN2 = Family(
    image=partial(_qwen, patch=14, least=3136, most=12_845_056),
    video=partial(_qwen_video, patch=14, least=3136, most=12_845_056, shared=False),
)
_QWEN3 = Family(
    image=partial(_qwen, patch=16, least=65_536, most=16_777_216),
    video=partial(_qwen_video, patch=16, least=4096, most=25_165_824, shared=True),
)
_GEMMA4 = Family(_gemma4, _gemma4_video, hearing.gemma4)
_MISTRAL = Family(partial(_pixtral, patch=14, merge=2, longest=1540))
_INTERN = Family(_intern)

FAMILIES = MappingProxyType(
    {
        "ernie4_5_vl_moe": Family(partial(_qwen, patch=14, least=3136, most=4_842_768)),
        "gemma3": Family(partial(_fixed, item=Item(4096, 256, 256))),  # mm_tokens_per_image; no pan and scan
        "gemma4": _GEMMA4,
        "gemma4_unified": _GEMMA4,
        "glm5_next": Family(_glm5),
        "internvl": _INTERN,
        "internvl_chat": _INTERN,
        "kimi_k25": Family(_kimi, _kimi_video),
        "llama4": Family(_llama4),
        "minimax_m3_vl": Family(partial(_qwen, patch=14, least=3136, most=451_584)),
        "ministral3": _MISTRAL,
        "mistral3": _MISTRAL,
        "mllama": Family(partial(_fixed, item=Item(6404, 6404, 1))),  # read by cross attention, not in the sequence
        "qwen2_5_omni": Family(_QWEN2.image, _QWEN2.video, partial(hearing.by_halves, longest=300)),
        "qwen2_audio": Family(audio=partial(hearing.by_halves, longest=30)),
        "qwen2_vl": _QWEN2,
        "qwen2_5_vl": _QWEN2,
        "qwen3_vl": _QWEN3,
        "qwen3_vl_moe": _QWEN3,
        "qwen3_omni_moe": Family(audio=hearing.by_eighths),
        "qwen3_5": _QWEN3,
        "qwen3_5_moe": _QWEN3,
        "voxtral": Family(audio=hearing.by_chunks),
    }
)
UNKNOWN = Family()


def family_of(model_type: str) -> Family:
    return FAMILIES.get(model_type, UNKNOWN)
