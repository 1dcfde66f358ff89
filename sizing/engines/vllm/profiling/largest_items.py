"""The largest image, video and audio clip that vLLM runs its encoder on at start-up, by model family and release.

Sources: the classes of vllm/model_executor/models, releases 0.11.0 to 0.33.0. A family without a row is not known.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

from sizing.media.families import family_of
from sizing.media.item import Item
from sizing.versions import Version, at_least

SIDE = 4096  # Qwen3-VL's largest image is this square
LONGEST_AUDIO = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderRules:
    """What changed between releases.

    `long_videos`: Qwen2-VL's video has up to 14 frames of the largest image. `many_frames`: Qwen3-VL's has 24,576.
    `counts_marks`: the marks around and between embeddings are reckoned with. `spreads`: room for them is kept too.
    `ties_by_name`: of kinds with as many tokens the last by name is taken, not the first.
    `masks_images`: Pixtral's encoder attends with a dense mask over all images of a batch.
    `second_runner`: the second model runner (runner.py) runs the encoder at start-up too.
    """

    long_videos: bool
    many_frames: bool
    counts_marks: bool
    spreads: bool
    ties_by_name: bool
    masks_images: bool
    second_runner: bool


def encoder_rules_of(version: Version) -> EncoderRules:
    """By the models' classes, and profile_run of vllm/v1/worker/gpu_model_runner.py, of the releases named."""

    def since(release: str) -> bool:
        return at_least(version, release)

    return EncoderRules(
        long_videos=since("0.11.0rc0"),  # qwen2_vl.py of 0.10.0 and 0.11.0
        many_frames=not since("0.15.0"),  # qwen3_vl.py of 0.14.1 and 0.16.0
        counts_marks=not since("0.13.0"),  # v1/core/encoder_cache_manager.py of 0.12.0 and 0.13.0
        spreads=since("0.11.0rc0") and not since("0.13.0"),  # expanded_outputs in 0.11.0 and 0.12.0
        ties_by_name=since("0.17.0"),  # get_modality_with_max_tokens in 0.16.0 and 0.17.1
        masks_images=since("0.12.0") and not since("0.29.0"),  # pixtral.py: before with xformers, since without a mask
        second_runner=since("0.27.0"),  # profile_run of v1/worker/gpu/model_runner.py of 0.26.0 and 0.27.0
    )


@dataclass(frozen=True, slots=True)
class Largest:
    """`reckoned`: tokens that vLLM plans with. `at_once`: patches in one pass, where items or frames go one by one.

    `masked`: all patches of a pass attend by a mask of patches × patches.
    """

    item: Item
    reckoned: int
    at_once: int | None = None
    masked: bool = False


Rule = Callable[[int, EncoderRules], dict[str, Largest]]  # of max_model_len and the release


def largest_items(model_type: str, longest: int, rules: EncoderRules) -> dict[str, Largest]:
    """By kind of input; empty where the family is not known."""
    rule = RULES.get(model_type)
    return rule(longest, rules) if rule else {}


def _qwen2(longest: int, rules: EncoderRules) -> dict[str, Largest]:
    """A video of up to 14 frames of the largest image, as far as it fits into max_model_len (0.11 and later)."""
    image = Item(65_536, 16_384, 16_384)
    pairs = min(7, max(1, longest // image.tokens)) if rules.long_videos else 1
    video = Item(*(pairs * size for size in (image.patches, image.encoded, image.tokens)))
    return {"image": Largest(image, image.tokens), "video": Largest(video, video.tokens)}


def _qwen3(longest: int, rules: EncoderRules) -> dict[str, Largest]:
    """Until 0.14 a video of 24,576 frames of one token for two, until 0.12 reckoned with 11.5 marks for each."""
    image = Item(65_536, 16_384, 16_384)
    many = rules.many_frames and longest >= 12_288
    rule = family_of("qwen3_vl").video
    assert rule is not None
    video = rule(24_576 if many else 2, SIDE, SIDE)
    reckoned = int(12.5 * video.tokens) if rules.counts_marks else video.tokens
    return {"image": Largest(image, image.tokens), "video": Largest(video, reckoned)}


def _gemma3(longest: int, rules: EncoderRules) -> dict[str, Largest]:
    """256 embeddings, and four marks that were reckoned with until 0.12 (log v099: 31 images in 8,192 tokens)."""
    return {"image": Largest(Item(4096, 256, 256), 260 if rules.counts_marks else 256)}


def _gemma4(longest: int, rules: EncoderRules) -> dict[str, Largest]:
    """Images and frames go through the encoder one by one; a video is 32 frames of 70, and 8 marks (gemma4_mm.py)."""
    image, frame = Item(2520, 280, 280), Item(630, 70, 70)
    video = Item(32 * frame.patches, 32 * frame.encoded, 32 * frame.tokens)
    audio = family_of("gemma4").audio
    assert audio is not None
    return {
        "image": Largest(image, image.tokens, image.patches),
        "video": Largest(video, 32 * (70 + 2 + 6), frame.patches),
        "audio": Largest(audio(LONGEST_AUDIO), 750),
    }


def _kimi(longest: int, rules: EncoderRules) -> dict[str, Largest]:
    """An image of 3,000 × 3,000, which is more than a chunk of four frames (kimi_k25.py)."""
    image = family_of("kimi_k25").image
    assert image is not None
    item = image(3000, 3000)
    return {"vision_chunk": Largest(item, item.tokens)}


def _llama4(longest: int, rules: EncoderRules) -> dict[str, Largest]:
    """16 tiles and the whole image."""
    return {"image": Largest(Item(17 * 577, 17 * 144, 17 * 144), 17 * 144)}


def _mistral(longest: int, rules: EncoderRules) -> dict[str, Largest]:
    """An image of 1,540 × 1,540; the breaks after its rows were reckoned with until 0.12 (mistral3.py)."""
    image = family_of("mistral3").image
    assert image is not None
    item = image(1540, 1540)
    return {"image": Largest(item, item.tokens if rules.counts_marks else item.encoded, masked=rules.masks_images)}


RULES = MappingProxyType(
    {
        "gemma3": _gemma3,
        "gemma4": _gemma4,
        "gemma4_unified": _gemma4,
        "kimi_k25": _kimi,
        "llama4": _llama4,
        "ministral3": _mistral,
        "mistral3": _mistral,
        "qwen2_vl": _qwen2,
        "qwen2_5_vl": _qwen2,
        "qwen3_vl": _qwen3,
        "qwen3_vl_moe": _qwen3,
        "qwen3_5": _qwen3,
        "qwen3_5_moe": _qwen3,
    }
)
