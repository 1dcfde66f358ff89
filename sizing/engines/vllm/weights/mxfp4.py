"""gpt-oss's MXFP4 experts as vLLM's kernels hold them, by card and release.

Sources: vllm 0.10.1 to 0.18 layers/quantization/mxfp4.py, from 0.19 on layers/fused_moe/oracle/mxfp4.py: the order
in which kernels are tried, what each pads to, and what stays in memory after the weights were laid out for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from model_catalog.spec import ModelSpec
from model_catalog.tensors import Shard, Tensor
from sizing.engines.vllm.rules import Rules, release_of, rules_of
from sizing.engines.vllm.weights.held import Padding
from sizing.scenario import Scenario
from sizing.weights.precisions import AUTO
from sizing.weights.ranks import divided

BLOCK = 32  # elements with one scale of one byte
SCALE_ROWS, SCALE_COLUMNS = 256, 4  # what Triton's swizzled scales are padded to
WIDER_BIAS = 2  # bytes more of a number in 32 bits


class Kernel(Enum):
    """What runs the experts."""

    TRITON = auto()
    MARLIN = auto()
    TENSORRT_LLM = auto()


def kernel_of(capability: tuple[int, int], rules: Rules) -> Kernel:
    """TensorRT-LLM's kernels out of FlashInfer on SM100, Triton on SM90 since vLLM brings it along, else Marlin."""
    if capability[0] == 10:
        return Kernel.TENSORRT_LLM
    return Kernel.TRITON if capability[0] == 9 and rules.triton_mxfp4 else Kernel.MARLIN


@dataclass(frozen=True, slots=True)
class Mxfp4Experts:
    """How the experts of a scenario are held. `ranks` share each layer's experts, `whole` ones or slices of each."""

    kernel: Kernel
    keeps_scales: bool
    wide_trtllm: bool
    ranks: int
    whole: bool

    @property
    def slices(self) -> int:
        return 1 if self.whole else self.ranks

    @property
    def padding(self) -> Padding:
        """What the axes are padded to, the intermediate one on each rank that has a slice of it."""
        match self.kernel:
            case Kernel.TRITON:
                return Padding(64 * self.slices)
            case Kernel.MARLIN:
                return Padding(128 * self.slices, 256)
            case Kernel.TENSORRT_LLM:
                return Padding((256 if self.wide_trtllm else 128) * self.slices, 256)

    def laid_out(self, held: ModelSpec, sizes: Sequence[int]) -> list[int]:
        """Bytes that laying the experts out adds on stages of so many layers.

        Triton pads the scales that it swizzles, TensorRT-LLM has biases in 32 bits, Marlin adds nothing.
        """
        if self.kernel is Kernel.MARLIN:
            return [0] * len(sizes)
        added = self._widened if self.kernel is Kernel.TENSORRT_LLM else self._swizzled
        experts = (t for layer in held.each_layer() for t in layer.tensors if t.shard is Shard.EXPERT)
        total = sum(self._on_a_rank(tensor) * added(tensor) for tensor in experts)
        return [total * size // held.num_layers for size in sizes]

    def _on_a_rank(self, tensor: Tensor) -> int:
        return divided(tensor.count, self.ranks) if self.whole else tensor.count

    def _swizzled(self, tensor: Tensor) -> int:
        """Of one expert: the scales as Triton lays them out, less those that go. Gate and up are one matrix."""
        if len(tensor.shape) != 2 or "up_proj" in tensor.name:
            return 0
        rows, columns = tensor.shape
        down = "down_proj" in tensor.name
        rows, columns = (rows, columns // self.slices) if down else (2 * (rows // self.slices), columns)
        scales = columns // BLOCK
        padded = divided(rows, SCALE_ROWS) * SCALE_ROWS * divided(scales, SCALE_COLUMNS) * SCALE_COLUMNS
        return padded - (0 if self.keeps_scales else rows * scales)

    def _widened(self, tensor: Tensor) -> int:
        """Of one expert's bias, that of the way down whole on every rank."""
        if len(tensor.shape) != 1:
            return 0
        return WIDER_BIAS * (tensor.shape[0] // (1 if "down_proj" in tensor.name else self.slices))


def mxfp4_experts(scenario: Scenario, spec: ModelSpec, capability: tuple[int, int]) -> Mxfp4Experts | None:
    """Of gpt-oss, None for others: those that have such experts are held as they are stored."""
    if spec.model_type != "gpt_oss" or not _in_mxfp4(scenario, spec):
        return None
    rules = rules_of(release_of(scenario.engine_version)[1])
    return Mxfp4Experts(
        kernel=kernel_of(capability, rules),
        keeps_scales=rules.keeps_scales,
        wide_trtllm=rules.wide_trtllm,
        ranks=scenario.placement.expert_ranks,
        whole=scenario.expert_parallel,
    )


def _in_mxfp4(scenario: Scenario, spec: ModelSpec) -> bool:
    if scenario.weights == AUTO:
        return spec.quantization is not None and spec.quantization.method == "mxfp4"
    return scenario.weights == "mxfp4"
