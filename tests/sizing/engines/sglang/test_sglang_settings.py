"""Settings of engine sglang: what it refuses and why, defaults by card and release, releases outside the modelled."""

from typing import Any

import pytest

from hardware_catalog import get_accelerator
from model_catalog.lookup import find_entry
from sizing.engines import calibration
from sizing.engines.sglang import ENGINE
from sizing.engines.sglang.rules import NEWEST
from sizing.placement import PlacementError
from sizing.scenario import ScenarioError, make_scenario
from tests.sizing.engines.sglang.models import MODELS, plan_of

GIB = 2**30


@pytest.mark.parametrize(
    ("model", "settings", "field", "part"),
    [
        ("Llama-3.1-8B", {"kv_dtype": "q8_0"}, "kv_dtype", 'no cache format "q8_0"'),
        ("Llama-3.1-8B", {"kv_dtype": "fp8_ds_mla"}, "kv_dtype", "no cache format"),
        ("Llama-3.1-8B", {"kv_dtype": {"k": "bf16", "v": "fp8_e4m3"}}, "kv_dtype", "keys and values in one format"),
        ("Llama-3.1-8B", {"kv_dtype": "nvfp4", "engine_version": "0.4.4"}, "kv_dtype", "This release"),
        ("DeepSeek-V4-Flash", {"kv_dtype": "bf16"}, "kv_dtype", "its own fp8 layout"),
        ("Qwen3-Next", {"state_dtype": {"conv": "bf16", "recurrent": "int8"}}, "state_dtype", "not a state format"),
        (
            "Qwen3-30B-A3B",
            {"dp_attention": True, "tensor_parallel": 4, "data_parallel": 3},
            "data_parallel",
            "multiple",
        ),
        # server_args.py: cpu_offload_gb is an int
        ("Llama-3.1-8B", {"cpu_offload_bytes": 3 * GIB // 2}, "cpu_offload_bytes", "whole GiB"),
        ("Llama-3.1-8B", {"speculative": {"method": "medusa"}}, "speculative", 'no speculative method "medusa"'),
        ("Llama-3.1-8B", {"speculative": {"method": "mtp"}}, "speculative", "no layers for multi-token prediction"),
        (
            "gpt-oss-120b",
            {"swa_full_tokens_ratio": 0.0001, "available_kv_bytes": 10 * GIB},
            "swa_full_tokens_ratio",
            "fewer than the 130 that one window and a page need",
        ),
    ],
)
def test_what_is_refused_and_why(model: str, settings: dict[str, Any], field: str, part: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        plan_of(MODELS[model], **settings)
    assert refused.value.field == field
    assert part in refused.value.message


@pytest.mark.parametrize("field", ["ubatch_size", "gpu_layers", "kv_unified", "flash_attention", "swa_full"])
def test_settings_of_another_engine_are_refused(field: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        plan_of(MODELS["Llama-3.1-8B"], **{field: 1 if field in ("ubatch_size", "gpu_layers") else True})
    assert refused.value.field == field
    assert "llama.cpp" in refused.value.message


@pytest.mark.parametrize(
    ("settings", "last", "first"),
    [
        ({"lora": {"max_loras": 8, "rank": 16}}, "0.4.9", "0.4.10"),
        ({"pipeline_parallel": 2}, "0.4.4", "0.4.6"),
        ({"decode_context_parallel": 2, "tensor_parallel": 2}, "0.5.13", "0.5.15"),
        ({"mamba_full_memory_ratio": 0.5}, "0.5.3", "0.5.4"),
        ({"max_mamba_cache_size": 9}, "0.5.1", "0.5.2"),
    ],
)
def test_options_by_release(settings: dict[str, Any], last: str, first: str) -> None:
    """The release whose server_args.py has the option, and one that has it not."""
    plan_of(MODELS["Llama-3.1-8B"], engine_version=first, **settings)
    with pytest.raises(ScenarioError) as refused:
        plan_of(MODELS["Llama-3.1-8B"], engine_version=last, **settings)
    assert refused.value.field in settings


def test_adapter_slots() -> None:
    """mem_pool.py: A of rank × inputs for each of q, k, v, o, gate, up and down, B of outputs × rank, in 16 bits."""
    spec = find_entry("meta-llama/Llama-3.1-8B-Instruct").spec
    widths = (4096 + 4096) * 2 + (4096 + 1024) * 2 + (4096 + 14_336) * 3
    plain, slotted = (
        ENGINE.plan(make_scenario({"model": "test", "engine": "sglang", "lora": lora}), spec, None).ranks[0].weights
        for lora in (None, {"max_loras": 8, "rank": 16})
    )
    assert slotted - plain == 8 * 16 * 2 * 32 * widths


def test_weights_left_in_host_memory() -> None:
    """OffloaderV1 moves parameters of layers only: embedding and head, 2 × 128,256 × 4,096, stay, as the last norm."""
    spec = find_entry("meta-llama/Llama-3.1-8B-Instruct").spec
    kept = [
        ENGINE.plan(make_scenario({"model": "test", "engine": "sglang", "cpu_offload_bytes": size}), spec, None)
        .ranks[0]
        .weights
        for size in (0, 4 * GIB, 40 * GIB)
    ]
    assert kept[0] - kept[1] == 4 * GIB
    assert kept[2] == 2 * 128_256 * 4096 * 2


@pytest.mark.parametrize(("ratio", "slots"), [(None, 262), (0.9, 262), (0.25, 110), (2.0, 369)])
def test_the_split_between_states_and_tokens_can_be_set(ratio: float | None, slots: int) -> None:
    """Qwen3-Next, 40 GiB: floor((40 GiB × r / (1 + r) − 77,266,944) / 77,266,944)."""
    shared = 40 * GIB * (ratio or 0.9) / (1 + (ratio or 0.9))
    assert slots == int((shared - 77_266_944) // 77_266_944)
    planned = plan_of(MODELS["Qwen3-Next"], available_kv_bytes=40 * GIB, mamba_full_memory_ratio=ratio)
    assert f"max_mamba_cache_size: {slots}," in planned.log.lines[0]


def test_the_number_of_slots_can_be_set() -> None:
    """One more is allocated and charged; with drafts, copies for the requests that can run and one more."""
    settings = {"available_kv_bytes": 40 * GIB, "max_mamba_cache_size": 100}
    planned = plan_of(MODELS["Qwen3-Next"], **settings)
    assert planned.printed.kv_tokens == (40 * GIB - 101 * 77_266_944) // 24_576
    assert planned.scenario.max_num_seqs == 20
    drafted = plan_of(MODELS["Qwen3-Next"], speculative={"method": "ngram", "tokens": 4}, **settings)
    assert drafted.printed.kv_tokens == (40 * GIB - (101 + 4 * 21) * 77_266_944) // 24_576


def test_a_pool_that_is_only_short_is_a_verdict() -> None:
    planned = plan_of(MODELS["gpt-oss-120b"], available_kv_bytes=1_000_000)
    assert planned.printed.kv_tokens == 15
    assert not planned.fits(1, 1)
    assert plan_of(MODELS["gpt-oss-120b"], available_kv_bytes=1_000_000, engine_version="0.5.15").fits(1, 1)


def test_heads_that_do_not_divide_name_the_field() -> None:
    with pytest.raises(PlacementError) as refused:
        plan_of(MODELS["Llama-3.1-8B"], tensor_parallel=3)
    assert refused.value.field == "tensor_parallel"
    plan_of(MODELS["Qwen3-30B-A3B"], tensor_parallel=6, data_parallel=3, dp_attention=True)


@pytest.mark.parametrize(
    ("version", "note"),
    [
        (None, None),
        (NEWEST, None),
        ("v0.5.13.post1", None),
        ("0.5.23rc1", None),
        ("0.6.0", f"not modelled; the rules used are those of {NEWEST}"),
        ("0.3.6", "not modelled; the rules used are those of 0.4.3"),
        ("0.0.0.dev1+g5f55db35e", f"a build without a release; the rules used are those of {NEWEST}"),
        ("nightly", f"no SGLang release; the rules used are those of {NEWEST}"),
    ],
)
def test_releases_outside_the_modelled_are_noted(version: str | None, note: str | None) -> None:
    planned = plan_of(MODELS["Llama-3.1-8B"], engine_version=version)
    assert planned.scenario.engine_version == version or version is None
    noted = [text for text in planned.notes if "rules used" in text]
    assert (not noted) if note is None else note in noted[0]


def test_a_release_candidate_sorts_before_its_release() -> None:
    charged = [
        plan_of(
            MODELS["DeepSeek-V3.2"], kv_dtype="fp8", engine_version=version, available_kv_bytes=GIB
        ).printed.kv_tokens
        for version in ("0.5.18rc1", "0.5.18")
    ]
    assert charged == [GIB // (61 * 708) // 64 * 64, GIB // (61 * 788) // 64 * 64]


@pytest.mark.parametrize(
    ("accelerator", "ranks", "chunk"),
    [("l4", 1, 4096), ("l40s", 1, 4096), ("h100-sxm5-80gb", 1, 8192), ("b200-sxm", 1, 16_384)],
)
def test_chunks_by_memory(accelerator: str, ranks: int, chunk: int) -> None:
    scenario = make_scenario({"model": "test", "engine": "sglang", "tensor_parallel": ranks})
    planned = ENGINE.plan(scenario, MODELS["Llama-3.1-8B"], get_accelerator(accelerator))
    assert planned.scenario.chunked_prefill_size == chunk


def test_blackwell_pages_are_those_of_its_kernels() -> None:
    scenario = make_scenario({"model": "test", "engine": "sglang", "accelerator": "b200-sxm"})
    assert ENGINE.plan(scenario, MODELS["Llama-3.1-8B"], get_accelerator("b200-sxm")).scenario.block_size == 64


def test_the_budget_is_a_share_of_the_memory_that_is_free_before_loading() -> None:
    """terms + outside = total, and other processes' memory is shared like the rest."""
    card = get_accelerator("h100-sxm5-80gb")
    spec = find_entry("meta-llama/Llama-3.1-8B-Instruct").spec
    scenario = make_scenario({"model": "test", "engine": "sglang", "other_memory_bytes": 10 * GIB})
    planned = ENGINE.plan(scenario, spec, card)
    assert card.memory_for_budget is not None
    free = card.memory_for_budget.bytes - calibration.SGLANG_CONTEXT.bytes - 10 * GIB
    assert planned.budget == int(free * 0.830)
    rank = planned.ranks[0]
    assert rank.available == planned.budget - rank.weights - calibration.SGLANG_LOADING.bytes


def test_multimodal_models_leave_a_reserve_and_take_a_smaller_share() -> None:
    """Gemma 3: 27 layers of 1,152 against 24 of 1,024; 100 MiB from 0.5.18 on."""
    card = get_accelerator("h100-sxm5-80gb")
    spec = find_entry("google/gemma-3-27b-it").spec
    new, old = (
        ENGINE.plan(make_scenario({"model": "test", "engine": "sglang", "engine_version": version}), spec, card)
        for version in ("0.5.18", "0.5.15")
    )
    complexity = 27 * 1152**2 / (24 * 1024**2)
    assert new.scenario.memory_fraction == pytest.approx(0.835 * 0.95 * (1 - 0.1 * (complexity - 1)))
    assert old.budget is not None
    assert new.budget == old.budget - (100 << 20)


def test_weights_under_data_parallel_attention() -> None:
    """Attention is copied where experts are shared out: Qwen3-30B-A3B on 4 ranks prints 16.39 GB loaded (s014)."""
    spec = find_entry("Qwen/Qwen3-30B-A3B").spec
    shared = {"model": "test", "engine": "sglang", "tensor_parallel": 4}
    plain = ENGINE.plan(make_scenario(shared), spec, None).ranks[0].weights
    copied = (
        ENGINE.plan(make_scenario({**shared, "data_parallel": 4, "dp_attention": True}), spec, None).ranks[0].weights
    )
    replicas = ENGINE.plan(make_scenario({**shared, "data_parallel": 4}), spec, None).ranks[0].weights
    assert plain == replicas < copied
    assert copied / GIB == pytest.approx(16.39, abs=0.46)


def test_prediction_layers_are_loaded_only_for_drafts() -> None:
    spec = find_entry("deepseek-ai/DeepSeek-V3").spec
    settings = {"model": "test", "engine": "sglang", "tensor_parallel": 8}
    plain = ENGINE.plan(make_scenario(settings), spec, None).ranks[0]
    drafted = ENGINE.plan(make_scenario({**settings, "speculative": {"method": "nextn"}}), spec, None).ranks[0]
    assert plain.draft == 0 < drafted.draft
    assert plain.weights == drafted.weights


@pytest.mark.parametrize(("fraction", "left"), [(0.95, "4.0 GiB"), (0.9, None), (None, None)])
def test_a_fraction_that_leaves_little_is_told(fraction: float | None, left: str | None) -> None:
    """5 % of an H100's 81,559 MiB; SGLang itself leaves 13.5 GiB there."""
    noted = [note for note in plan_of(MODELS["Llama-3.1-8B"], memory_fraction=fraction).notes if "measure" in note]
    assert [left in note and "would leave 13.5 GiB" in note for note in noted if left] == [True] * (left is not None)
    assert bool(noted) == (left is not None)


def test_data_parallel_attention_shares_the_chunk() -> None:
    """_handle_data_parallelism: 8,192 // 4 in the log and in the cap of the window pool, 4 requests each."""
    settings = {"tensor_parallel": 4, "data_parallel": 4, "dp_attention": True, "max_num_seqs": 16}
    planned = plan_of(MODELS["gpt-oss-120b"], **settings, prefix_caching=False, available_kv_bytes=2**35)
    assert "chunked_prefill_size=2048," in planned.log.lines[-1]
    assert f"swa_layer_tokens={4 * (128 + 128 + 1 + 1) + 2 * 2048 + 1}" in planned.log.lines[0]
    assert planned.scenario.chunked_prefill_size == 8192
