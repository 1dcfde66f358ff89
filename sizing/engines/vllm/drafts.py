"""What drafting adds to the cache: layers of the model's own prediction head or of a separate draft model."""

from model_catalog.spec import ModelSpec
from sizing.engines.vllm.budget import drafts_itself
from sizing.scenario import Scenario

PREDICTION = "multi-token prediction"
WITHOUT_LAYERS = ("ngram", "suffix", "medusa")
ONE_LAYER = ("eagle", "eagle3")


def draft_of(scenario: Scenario, spec: ModelSpec) -> tuple[int, tuple[str, ...]]:
    """Attention layers that drafting adds, each like the model's own, and what to say about them."""
    if scenario.speculative is None:
        return 0, ()
    method = scenario.speculative.method.lower()
    if drafts_itself(scenario):
        return max((tower.layers for tower in spec.towers if tower.name == PREDICTION), default=1) or 1, ()
    if method in ONE_LAYER:
        return 1, ("The draft is counted as one more layer with the model's own attention; its weights are not.",)
    if method in WITHOUT_LAYERS:
        return 0, ()
    return 0, (f'What a draft by "{method[:40]}" takes is not known here and is not counted.',)
