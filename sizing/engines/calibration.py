"""Constants that no rule gives: each fitted to receipts, with the largest error on them."""

from dataclasses import dataclass

from sizing.units import GIB


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

    `runtime`: outside of PyTorch on one GPU. `linked`: more where ranks talk over NVLink or its like. `captured`,
    `linked_captured`: and more where graphs are captured before the count; logs of one site. `multicast`: and
    more where there are more than two, in releases that charge communicators; a log of one model. `unified`: more on
    accelerators that share their memory with the host. `encoder`: of an encoder whose largest inputs are not known
    (profiling/largest_items.py); what Qwen3-VL's took in 0.12. `graph`: of vLLM's estimate, for each layer in each CUDA
    graph; `graph_peer`: and for each other rank that NCCL talks to in a graph.
    `error_share`: what 9 in 10 predictions of the memory that is left for the cache are off by at most, as a share of
    the card's memory, for models left out of the fit; each source of logs weighs the same. `unified_error_share`: the
    largest of them, on accelerators that share their memory with the host.
    """

    runtime: int
    linked: int
    captured: int
    linked_captured: int
    multicast: int
    unified: int
    encoder: int
    graph: int
    graph_peer: int
    error_share: float
    unified_error_share: float


@dataclass(frozen=True, slots=True)
class Checked:
    """Relative error of "Available KV cache memory" on `logs` logs of models that were left out of the fit.

    The last three: the same on the logs of all sources but the one that has most of them.
    """

    logs: int
    median: float
    ninetieth: float
    others: int
    others_median: float
    others_ninetieth: float


# Printed by scripts/fit.py, from the logs that state their release
VLLM_CHECKED = Checked(
    logs=67, median=0.0017, ninetieth=0.0349, others=30, others_median=0.0126, others_ninetieth=0.1022
)
VLLM = VllmConstants(
    runtime=139_586_437,
    linked=447_739_855,
    captured=128_849_019,
    linked_captured=1_530_629_456,
    multicast=1_917_067_041,
    unified=2_233_880_228,
    encoder=2_904_314_504,
    graph=214_950,
    graph_peer=12_897_734,
    error_share=0.0171,  # 63 logs that state their release
    unified_error_share=0.0341,  # 4 logs
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
TENSORRT_LLM_RUNTIME = Fitted(
    bytes=round(1.58 * GIB),
    error_bytes=round(1.04 * GIB),  # NVIDIA's planner aiconfigurator has 0.54 GiB from observations, 3.5 to be safe
    receipts=("t006",),
    what="What TensorRT-LLM holds beside weights and activations: CUDA, libraries, CUDA graphs, workspaces.",
)

LLAMA_CPP_COMPUTE_ERROR = 90 << 20  # the compute buffer of receipt l045: 488.0 MiB printed, 398.0 predicted
