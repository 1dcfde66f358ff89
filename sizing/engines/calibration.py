"""Constants that no rule gives: each fitted to receipts, with the largest error on them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fitted:
    """`bytes` is the median over `receipts`, `error_bytes` the largest distance of one of them."""

    bytes: int
    error_bytes: int
    receipts: tuple[str, ...]
    what: str


SGLANG_CONTEXT = Fitted(0, 0, (), "CUDA's total less what is free before SGLang loads the weights")
SGLANG_LOADING = Fitted(0, 0, (), "memory that loading takes beyond the weights")
