"""What vLLM leaves out of a checkpoint: encoders without inputs, and the output head of embedding models."""

from typing import Any

import pytest

from sizing.answer import answer, find_spec
from sizing.engines import ENGINES
from sizing.report import Report
from sizing.scenario import ScenarioError, make_scenario
from sizing.size import size

GIB = 2**30
TEXT = {"image": 0, "video": 0, "audio": 0}


def sized(model: str, **values: Any) -> Report:
    return size(make_scenario({"model": model, **values}), find_spec(model))


def loading(model: str, **values: Any) -> float:
    """GiB that "Model loading took"."""
    return (sized(model, **values).log.model_loading_bytes or 0) / GIB


def test_text_alone_leaves_the_vision_tower_out() -> None:
    """Receipt v003, release 0.19: 64.69 GiB; the tower of 446,571,248 parameters is 0.83 GiB."""
    both, text = sized("Qwen/Qwen3.6-35B-A3B"), sized("Qwen/Qwen3.6-35B-A3B", media_limits=TEXT)
    assert both.per_gpu.tower_bytes == 2 * 446_571_248
    assert text.per_gpu.tower_bytes == 0
    assert loading("Qwen/Qwen3.6-35B-A3B", engine_version="0.19.0", media_limits=TEXT) == pytest.approx(
        64.69, abs=0.005
    )
    assert text.per_gpu.activation_bytes < both.per_gpu.activation_bytes
    assert any("does not load the vision encoder" in note for note in text.notes)


@pytest.mark.parametrize(
    ("model", "limits", "loads"),
    [
        ("google/gemma-3-27b-it", {"image": 0}, False),  # no videos
        ("google/gemma-3-27b-it", {"image": 1}, True),
        ("Qwen/Qwen2.5-VL-7B-Instruct", {"image": 0}, True),  # videos too
        ("Qwen/Qwen2.5-VL-7B-Instruct", {"image": 0, "video": 0}, False),
        ("Qwen/Qwen2.5-VL-7B-Instruct", {"video": 0}, True),
    ],
)
def test_a_tower_stays_out_where_all_its_inputs_do(model: str, limits: dict[str, int], loads: bool) -> None:
    assert (sized(model, media_limits=limits).per_gpu.tower_bytes > 0) == loads


def test_towers_stay_out_one_by_one() -> None:
    """Gemma 4 E4B hears and sees."""
    sizes = [
        sized("google/gemma-4-E4B-it", media_limits=limits).per_gpu.tower_bytes
        for limits in (None, {"audio": 0}, {"image": 0, "video": 0}, TEXT)
    ]
    assert sizes[0] == sizes[1] + sizes[2]
    assert sizes[3] == 0 < min(sizes[1:3])


@pytest.mark.parametrize(
    ("model", "last", "first"),
    [
        ("Qwen/Qwen2.5-VL-7B-Instruct", "0.10.0", "0.10.1"),  # vllm-project/vllm pull 22299
        ("google/gemma-3-27b-it", "0.14.1", "0.16.0"),  # _mark_tower_model in models/interfaces.py
    ],
)
def test_old_releases_load_towers_anyway(model: str, last: str, first: str) -> None:
    old, new = (sized(model, engine_version=release, media_limits=TEXT) for release in (last, first))
    assert old.per_gpu.tower_bytes > new.per_gpu.tower_bytes == 0
    assert any("loads the encoders of this model whatever" in note for note in old.notes)


@pytest.mark.parametrize("release", ["0.12.0", "0.22.0"])
def test_an_embedding_model_has_no_head(release: str) -> None:
    """Receipts v146 and v142: 14.1062 and 14.11 GiB."""
    assert loading("Qwen/Qwen3-Embedding-8B", engine_version=release) == pytest.approx(14.1062, abs=0.0002)
    report = sized("Qwen/Qwen3-Embedding-8B")
    assert report.scenario.pooling is True
    head = 2 * 151_936 * 4096
    generating = sized("Qwen/Qwen3-Embedding-8B", pooling=False)
    assert generating.per_gpu.weights_bytes - report.per_gpu.weights_bytes == pytest.approx(head, abs=2**21)


def test_a_pooler_has_no_sampler() -> None:
    """Its profile run ends with the hidden states, so requests by vocabulary take nothing."""
    many, few = (sized("Qwen/Qwen3-8B", pooling=True, max_num_seqs=seqs) for seqs in (1024, 16))
    assert many.per_gpu.activation_bytes == few.per_gpu.activation_bytes
    assert many.per_gpu.activation_bytes < sized("Qwen/Qwen3-8B").per_gpu.activation_bytes
    assert sized("Qwen/Qwen3-8B").scenario.pooling is False


def test_without_videos_the_batch_need_not_hold_one() -> None:
    """Receipt v200: 2,496 tokens, one video of 32 frames of 78 tokens, on a card whose default is 2,048."""
    batches = [
        answer({"model": "google/gemma-4-26B-A4B", "accelerator": "l4", "media_limits": limits})["scenario"]
        for limits in (None, {"video": 0})
    ]
    assert [batch["max_num_batched_tokens"] for batch in batches] == [2496, 2048]


@pytest.mark.parametrize("engine", ["sglang", "llama.cpp", "tensorrt-llm"])
@pytest.mark.parametrize("values", [{"media_limits": {"image": 2}}, {"pooling": True}])
def test_other_engines_refuse(engine: str, values: dict[str, Any]) -> None:
    scenario = make_scenario({"model": "google/gemma-3-27b-it", "engine": engine, **values})
    with pytest.raises(ScenarioError) as caught:
        ENGINES[engine].plan(scenario, find_spec(scenario.model), None)
    assert caught.value.field in values


def test_text_alone_and_pooling_together() -> None:
    """Receipt v226: Qwen3-VL-Embedding-2B on 0.11.0, without images and videos, 3.4554 GiB."""
    limits = {"image": 0, "video": 0}
    settings = {"engine_version": "0.11.0", "pooling": True, "media_limits": limits}
    assert loading("Qwen/Qwen3-VL-2B-Instruct", **settings) == pytest.approx(3.4554, abs=0.0002)


@pytest.mark.parametrize(
    ("model", "settings", "printed", "digit"),
    [
        ("Qwen/Qwen3-VL-30B-A3B-Instruct", {"engine_version": "0.12.0", "tensor_parallel": 2}, 29.3114, 0.02),  # v147
        ("Qwen/Qwen3.5-9B", {"engine_version": "0.19.0", "tensor_parallel": 4}, 4.52, 0.005),  # v176
        ("Qwen/Qwen3.5-27B", {"engine_version": "0.19.0", "tensor_parallel": 4}, 13.01, 0.005),  # v175
    ],
)
def test_rotary_tables_for_images_were_longer(model: str, settings: Any, printed: float, digit: float) -> None:
    """Four times the positions until 0.31 (model_executor/layers/rotary_embedding/mrope.py)."""
    assert loading(model, **settings) == pytest.approx(printed, abs=digit)
    last, first = (loading(model, **settings | {"engine_version": release}) for release in ("0.31.0", "0.32.0"))
    assert first < last - 0.09


def test_kimi_takes_chunks_of_images_and_videos() -> None:
    """vllm/model_executor/models/kimi_k25.py: its one kind of input is named by no limit but all of them."""
    sizes = [
        sized("moonshotai/Kimi-K2.6", tensor_parallel=8, media_limits=limits).per_gpu.tower_bytes
        for limits in ({"image": 0, "video": 0}, TEXT)
    ]
    assert sizes[1] == 0 < sizes[0]
