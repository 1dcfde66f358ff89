"""Weights of what drafts, on each pipeline stage: the last one holds it (v1/worker/gpu_model_runner.py)."""

from dataclasses import replace
from math import ceil

from model_catalog.blocks.prediction import HEAD
from model_catalog.spec import Attention, ModelSpec
from model_catalog.tensors import TensorClass
from sizing.drafting import JOINING
from sizing.engines.vllm.drafts import Drafting
from sizing.engines.vllm.rules import Rules
from sizing.engines.vllm.weights.buffers import rope_bytes
from sizing.engines.vllm.weights.stages import VOCAB_MULTIPLE, stage_weights
from sizing.placement import heads_per_rank
from sizing.scenario import Scenario
from sizing.weights.precisions import AUTO

KEY_AND_VALUE = 2
HALF = 2
BLOCK_HEADS = ("dflash", "dspark")
NO_CARD = (0, 0)  # a draft's weights do not depend on the card


def draft_bytes(
    scenario: Scenario, spec: ModelSpec, rules: Rules, drafting: Drafting, predictions: list[int]
) -> list[int]:
    """One rank of each stage. `predictions`: bytes of the model's own prediction layers there."""
    if drafting.own_layers:
        return [*predictions[:-1], predictions[-1] + _own_ends(scenario, spec, rules)]
    if drafting.draft is None:
        return [0] * len(predictions)
    return [*[0] * (len(predictions) - 1), _separate(scenario, spec, drafting.draft)]


def _own_ends(scenario: Scenario, spec: ModelSpec, rules: Rules) -> int:
    """Ends that prediction layers do not share with the model (v1/spec_decode/llm_base_proposer.py).

    The embedding where the model's own is on another stage, and before heads were shared the copy of each layer.
    """
    copies = sum(tensor.count for tower in spec.towers for tensor in tower.tensors if tensor.name == HEAD)
    heads = 0 if rules.shares_heads else copies
    return (heads + _embeddings(scenario)) * vocabulary_bytes(spec, scenario.tensor_parallel)


def _embeddings(scenario: Scenario) -> int:
    return int(scenario.pipeline_parallel > 1)


def vocabulary_bytes(spec: ModelSpec, ranks: int) -> int:
    """One rank's rows of an embedding or output head in 16 bits."""
    return HALF * spec.hidden_size * ceil(ceil(spec.vocab_size / VOCAB_MULTIPLE) * VOCAB_MULTIPLE / ranks)


def _separate(scenario: Scenario, spec: ModelSpec, draft: ModelSpec) -> int:
    """On the target's ranks; a rotary table that the target has too is shared.

    draft_tensor_parallel_size changes nothing: v1/spec_decode/draft_model.py refuses any other number of ranks.
    """
    ranks = 1 if draft.draft_kind == "mlp_speculator" else scenario.tensor_parallel
    alone = scenario.model_copy(update={"weights": _format(scenario), "pipeline_parallel": 1, "tensor_parallel": ranks})
    (held,) = stage_weights(alone, draft, NO_CARD)
    own_ropes = replace(draft, ropes=tuple(rope for rope in draft.ropes if rope not in spec.ropes))
    shared_tables = rope_bytes(draft) - rope_bytes(own_ropes)
    apart = draft.draft_kind in JOINING and not any(t.kind is TensorClass.EMBEDDING for t in draft.tensors)
    ends = _embeddings(scenario) * vocabulary_bytes(draft, ranks) if apart else 0
    return held.loaded + held.rounding - shared_tables + fused_bytes(draft, ranks) + ends


def _format(scenario: Scenario) -> str:
    return (scenario.speculative.weights if scenario.speculative else None) or AUTO


def fused_bytes(draft: ModelSpec, ranks: int) -> int:
    """DFlash keeps the key and value projections of all layers once more, joined, for the target's hidden states.

    Source: vllm/model_executor/models/qwen3_dflash.py, _build_fused_kv_buffers; that of laguna_dflash.py joins none.
    """
    if draft.draft_kind not in BLOCK_HEADS or draft.model_type == "laguna":
        return 0
    rows = sum(
        KEY_AND_VALUE * heads_per_rank(mixer.kv_heads, ranks) * mixer.head_dim
        for layer in draft.each_layer()
        for mixer in layer.mixers
        if isinstance(mixer, Attention)
    )
    return HALF * rows * draft.hidden_size
