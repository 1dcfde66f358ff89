"""Encoders that have no work where requests may carry none of their inputs."""

from functools import lru_cache

from model_catalog.spec import ModelSpec
from model_catalog.tensors import TensorClass
from sizing.scenario import MediaLimits

TOWERS = {TensorClass.VISION: "vision", TensorClass.AUDIO: "audio"}
TEXT_ONLY = MediaLimits(image=0, video=0, audio=0)
# Models that take images and no videos (get_supported_mm_limits of vllm/model_executor/models).
IMAGES_ALONE = frozenset(
    {"deepseek_vl_v2", "gemma3", "llama4", "ministral3", "mistral3", "mllama", "phi3_v", "pixtral", "step3p7"}
)
CHUNKS_ALONE = frozenset({"kimi_k25"})  # takes chunks of images and videos, which no limit but all of them names


def unused_towers(limits: MediaLimits | None, spec: ModelSpec) -> frozenset[TensorClass]:
    """Kinds of towers of the spec all of whose inputs are limited to none."""
    if limits is None:
        return frozenset()
    no_vision = limits.image == 0 and (limits.video == 0 or spec.model_type in IMAGES_ALONE)
    no_vision = limits == TEXT_ONLY or (no_vision and spec.model_type not in CHUNKS_ALONE)
    unused = {TensorClass.VISION: no_vision, TensorClass.AUDIO: limits.audio == 0}
    return frozenset(kind for kind in tower_kinds(spec) if unused[kind])


@lru_cache(maxsize=1024)
def tower_kinds(spec: ModelSpec) -> frozenset[TensorClass]:
    return frozenset(tensor.kind for tower in spec.towers for tensor in tower.tensors if tensor.kind in TOWERS)
