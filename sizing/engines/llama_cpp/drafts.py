"""llama.cpp's types of speculation (--spec-type), and what a draft model (--model-draft) takes.

Sources: llama.cpp common/arg.cpp, docs/speculative.md and tools/server/server-context.cpp (2026): the draft's context
is as long as all slots together, in f16 unless set, and all of the draft is offloaded (--n-gpu-layers-draft).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from model_catalog.spec import ModelSpec
from sizing.drafting import Taken, draft_beside, prediction_layers
from sizing.engines.drafts import notes_of
from sizing.engines.llama_cpp.split import Share
from sizing.engines.llama_cpp.weights import Placing, file_type, held_by
from sizing.scenario import Scenario, ScenarioError
from sizing.weights.precisions import AUTO

METHODS: Mapping[str, Taken] = {
    "draft-mtp": "",
    "draft-simple": "model",
    "draft-eagle3": "eagle3",
    "draft-dflash": "dflash",
    "draft-dspark": "dspark",
    **dict.fromkeys(("ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache"), ""),
}
ALIASES = {"draft": "draft-simple", "draft-model": "draft-simple", "ngram": "ngram-simple"}
NOT_ROLLING = ("draft-simple",)  # need_n_rs_seq in common/common.h


@dataclass(frozen=True, slots=True)
class Drafting:
    """`layers`: the model's own prediction layers. `draft`: a separate model, of `weights` bytes on its device and
    `host` bytes in host memory.

    `rolls`: tokens that recurrent state is rolled back by where they are rejected.
    """

    layers: int = 0
    draft: ModelSpec | None = None
    weights: int = 0
    host: int = 0
    rolls: int = 0
    notes: tuple[str, ...] = ()


def drafting_of(scenario: Scenario, spec: ModelSpec) -> Drafting:
    """Raises ScenarioError at `speculative` for a type that llama.cpp has not, or not for this model."""
    given = scenario.speculative
    if given is None:
        return Drafting()
    method = method_of(given.method)
    if method not in METHODS:
        raise ScenarioError(
            "speculative", f'llama.cpp has no type of speculation "{given.method[:40]}". It has {", ".join(METHODS)}.'
        )
    if method.startswith("ngram"):
        return Drafting()
    rolls = 0 if method in NOT_ROLLING else given.tokens
    if method == "draft-mtp" and spec.draft is None:
        layers = prediction_layers(spec)
        if not layers:
            raise ScenarioError("speculative", "This model's file has no layers for multi-token prediction.")
        return Drafting(layers=layers, rolls=rolls)
    draft = draft_beside(scenario, spec, METHODS[method] or "assistant")
    file, note = _file_type(draft, given.weights or AUTO)
    held = held_by(draft, file, Placing((Share(0, draft.num_layers, True),), Share(0, 0, False)))
    notes = (
        *((f"Of the draft: {note}",) if note else ()),
        *notes_of(draft),
        "The draft's compute buffer is not counted.",
    )
    return Drafting(draft=draft, weights=held.devices[0], host=held.host, rolls=rolls, notes=notes)


def _file_type(draft: ModelSpec, weights: str) -> tuple[str, str | None]:
    try:
        return file_type(draft, weights)
    except ScenarioError as error:
        raise ScenarioError("speculative", error.message) from None


def method_of(text: str) -> str:
    """The type by its own name, by that without "draft-", or as other engines call it."""
    name = text.lower().replace("_", "-")
    return ALIASES.get(name, name if name in METHODS else f"draft-{name}")
