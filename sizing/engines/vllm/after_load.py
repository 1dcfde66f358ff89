"""What vLLM's post-processing makes of loaded weights (ENGINE_MEMORY 9)."""

from collections import Counter

from model_catalog.spec import ModelSpec
from model_catalog.tensors import Tensor, TensorClass
from sizing.engines.vllm.held import NO_PADDING, Padding
from sizing.placement import Placement, stage_sizes
from sizing.scenario import Scenario
from sizing.weights.inventory import Part, inventory
from sizing.weights.packing import PLAIN
from sizing.weights.precisions import AUTO
from sizing.weights.ranks import divided

HALF = 2
MXFP4_BLOCK = 32
UNPACKED = frozenset(PLAIN.values())
TRITON_STEP = 64  # SM90
MARLIN_STEPS = Padding(128, 256)  # other cards
SCALE_ROWS, SCALE_COLUMNS = 256, 4  # what Triton's swizzled scales are padded to


def absorbed_copies(spec: ModelSpec, precision: str, placement: Placement) -> list[int]:
    """Bytes of each stage's 16-bit copies of kv_b_proj, which latent attention makes where it is quantised."""
    held = inventory(spec, precision)
    each = [_copy(part, placement.tensor_parallel) for part in held.kinds]
    sizes = stage_sizes(len(held.layer_kinds), placement.pipeline_parallel)
    ends = [sum(sizes[: number + 1]) for number in range(len(sizes))]
    return [
        sum(each[kind] for kind in held.layer_kinds[end - size : end]) for size, end in zip(sizes, ends, strict=True)
    ]


def _copy(part: Part, ranks: int) -> int:
    total = 0
    for stored in part:
        tensor = stored.tensor
        if tensor.name.endswith("kv_b_proj.weight") and stored.packing not in UNPACKED:
            total += HALF * tensor.elements // tensor.units * divided(tensor.units, ranks)
    return total


def has_mxfp4_experts(scenario: Scenario, spec: ModelSpec) -> bool:
    if scenario.weights == AUTO:
        return spec.quantization is not None and spec.quantization.method == "mxfp4"
    return scenario.weights == "mxfp4"


def expert_padding(scenario: Scenario, spec: ModelSpec, capability: tuple[int, int]) -> Padding:
    """Triton runs gpt-oss on SM90, Marlin all else; other kernels of SM100 are assumed to pad like Marlin."""
    if spec.model_type != "gpt_oss" or not has_mxfp4_experts(scenario, spec):
        return NO_PADDING
    ranks = 1 if scenario.expert_parallel else scenario.placement.expert_ranks
    if capability[0] == 9:
        return Padding(TRITON_STEP * ranks)
    return Padding(MARLIN_STEPS.intermediate * ranks, MARLIN_STEPS.hidden)


def swizzle_padding(spec: ModelSpec, scenario: Scenario, capability: tuple[int, int]) -> list[int]:
    """Bytes of each stage that Triton's layout of the scales of gpt-oss's experts adds."""
    placement = scenario.placement
    sizes = stage_sizes(spec.num_layers, placement.pipeline_parallel)
    if spec.model_type != "gpt_oss" or capability[0] != 9 or not has_mxfp4_experts(scenario, spec):
        return [0] * len(sizes)
    layers = Counter(id(layer) for layer in spec.each_layer())
    by_id = {id(run.layer): run.layer for run in spec.layers}
    total = sum(count * _swizzled(by_id[key].tensors, scenario) for key, count in layers.items())
    return [total * size // spec.num_layers for size in sizes]


def _swizzled(tensors: tuple[Tensor, ...], scenario: Scenario) -> int:
    experts = [t for t in tensors if t.kind is TensorClass.EXPERT]
    ranks = scenario.placement.expert_ranks
    total = 0
    for tensor in experts:
        if "up_proj" in tensor.name:
            continue
        rows, columns = tensor.shape
        count = divided(tensor.count, ranks) if scenario.expert_parallel else tensor.count
        slices = 1 if scenario.expert_parallel else ranks
        down = "down_proj" in tensor.name
        rows, columns = (rows, columns // slices) if down else (2 * (rows // slices), columns)
        total += count * _scale_padding(rows, columns // MXFP4_BLOCK)
    return total


def _scale_padding(rows: int, columns: int) -> int:
    padded = divided(rows, SCALE_ROWS) * SCALE_ROWS * divided(columns, SCALE_COLUMNS) * SCALE_COLUMNS
    return padded - rows * columns
