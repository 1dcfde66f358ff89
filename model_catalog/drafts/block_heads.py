"""DFlash and DSpark: heads that propose a whole block of tokens in one pass.

Sources: vllm/model_executor/models/{qwen3_dflash,laguna_dflash,qwen3_dspark}.py.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from model_catalog.blocks.linear import norm, small
from model_catalog.drafts.kinds import decoder_fields, method_of
from model_catalog.drafts.parts import joining, proposing
from model_catalog.fields import Fields
from model_catalog.spec import Attention, DraftKind, Layer, LayerRun, ModelSpec
from model_catalog.tensors import Shard, Tensor, TensorClass

MOST_TAPS = 64
LAGUNA = "laguna"


def block_head(f: Fields, spec: ModelSpec, kind: DraftKind) -> ModelSpec:
    """DFlash: a whole block in one pass, from hidden states of `target_layer_ids`. DSpark adds a Markov head."""
    method, rows = method_of(f.data), f.whole_or_none("draft_vocab_size", minimum=1) or spec.vocab_size
    joined = _joined(f, spec, method)
    if f.raw("architectures") == ["DFlash2DraftModel"]:
        f.doubt("architectures", "DFlash 2's convolutions and its selector of candidates are not counted.", kv=False)
    return replace(
        spec,
        layers=tuple(LayerRun(run.count, _block_layer(f, run.layer, method)) for run in _windows(f, spec, method)),
        tied_embeddings=False,
        tensors=(
            *proposing(spec.vocab_size, rows, spec.hidden_size),
            *joined,
            *norm("model.hidden_norm", spec.hidden_size),
            *(_markov(f, spec, rows, method) if kind == "dspark" else ()),
        ),
        draft_kind=kind,
    )


def _joined(f: Fields, spec: ModelSpec, method: Mapping[str, Any]) -> tuple[Tensor, ...]:
    """The projection of the target's hidden states; Laguna's heads norm each of them first."""
    taps = method.get("target_layer_ids", f.raw("target_layer_ids") or f.raw("aux_hidden_state_layer_ids"))
    known = isinstance(taps, list) and 0 < len(taps) <= MOST_TAPS
    if not known:
        f.doubt(
            "target_layer_ids", "target_layer_ids is not stated; as many as the head's layers are joined.", kv=False
        )
    states = len(taps) if known else spec.num_layers
    target = f.whole_or_none("target_hidden_size", minimum=1) or spec.hidden_size
    norms = norm("model.aux_hidden_norms", target) if spec.model_type == LAGUNA else ()
    return (*joining(spec.hidden_size, target * states), *(replace(each, count=states) for each in norms))


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
    windowed = any(isinstance(m, Attention) and m.window for m in spec.mixers())
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
