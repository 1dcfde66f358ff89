"""Weights left in host memory, for loads that do not fit."""

from model_catalog.spec import ModelSpec
from model_catalog.tensors import TensorClass
from sizing.engines.words import OPTIONS
from sizing.levers.step import Step
from sizing.scenario import Scenario
from sizing.units import GIB
from sizing.weights.linears import has_expert, has_experts
from sizing.weights.stored import stored_bytes

NOT_OFFLOADED = frozenset(
    {TensorClass.EMBEDDING, TensorClass.LM_HEAD, TensorClass.PREDICTION, TensorClass.VISION, TensorClass.AUDIO}
)


def experts_on_host(resolved: Scenario, spec: ModelSpec) -> list[Step]:
    """Layer by layer from the first one that has experts, as --n-cpu-moe counts."""
    if resolved.engine != "llama.cpp" or not has_experts(spec):
        return []
    now = resolved.cpu_moe_layers or 0
    first = next(index for index, layer in enumerate(spec.each_layer()) if has_expert(layer))
    return [
        Step(f"Experts of {count:,} layer{'s' if count > 1 else ''} in host memory", {"cpu_moe_layers": count})
        for count in range(max(now, first) + 1, spec.num_layers + 1)
    ]


def weights_on_host(resolved: Scenario, spec: ModelSpec) -> list[Step]:
    """GiB by GiB, up to one GPU's share of the layers (vllm/model_executor/models/utils.py: maybe_offload_to_cpu)."""
    if "cpu_offload_bytes" not in OPTIONS[resolved.engine]:
        return []
    sizes = stored_bytes(spec, resolved.weights)
    layers = sum(size for kind, size in sizes.items() if kind not in NOT_OFFLOADED)
    most = layers // (resolved.tensor_parallel * resolved.pipeline_parallel) // GIB
    now = (resolved.cpu_offload_bytes or 0) // GIB
    return [
        Step(f"{count:,} GiB of weights in host memory", {"cpu_offload_bytes": count * GIB})
        for count in range(now + 1, most + 1)
    ]
