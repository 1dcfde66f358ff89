"""What one GPU has for the cache: the requested share less weights, activations, CUDA graphs and the runtime (10, 11).

Activations follow vLLM's sources (profiling/run.py); graphs and the runtime have constants fitted to start-up logs
(calibration.py).
"""

from dataclasses import dataclass
from math import ceil

from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from model_catalog.tensors import TensorClass
from sizing.engines.calibration import VLLM, VllmConstants
from sizing.engines.lora import lora_bytes
from sizing.engines.vllm.defaults import capability_of, is_linked, is_unified
from sizing.engines.vllm.drafts import drafting_of
from sizing.engines.vllm.profiling.encoder import encoder_run
from sizing.engines.vllm.profiling.graphs import captures, estimate_bytes
from sizing.engines.vllm.profiling.run import activation_bytes
from sizing.engines.vllm.rules import Rules
from sizing.engines.vllm.weights.drafts import draft_bytes
from sizing.engines.vllm.weights.loaded import loaded_spec
from sizing.engines.vllm.weights.stages import StageWeights, stage_weights
from sizing.memory import UNKNOWN, Memory, reading_notes, size_of
from sizing.report import Grade
from sizing.scenario import Scenario

GRADE: Grade = "calibrated"
ADAPTED = frozenset({TensorClass.ATTENTION, TensorClass.MIXER, TensorClass.FEED_FORWARD, TensorClass.SHARED_EXPERT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Bytes on one rank of a pipeline stage beside its cache.

    `tower`: the part of `weights` that encoders take. `rounding`: what the allocator counts beyond the tensors.
    """

    weights: int
    tower: int = 0
    rounding: int = 0
    draft: int = 0
    activation: int = 0
    graphs: int = 0
    runtime: int = 0

    @property
    def loaded(self) -> int:
        """What "Model loading took" counts."""
        return self.weights + self.rounding + self.draft

    @property
    def total(self) -> int:
        return self.loaded + self.activation + self.graphs + self.runtime


def stage_terms(
    scenario: Scenario,
    spec: ModelSpec,
    rules: Rules,
    accelerator: Accelerator | None,
    constants: VllmConstants = VLLM,
) -> list[Terms]:
    """One rank of each stage, first to last. `scenario` is resolved."""
    drafting = drafting_of(scenario, spec, rules)
    spec, capability = loaded_spec(scenario, spec, rules), capability_of(accelerator)
    stages = stage_weights(scenario, spec, capability)
    drafts = draft_bytes(scenario, spec, rules, drafting, [held.prediction for held in stages])
    peaks = activation_bytes(scenario, spec, rules.profile, capability)
    encoder = encoder_run(scenario, spec, rules, constants.encoder)
    graphs = estimate_bytes(scenario, spec, rules, accelerator, constants)
    return [
        Terms(
            weights=_kept(scenario, held) + adapters,
            tower=held.encoder,
            rounding=held.rounding,
            draft=draft,
            activation=peak if stage else encoder.with_decoder(peak),
            graphs=graphs,
            runtime=runtime_bytes(scenario, spec, rules, accelerator, constants),
        )
        for stage, held, draft, adapters, peak in zip(
            range(len(stages)),
            stages,
            drafts,
            lora_bytes(scenario, spec, ADAPTED, scenario.tensor_parallel),
            peaks,
            strict=True,
        )
    ]


def _kept(scenario: Scenario, held: StageWeights) -> int:
    """Weights on the GPU beside those of layers that stay in host memory (--cpu-offload-gb)."""
    return held.loaded - min(scenario.cpu_offload_bytes or 0, held.layers)


def runtime_bytes(
    scenario: Scenario, spec: ModelSpec, rules: Rules, accelerator: Accelerator | None, constants: VllmConstants
) -> int:
    """What appears outside of PyTorch after the first snapshot: libraries, and buffers for communication.

    NCCL connects a rank to its neighbours, of which a ring has two however many ranks there are; over PCIe it opens
    few channels, and no log shows more than on one GPU.
    """
    captured, linked = captures(scenario, spec, rules), talks(scenario, spec, accelerator)
    return (
        constants.runtime
        + constants.captured * captured
        + constants.linked * linked
        + constants.linked_captured * (linked and captured)
        + constants.multicast * multicasts(scenario, rules, accelerator)
        + constants.unified * is_unified(accelerator)
    )


def talks(scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None) -> bool:
    """Whether a rank exchanges activations over links, in its group or with the experts of all replicas."""
    shared = scenario.data_parallel > 1 and spec.is_mixture
    return (scenario.tensor_parallel > 1 or shared) and is_linked(accelerator)


def multicasts(scenario: Scenario, rules: Rules, accelerator: Accelerator | None) -> bool:
    """Whether NCCL's buffers for reductions in the switch are charged: those of more than two ranks, once."""
    return rules.profile.counts_links and scenario.tensor_parallel > 2 and is_linked(accelerator)


def error_bytes(memory: Memory, accelerator: Accelerator | None, constants: VllmConstants = VLLM) -> int:
    """How far "Available KV cache memory" may be off either way: by scripts/fit.py on models left out of the fit."""
    share = constants.unified_error_share if is_unified(accelerator) else constants.error_share
    return round(share * (memory.total or 0))


def memory_of(scenario: Scenario, accelerator: Accelerator | None) -> Memory:
    """requested = ceil(total × gpu_memory_utilization), of what CUDA offers the process (gpu_worker.py).

    vLLM does not start where other processes leave less than that; then only what they leave can be had.
    """
    figure = accelerator.memory_for_budget if accelerator else None
    total = size_of(scenario, figure)
    if total is None:
        return UNKNOWN
    requested = ceil(total * (scenario.memory_fraction or 1))
    left = max(0, total - scenario.other_memory_bytes)
    notes = [*reading_notes(scenario, figure)]
    if left < requested:
        notes.append("Other processes leave less memory free than vLLM is asked to take, so it does not start.")
    return Memory(total, min(requested, left), tuple(notes))
