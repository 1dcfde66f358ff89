"""The encoder in the profile run: batches as public logs print them, and the bytes that follow."""

from typing import Any

import pytest

from sizing.answer import find_accelerator, find_spec
from sizing.engines.plan import EnginePlan
from sizing.engines.vllm.profiling.encoder import encoder_run
from sizing.engines.vllm.rules import rules_of
from sizing.scenario import make_scenario
from sizing.size import plan
from sizing.versions import parse_version

GIB = 2**30
BATCH = (
    "Encoder cache will be initialized with a budget of {} tokens, "
    "and profiled with {} items of the maximum feature size."
)


def planned(model: str, **values: Any) -> EnginePlan:
    values = {"accelerator": "h100-sxm5-80gb", **values}
    return plan(make_scenario({"model": model, **values}), find_spec(model), find_accelerator(values["accelerator"]))


@pytest.mark.parametrize(
    ("model", "values", "budget", "items"),
    [
        # receipts v147 and v149
        ("Qwen/Qwen3-VL-30B-A3B-Instruct", {"engine_version": "0.12.0", "max_model_len": 65_536}, 153_600, "1 video"),
        # receipt v099
        ("google/gemma-3-27b-it", {"engine_version": "0.11.0", "max_model_len": 4096}, 8192, "31 image"),
        # 0.17.1rc1, Qwen3.5-35B-A3B on a Radeon 8060S (a vLLM issue on MIOpen)
        ("Qwen/Qwen3.5-35B-A3B", {"engine_version": "0.17.1", "max_num_batched_tokens": 2048}, 16_384, "1 image"),
        # an NVFP4 build of Qwen3.6-35B-A3B with batches of 65,536, 2026-05-03
        ("Qwen/Qwen3.6-35B-A3B", {"engine_version": "0.20.0", "max_num_batched_tokens": 65_536}, 65_536, "4 image"),
        # Qwen2.5-VL-7B on 0.23.0 and an A100, and on 0.9.0.1 and an L4 (receipts v232 and v231)
        ("Qwen/Qwen2.5-VL-7B-Instruct", {"engine_version": "0.23.0"}, 114_688, "1 video"),
        ("Qwen/Qwen2.5-VL-7B-Instruct", {"engine_version": "0.9.0.1", "max_model_len": 2048}, 16_384, "1 image"),
        # Gemma 4 E4B with batches of 2,048, 2026-06-07
        ("google/gemma-4-E4B-it", {"engine_version": "0.22.0", "max_num_batched_tokens": 2048}, 2496, "1 video"),
    ],
)
def test_batches_as_logs_print_them(model: str, values: dict[str, Any], budget: int, items: str) -> None:
    log = planned(model, **values).log
    assert log.lines[0] == BATCH.format(budget, items)


def test_what_is_kept_while_the_decoder_runs() -> None:
    """v147: 153,600 rows of 2,048 and of three deep mergers, those of 12,288 patches' worth, and the pixels."""
    values = {"engine_version": "0.12.0", "tensor_parallel": 2, "max_model_len": 65_536, "max_num_seqs": 64}
    both = planned("Qwen/Qwen3-VL-30B-A3B-Instruct", **values)
    text = planned("Qwen/Qwen3-VL-30B-A3B-Instruct", media_limits={"image": 0, "video": 0}, **values)
    rows, pixels = (153_600 + 12_288) * 2048 * 4, 49_152 * 3 * 2 * 16 * 16
    assert both.ranks[0].activation - text.ranks[0].activation == 2 * (rows + pixels)


def test_available_memory_of_a_model_that_sees() -> None:
    """Receipts v147 and v149: 38.15 and 37.23 GiB, from the settings alone and with no constant fitted to encoders."""
    for sequences, printed in ((64, 38.15), (256, 37.23)):
        values = {"engine_version": "0.12.0", "tensor_parallel": 2, "max_model_len": 65_536, "max_num_seqs": sequences}
        pools = [rank.available for rank in planned("Qwen/Qwen3-VL-30B-A3B-Instruct", **values).ranks]
        assert min(pool for pool in pools if pool is not None) / GIB == pytest.approx(printed, abs=0.15)


def test_the_encoder_itself_may_be_the_peak() -> None:
    """Receipt v232: with 0.22 of an A100's 79.25 GiB, "Available KV cache memory: -14.28 GiB"."""
    values = {"engine_version": "0.23.0", "accelerator": "a100-sxm4-80gb", "memory_fraction": 0.22}
    (rank,) = planned("Qwen/Qwen2.5-VL-7B-Instruct", **values).ranks
    assert rank.available is not None and rank.available / GIB == pytest.approx(-14.28, abs=0.3)


def test_fewer_images_make_a_smaller_batch() -> None:
    """A request's images and the number of requests limit the batch as its tokens do (encoder_budget.py)."""
    values = {"max_num_batched_tokens": 8192, "media_limits": {"image": 2}}
    lines = [planned("google/gemma-3-27b-it", max_num_seqs=seqs, **values).log.lines[0] for seqs in (4, 64)]
    assert lines == [BATCH.format(8192, "8 image"), BATCH.format(8192, "32 image")]


def test_a_long_video_of_qwen2_takes_what_its_length_allows() -> None:
    """Seven pairs of frames of 16,384 tokens fit into 128,000 (get_num_frames_with_most_features of qwen2_vl.py)."""
    log = planned("Qwen/Qwen2.5-VL-7B-Instruct").log
    assert log.lines[0] == BATCH.format(7 * 16_384, "1 video")
    short = planned("Qwen/Qwen2.5-VL-7B-Instruct", media_limits={"video": 0})
    assert short.log.lines[0] == BATCH.format(16_384, "1 image")
    assert short.ranks[0].activation < planned("Qwen/Qwen2.5-VL-7B-Instruct").ranks[0].activation


def test_a_family_without_rules_has_the_fitted_constant() -> None:
    model, told = "zai-org/GLM-5.3-Flash", "What vLLM's start-up run of this model's encoder takes is not known"
    seeing, text = (
        planned(model, tensor_parallel=4, media_limits=limits) for limits in (None, {"image": 0, "video": 0})
    )
    assert seeing.ranks[0].activation > text.ranks[0].activation
    assert not seeing.log.lines[0].startswith("Encoder")
    assert [any(note.startswith(told) for note in case.notes) for case in (seeing, text)] == [True, False]


def test_the_second_runner_ran_no_encoder_before_0_27() -> None:
    """profile_run of vllm/v1/worker/gpu/model_runner.py; it serves dense models from 0.25 on (runner.py)."""
    old, new = (planned("google/gemma-3-27b-it", engine_version=release) for release in ("0.26.0", "0.27.0"))
    assert not old.log.lines[0].startswith("Encoder")
    assert new.log.lines[0].startswith("Encoder")
    assert old.ranks[0].activation < new.ranks[0].activation


@pytest.mark.parametrize(
    ("tokens", "items", "mask"),
    [(8192, "2 image", 24_200 * 24_200), (2048, "1 image", 12_100 * (12_100 + 12_104))],
)
def test_a_mask_over_all_images_of_a_batch(tokens: int, items: str, mask: int) -> None:
    """110 × 110 patches of an image by those of all; PyTorch copies rows that aren't a multiple of 8.

    By hand: vllm/model_executor/models/pixtral.py of 0.28.0 and 0.29.0.
    """
    model, peaks = "mistralai/Devstral-Small-2-24B-Instruct-2512", []
    for release in ("0.28.0", "0.29.0"):
        case = planned(model, engine_version=release, max_num_batched_tokens=tokens)
        assert case.log.lines[0] == BATCH.format(max(tokens, 3025), items)
        peaks.append(encoder_run(case.scenario, find_spec(model), rules_of(parse_version(release)), 0).peak)
    assert peaks[0] - peaks[1] == 2 * mask


@pytest.mark.parametrize(
    ("model", "release", "limits"),
    [
        ("google/gemma-3-4b-it", "0.8.5", {"image": 0}),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "0.9.0.1", {"image": 0, "video": 0}),
    ],
)
def test_no_items_are_no_run_in_releases_that_load_the_encoder_all_the_same(
    model: str, release: str, limits: dict[str, int]
) -> None:
    """compute_encoder_budget of vllm/v1/core/encoder_cache_manager.py is 0 where no kind of input has a limit above 0,
    and profile_run then leaves the encoder out."""
    text, all_kinds = (
        planned(model, engine_version=release, tensor_parallel=2, **more) for more in ({"media_limits": limits}, {})
    )
    rank = text.ranks[0]
    assert (rank.weights, rank.encoder) == (all_kinds.ranks[0].weights, all_kinds.ranks[0].encoder)
    assert rank.activation < all_kinds.ranks[0].activation
    assert not any("encoder takes is not known" in note for note in text.notes)
