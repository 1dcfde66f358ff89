"""A separate checkpoint that drafts for a model: paired with it, checked against it, and as it is held beside it."""

from collections import OrderedDict
from dataclasses import replace
from typing import Any, Literal

from model_catalog.blocks.prediction import DSPARK, EMBEDDING, HEAD, TOWER, UNCOUNTED
from model_catalog.drafts.eagle import eagle3_head, eagle_head
from model_catalog.spec import DraftKind, Layer, LayerRun, ModelSpec, Tower, run_length
from model_catalog.tensors import Tensor, TensorClass
from sizing.scenario import Scenario, ScenarioError, Speculative
from sizing.weights.precisions import AUTO, resolve_precision

Needs = DraftKind | Literal["model"]
Taken = Needs | Literal[""]  # what a method of speculation takes; "" for no checkpoint
WITHOUT_MODEL = ("ngram", "suffix", "lookahead")  # how the methods of all engines that look tokens up begin
STACKS = ("medusa", "mlp_speculator")  # one stage for each token that is drafted
JOINING = ("eagle", "eagle3", "dflash", "dspark")  # heads that read hidden states of the target
LABELS: dict[str, str] = {
    "eagle": "an EAGLE head",
    "eagle3": "an EAGLE-3 head",
    "dflash": "a DFlash head",
    "dspark": "a DSpark head",
    "medusa": "a set of Medusa heads",
    "mlp_speculator": "an MLP speculator",
    "assistant": "an assistant that reads its target's cache",
    "model": "a whole model",
}
MOST_KEPT = 256
_KEPT: OrderedDict[Any, tuple[ModelSpec, ModelSpec, ModelSpec]] = OrderedDict()


def with_draft(spec: ModelSpec, draft: ModelSpec) -> ModelSpec:
    """The model with the checkpoint that drafts for it. The same object for the same two, as weights are kept by it."""
    return _kept(("pair", id(spec), id(draft)), spec, draft, lambda: replace(spec, draft=draft))


def prediction_layers(spec: ModelSpec) -> int:
    """The model's own layers for multi-token prediction; 0 where the checkpoint has none.

    One where it has some that its reader does not count.
    """
    uncounted = any(doubt.message == UNCOUNTED for doubt in spec.doubts)
    return max((max(tower.layers, 1) for tower in spec.towers if tower.name == TOWER), default=int(uncounted))


def dspark_stages(spec: ModelSpec) -> int:
    """DSpark's stages in the model's own checkpoint."""
    return max((tower.layers for tower in spec.towers if tower.name == DSPARK), default=0)


def sharing_ends(spec: ModelSpec) -> ModelSpec:
    """The model as engines hold it that run its prediction layers on its own embedding and output head.

    Checkpoints of DeepSeek-V3 have a copy of both for each such layer. The same object for the same model.
    """
    towers = tuple(without_ends(tower) for tower in spec.towers)
    if all(tower is before for tower, before in zip(towers, spec.towers, strict=True)):
        return spec
    return _kept(("ends", id(spec)), spec, spec, lambda: replace(spec, towers=towers))


def without_ends(tower: Tower) -> Tower:
    """Of prediction layers; any other tower as it is."""
    if tower.name != TOWER:
        return tower
    kept = tuple(tensor for tensor in tower.tensors if tensor.name not in (EMBEDDING, HEAD))
    return tower if len(kept) == len(tower.tensors) else replace(tower, tensors=kept)


def check_is_model(spec: ModelSpec) -> None:
    """Raise ScenarioError at `model` for a checkpoint that only drafts for another."""
    if spec.draft_kind:
        raise ScenarioError(
            "model",
            f"This checkpoint is {LABELS[spec.draft_kind]}, no model by itself. Choose the model that it drafts for.",
        )


def check_takes_model(given: Speculative | None) -> None:
    """Raise ScenarioError at `speculative` for a draft model beside a method that drafts without any."""
    if given and given.model and given.method.lower().startswith(WITHOUT_MODEL):
        raise ScenarioError("speculative", f"{given.method[:40]} drafts from the text itself and takes no draft model.")


def draft_beside(scenario: Scenario, spec: ModelSpec, needs: Needs) -> ModelSpec:
    """The draft as an engine holds it: in the target's 16-bit format, without what it shares with the target.

    Heads share the embedding, and the output head unless their vocabulary is a smaller one of their own; an engine
    frees copies that are equal (vllm/v1/spec_decode/llm_base_proposer.py, sglang/srt/speculative/eagle_worker.py).
    Raises ScenarioError at `speculative` for a checkpoint that does not suit the method or the model.
    """
    given = scenario.speculative
    assert given is not None
    if spec.draft is None:
        raise ScenarioError(
            "speculative",
            f'Speculation by "{given.method[:40]}" needs a draft model: {LABELS[needs]} made for this model.',
        )
    _check_precision(given.weights or AUTO, spec.draft)
    key = ("beside", id(spec), needs, given.tokens)
    return _kept(key, spec, spec.draft, lambda: _beside(scenario, spec, needs))


def _check_precision(name: str, draft: ModelSpec) -> None:
    try:
        resolve_precision(name, draft)
    except ScenarioError as error:
        raise ScenarioError("speculative", error.message) from None


def _kept(key: Any, spec: ModelSpec, draft: ModelSpec, make: Any) -> ModelSpec:
    kept = _KEPT.get(key)
    if kept is not None and kept[0] is spec and kept[1] is draft:
        _KEPT.move_to_end(key)
        return kept[2]
    made: ModelSpec = make()
    _KEPT[key] = (spec, draft, made)
    if len(_KEPT) > MOST_KEPT:
        _KEPT.popitem(last=False)
    return made


def _beside(scenario: Scenario, spec: ModelSpec, needs: Needs) -> ModelSpec:
    assert spec.draft is not None and scenario.speculative is not None
    draft = _suited(spec.draft, spec, needs, scenario.speculative.model or "The draft")
    if needs in STACKS:
        draft = replace(draft, layers=_stages(draft, scenario.speculative.tokens))
    elif needs != "model":
        draft = replace(draft, tied_embeddings=False, tensors=tuple(t for t in draft.tensors if not _shared(t, spec)))
    unpacked = draft.quantization is None
    return replace(draft, dtype=spec.dtype if unpacked else draft.dtype)


def _suited(draft: ModelSpec, spec: ModelSpec, needs: Needs, name: str) -> ModelSpec:
    """The checkpoint as the head that the method needs."""
    kind = draft.draft_kind or "model"
    if kind == "model" and needs in ("eagle", "eagle3") and draft.num_layers == 1:
        draft = eagle_head(draft) if needs == "eagle" else eagle3_head(draft)  # such files name their target's class
    elif kind != needs:
        raise ScenarioError(
            "speculative", f"{name[:100]} is {LABELS[kind]}; this method of speculation needs {LABELS[needs]}."
        )
    if needs == "model" and draft.vocab_size != spec.vocab_size:
        raise ScenarioError(
            "speculative",
            f"{name[:100]} has a vocabulary of {draft.vocab_size:,}, the model one of {spec.vocab_size:,}; "
            "a draft needs the same.",
        )
    joined = next((t.shape[1] for t in draft.tensors if t.name == "model.fc.weight"), 0)
    if needs in JOINING and joined % spec.hidden_size:
        raise ScenarioError(
            "speculative",
            f"{name[:100]} does not fit this model: it joins {joined:,} numbers, "
            f"no multiple of the {spec.hidden_size:,} of a hidden state.",
        )
    return draft


def _shared(tensor: Tensor, spec: ModelSpec) -> bool:
    ends = tensor.kind in (TensorClass.EMBEDDING, TensorClass.LM_HEAD)
    return ends and tensor.shape == (spec.vocab_size, spec.hidden_size)


def _stages(draft: ModelSpec, tokens: int) -> tuple[LayerRun, ...]:
    """As many heads or stages as tokens are drafted; those beyond the file's are like its last."""
    layers: list[Layer] = list(draft.each_layer())[:tokens]
    return run_length([*layers, *layers[-1:] * (tokens - len(layers))])
