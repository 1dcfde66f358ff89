"""SGLang's methods of speculation, and what a separate draft takes: its weights, and rows in a pool of its own.

Sources: sglang/srt/speculative/spec_info.py, sglang/srt/model_executor/pool_configurator.py (0.5.23).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from model_catalog.spec import ModelSpec
from sizing.drafting import Taken, draft_beside, dspark_stages, prediction_layers
from sizing.engines.drafts import check_ranks
from sizing.scenario import Scenario, ScenarioError

METHODS: Mapping[str, Taken] = {
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
    needs = METHODS[method]
    if method in OWN and spec.draft is None and prediction_layers(spec):
        return Drafting(layers=1, own=True)
    if method == "dspark" and spec.draft is None and dspark_stages(spec):
        return Drafting(layers=dspark_stages(spec), own=True)
    if method == "nextn":
        raise ScenarioError("speculative", "This checkpoint has no layers for multi-token prediction.")
    if not needs:
        return NOTHING
    draft = draft_beside(scenario, spec, needs)
    check_ranks(scenario, draft)
    return Drafting(layers=draft.num_layers, draft=draft, sized=method in ("dflash", "dspark"))
