"""What drafting adds: the model's own prediction layers, or a separate checkpoint's weights and cache.

Source: vllm/config/speculative.py (SpeculativeMethod, MTPModelTypes), vllm/v1/core/sched/scheduler.py (lookahead).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from model_catalog.spec import ModelSpec
from sizing.drafting import JOINING, Needs, Taken, draft_beside, dspark_stages, prediction_layers
from sizing.engines.drafts import check_ranks, notes_of
from sizing.engines.vllm.rules import Rules
from sizing.scenario import Scenario, ScenarioError
from sizing.versions import Version, at_least

WITHOUT_DRAFT = ("ngram", "ngram_gpu", "suffix")
UNCOUNTED = ("extract_hidden_states", "custom_class")
SEPARATE: Mapping[str, Needs] = {
    "draft_model": "model",
    "eagle": "eagle",
    "eagle3": "eagle3",
    "dflash": "dflash",
    "dspark": "dspark",
    "medusa": "medusa",
    "mlp_speculator": "mlp_speculator",
}
# Older names of mtp, one for each model type.
OWN = (
    *("mtp", "deepseek_mtp", "dots3_note_mtp", "mimo_mtp", "mimo_v2_mtp", "glm4_moe_mtp", "glm4_moe_lite_mtp"),
    *("glm_ocr_mtp", "ernie_mtp", "nemotron_h_mtp", "exaone_moe_mtp", "exaone4_5_mtp", "qwen3_next_mtp"),
    *("qwen4_exp_mtp", "qwen3_5_mtp", "longcat_flash_mtp", "bailing_hybrid_v3_mtp", "bailing_hybrid_mtp"),
    *("minimax_m3_mtp", "kimi_k3_mtp", "pangu_ultra_moe_mtp", "step3p5_mtp", "hy_v3_mtp", "hy_v4_mtp", "gemma4_mtp"),
    *("inkling_mtp", "glm5_next_mtp"),
)
METHODS = ("mtp", *SEPARATE, *WITHOUT_DRAFT, *UNCOUNTED)
V0_METHODS = ("mtp", "deepseek_mtp", "draft_model", "eagle", "medusa", "mlp_speculator", "ngram")
# What the newest release runs, with what each takes.
OFFERED: Mapping[str, Taken] = {
    "mtp": "",
    **{name: needs for name, needs in SEPARATE.items() if name != "mlp_speculator"},
    **dict.fromkeys(WITHOUT_DRAFT, ""),
}
FIRST_LAYER_ONLY = ("mimo", "mimo_v2_flash")  # vLLM loads the first prediction layer of these


@dataclass(frozen=True, slots=True)
class Drafting:
    """`own_layers`: of the model, each with its attention. `draft`: the separate checkpoint as it is held.

    `ahead`: tokens beyond a sequence's own that have slots. `exact`: all of the cache is counted.
    """

    own_layers: int = 0
    draft: ModelSpec | None = None
    ahead: int = 0
    notes: tuple[str, ...] = ()
    exact: bool = True

    @property
    def reads_cache(self) -> bool:
        """Whether the draft attends to the sequence as EAGLE does (use_eagle)."""
        return self.own_layers > 0 or self.draft is not None


NOTHING = Drafting()


def drafting_of(scenario: Scenario, spec: ModelSpec, rules: Rules) -> Drafting:
    """Raises ScenarioError at `speculative` for a method that vLLM has not, or not for this model."""
    given = scenario.speculative
    if given is None:
        return NOTHING
    method = given.method.lower()
    _check_known(method, rules)
    if method in WITHOUT_DRAFT:
        return Drafting(ahead=given.tokens)
    if method in UNCOUNTED:
        return Drafting(
            ahead=given.tokens, notes=(f'What "{method}" takes of memory is not known and not counted.',), exact=False
        )
    if method == "dspark" and dspark_stages(spec) and spec.draft is None:
        return Drafting(own_layers=dspark_stages(spec), ahead=2 * given.tokens)
    if method in OWN:
        return _own(scenario, spec)
    needs = SEPARATE[method]
    draft = draft_beside(scenario, spec, needs)
    if needs != "mlp_speculator":  # which runs on one rank (_verify_and_get_draft_tp)
        check_ranks(scenario, draft)
    slots = 2 if needs in ("model", *JOINING) else 1
    return Drafting(draft=draft, ahead=slots * given.tokens, notes=notes_of(draft))


def _check_known(method: str, rules: Rules) -> None:
    known = V0_METHODS if rules.v0 else (*METHODS, *OWN)
    if method not in known:
        shown = V0_METHODS if rules.v0 else METHODS
        raise ScenarioError(
            "speculative",
            f'{"This vLLM release" if rules.v0 else "vLLM"} has no speculative method "{method[:40]}". '
            f"It has {', '.join(shown)}.",
        )
    if method == "mlp_speculator" and not rules.v0:
        raise ScenarioError("speculative", "vLLM's engine does not run MLP speculators since its version 1.")


def check_release(scenario: Scenario, version: Version) -> None:
    """Draft models came back with 0.15 (unverified); before, vLLM refused them after its old engine was gone."""
    method = scenario.speculative.method.lower() if scenario.speculative else ""
    if method == "draft_model" and at_least(version, "0.11.0") and not at_least(version, "0.15.0"):
        raise ScenarioError("speculative", "This vLLM release does not support whole models as drafts.")


def _own(scenario: Scenario, spec: ModelSpec) -> Drafting:
    """The model's own prediction layers, or an assistant's, which stores nothing."""
    assert scenario.speculative is not None
    tokens, layers = scenario.speculative.tokens, prediction_layers(spec)
    if spec.draft is not None and spec.draft.draft_kind == "assistant":
        draft = draft_beside(scenario, spec, "assistant")
        return Drafting(draft=draft, ahead=2 * tokens, notes=notes_of(draft))
    if not layers:
        raise ScenarioError("speculative", "This checkpoint has no layers for multi-token prediction.")
    steps = 1 if spec.model_type in FIRST_LAYER_ONLY else layers
    if tokens > steps and tokens % steps:
        raise ScenarioError(
            "speculative", f"{tokens} tokens are no multiple of the model's {steps} prediction layers; vLLM needs one."
        )
    return Drafting(own_layers=layers, ahead=2 * tokens)
