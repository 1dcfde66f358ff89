"""The part of a checkpoint that vLLM loads, and the tables that it makes for it.

Encoders stay out where requests may carry none of their inputs (vLLM pull 22299, in 0.10.1 for some classes, later for
all; receipts v003, v005, v006 and v226). A pooling model has no output head (vllm/model_executor/models/adapters.py;
receipts v142 and v146).
"""

from dataclasses import replace
from functools import lru_cache

from model_catalog.spec import ModelSpec, Rope, Tower
from model_catalog.tensors import TensorClass
from sizing.engines.vllm.rules import Rules
from sizing.media.limits import TOWERS, unused_towers
from sizing.scenario import Scenario

# Classes that left their towers out before all did (get_limit_per_prompt in 0.11.0 to 0.14.1).
EARLY = frozenset(
    {"llama4", "llava", "mistral3", "pixtral", "qwen2_5_omni", "qwen2_5_vl", "qwen2_vl", "qwen3_vl", "qwen3_vl_moe"}
)
LONG_MROPE = frozenset({"qwen3_5", "qwen3_5_moe", "qwen3_vl", "qwen3_vl_moe"})  # Qwen2-VL's are long in every release
MROPE_FACTOR = 4


def loaded_spec(scenario: Scenario, spec: ModelSpec, rules: Rules) -> ModelSpec:
    """The spec without what stays out; the same object for the same answer. `scenario` is resolved."""
    unused = unused_towers(scenario.media_limits, spec) if _skips(spec, rules) else frozenset()
    stretches = rules.long_mrope and spec.model_type in LONG_MROPE
    if not (unused or scenario.pooling or stretches):
        return spec
    return _part(spec, unused, bool(scenario.pooling), stretches)


def _skips(spec: ModelSpec, rules: Rules) -> bool:
    return rules.skips_all_towers or (rules.skips_towers and spec.model_type in EARLY)


def loading_notes(scenario: Scenario, spec: ModelSpec, rules: Rules) -> tuple[str, ...]:
    """What the limits on inputs do to the encoders."""
    unused = sorted(TOWERS[kind] for kind in unused_towers(scenario.media_limits, spec))
    if not unused:
        return ()
    if not _skips(spec, rules):
        return ("This vLLM release loads the encoders of this model whatever media_limits says.",)
    return (f"vLLM does not load the {' and the '.join(unused)} encoder, since requests may carry nothing for it.",)


@lru_cache(maxsize=256)
def _part(spec: ModelSpec, unused: frozenset[TensorClass], headless: bool, stretches: bool) -> ModelSpec:
    towers = (_without(tower, unused) for tower in spec.towers)
    kept = replace(spec, towers=tuple(tower for tower in towers if tower.tensors))
    if stretches:
        kept = replace(kept, ropes=tuple(Rope(MROPE_FACTOR * rope.positions, rope.dim) for rope in spec.ropes))
    if not headless:
        return kept
    tensors = tuple(t for t in spec.tensors if t.kind is not TensorClass.LM_HEAD and not t.name.startswith("lm_head."))
    return replace(kept, tensors=tensors, tied_embeddings=False)


def _without(tower: Tower, unused: frozenset[TensorClass]) -> Tower:
    return replace(tower, tensors=tuple(tensor for tensor in tower.tensors if tensor.kind not in unused))
