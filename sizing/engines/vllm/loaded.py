"""The part of a checkpoint that vLLM loads.

Encoders stay out where requests may carry none of their inputs (vLLM pull 22299, in 0.10.1 for some classes, later
for all; receipts v003, v005 and v006). A pooling model has no output head
(vllm/model_executor/models/adapters.py; receipts v142 and v146).
"""

from dataclasses import replace
from functools import lru_cache

from model_catalog.spec import ModelSpec, Tower
from model_catalog.tensors import TensorClass
from sizing.engines.vllm.rules import Rules
from sizing.scenario import Scenario

TOWERS = {TensorClass.VISION: "vision", TensorClass.AUDIO: "audio"}
# Classes that take images and no videos (get_supported_mm_limits of vllm/model_executor/models).
IMAGES_ALONE = frozenset(
    {"deepseek_vl_v2", "gemma3", "llama4", "ministral3", "mistral3", "mllama", "phi3_v", "pixtral", "step3p7"}
)


def loaded_spec(scenario: Scenario, spec: ModelSpec, rules: Rules) -> ModelSpec:
    """The spec without what stays out; the same object for the same answer. `scenario` is resolved."""
    unused = unused_towers(scenario, spec) if rules.skips_towers else frozenset()
    if not unused and not scenario.pooling:
        return spec
    return _part(spec, unused, bool(scenario.pooling))


def unused_towers(scenario: Scenario, spec: ModelSpec) -> frozenset[TensorClass]:
    """Kinds of towers of the spec all of whose inputs are limited to none."""
    limits = scenario.media_limits
    if limits is None:
        return frozenset()
    no_vision = limits.image == 0 and (limits.video == 0 or spec.model_type in IMAGES_ALONE)
    unused = {TensorClass.VISION: no_vision, TensorClass.AUDIO: limits.audio == 0}
    return frozenset(kind for kind in tower_kinds(spec) if unused[kind])


def tower_kinds(spec: ModelSpec) -> frozenset[TensorClass]:
    return frozenset(tensor.kind for tower in spec.towers for tensor in tower.tensors if tensor.kind in TOWERS)


def loading_notes(scenario: Scenario, spec: ModelSpec, rules: Rules) -> tuple[str, ...]:
    """What the limits on inputs do to the encoders."""
    unused = sorted(TOWERS[kind] for kind in unused_towers(scenario, spec))
    if not unused:
        return ()
    if not rules.skips_towers:
        return ("This vLLM release loads encoders whatever media_limits says.",)
    return (f"No inputs for it are allowed, so vLLM does not load the {' and the '.join(unused)} encoder.",)


@lru_cache(maxsize=256)
def _part(spec: ModelSpec, unused: frozenset[TensorClass], headless: bool) -> ModelSpec:
    towers = (_without(tower, unused) for tower in spec.towers)
    kept = replace(spec, towers=tuple(tower for tower in towers if tower.tensors))
    if not headless:
        return kept
    tensors = tuple(t for t in spec.tensors if t.kind is not TensorClass.LM_HEAD and not t.name.startswith("lm_head."))
    return replace(kept, tensors=tensors, tied_embeddings=False)


def _without(tower: Tower, unused: frozenset[TensorClass]) -> Tower:
    return replace(tower, tensors=tuple(tensor for tensor in tower.tensors if tensor.kind not in unused))
