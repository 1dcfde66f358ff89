"""Remedies do what they claim: applied and sized again, the room grows by the gain and the verdict is the one told."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardware_catalog import all_accelerators, get_accelerator
from model_catalog.lookup import find_entry
from sizing.answer import answer, find_models
from sizing.engines import ENGINES
from sizing.engines.plan import EnginePlan
from sizing.levers.hardware import larger_cards, memory
from sizing.levers.load import round_length
from sizing.levers.settings import setting_levers
from sizing.placement import PlacementError
from sizing.remedies import MOST, remedies
from sizing.report import Remedy
from sizing.room import room
from sizing.scenario import ScenarioError, make_scenario
from sizing.size import plan, report_of

LLAMA, GEMMA = "meta-llama/Llama-3.1-8B-Instruct", "google/gemma-3-27b-it"
GIB = 2**30
MODELS = [
    LLAMA,
    GEMMA,
    "Qwen/Qwen3-Next-80B-A3B-Instruct",
    "deepseek-ai/DeepSeek-V3",
    "openai/gpt-oss-120b",
]
HEAD = "RedHatAI/Llama-3.1-8B-Instruct-speculator.eagle3"
OWN: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "vllm": {
        "cpu_offload_bytes": st.integers(0, 2**36),
        "media_limits": st.sampled_from([{"image": 0}, {"image": 2, "video": 1}]),
        "pooling": st.booleans(),
        "lora": st.just({"max_loras": 2, "rank": 16}),
        "speculative": st.just({"method": "eagle3", "tokens": 3, "model": HEAD}),
    },
    "sglang": {
        "cpu_offload_bytes": st.integers(0, 64).map(lambda count: count * GIB),
        "max_mamba_cache_size": st.sampled_from([4, 400]),
    },
    "llama.cpp": {
        "gpu_layers": st.integers(0, 99),
        "cpu_moe_layers": st.integers(0, 99),
        "kv_offload": st.booleans(),
        "split_mode": st.sampled_from(["layer", "row"]),
        "engine_version": st.sampled_from(["2025-06-10", "2025-11-10"]),
        "tensor_split": st.sampled_from([(3, 1), (0, 1), (1, 2, 1, 2)]),
        "memory_by_gpu": st.sampled_from([(24 * GIB, 8 * GIB), (80 * GIB,) * 4]),
    },
}
ANYWHERE: dict[str, st.SearchStrategy[Any]] = {
    "pipeline_parallel": st.just(2),
    "data_parallel": st.just(2),
    "available_kv_bytes": st.integers(0, 2**37),
    "total_memory_bytes": st.integers(2**33, 2**38),
    "shared_prefix_tokens": st.just(1),
    "hybrid_kv_cache_manager": st.just(False),
    "memory_fraction": st.sampled_from([0.5, 0.98, 1.0]),
    "average_context_length": st.integers(1, 4000),
    "media": st.just({"images": 2, "width": 900, "height": 700}),
}


@st.composite
def drawn(draw: st.DrawFn) -> dict[str, Any]:
    """Few settings at a time, for each may be one that the engine turns away."""
    engine = draw(st.sampled_from(sorted(ENGINES)))
    more = ANYWHERE | OWN.get(engine, {})
    chosen = draw(st.lists(st.sampled_from(sorted(more)), max_size=3, unique=True))
    return {
        "model": draw(st.sampled_from(MODELS)),
        "engine": engine,
        "accelerator": draw(st.sampled_from(["h100-sxm5-80gb", "rtx-4090", "b200-sxm", "mi300x"])),
        "context_length": draw(st.integers(1, 130_000)),
        "batch_size": draw(st.integers(1, 300)),
        "tensor_parallel": draw(st.sampled_from([1, 2, 4, 8])),
        **{field: draw(more[field]) for field in chosen},
    }


scenarios = drawn()


def planned_of(values: dict[str, Any]) -> EnginePlan:
    scenario = make_scenario(values)
    return plan(scenario, find_models(scenario), get_accelerator(values["accelerator"]))


def found(values: dict[str, Any]) -> tuple[Remedy, ...]:
    return remedies(make_scenario(values), planned_of(values), get_accelerator(values["accelerator"]))


def by_field(values: dict[str, Any]) -> dict[str, Remedy]:
    return {next(iter(remedy.values)): remedy for remedy in found(values)}


@settings(max_examples=60, deadline=None)
@given(scenarios)
def test_every_remedy_does_what_it_claims(values: dict[str, Any]) -> None:
    try:
        before = room(planned_of(values))
    except (ScenarioError, PlacementError):
        return
    assert before is not None
    for remedy in found(values):
        after = planned_of(values | remedy.values)
        left = room(after)
        assert left is not None
        assert (remedy.gain_bytes, remedy.fits) == (left - before, left >= 0)
        assert remedy.max_batch == report_of(after).capacity.max_batch_at_context
        assert remedy.change
        assert remedy.gain_bytes > 0 or before >= 0


@settings(max_examples=60, deadline=None)
@given(scenarios)
def test_those_that_fit_come_first_and_each_field_is_changed_once(values: dict[str, Any]) -> None:
    try:
        listed = found(values)
    except (ScenarioError, PlacementError):
        return
    assert len(listed) <= MOST
    assert [remedy.fits for remedy in listed] == sorted((remedy.fits for remedy in listed), reverse=True)
    changes = [remedy.change for remedy in listed]
    assert len(set(changes)) == len(changes)


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_every_engine_has_a_way_out_and_room_for_more(engine: str) -> None:
    load = {"engine": engine, "accelerator": "h100-sxm5-80gb", "batch_size": 16}
    assert any(each.fits for each in found(load | {"model": GEMMA, "context_length": 32_768}))
    more = found(load | {"model": LLAMA, "context_length": 8192})
    assert [each.fits for each in more] == [True] * len(more)
    counts = [each.max_batch or 0 for each in more]
    assert len(counts) >= 4
    assert counts == sorted(counts, reverse=True)


def test_an_fp8_cache_halves_128_kib_a_token() -> None:
    """Llama 3.1 8B keeps 128 KiB a token (32 layers × 2 × 8 heads × 128 × 2 bytes): 16 × 8,192 tokens are 16 GiB."""
    load = {
        "model": LLAMA,
        "engine": "minimum",
        "accelerator": "h100-sxm5-80gb",
        "context_length": 8192,
        "batch_size": 16,
    }
    assert by_field(load)["kv_dtype"].gain_bytes == 8 * GIB


@pytest.mark.parametrize(("accelerator", "most"), [("h100-sxm5-80gb", 0.93), ("l4", 0.77)])
def test_sglang_keeps_five_gib_free(accelerator: str, most: float) -> None:
    """5 of an H100's 79.2 GiB are 6.3 %, of an L4's 22.2 GiB 22.6 %."""
    load = {"engine": "sglang", "model": LLAMA, "accelerator": accelerator, "context_length": 1024}
    planned = planned_of(load)
    total = planned.total_memory or 1
    levers = setting_levers(make_scenario(load), planned.scenario, planned.spec, total, short=True)
    values = [
        step.values["memory_fraction"] for each in levers for step in each.steps if "memory_fraction" in step.values
    ]
    assert max(values) == most


def test_the_smallest_step_that_suffices_is_chosen() -> None:
    """Short by little: one hundredth less of the memory does not do, and neither does one layer more on the GPU."""
    tight = {"model": LLAMA, "accelerator": "rtx-4090", "context_length": 8192}
    vllm = tight | {"engine": "vllm", "batch_size": 6}
    share = by_field(vllm)["memory_fraction"].values["memory_fraction"]
    assert 0.93 <= share <= 0.98
    assert (
        (room(planned_of(vllm | {"memory_fraction": share - 0.01})) or 0)
        < 0
        <= (room(planned_of(vllm | {"memory_fraction": share})) or 0)
    )
    llama = tight | {"engine": "llama.cpp", "batch_size": 16}
    layers = by_field(llama)["gpu_layers"].values["gpu_layers"]
    assert (room(planned_of(llama | {"gpu_layers": layers + 1})) or 0) < 0


def test_shares_and_sizes_of_gpus_do_not_outlive_another_count_or_card() -> None:
    """Shares are for so many GPUs; a card's own memory takes the place of the sizes given."""
    load = {"model": "meta-llama/Llama-3.3-70B-Instruct", "engine": "llama.cpp", "tensor_parallel": 2}
    shared = by_field(load | {"accelerator": "rtx-4090", "tensor_split": [3, 1]})
    assert shared["tensor_parallel"].values["tensor_split"] is None
    sizes = [24 * GIB, 8 * GIB]
    sized = found(load | {"accelerator": "rtx-4090", "memory_by_gpu": sizes})
    cards = [each for each in sized if "accelerator" in each.values]
    assert cards
    assert all(each.values["memory_by_gpu"] is None for each in cards)
    assert not any("tensor_parallel" in each.values for each in sized)


def test_a_larger_share_of_shared_memory_where_it_suffices() -> None:
    """Llama 3.3 70B in Q8_0 with 12 requests: 96 GiB of a Mac's 128 do not do, the 107.5 of macOS 26 do."""
    load = {"model": "meta-llama/Llama-3.3-70B-Instruct", "engine": "llama.cpp", "weights": "q8_0", "batch_size": 12}
    mac = by_field(load | {"accelerator": "apple-m4-max-40c"})["total_memory_bytes"]
    assert (mac.fits, mac.kind) == (True, "setting")
    assert mac.change == "GPU memory 96.0 → 107.5 GiB (macOS 26 or later)"
    spark = load | {"accelerator": "dgx-spark-gb10", "batch_size": 64}
    assert "total_memory_bytes" not in by_field(spark)


def test_the_fewest_experts_that_have_to_stay_in_host_memory() -> None:
    """gpt-oss-120b on 48 GB: one layer's less does not do. Without experts there is no such step."""
    short = {"engine": "llama.cpp", "accelerator": "rtx-6000-ada", "context_length": 8192}
    remedy = by_field(short | {"model": "openai/gpt-oss-120b"})["cpu_moe_layers"]
    layers = remedy.values["cpu_moe_layers"]
    assert remedy.fits
    assert remedy.change == f"Experts of {layers} layers in host memory"
    fewer = short | {"model": "openai/gpt-oss-120b", "cpu_moe_layers": layers - 1}
    assert (room(planned_of(fewer)) or 0) < 0
    assert "cpu_moe_layers" not in by_field(short | {"model": "meta-llama/Llama-3.3-70B-Instruct"})


def test_fewer_requests_and_shorter_ones_are_the_most_that_fits() -> None:
    load = {"model": GEMMA, "engine": "minimum", "accelerator": "h100-sxm5-80gb", "context_length": 32_768}
    short = load | {"batch_size": 16}
    batch = by_field(short)["batch_size"].values["batch_size"]
    assert batch == report_of(planned_of(short)).capacity.max_batch_at_context
    length = by_field(short)["context_length"].values["context_length"]
    assert length == round_length(report_of(planned_of(short)).capacity.max_context_at_batch or 0)


@pytest.mark.parametrize(("tokens", "rounded"), [(9760, 9728), (28_880, 28_672), (17, 17), (1, 1), (0, 0)])
def test_lengths_are_rounded_by_a_sixteenth_at_most(tokens: int, rounded: int) -> None:
    assert round_length(tokens) == rounded


@pytest.mark.parametrize("card", all_accelerators(), ids=lambda card: str(card.id))
def test_larger_cards_are_larger_and_of_the_vendor(card: Any) -> None:
    sizes = [memory(card), *(memory(larger) for larger in larger_cards(card))]
    assert all(after >= before * 1.15 for before, after in pairwise(sizes))
    assert {larger.vendor for larger in larger_cards(card)} <= {card.vendor}


def test_from_an_h100_module_the_next_are_modules() -> None:
    names = [card.id for card in larger_cards(get_accelerator("h100-sxm5-80gb"))]
    assert names[1] == "h200-sxm-141gb"


def test_the_fewest_gpus_that_suffice_are_told() -> None:
    """Two nodes of eight for 684.5 billion parameters of one byte; two cards for 54 GB of weights."""
    load = {"engine": "vllm", "accelerator": "h100-sxm5-80gb", "context_length": 8192, "batch_size": 16}
    large = by_field(load | {"model": "deepseek-ai/DeepSeek-V3"})["tensor_parallel"]
    assert (large.change, large.fits) == ("16 GPUs, TP 8 × PP 2", True)
    assert by_field(load | {"model": GEMMA, "context_length": 32_768})["tensor_parallel"].change == "2 GPUs, TP 2"


@pytest.mark.parametrize(("model", "term"), [("deepseek-ai/DeepSeek-V3", "weights"), (GEMMA, "kv")])
def test_the_term_that_has_to_shrink_is_told(model: str, term: str) -> None:
    load = {"model": model, "engine": "vllm", "accelerator": "h100-sxm5-80gb"}
    assert report_of(planned_of(load | {"context_length": 32_768, "batch_size": 16})).verdict.short_term == term


def test_replicas_of_attention_relieve_a_replicated_latent() -> None:
    """DeepSeek-V3's latent is held whole by each of 8 ranks: shared out over them it takes an eighth."""
    load = {"model": "deepseek-ai/DeepSeek-V3", "engine": "vllm", "accelerator": "h200-sxm-141gb"}
    short = load | {"tensor_parallel": 8, "context_length": 32_768, "batch_size": 64}
    assert by_field(short)["decode_context_parallel"].fits


def test_the_command_line_tells_remedies_where_the_load_does_not_fit() -> None:
    load = {"model": GEMMA, "engine": "minimum", "accelerator": "h100-sxm5-80gb", "context_length": 32_768}
    short, fits = answer(load | {"batch_size": 16}), answer(load | {"batch_size": 1})
    assert {"change", "gain_bytes", "fits"} <= set(short["verdict"]["remedies"][0])
    assert fits["verdict"]["remedies"] == ()
    assert answer({"model": LLAMA})["verdict"]["remedies"] == ()


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_the_fewest_gib_of_weights_that_have_to_stay_in_host_memory(engine: str) -> None:
    """14.96 GiB of weights on an RTX 4070 of 12 GiB; a GiB fewer does not do, as --cpu-offload-gb is set."""
    values: dict[str, Any] = {"model": LLAMA, "engine": engine, "accelerator": "rtx-4070", "context_length": 4096}
    values |= {"max_model_len": 4096} if engine == "vllm" else {}
    card = get_accelerator("rtx-4070")
    asked = make_scenario(values)
    found = remedies(asked, plan(asked, find_entry(LLAMA).spec, card), card)
    (remedy,) = (each for each in found if "cpu_offload_bytes" in each.values)
    kept = int(remedy.values["cpu_offload_bytes"])
    assert remedy.fits
    assert remedy.change == f"{kept // GIB} GiB of weights in host memory"
    for size, fits in ((kept, True), (kept - GIB, False)):
        left = room(plan(make_scenario(values | {"cpu_offload_bytes": size}), find_entry(LLAMA).spec, card))
        assert left is not None
        assert (left >= 0) == fits


@pytest.mark.parametrize(
    ("engine", "model", "accelerator", "weights", "setting"),
    [
        ("vllm", "meta-llama/Llama-3.1-70B-Instruct", "dgx-spark-gb10", "auto", {"cpu_offload_bytes": 64 * GIB}),
        ("sglang", "meta-llama/Llama-3.1-70B-Instruct", "dgx-spark-gb10", "auto", {"cpu_offload_bytes": 64 * GIB}),
        ("llama.cpp", "openai/gpt-oss-120b", "apple-m4-max-40c", "f16", {"cpu_moe_layers": 21}),
    ],
)
def test_memory_that_cpu_and_gpu_share_is_not_counted_twice(
    engine: str, model: str, accelerator: str, weights: str, setting: dict[str, int]
) -> None:
    """Both have 128 GiB in all; the weights are 131 and 217 GiB."""
    values = {
        "model": model,
        "engine": engine,
        "weights": weights,
        "accelerator": accelerator,
        "context_length": 8192,
    }
    scenario, spec, card = make_scenario(values), find_entry(model).spec, get_accelerator(accelerator)
    found = remedies(scenario, plan(scenario, spec, card), card)
    assert found
    assert not [each for each in found if each.values.keys() & {"cpu_offload_bytes", "cpu_moe_layers", "gpu_layers"}]
    moved = report_of(plan(make_scenario(values | setting), spec, card))
    assert any("more than the 128 GiB that they share" in note for note in moved.notes)


def test_what_fits_beside_the_gpu_may_stay_in_host_memory() -> None:
    """gpt-oss-120b in Q8_0: Metal takes 96 of the 128 GiB, and some experts stay beside them."""
    values = {
        "model": "openai/gpt-oss-120b",
        "engine": "llama.cpp",
        "weights": "q8_0",
        "accelerator": "apple-m4-max-40c",
    }
    scenario, card = make_scenario(values | {"context_length": 8192}), get_accelerator("apple-m4-max-40c")
    found = remedies(scenario, plan(scenario, find_entry("openai/gpt-oss-120b").spec, card), card)
    assert any("cpu_moe_layers" in each.values and each.fits for each in found)


def test_a_step_that_leaves_no_room_for_the_media_is_no_remedy() -> None:
    """An image of 1,024 × 768 takes 768 tokens of Qwen3-VL, more than the 108 that 1,000 requests may have."""
    values: dict[str, Any] = {"model": "Qwen/Qwen3-VL-2B-Instruct", "engine": "sglang", "accelerator": "arc-b580-12gb"}
    values |= {"batch_size": 1000, "media": {"images": 1, "width": 1024, "height": 768}}
    remedies = answer(values)["verdict"]["remedies"]
    assert remedies
    for remedy in remedies:
        again = answer(values | remedy["values"])
        assert again["verdict"]["fits"] == remedy["fits"]
