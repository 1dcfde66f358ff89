"""What SGLang's choices depend on in a model, read once."""

from collections import Counter
from dataclasses import dataclass

from model_catalog.spec import Attention, CompressedAttention, Indexer, LatentAttention, ModelSpec, Recurrent, Tower
from model_catalog.tensors import TensorClass

ENCODERS = frozenset({TensorClass.VISION, TensorClass.AUDIO, TensorClass.ENCODER})
STATED_AS_DEPTH = "qwen"  # their vision configs say depth, so that SGLang takes its own default
VISION_LAYERS, VISION_WIDTH = 24, 1024  # ViT-L/14, and what a config without the field counts as
_MOST = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """`indexer`: of sparse latent attention. `windows`: some layers have one. `vision_factor`: see defaults."""

    compressed: bool
    latent: bool
    recurrent: bool
    kda: bool
    indexer: Indexer | None
    windows: bool
    multimodal: bool
    prediction: bool
    vision_factor: float | None


_known: dict[int, tuple[ModelSpec, Traits]] = {}


def traits_of(spec: ModelSpec) -> Traits:
    if id(spec) not in _known:
        if len(_known) >= _MOST:
            _known.clear()
        _known[id(spec)] = (spec, _traits(spec))
    return _known[id(spec)][1]


def _traits(spec: ModelSpec) -> Traits:
    mixers = list(dict.fromkeys(spec.mixers()))
    latents = [mixer for mixer in mixers if isinstance(mixer, LatentAttention)]
    kinds = {tensor.kind for tower in spec.towers for tensor in tower.tensors}
    vision = next((tower for tower in spec.towers if tower.layers and _is_vision(tower)), None)
    return Traits(
        compressed=any(isinstance(mixer, CompressedAttention) for mixer in mixers),
        latent=bool(latents),
        recurrent=any(isinstance(mixer, Recurrent) for mixer in mixers),
        kda=any(isinstance(mixer, Recurrent) and mixer.kind == "kda" for mixer in mixers),
        indexer=next((mixer.indexer for mixer in latents if mixer.indexer), None),
        windows=any(isinstance(mixer, Attention) and (mixer.window or mixer.chunk) for mixer in mixers),
        multimodal=bool(kinds & ENCODERS),
        prediction=TensorClass.PREDICTION in kinds,
        vision_factor=_vision_factor(vision, spec.model_type) if vision else None,
    )


def _is_vision(tower: Tower) -> bool:
    return any(tensor.kind is TensorClass.VISION for tensor in tower.tensors)


def _vision_factor(tower: Tower, model_type: str) -> float:
    """0.95 × clamp(1 − (complexity − 1) / 10, 0.8, 1.05); complexity is layers × width² against ViT-L/14 (3.5)."""
    layers = VISION_LAYERS if model_type.startswith(STATED_AS_DEPTH) else tower.layers
    widths: Counter[int] = Counter()
    for tensor in tower.tensors:
        if len(tensor.shape) == 1:
            widths[tensor.shape[0]] += tensor.count
    width = widths.most_common(1)[0][0] if widths else VISION_WIDTH
    complexity = layers * width**2 / (VISION_LAYERS * VISION_WIDTH**2)
    return 0.95 * max(0.8, min(1.05, 1.0 - 0.1 * (complexity - 1.0)))
