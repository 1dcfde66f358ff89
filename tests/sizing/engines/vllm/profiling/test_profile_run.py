"""vLLM's profile run by its sources, held to what start-up logs print of it."""

from typing import Any

import pytest

from hardware_catalog import get_accelerator
from model_catalog.lookup import find_entry
from sizing.activations import ExpertWidths, expert_widths
from sizing.engines.calibration import VLLM
from sizing.engines.vllm.profiling.graphs import (
    estimate_bytes,
    graphs_captured,
    graphs_estimated,
    reduces_by_nccl,
    sizes_up_to,
)
from sizing.engines.vllm.profiling.rules import ProfileRules
from sizing.engines.vllm.profiling.run import activation_bytes, context_bytes, streams_of
from sizing.engines.vllm.profiling.sampler import sampler_bytes
from sizing.engines.vllm.profiling.workspaces import (
    ExpertScratch,
    expert_scratch,
    gathered_bytes,
    score_bytes,
    shared_bytes,
    sparse_bytes,
)
from sizing.engines.vllm.resolving import resolved_of
from sizing.engines.vllm.rules import rules_of
from sizing.engines.vllm.runner import uses_second_runner
from sizing.scenario import Scenario, make_scenario
from sizing.versions import parse_version

GIB = 2**30
SM90 = (9, 0)


def rules(release: str) -> ProfileRules:
    version = parse_version(release)
    assert version is not None
    return rules_of(version).profile


def settled(model: str, card: str = "h100-sxm5-80gb", **settings: Any) -> Scenario:
    scenario = make_scenario({"model": model, "engine": "vllm", **settings})
    return resolved_of(scenario, find_entry(model).spec, get_accelerator(card)).scenario


def peaks(model: str, release: str, **settings: Any) -> list[float]:
    """GiB of each stage on an H100."""
    scenario = settled(model, engine_version=release, **settings)
    found = activation_bytes(scenario, find_entry(model).spec, rules(release), SM90)
    return [peak / GIB for peak in found]


@pytest.mark.parametrize(
    ("model", "settings", "activation"),
    [
        # "torch peak memory increase" in llm-d-planner, docs/empirical-vllm-memory-results.md (v049 to v054, v228)
        ("meta-llama/Llama-3.1-8B-Instruct", {}, 4.76),
        ("Qwen/Qwen3-0.6B", {}, 5.56),
        ("Qwen/Qwen3-32B", {}, 5.64),
        ("Qwen/Qwen3-32B", {"tensor_parallel": 2}, 5.64),
        ("meta-llama/Llama-3.3-70B-Instruct", {"tensor_parallel": 2, "weights": "fp8"}, 4.84),
        ("openai/gpt-oss-120b", {}, 7.38),
        ("openai/gpt-oss-20b", {}, 7.38),
    ],
)
def test_peaks_that_0_11_prints(model: str, settings: dict[str, Any], activation: float) -> None:
    assert peaks(model, "0.11.0", max_model_len=16_000, **settings) == [pytest.approx(activation, abs=0.015)]


def test_rows_make_the_difference_between_two_logs() -> None:
    """v149 has 0.92 GiB less than v147: 256 sequences instead of 64, of which PyTorch sorts the logits otherwise."""
    many, few = (sampler_bytes(rows, 151_936, rules("0.12.0"), second=False) for rows in (256, 64))
    assert (many - few) / GIB == pytest.approx(38.15 - 37.23, abs=0.01)


@pytest.mark.parametrize(
    ("release", "second", "each"),
    [("0.16.0", False, 38), ("0.17.0", False, 14), ("0.26.0", True, 6), ("0.33.0", True, 14)],
)
def test_scratch_of_a_logit(release: str, second: bool, each: int) -> None:
    """Beside it, the kernel that works in place has a row for each of its programs."""
    rows, vocab = 1024, 128_256
    beside = 0 if second or release == "0.16.0" else 4 * 128 * vocab
    assert sampler_bytes(rows, vocab, rules(release), second=second) == each * rows * vocab + beside


def test_workspaces_are_kept_from_0_14_on() -> None:
    """v139 (0.15.0): 6.26 GiB beside the weights, of which 0.5 are the experts' workspaces."""
    model = "Qwen/Qwen3-30B-A3B-Instruct-2507"
    assert peaks(model, "0.15.0")[0] - peaks(model, "0.13.0")[0] == pytest.approx(0.5, abs=1e-3)
    assert peaks(model, "0.15.0")[0] == pytest.approx(6.26 - 0.13, abs=0.06)


def test_the_kernels_of_gpt_oss_keep_none_on_an_h100() -> None:
    """7.38 GiB are printed for either size (v049 and v228, 0.14.1)."""
    for model in ("openai/gpt-oss-20b", "openai/gpt-oss-120b"):
        assert peaks(model, "0.14.1") == [pytest.approx(7.38, abs=0.015)]


def test_experts_by_their_tensors() -> None:
    """Nemotron 3 Super: 22 experts a token, without a gate, in a latent space of 1,024 (its config)."""
    spec = find_entry("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8").spec
    found = next(w for run in spec.layers if (w := expert_widths(run.layer, spec.hidden_size, 4)))
    assert found == ExpertWidths(top_k=22, hidden=1024, first=672, product=672)
    assert expert_scratch(found, rules("0.14.0"), inside=False) == ExpertScratch(22 * (1024 + 1024), 1024)
    assert expert_scratch(found, rules("0.12.0"), inside=False) == ExpertScratch(0, 22 * (1024 + 672))
    assert expert_scratch(found, rules("0.14.0"), inside=True) == ExpertScratch(0, 22 * (672 + 672))


def test_only_the_last_stage_samples() -> None:
    first, last = peaks("Qwen/Qwen3-32B", "0.11.0", pipeline_parallel=2)
    assert first < 1.4 < 5.6 < last


@pytest.mark.parametrize(
    ("model", "release", "second"),
    [
        ("Qwen/Qwen3-8B", "0.21.0", False),
        ("Qwen/Qwen3-8B", "0.22.0", True),  # v213: model_runner.py, not gpu_model_runner.py
        ("meta-llama/Llama-3.1-8B-Instruct", "0.22.0", False),
        ("meta-llama/Llama-3.1-8B-Instruct", "0.23.0", True),
        ("Qwen/Qwen2.5-7B-Instruct", "0.24.0", False),
        ("Qwen/Qwen2.5-7B-Instruct", "0.25.1", True),  # v120
        ("Qwen/Qwen3-30B-A3B", "0.25.1", False),
        ("Qwen/Qwen3.6-27B", "0.28.0", False),
        ("Qwen/Qwen3-30B-A3B", "0.29.0", True),
    ],
)
def test_models_of_the_second_runner(model: str, release: str, second: bool) -> None:
    scenario = make_scenario({"model": model, "engine": "vllm"})
    assert uses_second_runner(scenario, find_entry(model).spec, rules(release)) is second


def test_quantized_qwen3_kept_the_first_runner() -> None:
    scenario = make_scenario({"model": "Qwen/Qwen3-8B", "engine": "vllm", "weights": "fp8"})
    spec = find_entry("Qwen/Qwen3-8B").spec
    assert not uses_second_runner(scenario, spec, rules("0.23.0"))
    assert uses_second_runner(scenario, spec, rules("0.24.0"))


@pytest.mark.parametrize(("sequences", "whole", "pieces"), [(256, 35, 51), (64, 11, 19), (1024, 51, 51), (1, 1, 2)])
def test_graphs(sequences: int, whole: int, pieces: int) -> None:
    """PIECEWISE=51 (largest=512), FULL=35 (largest=256) in the log of v176."""
    scenario = settled("Qwen/Qwen3-8B", max_num_seqs=sequences)
    assert graphs_captured(scenario, SM90) == whole + pieces


def test_captured_sizes_are_vllms() -> None:
    """The list of _set_cudagraph_sizes in vllm/config/vllm.py."""
    for largest in range(1, 1025):
        fine = [size for size in (1, 2, 4, *range(8, 256, 8)) if size <= largest]
        assert sizes_up_to(largest) == len(fine) + len(range(256, largest + 1, 16))


def test_sparse_attention_reserves_its_scratch() -> None:
    """For DeepSeek-V3.2, the max_model_len is 163840: 40 × 163840 × 132 = 865075200 bytes (indexer.py)."""
    spec = find_entry("deepseek-ai/DeepSeek-V3.2").spec
    assert gathered_bytes(spec, 163_840) == 865_075_200
    assert sparse_bytes(spec, 163_840) == 5 * 163_840 * 576 * 2
    assert score_bytes(spec, rules("0.18.0")) == 0
    assert score_bytes(spec, rules("0.19.0")) == 512 << 20


def test_one_buffer_serves_all_wishes() -> None:
    """Sparse attention holds on to the first buffer, so that a larger one for experts comes beside it."""
    spec = find_entry("deepseek-ai/DeepSeek-V3.2").spec
    sparse = sparse_bytes(spec, 163_840)
    assert shared_bytes(sparse - 1, spec, 163_840) == sparse
    assert shared_bytes(sparse + 1, spec, 163_840) == 2 * sparse + 1
    assert shared_bytes(5, find_entry("Qwen/Qwen3-8B").spec, 163_840) == 5


def test_a_chunk_of_context_of_latent_attention() -> None:
    """2*(192*128)*(64*1024) = 3gb for queries of 192 and 128 heads (mla_attention.py); keys and values have 256."""
    model = "deepseek-ai/DeepSeek-V3"
    scenario = settled(model, "h200-sxm-141gb", tensor_parallel=8)
    spec = find_entry(model).spec
    assert context_bytes(scenario, spec, rules("0.33.0")) == 2 * 64 * 1024 * 128 * (128 + 128) // 8
    assert context_bytes(scenario, spec, rules("0.10.0")) == 0
    assert context_bytes(settled("Qwen/Qwen3-8B"), find_entry("Qwen/Qwen3-8B").spec, rules("0.33.0")) == 0


def test_streams_of_hyper_connections() -> None:
    """DeepSeek-V4 passes four hidden states on (hc_mult of its config)."""
    streams = {
        model: streams_of(list(find_entry(model).spec.each_layer()))
        for model in ("deepseek-ai/DeepSeek-V4-Flash-0731", "deepseek-ai/DeepSeek-V3")
    }
    assert list(streams.values()) == [4, 1]


def test_the_old_engine_prefills_long_prompts_in_chunks() -> None:
    """v079: 2.02 GiB of activations with 32,768 tokens; v061: 0.19 GiB with 131,072 allowed."""
    for longest, tokens in ((256, 2048), (32_768, 32_768), (131_072, 2048)):
        found = settled("Qwen/Qwen3-8B", engine_version="0.7.3", max_model_len=longest)
        assert found.max_num_batched_tokens == tokens


def test_counts_for_penalties_are_charged_from_0_27_on() -> None:
    """v301 (0.27.1, L4): 0.15 GiB more than the peak of 0.26: 256 × 152,064 × 4.125 bytes."""
    few, many = (peaks("Qwen/Qwen2.5-7B-Instruct", release, max_num_seqs=256)[0] for release in ("0.26.0", "0.27.1"))
    assert (many - few) * GIB == pytest.approx(256 * 152_064 * 4.125)


@pytest.mark.parametrize(("graphs", "estimate"), [(46, 4.77), (66, 6.26)])
def test_graphs_of_ranks_that_reduce_by_nccl(graphs: int, estimate: float) -> None:
    """Eight RTX PRO 6000: 35 + 11 graphs in the log of v186, 33 + 33 in that of v189; fitted to RTX 3090 (v176)."""
    assert graphs * (78 * VLLM.graph + 7 * VLLM.graph_peer) / GIB == pytest.approx(estimate, rel=0.06)


@pytest.mark.parametrize(
    ("card", "ranks", "nccl"),
    [("rtx-3090", 4, True), ("rtx-3090", 2, False), ("h100-sxm5-80gb", 8, False), ("l40s", 8, True)],
)
def test_all_reduce_of_vllm_serves_two_ranks_or_linked_ones(card: str, ranks: int, nccl: bool) -> None:
    """Using ['PYNCCL'] all-reduce backends where CustomAllreduce stands down: world_size > 2, not fully connected."""
    scenario = settled("Qwen/Qwen3-8B", card, tensor_parallel=ranks)
    assert reduces_by_nccl(scenario, get_accelerator(card)) is nccl


def test_graphs_of_more_peers_cost_more() -> None:
    spec = find_entry("Qwen/Qwen3-30B-A3B").spec
    version = parse_version("0.20.0")
    assert version is not None
    four, two = (
        estimate_bytes(
            settled("Qwen/Qwen3-30B-A3B", "rtx-3090", tensor_parallel=ranks, engine_version="0.20.0"),
            spec,
            rules_of(version),
            get_accelerator("rtx-3090"),
            VLLM,
        )
        for ranks in (4, 2)
    )
    assert (two, four - two) == (86 * 48 * VLLM.graph, 86 * 3 * VLLM.graph_peer)


@pytest.mark.parametrize(("release", "amd", "nvidia"), [("0.22.1", 0, 102), ("0.26.0", 102, 102)])
def test_graphs_on_amd_are_estimated_from_0_26_on(release: str, amd: int, nvidia: int) -> None:
    """determine_available_memory asks is_cuda in 0.25.1 and is_cuda_alike in 0.26.0 (v1/worker/gpu_worker.py)."""
    version, model = parse_version(release), "Qwen/Qwen3-30B-A3B"
    assert version is not None
    for card, graphs in (("mi300x", amd), ("h100-sxm5-80gb", nvidia)):
        scenario = settled(model, card, engine_version=release)
        assert graphs_estimated(scenario, find_entry(model).spec, rules_of(version), get_accelerator(card)) == graphs
