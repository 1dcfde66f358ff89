"""Constants that no rule gives: each fitted to receipts, with the largest error on them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fitted:
    """`bytes` is the median over `receipts`, `error_bytes` the largest distance of one of them."""

    bytes: int
    error_bytes: int
    receipts: tuple[str, ...]
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VllmConstants:
    """What vLLM's start-up logs give and no rule does; scripts/fit.py fits them again and checks them.

    `logit_bytes`: of sampler scratch for each logit of the profile run (copies, sorted values and indices).
    `runtime`: outside of PyTorch on one GPU. `runtime_per_rank`: more for each further tensor-parallel rank.
    `unified`: more on accelerators that share their memory with the host. `encoder`: peak of a vision or audio encoder.
    `graphs`: the estimate of the CUDA graphs, from 0.20 on. `error_share`: what 9 in 10 predictions of the memory
    that is left for the cache are off by at most, as a share of the card's memory, for models left out of the fit.
    `unified_error_share`: the largest of them, on accelerators that share their memory with the host.
    """

    logit_bytes: float
    runtime: int
    runtime_per_rank: int
    unified: int
    encoder: int
    graphs: int
    error_share: float
    unified_error_share: float


@dataclass(frozen=True, slots=True)
class Checked:
    """Relative error of "Available KV cache memory" on `logs` logs of models that were left out of the fit."""

    logs: int
    median: float
    ninetieth: float


GIB = 1 << 30

# Printed by scripts/fit.py, from the logs that state their release. Of all 45 with a known card: 4.7 and 22 %.
VLLM_CHECKED = Checked(logs=38, median=0.0351, ninetieth=0.1576)
VLLM = VllmConstants(
    logit_bytes=38.9,
    runtime=139_586_437,
    runtime_per_rank=455_999_541,
    unified=1_846_316_891,
    encoder=2_040_867_960,
    graphs=527_070_004,
    error_share=0.0332,  # 33 logs that state their release
    unified_error_share=0.0756,  # 5 logs
)

SGLANG_CONTEXT = Fitted(
    bytes=round(0.69 * GIB),
    error_bytes=round(0.16 * GIB),
    receipts=("s001", "s002", "s013", "s033"),
    what="What CUDA offers less what is free before SGLang loads the weights, on GPUs without fast links.",
)
SGLANG_LINKS = Fitted(
    bytes=round(1.52 * GIB),
    error_bytes=round(0.31 * GIB),
    receipts=("s019", "s038"),
    what="More where ranks speak over NVLink: communication buffers. Both receipts have eight ranks.",
)
SGLANG_LOADING = Fitted(
    bytes=round(0.24 * GIB),
    error_bytes=round(0.21 * GIB),
    receipts=("s001", "s008", "s014", "s015", "s028", "s036"),
    what="What SGLang counts as loaded beyond unquantized weights: rope tables, kernels, allocator rounding.",
)

LLAMA_CPP_COMPUTE_ERROR = 90 << 20  # the compute buffer of receipt l045: 488.0 MiB printed, 398.0 predicted
