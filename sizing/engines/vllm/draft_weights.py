"""Weights of what drafts, on each pipeline stage: the last one holds it (v1/worker/gpu_model_runner.py)."""

from dataclasses import replace

from model_catalog.spec import Attention, ModelSpec
from sizing.engines.vllm.buffers import rope_bytes
from sizing.engines.vllm.drafts import Drafting
from sizing.engines.vllm.weights import stage_weights
from sizing.placement import heads_per_rank
from sizing.scenario import Scenario
from sizing.weights.precisions import AUTO

KEY_AND_VALUE = 2
HALF = 2
BLOCK_HEADS = ("dflash", "dspark")
NO_CARD = (0, 0)  # a draft's weights do not depend on the card


def draft_bytes(scenario: Scenario, spec: ModelSpec, drafting: Drafting, predictions: list[int]) -> list[int]:
    """One rank of each stage. `predictions`: bytes of the model's own prediction layers there."""
    if drafting.own_layers:
        return predictions
    if drafting.draft is None:
        return [0] * len(predictions)
    return [*[0] * (len(predictions) - 1), _separate(scenario, spec, drafting.draft)]


def _separate(scenario: Scenario, spec: ModelSpec, draft: ModelSpec) -> int:
    """On the target's ranks; a rotary table like one of the target's is its own."""
    ranks = 1 if draft.draft_kind == "mlp_speculator" else scenario.tensor_parallel
    alone = scenario.model_copy(update={"weights": _format(scenario), "pipeline_parallel": 1, "tensor_parallel": ranks})
    (held,) = stage_weights(alone, draft, NO_CARD)
    own_ropes = replace(draft, ropes=tuple(rope for rope in draft.ropes if rope not in spec.ropes))
    shared_tables = rope_bytes(draft) - rope_bytes(own_ropes)
    return held.loaded + held.rounding - shared_tables + fused_bytes(draft, ranks)


def _format(scenario: Scenario) -> str:
    return (scenario.speculative.weights if scenario.speculative else None) or AUTO


def fused_bytes(draft: ModelSpec, ranks: int) -> int:
    """DFlash keeps the key and value projections of all layers once more, joined, for the target's hidden states.

    Source: vllm/model_executor/models/qwen3_dflash.py, _build_fused_kv_buffers.
    """
    if draft.draft_kind not in BLOCK_HEADS:
        return 0
    rows = sum(
        KEY_AND_VALUE * heads_per_rank(mixer.kv_heads, ranks) * mixer.head_dim
        for layer in draft.each_layer()
        for mixer in layer.mixers
        if isinstance(mixer, Attention)
    )
    return HALF * rows * draft.hidden_size
