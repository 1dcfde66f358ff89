"""What llama.cpp starts with where the load does not fit and nothing says what goes where (--fit, common/fit.cpp).

The context is that of the load, which is asked for with -c and so is never cut. On one GPU, leaving the same margin:
of a model without experts as many layers as fit, the output first. Of a mixture, all layers with their experts on the
host, then as many layers' experts as fit; where not even the layers fit, as many of those. It moves experts back from
the first layer on, and --n-cpu-moe counts from there those that stay: layers are taken to be alike. A part of one more
layer's experts may go to the GPU, which is not modelled, and neither is how several GPUs are filled.
"""

from collections.abc import Callable

from model_catalog.spec import ModelSpec
from sizing.capacity import greatest
from sizing.engines.plan import EnginePlan
from sizing.room import fullest_load
from sizing.scenario import Scenario
from sizing.weights.linears import has_expert, has_experts

Plan = Callable[[Scenario], EnginePlan]
WITHOUT_NGL = "Where -ngl is not set, llama.cpp starts with"


def is_fitted(scenario: Scenario, spec: ModelSpec) -> bool:
    """Whether nothing is set that llama.cpp then leaves alone. All layers are what it begins with."""
    everything = scenario.gpu_layers is None or scenario.gpu_layers > spec.num_layers
    moved = scenario.cpu_moe_layers or scenario.tensor_split or scenario.split_mode not in (None, "layer")
    return everything and not moved and scenario.available_kv_bytes is None


def starting_with(scenario: Scenario, spec: ModelSpec, plan: Plan) -> str | None:
    """A sentence; None where not even an empty GPU has room for what it needs to compute."""

    def fits(gpu_layers: int, cpu_moe: int = 0) -> bool:
        planned = plan(scenario.model_copy(update={"gpu_layers": gpu_layers, "cpu_moe_layers": cpu_moe}))
        return planned.fits(*fullest_load(planned))

    everything = spec.num_layers + 1
    if scenario.tensor_parallel * scenario.pipeline_parallel > 1:
        return f"{WITHOUT_NGL} fewer layers on the GPUs, or their experts in host memory (--fit)."
    if has_experts(spec) and fits(everything, everything):
        whole = greatest(lambda layers: fits(everything, spec.num_layers - layers), spec.num_layers)
        return _experts(spec, spec.num_layers - whole)
    dense = everything if has_experts(spec) else 0
    layers = greatest(lambda count: fits(count, dense), everything)
    if not layers and not fits(0, dense):
        return None
    without = ", without their experts," if dense and layers else ""
    return f"{WITHOUT_NGL} {layers} of {everything} layers on the GPU{without} and the rest in host memory (--fit)."


def _experts(spec: ModelSpec, left: int) -> str:
    mixtures = [has_expert(layer) for layer in spec.each_layer()]
    return (
        f"{WITHOUT_NGL} all layers on the GPU and the experts of at most {sum(mixtures[:left])} of {sum(mixtures)} "
        "layers in host memory (--fit)."
    )
