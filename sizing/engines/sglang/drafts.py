"""SGLang's methods of speculation, and what a separate draft takes: its weights, and rows in a pool of its own.

Sources: sglang/srt/speculative/spec_info.py, sglang/srt/model_executor/pool_configurator.py (0.5.23).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from model_catalog.spec import ModelSpec
from sizing.drafting import Needs, draft_beside, dspark_stages, prediction_layers
from sizing.placement import PlacementError, check_placement
from sizing.scenario import Scenario, ScenarioError
from sizing.weights.precisions import AUTO
from sizing.weights.ranks import rank_bytes

# Methods with the checkpoint that each takes; "" for none.
METHODS: Mapping[str, str] = {
    "nextn": "",
    "eagle": "eagle",
    "eagle3": "eagle3",
    "standalone": "model",
    "dflash": "dflash",
    "dspark": "dspark",
    "ngram": "",
}
ALIASES = {"mtp": "nextn"}
OWN = ("nextn", "eagle")  # EAGLE runs the model's own prediction layers where no checkpoint is named
NEEDS: Mapping[str, Needs] = {
    "eagle": "eagle",
    "eagle3": "eagle3",
    "standalone": "model",
    "dflash": "dflash",
    "dspark": "dspark",
}


@dataclass(frozen=True, slots=True)
class Drafting:
    """`layers`: of the draft, whose rows the budget is charged for. `own`: they are the model's prediction layers.

    `draft`: the separate checkpoint as it is held. `sized`: the budget goes by the draft's own rows, else by the
    target's.
    """

    layers: int = 0
    own: bool = False
    draft: ModelSpec | None = None
    sized: bool = False


NOTHING = Drafting()


def drafting_of(scenario: Scenario, spec: ModelSpec) -> Drafting:
    """Raises ScenarioError at `speculative` for a method that SGLang has not, or not for this model."""
    given = scenario.speculative
    if given is None:
        return NOTHING
    asked = given.method.lower()
    method = ALIASES.get(asked, asked)
    if method not in METHODS:
        raise ScenarioError(
            "speculative", f'SGLang has no speculative method "{asked[:40]}". It has {", ".join(METHODS)}.'
        )
    if method == "ngram":
        return NOTHING
    if method in OWN and spec.draft is None and prediction_layers(spec):
        return Drafting(layers=1, own=True)
    if method == "dspark" and spec.draft is None and dspark_stages(spec):
        return Drafting(layers=dspark_stages(spec), own=True)
    if method == "nextn":
        raise ScenarioError("speculative", "This checkpoint has no layers for multi-token prediction.")
    draft = draft_beside(scenario, spec, NEEDS[method])
    try:
        check_placement(draft, replace(scenario.placement, pipeline_parallel=1))
    except PlacementError as error:
        raise ScenarioError("speculative", f"The draft cannot run on these ranks. {error.message}") from None
    return Drafting(layers=draft.num_layers, draft=draft, sized=method in ("dflash", "dspark"))


def draft_weights(scenario: Scenario, draft: ModelSpec, vocabulary_multiple: int) -> int:
    """Bytes of a separate draft on one rank; it runs on as many ranks as its target."""
    assert scenario.speculative is not None
    place = replace(scenario.placement, pipeline_parallel=1)
    place = place if place.dp_attention else replace(place, data_parallel=1)
    (stage,) = rank_bytes(draft, scenario.speculative.weights or AUTO, place, vocab_multiple=vocabulary_multiple)
    return sum(stage.values())


def draft_notes(drafting: Drafting) -> list[str]:
    if drafting.draft is None:
        return []
    return [f"Of the draft: {doubt.message}" for doubt in drafting.draft.doubts]
