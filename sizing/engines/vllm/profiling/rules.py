"""What changed between vLLM releases about the profile run. Read from the sources of the releases named."""

from dataclasses import dataclass
from typing import Literal

from sizing.versions import Version, at_least

Second = Literal["none", "qwen3", "three", "listed", "dense", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRules:
    """`sorts_logits`: top-k and top-p sort all logits in PyTorch; a Triton kernel works in place later.

    `keeps_workspace`: the experts' workspaces are kept from layer to layer, and beside the sampler, in one buffer.
    `latent_context`: latent attention allocates what it would project a chunk of context to.
    `indexer_scores`: the indexer of sparse attention allocates the largest scores that it may need.
    `second_runner`: models that the second model runner serves unless told otherwise.
    `counts_kept`: what the runner keeps in PyTorch's memory is charged too, not only what the run adds.
    `counts_links`: communicators are made after the first snapshot, so that their buffers are charged.
    `captures`: the first runner captures graphs for its estimate before the last snapshot, so that what CUDA and NCCL
    keep of them is charged as memory outside of PyTorch, whether the estimate counts or not.
    `compiles`: the model is compiled unless it is told to run eagerly; the old engine always did.
    `warms_sampler`: the second runner's sampler is run with every option.
    """

    sorts_logits: bool
    keeps_workspace: bool
    latent_context: bool
    indexer_scores: bool
    second_runner: Second
    counts_kept: bool
    counts_links: bool
    captures: bool
    compiles: bool
    warms_sampler: bool


def profile_rules_of(version: Version) -> ProfileRules:
    def since(release: str) -> bool:
        return at_least(version, release)

    return ProfileRules(
        sorts_logits=not since("0.17.0"),  # v1/sample/ops/topk_topp_sampler.py of 0.16.0 and 0.17.1
        keeps_workspace=since("0.14.0"),  # layers/fused_moe/unquantized_fused_moe_method.py of 0.13.0 and 0.14.1
        latent_context=since("0.11.0"),  # v1/attention/backends/mla/common.py of 0.10.0 and 0.11.0
        indexer_scores=since("0.19.0"),  # VLLM_SPARSE_INDEXER_MAX_LOGITS_MB in envs.py of 0.18.0 and 0.19.0
        second_runner=_second_runner(version),
        counts_kept=since("0.27.0"),  # utils/mem_utils.py of 0.26.0 and 0.27.1
        counts_links=not since("0.11.0"),  # init_device of v1/worker/gpu_worker.py of 0.10.2 and 0.11.0
        captures=since("0.18.0") and not since("0.27.0"),  # determine_available_memory of v1/worker/gpu_worker.py
        compiles=since("0.8.0"),  # envs.py: VLLM_USE_V1
        warms_sampler=since("0.33.0"),  # v1/worker/gpu/model_runner.py of 0.32.0 and 0.33.0
    )


def _second_runner(version: Version) -> Second:
    """use_v2_model_runner in config/vllm.py of 0.21.0, 0.22.1, 0.23.0, 0.24.0, 0.25.1, 0.28.0 and 0.29.0."""
    steps: tuple[tuple[str, Second], ...] = (
        ("0.29.0", "all"),
        ("0.25.0", "dense"),
        ("0.24.0", "listed"),
        ("0.23.0", "three"),
        ("0.22.0", "qwen3"),
    )
    return next((models for release, models in steps if at_least(version, release)), "none")
