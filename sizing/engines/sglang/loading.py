"""Weights of each stage, and what is left of the GPU's memory (srt/arg_groups/memory_hook.py)."""

from dataclasses import dataclass, replace

from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from model_catalog.tensors import TensorClass
from sizing.drafting import sharing_ends
from sizing.engines import calibration
from sizing.engines.drafts import rank_weights
from sizing.engines.lora import lora_bytes
from sizing.engines.sglang.choices import Choices
from sizing.engines.sglang.drafts import Drafting
from sizing.engines.sglang.traits import Traits
from sizing.memory import size_of
from sizing.scenario import Scenario
from sizing.weights.ranks import rank_bytes

VOCABULARY_MULTIPLE = 64
STAYS = (TensorClass.EMBEDDING, TensorClass.LM_HEAD, TensorClass.VISION, TensorClass.AUDIO, TensorClass.ENCODER)
MULTIMODAL_RESERVE = 100 << 20


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of one GPU: `total` as CUDA sees it, `budget` what weights and pools may take. None if unknown."""

    total: int | None
    budget: int | None


def memory_of(
    scenario: Scenario, accelerator: Accelerator | None, choices: Choices, traits: Traits, *, linked: bool
) -> Memory:
    """The fraction is taken of the memory that is free before the weights are loaded, other processes' left out."""
    figure = accelerator.memory_for_budget if accelerator else None
    total = size_of(scenario, figure)
    if total is None:
        return Memory(None, None)
    context = sum(fitted.bytes for fitted in _context(linked))
    free = max(0, total - context - scenario.other_memory_bytes)
    reserve = MULTIMODAL_RESERVE if traits.multimodal and choices.settings.rules.multimodal_reserve else 0
    return Memory(total, max(0, int(free * choices.fraction) - reserve))


def is_linked(scenario: Scenario, accelerator: Accelerator | None) -> bool:
    """Whether ranks speak over NVLink: several of them on GPUs that a board joins."""
    several = scenario.tensor_parallel * scenario.pipeline_parallel > 1
    return several and accelerator is not None and (accelerator.interconnect or "").startswith("NVLink")


def error_bytes(fraction: float, *, linked: bool) -> int:
    """How far the pool may be off either way: the largest errors of the fitted constants on their receipts."""
    context = sum(fitted.error_bytes for fitted in _context(linked))
    return round(context * fraction) + calibration.SGLANG_LOADING.error_bytes


def _context(linked: bool) -> tuple[calibration.Fitted, ...]:
    return (calibration.SGLANG_CONTEXT, *((calibration.SGLANG_LINKS,) if linked else ()))


def weights_of(scenario: Scenario, spec: ModelSpec, drafting: Drafting) -> list[tuple[int, int]]:
    """Bytes of model and draft on the fullest rank of each stage.

    Replicas hold whole copies; under data-parallel attention the attention parts are shared out over tp / dp ranks.
    """
    place = scenario.placement
    replica = place if place.dp_attention else replace(place, data_parallel=1)
    stages = rank_bytes(sharing_ends(spec), scenario.weights, replica, vocab_multiple=VOCABULARY_MULTIPLE)
    adapters = lora_bytes(scenario, spec, adapted(spec), place.ranks_per_replica)
    drafts = [stage.get(TensorClass.PREDICTION, 0) if drafting.own else 0 for stage in stages]
    if drafting.draft:
        drafts[-1] += rank_weights(scenario, drafting.draft, vocab_multiple=VOCABULARY_MULTIPLE)
    return [
        (_on_gpu(scenario, stage) + slots, draft) for stage, slots, draft in zip(stages, adapters, drafts, strict=True)
    ]


def adapted(spec: ModelSpec) -> frozenset[TensorClass]:
    """What the start command names as lora_target_modules: experts would need a slot each, so they are left out."""
    return frozenset({TensorClass.ATTENTION} if spec.is_mixture else {TensorClass.ATTENTION, TensorClass.FEED_FORWARD})


def _on_gpu(scenario: Scenario, stage: dict[TensorClass, int]) -> int:
    """The model's own weights less those of layers that --cpu-offload-gb moves to the host (utils/offloader.py)."""
    own = sum(size for kind, size in stage.items() if kind is not TensorClass.PREDICTION)
    layers = own - sum(stage.get(kind, 0) for kind in STAYS)
    return own - min(scenario.cpu_offload_bytes or 0, layers)
