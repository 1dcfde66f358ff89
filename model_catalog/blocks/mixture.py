"""Tensors of one layer's feed-forward as its FeedForward describes it, dense or a mixture of experts."""

from model_catalog.blocks.feed_forward import dense, experts, router
from model_catalog.spec import FeedForward
from model_catalog.tensors import Tensor, TensorClass


def feed_forward(
    hidden: int,
    part: FeedForward,
    *,
    prefix: str = "mlp",
    gate: str = "gate",
    shared: str = "shared_experts",
    bias: bool = False,
    router_bias: bool = False,
) -> tuple[Tensor, ...]:
    """A dense part, or router, routed experts and shared experts (one dense part of their joint width).

    Load-balancing biases of routers are buffers, not parameters, and are left out.
    """
    if not part.experts:
        return dense(hidden, part.intermediate, prefix=prefix, bias=bias)
    always = part.shared_intermediate
    kind = TensorClass.SHARED_EXPERT
    return (
        *router(hidden, part.experts, prefix=f"{prefix}.{gate}", bias=router_bias),
        *experts(hidden, part.intermediate, part.experts, prefix=f"{prefix}.experts"),
        *(dense(hidden, always, prefix=f"{prefix}.{shared}", kind=kind, bias=bias) if always else ()),
    )
