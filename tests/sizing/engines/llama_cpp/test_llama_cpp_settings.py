"""Settings that llama.cpp turns away, weights on devices and host, and laws of loads."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardware_catalog import get_accelerator
from model_catalog.lookup import find_entry
from sizing.engines.llama_cpp.planning import plan
from sizing.engines.plan import EnginePlan
from sizing.scenario import ScenarioError, make_scenario
from sizing.size import report_of, size

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
GIB = 2**30
MODELS = [
    LLAMA,
    "google/gemma-3-27b-it",
    "google/gemma-4-E4B-it",
    "Qwen/Qwen3.5-9B",
    "deepseek-ai/DeepSeek-V3.2",
    "deepseek-ai/DeepSeek-V4-Flash",
    "MiniMaxAI/MiniMax-M3",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct",
]
VERSIONS = [None, "b2793", "4615", "2025-05-25", "build 5622", "b6451", "2025-11-03", "b8041", "ik 2025-06-01"]


def planned(model: str = LLAMA, **fields: Any) -> EnginePlan:
    return plan(make_scenario({"model": model, "engine": "llama.cpp"} | fields), find_entry(model).spec, None)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"kv_dtype": "q8_0", "flash_attention": False}, "kv_dtype"),
        ({"kv_dtype": "q4_0", "engine_version": "4615"}, "kv_dtype"),
        ({"kv_dtype": "fp8"}, "kv_dtype"),
        ({"kv_dtype": "turboquant_4bit_nc"}, "kv_dtype"),
        ({"weights": "awq-int4"}, "weights"),
        ({"weights": "fp8"}, "weights"),
        ({"memory_fraction": 0.9}, "memory_fraction"),
        ({"memory_fraction": 1.0}, "memory_fraction"),
        ({"expert_parallel": True}, "expert_parallel"),
        ({"dp_attention": True}, "dp_attention"),
        ({"decode_context_parallel": 2}, "decode_context_parallel"),
        ({"cpu_offload_bytes": GIB}, "cpu_offload_bytes"),
        ({"block_size": 16}, "block_size"),
        ({"tensor_parallel": 17}, "tensor_parallel"),
        ({"pipeline_parallel": 32}, "pipeline_parallel"),
        ({"kv_unified": False, "engine_version": "2025-07-01"}, "kv_unified"),
        ({"swa_full": True, "engine_version": "2025-05-01"}, "swa_full"),
        ({"state_dtype": {"conv": "bf16", "recurrent": "bf16"}}, "state_dtype"),
    ],
)
def test_what_llama_cpp_has_not_is_refused_at_its_field(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(ScenarioError) as fault:
        planned(**fields)
    assert fault.value.field == field
    assert fault.value.message.endswith(".")


def test_models_without_an_architecture_in_llama_cpp_are_refused() -> None:
    with pytest.raises(ScenarioError, match="no architecture for whisper"):
        planned("openai/whisper-tiny")


def test_keys_alone_may_be_quantised_without_flash_attention() -> None:
    """Receipt l020: K iq4_nl 18 MiB beside V f16 64 MiB."""
    cache = planned(kv_dtype={"k": "iq4_nl", "v": "f16"}, flash_attention=False).ranks[0].cache
    assert cache.kv(1024, 1) == (18 + 64) * 2**20


def test_heads_that_do_not_fill_blocks_are_refused() -> None:
    """Phi-2's heads of 80: "K cache type q4_0 with block size 32 does not divide n_embd_head_k=80"."""
    with pytest.raises(ScenarioError, match="Heads of 80 elements do not fill the blocks of 32 of q4_0"):
        planned("microsoft/phi-2", kv_dtype="q4_0")


def test_a_tied_embedding_is_loaded_twice() -> None:
    """Gemma 3 27B in 16 bits: 262,208 rows of 5,376 on the host and again as the output head on the device."""
    embedding = 262_208 * 5376 * 2
    everything, nothing = planned("google/gemma-3-27b-it"), planned("google/gemma-3-27b-it", gpu_layers=0)
    assert everything.scenario.weights == "gguf-bf16"
    host = f"{embedding / 2**20:.2f} MiB"
    assert everything.log.lines[0].endswith(host)
    assert nothing.ranks[0].weights == 0
    assert planned("google/gemma-3-27b-it", gpu_layers=1).ranks[0].weights == embedding + 5376 * 4


def test_layers_on_the_host_take_their_cache_along() -> None:
    """16 of Llama 3.1 8B's 32 layers and the output on the GPU: half of 131,072 B a token."""
    half = planned(gpu_layers=17)
    assert half.ranks[0].cache.kv(1024, 1) == 65_536 * 1024
    assert any("16 of 33 layers stay on the host" in note for note in half.notes)


def test_gpus_are_devices_that_share_the_layers() -> None:
    """-ts by equal memory: 33 layers with the output over four devices are 9, 8, 8 and 7 with the output."""
    four = planned(tensor_parallel=4)
    assert [int(rank.cache.kv(256, 1)) // (4096 * 256) for rank in four.ranks] == [9, 8, 8, 7]
    assert four.scenario.pipeline_parallel == 4
    assert report_of(four) == report_of(planned(pipeline_parallel=4))
    assert any("whole layers" in note for note in four.notes)


def test_everything_but_a_margin_of_one_gib_is_the_budget() -> None:
    alone = planned(total_memory_bytes=24 * GIB)
    assert alone.budget == 23 * GIB
    assert planned(total_memory_bytes=24 * GIB, other_memory_bytes=2 * GIB).budget == 21 * GIB


def test_defaults_are_those_of_the_build() -> None:
    now, before = planned().scenario, planned(engine_version="4615").scenario
    assert (now.flash_attention, now.kv_unified, now.ubatch_size, now.max_num_batched_tokens) == (
        True,
        False,
        512,
        2048,
    )
    assert (before.flash_attention, before.kv_unified) == (False, True)
    assert (now.kv_dtype, now.gpu_layers, now.memory_fraction) == ("fp16", 33, None)


def test_more_slots_than_sequences_are_set_aside() -> None:
    """Qwen3.5-9B with four unified slots: 201 MiB of state (l044), whatever runs."""
    cache = planned("Qwen/Qwen3.5-9B", max_num_seqs=4, kv_unified=True).ranks[0].cache
    assert cache.state(1000, 1) == 201 * 2**20
    assert cache.live(1000, 1) == 201 * 2**20 // 4 + 1000 * 32_768


loads = st.fixed_dictionaries(
    {
        "model": st.sampled_from(MODELS),
        "engine_version": st.sampled_from(VERSIONS),
        "context_length": st.integers(1, 300_000),
        "batch_size": st.integers(1, 64),
        "max_num_seqs": st.sampled_from([None, 2, 16]),
        "tensor_parallel": st.sampled_from([1, 3]),
        "gpu_layers": st.sampled_from([None, 0, 7]),
        "ubatch_size": st.sampled_from([None, 64, 4096]),
        "kv_offload": st.sampled_from([None, False]),
        "media_limits": st.sampled_from([None, {"image": 0, "video": 0, "audio": 0}]),
        "total_memory_bytes": st.integers(2 * GIB, 2**40),
    }
)


@settings(max_examples=120, deadline=None)
@given(loads, st.lists(st.integers(1, 300_000), min_size=1, max_size=3))
def test_reserved_is_at_least_live_and_arrays_are_the_same_cells(values: dict[str, Any], lengths: list[int]) -> None:
    made = planned(**values)
    batches = np.array([1, 3, 40])
    for rank in made.ranks:
        cache = rank.cache
        for ask in (cache.kv, cache.state, cache.live, cache.need):
            cells = np.broadcast_to(ask(np.array(lengths)[:, None], batches[None, :]), (len(lengths), 3))
            assert cells.tolist() == [[ask(tokens, int(batch)) for batch in batches] for tokens in lengths]
        for tokens in lengths:
            reserved = cache.kv(tokens, 3) + cache.state(tokens, 3)
            assert cache.need(tokens, 3) >= reserved >= cache.live(tokens, 3) >= 0


@settings(max_examples=60, deadline=None)
@given(loads)
def test_what_capacity_says_fits_and_one_more_does_not(values: dict[str, Any]) -> None:
    if values["engine_version"] == "2025-11-03":
        return  # one slot takes as much as four there, and two take less
    spec, values = find_entry(values["model"]).spec, values | {"engine": "llama.cpp"}
    report = size(make_scenario(values), spec, get_accelerator("h100-sxm5-80gb"))
    most = report.capacity.max_context_at_batch
    assert most is not None
    assert report.verdict.fits == (most >= values["context_length"])
    if 0 < most < 2**31 - 1:
        assert size(make_scenario(values | {"context_length": most}), spec).verdict.fits
        assert not size(make_scenario(values | {"context_length": most + 1}), spec).verdict.fits
