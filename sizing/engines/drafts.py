"""A separate checkpoint that drafts, on the ranks of its target: what the engines have in common of it."""

from dataclasses import replace

from model_catalog.spec import ModelSpec
from sizing.placement import PlacementError, check_placement
from sizing.scenario import Scenario, ScenarioError
from sizing.weights.precisions import AUTO
from sizing.weights.ranks import rank_bytes


def check_ranks(scenario: Scenario, draft: ModelSpec) -> None:
    """Raises ScenarioError at `speculative` where the draft cannot run on as many ranks as its target."""
    try:
        check_placement(draft, replace(scenario.placement, pipeline_parallel=1))
    except PlacementError as error:
        raise ScenarioError("speculative", f"The draft cannot run on these ranks. {error.message}") from None


def rank_weights(scenario: Scenario, draft: ModelSpec, *, vocab_multiple: int = 1) -> int:
    """Bytes of the draft on each rank of the pipeline stage that holds it."""
    assert scenario.speculative is not None
    place = replace(scenario.placement, pipeline_parallel=1)
    place = place if place.dp_attention else replace(place, data_parallel=1)
    (stage,) = rank_bytes(draft, scenario.speculative.weights or AUTO, place, vocab_multiple=vocab_multiple)
    return sum(stage.values())


def notes_of(draft: ModelSpec) -> tuple[str, ...]:
    """What the draft's reader assumed."""
    return tuple(f"Of the draft: {doubt.message}" for doubt in draft.doubts)
