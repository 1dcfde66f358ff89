"""What is where: layers, experts, rows of matrices and caches over GPUs and the host.

Two start-up logs were read for it: ggml-org/llama.cpp issues 13729 (Qwen3-30B-A3B in Q4_K_M, b5466, -ngl 30) and 13661
(the same in Q8_0, b5261, --split-mode row over four K80s, which cut rows into tiles of 64 as a P40 does).
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardware_catalog import get_accelerator
from model_catalog.lookup import find_entry
from sizing.engines.llama_cpp.planning import plan
from sizing.engines.llama_cpp.split import Offload
from sizing.engines.plan import EnginePlan
from sizing.scenario import ScenarioError, make_scenario
from sizing.size import report_of
from tests.sizing.engines.llama_cpp.receipts import spec_of

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
MOE = "Qwen/Qwen3-30B-A3B"
MIB = 2**20


def planned(model: str = MOE, accelerator: str | None = None, **fields: Any) -> EnginePlan:
    scenario = make_scenario({"model": model, "engine": "llama.cpp", "accelerator": accelerator} | fields)
    return plan(scenario, find_entry(model).spec, get_accelerator(accelerator) if accelerator else None)


def buffers(made: EnginePlan, kind: str = "model") -> dict[str, float]:
    """MiB by the name of the buffer."""
    lines = [line.split() for line in made.log.lines if f" {kind} buffer size" in line]
    return {words[1]: float(words[-2]) for words in lines}


def test_some_of_the_layers_as_printed_in_may_2025() -> None:
    """30 of 49: the last 30 of the 48 layers, for the output went last until December 2025."""
    made = planned(weights="q4_k_m", gpu_layers=30, engine_version="5466", context_length=4096)
    assert buffers(made) == {"CPU_Mapped": 6940.48, "CUDA0": 10750.86}
    assert buffers(made, "KV") == {"CPU": 144.0, "CUDA0": 240.0}  # 18 and 30 layers of 8 MiB
    host = report_of(made).host
    assert host is not None
    assert (round(host.weights_bytes / MIB, 2), host.kv_bytes) == (6940.48, 144 * MIB)
    assert any(
        "Host memory holds 6.78 GiB (7.28 GB) of weights and 0.14 GiB (0.15 GB) of cache." in n for n in made.notes
    )


def test_matrices_split_by_rows_as_printed() -> None:
    """A line each for the matrices of a GPU's layers, on whichever GPUs their rows are, and for the rest of them.

    The routers of the first and the third GPU are too few rows to be split.
    """
    made = planned(
        accelerator="p40",
        weights="q8_0",
        tensor_parallel=4,
        split_mode="row",
        engine_version="5261",
        context_length=30_016,
    )
    printed = buffers(made)
    assert [printed[f"CUDA{gpu}_Split"] for gpu in range(4)] == [248.62, 241.50, 229.50, 536.67]
    assert [printed[f"CUDA{gpu}"] for gpu in range(3)] == [7969.22, 7344.20, 7356.20]
    assert list(buffers(made, "KV").values())[2:] == [703.50, 644.88]
    assert made.ranks[3].activation / MIB == pytest.approx(1958.63, abs=0.0051)
    whole = planned(accelerator="p40", weights="q8_0", engine_version="5261")
    assert sum(rank.weights for rank in made.ranks) == whole.ranks[0].weights
    assert max(rank.weights for rank in made.ranks) < 8356 * MIB  # 7,969.22 and a share of 1,256.29, tile by tile


def test_rows_before_the_loader_knew_of_backends() -> None:
    """Until #10026 all but the rows was on the first GPU, the cache with it (#10152 tells of the change)."""
    settings: dict[str, Any] = {"model": LLAMA, "tensor_parallel": 2, "split_mode": "row"}
    before, after = planned(**settings, engine_version="3600"), planned(**settings, engine_version="4017")
    assert [rank.cache.kv(1024, 1) > 0 for rank in before.ranks] == [True, False]
    assert [rank.cache.kv(1024, 1) > 0 for rank in after.ranks] == [True, True]


@pytest.mark.parametrize("layers", [0, 1, 48])
def test_experts_of_the_first_layers_stay_on_the_host(layers: int) -> None:
    """--n-cpu-moe: 128 experts of 3 × 2,048 × 768 elements in Q4_0's 18 bytes for 32 are 324 MiB a layer.

    On the GPU rows of 768 are followed by 256 elements more, and tensors begin at multiples of 128 bytes.
    """
    everything, some = planned(weights="q4_0"), planned(weights="q4_0", cpu_moe_layers=layers)
    moved = everything.ranks[0].weights - some.ranks[0].weights
    assert moved == layers * (324 * MIB + 256)
    assert some.host is not None
    assert everything.host is not None
    assert some.host.weights_bytes - everything.host.weights_bytes == layers * 324 * MIB
    assert some.ranks[0].cache.kv(1024, 1) == everything.ranks[0].cache.kv(1024, 1)


def test_biases_of_experts_go_with_them_and_dense_layers_have_none() -> None:
    """gpt-oss: 32 experts of three matrices of 2,880 × 2,880 in Q4_0's 18 bytes for 32, and of three biases in f32.

    Rows of 2,880 are followed by 192 elements more, 108 bytes, and tensors begin at multiples of 128.
    """
    layer = 32 * (3 * 2880 * (2880 // 32 * 18) + 3 * 2880 * 4) + 3 * 128
    plans = [planned("openai/gpt-oss-20b", weights="q4_0", cpu_moe_layers=n) for n in (0, 1, 24, 99)]
    weights = [made.ranks[0].weights for made in plans]
    assert [weights[0] - size for size in weights] == [0, layer, 24 * layer, 24 * layer]
    dense = [planned("deepseek-ai/DeepSeek-V3", cpu_moe_layers=n).ranks[0].weights for n in (0, 3, 4)]
    assert dense[0] == dense[1] > dense[2]


def test_the_part_of_the_file_that_is_mapped_covers_whole_layers() -> None:
    """All between the first and the last tensor that stays is mapped: more than what is read of it (PR 22673's log)."""
    experts, layers = planned(weights="q4_k_m", cpu_moe_layers=48), planned(weights="q4_k_m", gpu_layers=1)
    assert experts.host is not None
    assert experts.host.weights_bytes < buffers(experts)["CPU_Mapped"] * MIB
    assert buffers(experts)["CPU_Mapped"] == buffers(layers)["CPU_Mapped"]


@given(st.integers(1, 100), st.lists(st.integers(0, 30), min_size=1, max_size=16).filter(any))
def test_every_layer_is_somewhere_once(layers: int, split: list[int]) -> None:
    for gpu_layers in (0, 1, layers, layers + 1):
        for output_first in (True, False):
            offload = Offload(layers, gpu_layers, output_first)
            parts = [offload.host, *offload.shares(len(split), split)]
            assert sum(part.last - part.first for part in parts) == layers
            assert sum(part.output for part in parts) == 1
            assert [
                part for part, share in zip(parts[1:], split, strict=True) if not share and part.last > part.first
            ] == []


@pytest.mark.parametrize(
    ("split", "layers"), [((3, 1), [27, 9]), ((1, 3), [9, 27]), ((0, 1), [0, 36]), ((47, 53), [17, 19])]
)
def test_shares_of_a_split(split: tuple[float, ...], layers: list[int]) -> None:
    """36 layers with the output: a layer at 27/36 = 0.75 is the second GPU's, as std::upper_bound has it."""
    parts = Offload(35, 36).shares(2, split)
    assert [part.last - part.first + part.output for part in parts] == layers


def test_gpus_of_different_sizes_get_layers_by_their_memory() -> None:
    """24 and 12 GiB: of Llama 3.1 8B's 33 layers with the output 22 and 11, as --tensor-split 24,12 has it."""
    sizes: dict[str, Any] = {"tensor_parallel": 2, "memory_by_gpu": [24 * 2**30, 12 * 2**30]}
    made = planned(LLAMA, weights="q8_0", **sizes)
    assert [rank.cache.kv(256, 1) // (4096 * 256) for rank in made.ranks] == [22, 10]
    split = planned(LLAMA, weights="q8_0", tensor_parallel=2, tensor_split=[24, 12])
    assert [rank.weights for rank in made.ranks] == [rank.weights for rank in split.ranks]
    assert [rank.memory for rank in made.ranks] == [(24 * 2**30, 23 * 2**30), (12 * 2**30, 11 * 2**30)]
    report = report_of(made)
    assert (report.per_gpu.total_bytes, report.cluster.total_bytes) == (12 * 2**30, 36 * 2**30)
    assert report.verdict.fits


def test_the_smaller_of_two_gpus_decides_where_it_gets_as_much() -> None:
    sizes = [24 * 2**30, 6 * 2**30]
    fields: dict[str, Any] = {"weights": "q8_0", "tensor_parallel": 2, "memory_by_gpu": sizes, "context_length": 32_768}
    by_memory, even = planned(LLAMA, **fields), planned(LLAMA, **fields, tensor_split=[1, 1])
    assert by_memory.fits(32_768, 1)
    assert not even.fits(32_768, 1)
    assert report_of(even).per_gpu.total_bytes == 6 * 2**30


def test_a_cache_left_on_the_host_takes_nothing_of_the_gpu() -> None:
    kept, left = planned(), planned(kv_offload=False)
    assert left.ranks[0].cache.kv(4096, 1) == 0
    assert left.host is not None
    assert left.host.kv_bytes == kept.ranks[0].cache.kv(8192, 1)
    assert buffers(left, "KV") == {"CPU": left.host.kv_bytes / MIB}
    assert left.ranks[0].activation < kept.ranks[0].activation


def test_gpus_with_whole_layers_keep_four_copies_of_their_inputs() -> None:
    """Command-R over two GPUs, "pipeline parallelism enabled (n_copies=4)": 672.01 MiB on the first (llama.cpp 6122).

    64 heads' scores of 4,096 cells and 512 tokens, queries and residuals (576), four masks (32) and embeddings (64).
    """
    spec = spec_of((40, 64, 64, 128, None), hidden=8192, vocab=256_000, feed_forward=22_528)
    values = {"model": "test", "engine": "llama.cpp", "engine_version": "b2793", "context_length": 4096}
    two = plan(make_scenario(values | {"tensor_parallel": 2}), spec, None)
    assert two.ranks[0].activation == 672 * MIB
    for fields in ({"kv_offload": False}, {"gpu_layers": 40}):
        alone = plan(make_scenario(values | {"tensor_parallel": 2} | fields), spec, None)
        assert alone.ranks[0].activation < 672 * MIB


def test_the_first_gpu_fetches_the_largest_matrix_that_stays_on_the_host() -> None:
    """gpt-oss-120b: 128 experts of 2,880 × 2,880 in MXFP4, 17 bytes for 32 elements, for 32 tokens or more at once."""
    matrix = 128 * 2880 * 2880 // 32 * 17

    def compute(**fields: Any) -> list[int]:
        return [rank.activation for rank in planned("openai/gpt-oss-120b", **fields).ranks]

    assert compute(cpu_moe_layers=1)[0] - compute()[0] == matrix
    assert compute(gpu_layers=20) == compute(cpu_moe_layers=1)
    assert compute(cpu_moe_layers=1, tensor_parallel=2)[1] == compute()[0]
    assert compute(cpu_moe_layers=1, ubatch_size=31) == compute(ubatch_size=31)
    assert compute(cpu_moe_layers=1, engine_version="ik 2026-03-01") == compute(engine_version="ik 2026-03-01")


@pytest.mark.parametrize(
    ("fields", "field", "said"),
    [
        ({"model": LLAMA, "cpu_moe_layers": 1}, "cpu_moe_layers", "no experts"),
        ({"cpu_moe_layers": 1, "engine_version": "4615"}, "cpu_moe_layers", "cannot keep experts"),
        ({"tensor_split": [3, 1]}, "tensor_split", "2 shares for 1 GPU;"),
        ({"tensor_split": [1], "tensor_parallel": 2}, "tensor_split", "1 share for 2 GPUs;"),
        ({"memory_by_gpu": [2**34, 2**33]}, "memory_by_gpu", "2 sizes for 1 GPU;"),
        ({"memory_by_gpu": [2**34], "total_memory_bytes": 2**34}, "memory_by_gpu", "leave out one"),
        ({"memory_by_gpu": "24 GiB"}, "memory_by_gpu", "one for each GPU"),
        ({"tensor_split": [0, 0], "tensor_parallel": 2}, "tensor_split", "more than 0"),
        ({"tensor_split": [1e-300, 1e-300], "tensor_parallel": 2}, "tensor_split", "too small"),
        ({"tensor_split": "3,x", "tensor_parallel": 2}, "tensor_split", "with commas between: 3,1"),
        ({"tensor_split": [-1, 2], "tensor_parallel": 2}, "tensor_split", "from 0 on"),
        ({"tensor_split": [1] * 17}, "tensor_split", "one for each GPU"),
        ({"split_mode": "row"}, "split_mode", "no split by rows"),
        ({"split_mode": "tensor", "tensor_parallel": 2}, "split_mode", "not modelled"),
        ({"split_mode": "none", "tensor_parallel": 2}, "split_mode", "one GPU, and 2"),
        ({"split_mode": "rows"}, "split_mode", "It can be 'layer', 'row'"),
    ],
)
def test_what_cannot_be_placed_is_refused_at_its_field(fields: dict[str, Any], field: str, said: str) -> None:
    with pytest.raises(ScenarioError, match=said) as fault:
        planned(**fields)
    assert fault.value.field == field


def test_gpus_without_free_memory_share_evenly() -> None:
    """Other processes hold all of both: no share follows from what is free, and every layer is still somewhere."""
    full = planned(LLAMA, tensor_parallel=2, memory_by_gpu=[8 * 2**30, 8 * 2**30], other_memory_bytes=2**34)
    even = planned(LLAMA, tensor_parallel=2)
    assert [rank.weights for rank in full.ranks] == [rank.weights for rank in even.ranks]
