"""TensorRT-LLM's decoding types (tensorrt_llm/llmapi/llm_args.py, 1.2), and what a separate draft takes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from model_catalog.spec import ModelSpec
from sizing.drafting import Needs, draft_beside, prediction_layers
from sizing.placement import PlacementError, check_placement
from sizing.scenario import Scenario, ScenarioError
from sizing.weights.precisions import AUTO
from sizing.weights.ranks import rank_bytes

# Types with the checkpoint that each takes; "" for none.
METHODS: Mapping[str, str] = {
    "mtp": "",
    "eagle3": "eagle3",
    "eagle": "eagle",
    "draft_target": "model",
    "medusa": "medusa",
    "ngram": "",
    "lookahead": "",
}
NEEDS: Mapping[str, Needs] = {"eagle3": "eagle3", "eagle": "eagle", "draft_target": "model", "medusa": "medusa"}
TYPES = {"mtp": "MTP", "eagle3": "Eagle3", "eagle": "Eagle", "draft_target": "DraftTarget", "medusa": "Medusa"}
TYPES |= {"ngram": "NGram", "lookahead": "Lookahead"}  # decoding_type


@dataclass(frozen=True, slots=True)
class Drafting:
    """`own_layers`: one prediction layer of the model. `draft`: a separate checkpoint, as it is held."""

    own_layers: int = 0
    draft: ModelSpec | None = None
    notes: tuple[str, ...] = ()


def drafting_of(scenario: Scenario, spec: ModelSpec) -> Drafting:
    """Raises ScenarioError at `speculative` for a type that TensorRT-LLM has not, or not for this model."""
    given = scenario.speculative
    if given is None:
        return Drafting()
    method = given.method.lower()
    if method not in METHODS:
        raise ScenarioError(
            "speculative", f'TensorRT-LLM has no decoding type "{given.method[:40]}". It has {", ".join(METHODS)}.'
        )
    if method == "mtp":
        if not prediction_layers(spec):
            raise ScenarioError("speculative", "This checkpoint has no layers for multi-token prediction.")
        return Drafting(own_layers=1)
    if method not in NEEDS:
        return Drafting()
    draft = draft_beside(scenario, spec, NEEDS[method])
    try:
        check_placement(draft, replace(scenario.placement, pipeline_parallel=1))
    except PlacementError as error:
        raise ScenarioError("speculative", f"The draft cannot run on these ranks. {error.message}") from None
    return Drafting(draft=draft, notes=tuple(f"Of the draft: {doubt.message}" for doubt in draft.doubts))


def draft_bytes(scenario: Scenario, drafting: Drafting, predictions: list[int]) -> list[int]:
    """One rank of each stage; the last holds a separate draft. `predictions`: of the model's own layers there."""
    if drafting.draft is None or scenario.speculative is None:
        return predictions if drafting.own_layers else [0] * len(predictions)
    place = replace(scenario.placement, pipeline_parallel=1)
    place = place if place.dp_attention else replace(place, data_parallel=1)
    (stage,) = rank_bytes(drafting.draft, scenario.speculative.weights or AUTO, place)
    return [*[0] * (len(predictions) - 1), sum(stage.values())]
