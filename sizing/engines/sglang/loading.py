"""Weights of each stage, and what is left of the GPU's memory (ENGINE_MEMORY section 3.5)."""

from dataclasses import dataclass, replace

from model_catalog.spec import ModelSpec
from model_catalog.tensors import TensorClass
from sizing.engines import calibration
from sizing.engines.sglang.settings import Settings
from sizing.engines.sglang.traits import Traits
from sizing.scenario import Scenario
from sizing.weights.ranks import rank_bytes

VOCABULARY_MULTIPLE = 64
MULTIMODAL_RESERVE = 100 << 20
OWN_DRAFTS = ("nextn", "mtp", "eagle")


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of one GPU: `total` as CUDA sees it, `budget` what weights and pools may take. None if unknown."""

    total: int | None
    budget: int | None


def memory_of(scenario: Scenario, total: int | None, fraction: float, settings: Settings, traits: Traits) -> Memory:
    """The fraction is taken of the memory that is free before the weights are loaded, other processes' left out."""
    if total is None:
        return Memory(None, None)
    free = max(0, total - calibration.SGLANG_CONTEXT.bytes - scenario.other_memory_bytes)
    reserve = MULTIMODAL_RESERVE if traits.multimodal and settings.rules.multimodal_reserve else 0
    return Memory(total, max(0, int(free * fraction) - reserve))


def error_bytes(fraction: float) -> int:
    """How far the pool may be off either way: the largest errors of both fitted constants on their receipts."""
    return round(calibration.SGLANG_CONTEXT.error_bytes * fraction) + calibration.SGLANG_LOADING.error_bytes


def weights_of(scenario: Scenario, spec: ModelSpec) -> list[tuple[int, int]]:
    """Bytes of model and draft on the fullest rank of each stage.

    Replicas hold whole copies; under data-parallel attention the attention parts are shared out over tp / dp ranks.
    """
    place = scenario.placement
    replica = place if place.dp_attention else replace(place, data_parallel=1)
    stages = rank_bytes(spec, scenario.weights, replica, vocab_multiple=VOCABULARY_MULTIPLE)
    drafts = drafts_itself(scenario)
    return [_split(stage, drafts) for stage in stages]


def drafts_itself(scenario: Scenario) -> bool:
    """Whether the model's own prediction layers draft."""
    drafter = scenario.speculative
    return drafter is not None and drafter.model is None and drafter.method.lower() in OWN_DRAFTS


def _split(stage: dict[TensorClass, int], drafts: bool) -> tuple[int, int]:
    prediction = stage.get(TensorClass.PREDICTION, 0)
    return sum(stage.values()) - prediction, prediction if drafts else 0
