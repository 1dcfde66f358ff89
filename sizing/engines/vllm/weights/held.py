"""A model's tensors as vLLM's own classes hold them, where that is not how the checkpoint stores them.

Each row was found with vLLM 0.33's model classes on the meta device (parameters by class and dtype, one rank each).
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from model_catalog.spec import Layer, LayerRun, ModelSpec, Tower
from model_catalog.tensors import Shard, Tensor, TensorClass
from sizing.drafting import without_ends

MOST_KEPT = 256
GEMMA3N = frozenset({"gemma3n", "gemma3n_text"})
GEMMA4 = frozenset({"gemma4", "gemma4_unified"})
DELTA = frozenset({"qwen3_next", "qwen3_5", "qwen3_5_moe"})
SPARSE_LATENT = frozenset({"deepseek_v32", "glm_moe_dsa"})
FP32_ROUTERS = frozenset(
    {"ernie4_5_moe", "ernie4_5_moe_vl", "glm4_moe", "glm4_moe_lite", "mimo_v2_flash", "minimax_m2", "minimax_m3_vl"}
    | {"sarvam_moe"}
)
# Classes whose importer leaves out the correction of the router's scores, one number an expert.
SCORED = SPARSE_LATENT | {"deepseek_v3", "kimi_k2", "kimi_k25", "kimi_linear"}


@dataclass(frozen=True, slots=True)
class Difference:
    """What becomes of the tensors of these model types that have `name` in their name. `units` as in Tensor."""

    types: frozenset[str]
    name: str
    dtype: str | None = None
    shard: Shard | None = None
    units: int = 0
    dropped: bool = False


DIFFERENCES = (
    Difference(FP32_ROUTERS, "gate.weight", "fp32"),
    Difference(DELTA | {"jamba"}, "A_log", "fp32"),
    Difference(frozenset({"kimi_linear", "kimi_k3"}), "conv1d", "fp32"),
    Difference(frozenset({"kimi_k3"}), "mlp.routed_", "bf16"),
    Difference(SPARSE_LATENT, "indexer.wk", "bf16"),
    Difference(SPARSE_LATENT, "indexer.k_norm", "fp32"),
    Difference(frozenset({"deepseek_v4"}), "compressor.kv_proj", "bf16"),
    Difference(frozenset({"deepseek_v4"}), "compressor.gate_proj", "bf16"),
    Difference(frozenset({"deepseek_v4"}), "indexer.kv_proj", "bf16"),
    Difference(frozenset({"deepseek_v4"}), "indexer.gate_proj", "bf16"),
    Difference(frozenset({"minimax_m3_vl"}), "indexer.q_proj", shard=Shard.COLUMN, units=4),
    Difference(GEMMA3N | GEMMA4, "embed_tokens_per_layer", shard=Shard.VOCAB),
    Difference(GEMMA3N | GEMMA4, "per_layer_model_projection", shard=Shard.COLUMN),
    Difference(GEMMA3N, "altup_projections", shard=Shard.COLUMN),
    Difference(GEMMA3N, "laurel.linear_left", shard=Shard.COLUMN),
    Difference(GEMMA3N, "laurel.linear_right", shard=Shard.ROW),
    Difference(frozenset({"gemma3"}), "vision_tower.head.", dropped=True),
    Difference(frozenset({"llama4"}), "vision_projector.", shard=Shard.COLUMN),
    Difference(frozenset({"llama4"}), "vision_model.patch_embedding", shard=Shard.COLUMN),
    Difference(frozenset({"kimi_k25"}), "vision_projector.", shard=Shard.REPLICATED),
)


@dataclass(frozen=True, slots=True)
class Padding:
    """What the kernels of MXFP4 experts pad to: the intermediate axis of all ranks together, and the hidden axis."""

    intermediate: int = 1
    hidden: int = 1


NO_PADDING = Padding()
_KEPT: OrderedDict[tuple[int, Padding], tuple[ModelSpec, ModelSpec]] = OrderedDict()


def held_spec(spec: ModelSpec, padding: Padding = NO_PADDING) -> ModelSpec:
    """The spec with vLLM's differences and its experts padded.

    The same object for the same spec, for weights are looked up by identity.
    """
    key = (id(spec), padding)
    kept = _KEPT.get(key)
    if kept is not None and kept[0] is spec:
        _KEPT.move_to_end(key)
        return kept[1]
    held = _held(spec, padding)
    _KEPT[key] = (spec, held)
    if len(_KEPT) > MOST_KEPT:
        _KEPT.popitem(last=False)
    return held


def _held(spec: ModelSpec, padding: Padding) -> ModelSpec:
    """fp32 checkpoints are loaded in 16 bits."""
    rows = [row for row in DIFFERENCES if spec.model_type in row.types]
    layers: dict[int, Layer] = {}
    for run in spec.layers:
        if id(run.layer) not in layers:
            layers[id(run.layer)] = _layer(run.layer, spec.model_type, rows, padding)
    return replace(
        spec,
        dtype="bf16" if spec.dtype == "fp32" else spec.dtype,
        layers=tuple(LayerRun(run.count, layers[id(run.layer)]) for run in spec.layers),
        tensors=(*_changed(spec.tensors, rows), *_second_embedding(spec)),
        towers=tuple(_tower(tower, spec.model_type, rows) for tower in spec.towers),
    )


def _layer(layer: Layer, model_type: str, rows: list[Difference], padding: Padding) -> Layer:
    tensors = list(_changed(layer.tensors, rows))
    if model_type in GEMMA4:
        tensors = _with_values(tensors)
    if model_type in SCORED and layer.feed_forward and layer.feed_forward.experts:
        shape = (layer.feed_forward.experts,)
        tensors.append(Tensor("mlp.gate.e_score_correction_bias", TensorClass.SMALL, shape, dtype="fp32"))
    if padding != NO_PADDING:
        tensors = [_padded(tensor, padding) for tensor in tensors]
    return layer if tuple(tensors) == layer.tensors else replace(layer, tensors=tuple(tensors))


def _changed(tensors: Iterable[Tensor], rows: list[Difference]) -> Iterator[Tensor]:
    for tensor in tensors:
        row = next((row for row in rows if row.name in tensor.name), None)
        if row is None:
            yield tensor
        elif not row.dropped:
            yield replace(
                tensor,
                dtype=row.dtype or tensor.dtype,
                shard=row.shard or tensor.shard,
                units=row.units or tensor.units,
            )


def _with_values(tensors: list[Tensor]) -> list[Tensor]:
    """Gemma 4's layers whose keys are their values too have the projection twice."""
    if any("v_proj" in tensor.name for tensor in tensors):
        return tensors
    return [replace(t, count=2 * t.count) if "self_attn.k_proj" in t.name else t for t in tensors]


def _padded(tensor: Tensor, padding: Padding) -> Tensor:
    """gate and up are (intermediate, hidden), down is (hidden, intermediate); biases have the first axis alone."""
    if tensor.shard is not Shard.EXPERT:
        return tensor
    down = "down_proj" in tensor.name
    steps = (padding.hidden, padding.intermediate) if down else (padding.intermediate, padding.hidden)
    shape = tuple(-(-size // step) * step for size, step in zip(tensor.shape, steps, strict=False))
    return replace(tensor, shape=shape)


def _second_embedding(spec: ModelSpec) -> Iterator[Tensor]:
    """Phi-3-vision's image embedding holds the token embedding once more."""
    for tensor in spec.tensors:
        if spec.model_type == "phi3_v" and tensor.name == "model.embed_tokens.weight":
            yield replace(tensor, name="model.vision_embed_tokens.weight")


def _tower(tower: Tower, model_type: str, rows: list[Difference]) -> Tower:
    """Phi-3-vision takes the features of the last layer but one and does not load the last.

    Prediction layers share the model's ends; drafts.py adds those that some releases do not share.
    """
    tensors = tuple(_changed(without_ends(tower).tensors, rows))
    if model_type == "phi3_v" and tower.layers:
        tensors = tuple(replace(t, count=t.count - 1) if t.count == tower.layers else t for t in tensors)
    return replace(tower, tensors=tensors)
