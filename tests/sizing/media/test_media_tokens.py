"""Tokens of images, videos and audio, against the processors of transformers 5.24 run on the same sizes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_catalog.lookup import all_entries
from sizing.answer import answer
from sizing.media.families import FAMILIES
from sizing.media.item import Item
from sizing.media.tokens import media_tokens
from sizing.scenario import Media

# Of an image by height and width: each from the resizing function of the model's processor
MODELS = ("qwen2_5_vl", "qwen3_vl", "minimax_m3_vl", "ernie4_5_vl_moe", "kimi_k25", "glm5_next")
MORE_MODELS = ("gemma3", "gemma4", "mistral3", "llama4", "internvl")
IMAGES = {
    (720, 1280): (1196, 880, 576, 1196, 1196, 1196, 256, 264, 1222, 1884, 2304),
    (1024, 1024): (1369, 1024, 576, 1369, 1369, 1369, 256, 256, 1406, 2464, 2560),
    (4000, 3000): (15_301, 11_750, 540, 6120, 4200, 7931, 256, 266, 2365, 1884, 3328),
    (48, 900): (64, 70, 64, 64, 66, 66, 256, 216, 68, 579, 3328),
}
CASES = [
    (size, model, tokens)
    for size, each in IMAGES.items()
    for model, tokens in zip((*MODELS, *MORE_MODELS), each, strict=True)
]


@pytest.mark.parametrize(("size", "model", "tokens"), CASES)
def test_images(size: tuple[int, int], model: str, tokens: int) -> None:
    rule = FAMILIES[model].image
    assert rule is not None and rule(*size).tokens == tokens


@pytest.mark.parametrize(
    ("frames", "height", "width", "tokens"),
    [(64, 720, 1280, 11_648), (31, 720, 1280, 12_432), (64, 4000, 3000, 11_264), (31, 48, 900, 896)],
)
def test_videos_of_qwen3(frames: int, height: int, width: int, tokens: int) -> None:
    """All frames share 25,165,824 pixels (smart_resize of video_processing_qwen3_vl.py)."""
    rule = FAMILIES["qwen3_vl"].video
    assert rule is not None and rule(frames, height, width).tokens == tokens


def test_a_video_of_gemma_4() -> None:
    """At most 70 a frame; 32 frames and their marks are the 2,496 of vLLM (receipt v200)."""
    rule = FAMILIES["gemma4"].video
    assert rule is not None
    assert rule(32, 720, 1280).tokens == 32 * 66 <= 32 * 70


@pytest.mark.parametrize(
    ("model", "seconds", "tokens"),
    [
        ("gemma4", 1, 25),  # one for 40 ms, at most 750
        ("gemma4", 600, 750),
        ("qwen2_audio", 30, 750),  # 25 a second, cut off at 30 s
        ("qwen2_audio", 60, 750),
        ("qwen3_omni_moe", 10, 130),  # 13 a second
        ("voxtral", 31, 750),  # 375 for each 30 s begun
    ],
)
def test_audio(model: str, seconds: float, tokens: int) -> None:
    rule = FAMILIES[model].audio
    assert rule is not None and rule(seconds).tokens == tokens


@given(st.sampled_from(sorted(FAMILIES)), st.integers(1, 20_000), st.integers(1, 20_000))
def test_every_size_has_an_answer(model: str, height: int, width: int) -> None:
    rule = FAMILIES[model].image
    if rule is not None:
        item: Item = rule(height, width)
        assert 0 < item.encoded <= item.patches
        assert item.tokens > 0


def test_every_model_with_a_tower_is_counted_or_named() -> None:
    """Those without a rule: their processors are remote code or differ between checkpoints."""
    unknown = set()
    for entry in all_entries():
        towers = {tensor.kind.value for tower in entry.spec.towers for tensor in tower.tensors}
        if "vision" in towers and media_tokens(Media(images=1, width=640, height=480), entry.spec).unknown:
            unknown.add(entry.spec.model_type)
    assert unknown == {"deepseek_vl_v2", "muse_spark", "phi3_v", "step3p7"}


def asked(model: str, **values: Any) -> dict[str, Any]:
    return answer({"model": model, "engine": "minimum", "context_length": 16_384, **values})


def test_tokens_and_cache_of_the_images_of_a_request() -> None:
    """Qwen3-VL-30B-A3B keeps 98,304 bytes a token: 48 layers of 4 heads of 128."""
    report = asked("Qwen/Qwen3-VL-30B-A3B-Instruct", media={"images": 8, "width": 1280, "height": 720})
    taken = report["media"]
    assert (taken["image_tokens"], taken["tokens"]) == (880, 7040)
    assert taken["image_bytes"] == 880 * 98_304
    assert taken["cache_bytes"] == 8 * 880 * 98_304
    assert asked("Qwen/Qwen3-VL-30B-A3B-Instruct")["media"] is None


def test_windows_keep_fewer_of_them() -> None:
    """The windows of Gemma 3 are full without the image; its 10 full layers (of 62) keep 256 tokens more."""
    image = asked("google/gemma-3-27b-it", media={"images": 1, "width": 99, "height": 99})["media"]
    assert image["image_tokens"] == 256
    assert image["image_bytes"] == 256 * 2 * 16 * 128 * 2 * 10


def test_media_longer_than_the_sequence() -> None:
    error = asked("Qwen/Qwen3-VL-30B-A3B-Instruct", media={"images": 20, "width": 1280, "height": 720})["error"]
    assert error["field"] == "media"
    assert "17,600 tokens, more than its 16,384" in error["message"]


def test_media_that_the_model_does_not_take() -> None:
    assert asked("Qwen/Qwen3-8B", media={"images": 1, "width": 9, "height": 9})["error"]["message"] == (
        "This model takes no images."
    )
    assert "no audio" in asked("google/gemma-3-27b-it", media={"audio_seconds": 1})["error"]["message"]


def test_media_beyond_the_limits() -> None:
    values = {"engine": "vllm", "media": {"images": 3, "width": 99, "height": 99}, "media_limits": {"image": 2}}
    error = asked("google/gemma-3-27b-it", **values)["error"]
    assert error == {"field": "media", "message": "media_limits allows 2 images in a request, not 3."}


def test_what_is_not_known_is_named() -> None:
    report = asked("stepfun-ai/Step-3.7-Flash", media={"images": 1, "width": 640, "height": 480})
    assert report["media"]["tokens"] is None
    assert any("an image takes is not known here for step3p7" in note for note in report["notes"])
