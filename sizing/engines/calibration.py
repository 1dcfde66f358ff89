"""Constants that no rule gives: each fitted to receipts, with the largest error on them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fitted:
    """`bytes` is the median over `receipts`, `error_bytes` the largest distance of one of them."""

    bytes: int
    error_bytes: int
    receipts: tuple[str, ...]
    what: str


GIB = 1 << 30

SGLANG_CONTEXT = Fitted(
    bytes=round(0.70 * GIB),
    error_bytes=round(1.20 * GIB),
    receipts=("s001", "s002", "s013", "s019", "s033"),
    what="What CUDA offers less what is free before SGLang loads the weights: context and communication buffers.",
)
SGLANG_LOADING = Fitted(
    bytes=round(0.24 * GIB),
    error_bytes=round(0.21 * GIB),
    receipts=("s001", "s008", "s014", "s015", "s028", "s036"),
    what="What SGLang counts as loaded beyond unquantized weights: rope tables, kernels, allocator rounding.",
)
