"""TensorRT-LLM's decoding types (tensorrt_llm/llmapi/llm_args.py, 1.2), and what a separate draft takes."""

from collections.abc import Mapping
from dataclasses import dataclass

from model_catalog.spec import ModelSpec
from sizing.drafting import Taken, draft_beside, prediction_layers
from sizing.engines.drafts import check_ranks, notes_of, rank_weights
from sizing.scenario import Scenario, ScenarioError

METHODS: Mapping[str, Taken] = {
    "mtp": "",
    "eagle3": "eagle3",
    "eagle": "eagle",
    "draft_target": "model",
    "medusa": "medusa",
    "ngram": "",
    "lookahead": "",
}
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
    needs = METHODS[method]
    if not needs:
        return Drafting()
    draft = draft_beside(scenario, spec, needs)
    check_ranks(scenario, draft)
    return Drafting(draft=draft, notes=notes_of(draft))


def draft_bytes(scenario: Scenario, drafting: Drafting, predictions: list[int]) -> list[int]:
    """One rank of each stage; the last holds a separate draft. `predictions`: of the model's own layers there."""
    if drafting.draft is None:
        return predictions if drafting.own_layers else [0] * len(predictions)
    return [*[0] * (len(predictions) - 1), rank_weights(scenario, drafting.draft)]
