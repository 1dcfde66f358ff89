"""Tensors of feed-forward parts: dense, and mixtures of experts."""

from model_catalog.blocks.linear import linear
from model_catalog.tensors import Shard, Tensor, TensorClass


def dense(
    hidden: int,
    intermediate: int,
    *,
    prefix: str = "mlp",
    gated: bool = True,
    bias: bool = False,
    kind: TensorClass = TensorClass.FEED_FORWARD,
) -> tuple[Tensor, ...]:
    """Up (and, where gated, gate) and down projection."""
    names = ("gate_proj", "up_proj") if gated else ("up_proj",)
    into = [linear(f"{prefix}.{name}", intermediate, hidden, kind, Shard.COLUMN, bias=bias) for name in names]
    out = linear(f"{prefix}.down_proj", hidden, intermediate, kind, Shard.ROW, bias=bias)
    return (*(tensor for pair in into for tensor in pair), *out)


def experts(
    hidden: int,
    intermediate: int,
    count: int,
    *,
    prefix: str = "mlp.experts",
    gated: bool = True,
    bias: bool = False,
) -> tuple[Tensor, ...]:
    """`count` routed experts. Each is a dense part; expert parallelism shares out whole experts."""
    names = ("gate_proj", "up_proj") if gated else ("up_proj",)
    shapes = [(name, (intermediate, hidden)) for name in names] + [("down_proj", (hidden, intermediate))]
    kind = TensorClass.EXPERT
    weights = [Tensor(f"{prefix}.{name}.weight", kind, shape, Shard.EXPERT, count) for name, shape in shapes]
    if not bias:
        return tuple(weights)
    biases = [
        Tensor(f"{prefix}.{name}.bias", TensorClass.SMALL, shape[:1], Shard.EXPERT, count) for name, shape in shapes
    ]
    return (*weights, *biases)


def router(hidden: int, count: int, *, prefix: str = "mlp.gate", bias: bool = False) -> tuple[Tensor, ...]:
    """The linear layer that scores the experts; whole on every rank."""
    return linear(prefix, count, hidden, TensorClass.ROUTER, bias=bias)


def correction_bias(count: int, *, name: str = "mlp.gate.e_score_correction_bias") -> tuple[Tensor, ...]:
    """The load-balancing bias of DeepSeek-style routers, kept in float32."""
    return (Tensor(name, TensorClass.SMALL, (count,), dtype="fp32"),)
