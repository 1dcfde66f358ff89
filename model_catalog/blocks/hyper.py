"""Tensors of hyper-connections: several residual streams, mixed before and after each part of a layer."""

from model_catalog.tensors import Tensor, TensorClass


def hyper_connection(
    prefix: str, hidden: int, streams: int, *, mixes: int, scales: int, dtype: str | None = "fp32"
) -> tuple[Tensor, ...]:
    """The mixing weights of one part of a layer: `mixes` numbers out of all `streams` of `hidden` size."""
    kind = TensorClass.SMALL
    return (
        Tensor(f"{prefix}.fn", kind, (mixes, streams * hidden), dtype=dtype),
        Tensor(f"{prefix}.base", kind, (mixes,), dtype="fp32"),
        Tensor(f"{prefix}.scale", kind, (scales,), dtype="fp32"),
    )


def manifold_connections(hidden: int, streams: int, *, dtype: str | None = "fp32") -> tuple[Tensor, ...]:
    """mHC of DeepSeek-V4, before attention and feed-forward: weights to collapse, expand and mix the streams."""
    mixes = (2 + streams) * streams
    return (
        *hyper_connection("attn_hc", hidden, streams, mixes=mixes, scales=3, dtype=dtype),
        *hyper_connection("ffn_hc", hidden, streams, mixes=mixes, scales=3, dtype=dtype),
    )


def hyper_head(hidden: int, streams: int) -> tuple[Tensor, ...]:
    """The last collapse of the streams, before the final norm."""
    return hyper_connection("model.hc_head", hidden, streams, mixes=streams, scales=1)
