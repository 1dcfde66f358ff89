"""What one GPU has for the cache: the requested share less weights, activations, CUDA graphs and the runtime (10, 11).

Activations, graphs and the runtime are not estimated yet: they are zero and graded assumed.
"""

from dataclasses import dataclass
from math import ceil

from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from model_catalog.tensors import TensorClass
from sizing.engines.vllm.rules import Rules
from sizing.memory import Memory
from sizing.report import Grade
from sizing.scenario import Scenario
from sizing.weights.ranks import rank_bytes

VOCAB_MULTIPLE = 64
GRADE: Grade = "assumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Bytes on one rank of a pipeline stage beside its cache."""

    weights: int
    draft: int = 0
    encoder: int = 0
    activation: int = 0
    graphs: int = 0
    runtime: int = 0

    @property
    def total(self) -> int:
        return self.weights + self.draft + self.encoder + self.activation + self.graphs + self.runtime


def stage_terms(scenario: Scenario, spec: ModelSpec, rules: Rules, accelerator: Accelerator | None) -> list[Terms]:
    """One rank of each stage, first to last. `scenario` is resolved."""
    return [
        Terms(
            weights=sum(size for kind, size in held.items() if kind is not TensorClass.PREDICTION),
            draft=held.get(TensorClass.PREDICTION, 0) if drafts_itself(scenario) else 0,
            activation=activation_bytes(scenario, spec, rules, accelerator),
            graphs=graph_bytes(scenario, spec, rules, accelerator),
            runtime=runtime_bytes(scenario, spec, rules, accelerator),
        )
        for held in rank_bytes(spec, scenario.weights, scenario.placement, vocab_multiple=VOCAB_MULTIPLE)
    ]


def drafts_itself(scenario: Scenario) -> bool:
    """Whether the model's own prediction layers draft (methods mtp, deepseek_mtp, qwen3_next_mtp, ...)."""
    return scenario.speculative is not None and "mtp" in scenario.speculative.method.lower()


def activation_bytes(scenario: Scenario, spec: ModelSpec, rules: Rules, accelerator: Accelerator | None) -> int:
    """Peak of the profile run."""
    return 0


def graph_bytes(scenario: Scenario, spec: ModelSpec, rules: Rules, accelerator: Accelerator | None) -> int:
    """The CUDA graph estimate, which is part of the budget from 0.21 on."""
    return 0


def runtime_bytes(scenario: Scenario, spec: ModelSpec, rules: Rules, accelerator: Accelerator | None) -> int:
    """What the process takes outside of PyTorch after the first snapshot."""
    return 0


def memory_of(scenario: Scenario, accelerator: Accelerator | None) -> Memory:
    """requested = ceil(total × gpu_memory_utilization), of what CUDA offers the process (gpu_worker.py).

    vLLM does not start where other processes leave less than that; then only what they leave can be had.
    """
    figure = accelerator.memory_for_budget if accelerator else None
    total = scenario.total_memory_bytes or (figure.bytes if figure else None)
    if total is None:
        return Memory(None, None, ("No memory size is known, so nothing is said about what fits.",))
    requested = ceil(total * (scenario.memory_fraction or 1))
    left = max(0, total - scenario.other_memory_bytes)
    notes = []
    if scenario.total_memory_bytes is None and figure and figure.grade != "exact":
        notes.append(f"The accelerator's memory is not a reading: {figure.source}")
    if left < requested:
        notes.append("Other processes leave less memory free than vLLM is asked to take, so it does not start.")
    return Memory(total, min(requested, left), tuple(notes))
