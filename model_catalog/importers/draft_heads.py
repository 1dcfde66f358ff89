"""Checkpoints that only draft for a model: EAGLE, DFlash and DSpark heads, Medusa heads, MLP speculators.

A head is written down as a small decoder (model_type llama, qwen3, kimi_k2, …) and changed from there. Sources:
vllm/model_executor/models/{llama_eagle,llama_eagle3,deepseek_eagle3,qwen3_dflash,laguna_dflash,qwen3_dspark,medusa,
mlp_speculator}.py
and vllm/transformers_utils/configs. What the engine shares with the target is decided where the head is loaded.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from model_catalog.blocks.ends import ends
from model_catalog.blocks.linear import linear, norm, small
from model_catalog.fields import Fields
from model_catalog.importers.decoder import overlaid
from model_catalog.spec import Attention, DraftKind, Layer, LayerRun, ModelSpec, run_length
from model_catalog.tensors import Shard, Tensor, TensorClass

ARCHITECTURES: Mapping[str, DraftKind] = {
    "EAGLEModel": "eagle",
    "EagleLlamaForCausalLM": "eagle",
    "LlamaForCausalLMEagle": "eagle",
    "Eagle3DeepseekV2ForCausalLM": "eagle3",
    "Eagle3DeepseekV3ForCausalLM": "eagle3",
    "Eagle3DraftModel": "eagle3",
    "Eagle3LlamaForCausalLM": "eagle3",
    "Eagle3Speculator": "eagle3",
    "LlamaForCausalLMEagle3": "eagle3",
    "DFlashDraftModel": "dflash",
    "DFlash2DraftModel": "dflash",
    "DFlashLagunaForCausalLM": "dflash",
    "DSparkDraftModel": "dspark",
    "Qwen3DSparkModel": "dspark",
    "Qwen3OmniDSparkModel": "dspark",
    "MedusaModel": "medusa",
    "MLPSpeculatorPreTrainedModel": "mlp_speculator",
}
SPECULATORS: Mapping[str, DraftKind] = {"eagle": "eagle", "eagle3": "eagle3", "dflash": "dflash", "dspark": "dspark"}
OWN_TYPES: Mapping[str, DraftKind] = {"medusa": "medusa", "mlp_speculator": "mlp_speculator"}
TAPS = 3  # hidden states of the target that EAGLE-3 joins
INTO = ("q_proj.weight", "k_proj.weight", "v_proj.weight", "q_a_proj.weight", "kv_a_proj_with_mqa.weight")
MOST_HEADS = 64
LAGUNA = "laguna"
Read = Callable[[Fields], ModelSpec]


def kind_of(config: Mapping[str, Any]) -> DraftKind | None:
    """How the checkpoint of this config drafts; None where it is a model by itself."""
    named = config.get("speculators_model_type")
    if isinstance(named, str) and named in SPECULATORS:
        return SPECULATORS[named]
    if "medusa_num_heads" in config:
        return "medusa"
    own = OWN_TYPES.get(str(config.get("model_type")))
    return own or _by_class(config)


def _by_class(config: Mapping[str, Any]) -> DraftKind | None:
    names = config.get("architectures")
    name = names[0] if isinstance(names, list) and names and isinstance(names[0], str) else ""
    kind = ARCHITECTURES.get(name)
    if kind == "dspark" and config.get("model_type") == "deepseek_v4":
        return None  # the target's whole config; its prediction layers are the draft
    if kind == "dflash" and _method(config).get("projector_type") == "dspark":
        return "dspark"
    if kind is None and config.get("num_hidden_layers") == 1 and "draft_vocab_size" in config:
        return "eagle3"  # heads of EAGLE's authors are named as their target's class
    return kind


def _method(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings of DFlash and DSpark, which stand in a part of their own or beside the decoder's."""
    found = config.get("dflash_config")
    return found if isinstance(found, Mapping) else {}


def decoder_fields(f: Fields) -> Fields:
    """The fields that describe the head's layers: the file's own, or those of the part of it that holds them."""
    for name in ("transformer_layer_config", "model"):
        part = f.part(name) if isinstance(f.raw(name), Mapping) else None
        if part is not None:
            return part
    return f


def read_head(f: Fields, kind: DraftKind, read: Read) -> ModelSpec:
    """ModelSpec of a head. `read` reads the decoder that its layers are written down as."""
    match kind:
        case "medusa":
            return _medusa(f)
        case "mlp_speculator":
            return _mlp_speculator(f)
        case "eagle":
            return eagle_head(_decoder(f, read))
        case "eagle3":
            return _eagle3(f, _decoder(f, read))
        case _:
            return _block_head(f, _decoder(f, read), kind)


def _decoder(f: Fields, read: Read) -> ModelSpec:
    """Layers are dense, and none predicts further tokens."""
    layer = decoder_fields(f)
    dense: dict[str, Any] = {}
    if layer.has("first_k_dense_replace"):
        dense = {"first_k_dense_replace": layer.layer_count(), "num_nextn_predict_layers": 0}
    elif layer.model_type == LAGUNA:
        dense = {"mlp_layer_types": ["dense"] * layer.layer_count()}
    spec = read(overlaid(layer, dense))
    layer.raw("num_target_layers")
    return spec


def eagle_head(spec: ModelSpec) -> ModelSpec:
    """EAGLE joins embedding and hidden state in one layer, and norms neither the first layer's input nor the output."""
    hidden = spec.hidden_size
    first, *rest = spec.each_layer()
    bare = replace(first, tensors=_without(first.tensors, "norm_0."))
    return replace(
        spec,
        layers=run_length([bare, *rest]),
        tensors=(*_without(spec.tensors, "model.norm."), *_joining(hidden, 2 * hidden)),
        draft_kind="eagle",
    )


def eagle3_head(spec: ModelSpec, *, vocab: int | None = None, target_hidden: int = 0, taps: int = TAPS) -> ModelSpec:
    """EAGLE-3: hidden states of several layers joined, a first layer that reads them beside the embedding.

    `vocab`: tokens that the head can propose, fewer than the target has, which a table maps to the target's.
    """
    hidden, rows = spec.hidden_size, vocab or spec.vocab_size
    first, *rest = spec.each_layer()
    tensors = (*map(_twice_as_wide, first.tensors), *norm("hidden_norm", hidden))
    table = () if rows == spec.vocab_size else small("draft_id_to_target_id", rows, dtype="int64")
    joined = _joining(hidden, taps * (target_hidden or hidden)) if taps else ()
    return replace(
        spec,
        layers=run_length([replace(first, tensors=tensors), *rest]),
        tied_embeddings=False,
        tensors=(*ends(spec.vocab_size, hidden, tied=True), _head(rows, hidden), *joined, *table),
        draft_kind="eagle3",
    )


def _joining(hidden: int, into: int) -> tuple[Tensor, ...]:
    """The projection to the head's width, whole on every rank."""
    return linear("model.fc", hidden, into, TensorClass.FEED_FORWARD)


def _head(rows: int, hidden: int) -> Tensor:
    return Tensor("lm_head.weight", TensorClass.LM_HEAD, (rows, hidden), Shard.VOCAB)


def _twice_as_wide(tensor: Tensor) -> Tensor:
    """Projections of a layer's input, which is two vectors."""
    if not tensor.name.endswith(INTO):
        return tensor
    return replace(tensor, shape=(tensor.shape[0], 2 * tensor.shape[1]))


def _without(tensors: tuple[Tensor, ...], name: str) -> tuple[Tensor, ...]:
    return tuple(tensor for tensor in tensors if name not in tensor.name)


def _eagle3(f: Fields, spec: ModelSpec) -> ModelSpec:
    part = f.raw("eagle_config")
    joins = part.get("use_aux_hidden_state", True) if isinstance(part, Mapping) else True
    target = f.whole_or_none("target_hidden_size", minimum=1) or spec.hidden_size
    head = eagle3_head(
        spec,
        vocab=f.whole_or_none("draft_vocab_size", minimum=1),
        target_hidden=target,
        taps=TAPS if joins else 0,
    )
    norms = norm("model.input_norm", TAPS * target) if f.flag("norm_before_fc") else ()
    return replace(head, tensors=(*head.tensors, *norms))


def _block_head(f: Fields, spec: ModelSpec, kind: DraftKind) -> ModelSpec:
    """DFlash: a whole block in one pass, from hidden states of `target_layer_ids`. DSpark adds a Markov head."""
    method, hidden = _method(f.data), spec.hidden_size
    taps = method.get("target_layer_ids", f.raw("target_layer_ids") or f.raw("aux_hidden_state_layer_ids"))
    known = isinstance(taps, list) and 0 < len(taps) <= MOST_HEADS
    if not known:
        f.doubt(
            "target_layer_ids", "target_layer_ids is not stated; as many as the head's layers are joined.", kv=False
        )
    if f.raw("architectures") == ["DFlash2DraftModel"]:
        f.doubt("architectures", "DFlash 2's convolutions and its selector of candidates are not counted.", kv=False)
    target = f.whole_or_none("target_hidden_size", minimum=1) or hidden
    states = len(taps) if known else spec.num_layers
    joined = (*_joining(hidden, target * states), *(_state_norms(target, states) if spec.model_type == LAGUNA else ()))
    rows = f.whole_or_none("draft_vocab_size", minimum=1) or spec.vocab_size
    table = () if rows == spec.vocab_size else small("draft_id_to_target_id", rows, dtype="int64")
    return replace(
        spec,
        layers=tuple(LayerRun(run.count, _block_layer(f, run.layer, method)) for run in _windows(f, spec, method)),
        tied_embeddings=False,
        tensors=(
            *ends(spec.vocab_size, hidden, tied=True),
            _head(rows, hidden),
            *joined,
            *norm("model.hidden_norm", hidden),
            *table,
            *(_markov(f, spec, rows, method) if kind == "dspark" else ()),
        ),
        draft_kind=kind,
    )


def _state_norms(width: int, states: int) -> tuple[Tensor, ...]:
    """A norm for each state of the target, before they are joined."""
    return tuple(replace(each, count=states) for each in norm("model.aux_hidden_norms", width))


def _block_layer(f: Fields, layer: Layer, method: Mapping[str, Any]) -> Layer:
    """One learned sink a head, where the config says so."""
    heads = [mixer.heads for mixer in layer.mixers if isinstance(mixer, Attention)]
    if not heads or not (method.get("attention_sink_bias") or f.flag("add_swa_attention_sink_bias")):
        return layer
    sinks = Tensor("self_attn.sinks", TensorClass.SMALL, (heads[0],), Shard.COLUMN, units=heads[0])
    return replace(layer, tensors=(*layer.tensors, sinks))


def _windows(f: Fields, spec: ModelSpec, method: Mapping[str, Any]) -> tuple[LayerRun, ...]:
    """use_swa gives every layer a window, where layer_types gives none of them one.

    Laguna's heads keep all of a sequence, for windows are only a limit on what their attention reads.
    """
    if spec.model_type == LAGUNA:
        return tuple(LayerRun(run.count, _windowed(run.layer, None)) for run in spec.layers)
    windowed = any(isinstance(m, Attention) and m.window for run in spec.layers for m in run.layer.mixers)
    if not method.get("use_swa") or windowed:
        return spec.layers
    size = method.get("swa_window_size", decoder_fields(f).raw("sliding_window"))
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise f.error("dflash_config", "a swa_window_size that is a whole number")
    return tuple(LayerRun(run.count, _windowed(run.layer, size)) for run in spec.layers)


def _windowed(layer: Layer, size: int | None) -> Layer:
    mixers = tuple(replace(mixer, window=size) if isinstance(mixer, Attention) else mixer for mixer in layer.mixers)
    return replace(layer, mixers=mixers)


def _markov(f: Fields, spec: ModelSpec, rows: int, method: Mapping[str, Any]) -> tuple[Tensor, ...]:
    """A low-rank step from the token before, whole on every rank, and a guess of how sure it is."""
    stated = method.get("markov_rank", f.raw("markov_rank"))
    rank = stated if isinstance(stated, int) and not isinstance(stated, bool) and 0 < stated <= 2**20 else 0
    if not rank:
        raise f.error("markov_rank", "a whole number")
    sure = f.flag("enable_confidence_head")
    into = spec.hidden_size + (rank if f.flag("confidence_head_with_markov") else 0)
    confidence = (
        *small("confidence_head.weight", 1, into, dtype="fp32"),
        *small("confidence_head.bias", 1, dtype="fp32"),
    )
    return (
        *small("markov_head.markov_w1", spec.vocab_size, rank),
        *small("markov_head.markov_w2", rows, rank),
        *(confidence if sure else ()),
    )


def _medusa(f: Fields) -> ModelSpec:
    """Each head: residual layers whole on every rank, and an output head; old files leave the target's sizes out."""
    for name, size in (("hidden_size", 4096), ("vocab_size", 32_001)):
        if not f.has(name):
            f.doubt(name, f"{name} is not stated; {size:,} is assumed.", kv=False)
    hidden, vocab = f.whole("hidden_size", 4096), f.whole("vocab_size", 32_001)
    heads = f.whole("medusa_num_heads", f.whole("num_heads", 5, maximum=MOST_HEADS), maximum=MOST_HEADS)
    blocks = f.whole("medusa_num_layers", f.whole("num_hidden_layers", 1, maximum=MOST_HEADS), maximum=MOST_HEADS)
    rows = f.whole("truncated_vocab_size", vocab)
    block = linear("blocks", hidden, hidden, TensorClass.FEED_FORWARD, bias=f.flag("medusa_fc_bias"), count=blocks)
    return _stack("medusa", [Layer(tensors=(*block, _head(rows, hidden)))] * heads, hidden, vocab)


def _mlp_speculator(f: Fields) -> ModelSpec:
    """Each stage: embedding, projection, norm and output head; tied stages share all but the first projection."""
    vocab, width = f.whole("vocab_size", 32_000), f.whole("emb_dim", f.whole("hidden_size", 4096))
    inner = f.whole("inner_dim", 0, minimum=0) or width
    stages = f.whole("n_predict", 3, maximum=MOST_HEADS)
    shared = (
        Tensor("emb.weight", TensorClass.EMBEDDING, (vocab, inner), Shard.VOCAB),
        Tensor("head.weight", TensorClass.LM_HEAD, (vocab, inner), Shard.VOCAB),
        *norm("ln", inner, bias=True),
    )
    first = linear("proj", inner, width, TensorClass.FEED_FORWARD)
    later = linear("proj", inner, inner, TensorClass.FEED_FORWARD)
    tied = f.flag("tie_weights")
    second = (
        [Layer(tensors=later)] + [Layer()] * (stages - 2) if tied else [Layer(tensors=(*shared, *later))] * (stages - 1)
    )
    return _stack("mlp_speculator", [Layer(tensors=(*shared, *first)), *second[: stages - 1]], width, vocab)


def _stack(kind: DraftKind, layers: list[Layer], hidden: int, vocab: int) -> ModelSpec:
    return ModelSpec(
        model_type=kind,
        layers=run_length(layers),
        hidden_size=hidden,
        vocab_size=vocab,
        max_context=None,
        dtype="bf16",
        tied_embeddings=False,
        tensors=(),
        draft_kind=kind,
    )
