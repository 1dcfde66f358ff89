"""The smallest parts: a linear layer, a norm, a vector of numbers."""

from model_catalog.tensors import Shard, Tensor, TensorClass


def linear(
    name: str,
    out: int,
    into: int,
    kind: TensorClass,
    shard: Shard = Shard.REPLICATED,
    *,
    bias: bool = False,
    units: int = 0,
    count: int = 1,
) -> tuple[Tensor, ...]:
    """Weight (out, into) and, where it has one, bias (out,). A row-sharded layer's bias stays whole on every rank."""
    weight = Tensor(f"{name}.weight", kind, (out, into), shard, count, units)
    if not bias:
        return (weight,)
    bias_shard = Shard.REPLICATED if shard is Shard.ROW else shard
    return (weight, Tensor(f"{name}.bias", TensorClass.SMALL, (out,), bias_shard, count, units))


def norm(name: str, size: int, *, bias: bool = False, count: int = 1) -> tuple[Tensor, ...]:
    """RMSNorm (weight) or LayerNorm (weight and bias)."""
    weight = Tensor(f"{name}.weight", TensorClass.NORM, (size,), count=count)
    return (weight, Tensor(f"{name}.bias", TensorClass.NORM, (size,), count=count)) if bias else (weight,)


def small(name: str, *shape: int, shard: Shard = Shard.REPLICATED, dtype: str | None = None) -> tuple[Tensor, ...]:
    """A tensor that no precision quantises: sinks, convolution kernels, decay rates, scales."""
    return (Tensor(name, TensorClass.SMALL, shape, shard, dtype=dtype),)
