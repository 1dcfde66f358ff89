"""Mixtures of experts as plain decoders write them down: which layers are sparse, and how many experts of what width.

A config says these things in a handful of ways, so the mixture of a model type is `routed(...)` with its field names.
"""

from collections.abc import Callable
from dataclasses import dataclass

from model_catalog.fields import ConfigError, Fields
from model_catalog.tensors import Tensor

Trait = bool | str  # fixed by the class, or the name of the config field that says so
Sparse = Callable[[Fields, int], bool]  # (config, index of the layer) → whether it is a mixture
Width = Callable[[Fields], int]


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """The experts of one layer. `beside`: tensors that the usual parts leave out."""

    experts: int
    top_k: int
    intermediate: int
    expert_hidden: int | None = None  # where the experts do not work at hidden_size
    shared_intermediate: int = 0
    shared_gate: bool = False
    shared_bias: bool = False
    correction: bool = False  # only where the class has it as a parameter; most have a buffer
    router_bias: bool = False
    expert_bias: bool = False
    beside: tuple[Tensor, ...] = ()


MixtureRule = Callable[[Fields, int], Mixture | None]


def holds(f: Fields, trait: Trait) -> bool:
    return f.flag(trait) if isinstance(trait, str) else trait


def routed(
    *,
    count: str = "num_experts",
    top_k: str = "num_experts_per_tok",
    size: str = "moe_intermediate_size",
    shared: Width | None = None,
    sparse: Sparse = lambda f, index: True,
    shared_gate: bool = False,
    shared_bias: Trait = False,
    correction: bool = False,
    bias: bool = False,
) -> MixtureRule:
    """The mixture of every `sparse` layer, from the fields that hold the counts and widths."""

    def mixture(f: Fields, index: int) -> Mixture | None:
        if not sparse(f, index):
            return None
        return Mixture(
            experts=f.whole(count),
            top_k=f.whole(top_k),
            intermediate=f.whole(size),
            shared_intermediate=shared(f) if shared else 0,
            shared_gate=shared_gate,
            shared_bias=holds(f, shared_bias),
            correction=correction,
            router_bias=bias,
            expert_bias=bias,
        )

    return mixture


def product(count: str, size: str = "moe_intermediate_size") -> Width:
    """Width of the shared experts taken together: `count` of them, each `size` wide."""
    return lambda f: f.whole(count, 0, minimum=0) * f.whole(size)


def stated_width(field: str) -> Width:
    return lambda f: f.whole(field, 0, minimum=0)


def from_layer(field: str = "first_k_dense_replace") -> Sparse:
    """Sparse from this layer on."""
    return lambda f, index: index >= f.whole(field, 0, minimum=0)


def listed_or(otherwise: Sparse) -> Sparse:
    """By mlp_layer_types ("sparse" or "dense" for each layer) where the config has the list."""

    def sparse(f: Fields, index: int) -> bool:
        kinds = f.items("mlp_layer_types", str)
        if kinds is None:
            return otherwise(f, index)
        if index >= len(kinds):
            raise ConfigError(f"{f.path}mlp_layer_types", f"{f.path}mlp_layer_types ends before layer {index:,}.")
        return bool(kinds[index] == "sparse")

    return sparse


def dense_first(layers: int) -> Sparse:
    return lambda f, index: index >= layers


def every_few_layers(default_dense: tuple[int, ...] = ()) -> Sparse:
    """Qwen MoE: every decoder_sparse_step layers, but for mlp_only_layers and where there are no experts."""

    def sparse(f: Fields, index: int) -> bool:
        stated = f.items("mlp_only_layers", int)
        dense = default_dense if stated is None else stated
        at_step = (index + 1) % f.whole("decoder_sparse_step", 1) == 0
        return at_step and index not in dense and f.whole("num_experts", minimum=0) > 0

    return sparse


def ernie_range(f: Fields, index: int) -> bool:
    """ERNIE 4.5: every moe_layer_interval layers from moe_layer_start_index to moe_layer_end_index."""
    end = f.whole("moe_layer_end_index", -1, minimum=-1)
    at_step = (index + 1) % f.whole("moe_layer_interval", 1) == 0
    return at_step and index >= f.whole("moe_layer_start_index", 0, minimum=0) and (end == -1 or index <= end)


def deepseek_frequency(f: Fields, index: int) -> bool:
    """DeepSeek MoE: every moe_layer_freq layers from first_k_dense_replace on."""
    first, step = f.whole("first_k_dense_replace", 0, minimum=0), f.whole("moe_layer_freq", 1)
    return f.raw("n_routed_experts") is not None and index >= first and index % step == 0


mixtral_experts = routed(count="num_local_experts", size="intermediate_size")
qwen_moe_experts = routed(
    shared=stated_width("shared_expert_intermediate_size"), shared_gate=True, sparse=every_few_layers()
)
qwen3_moe_experts = routed(sparse=every_few_layers())
glm_experts = routed(count="n_routed_experts", shared=product("n_shared_experts"), sparse=from_layer())
