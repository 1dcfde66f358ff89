"""Weight bytes on each rank as vLLM holds them once loaded, held to what its own classes of 0.33 hold on SM90."""

from dataclasses import dataclass, replace

from model_catalog.spec import ModelSpec
from model_catalog.tensors import TensorClass
from sizing.engines.vllm.rules import release_of, rules_of
from sizing.engines.vllm.weights.after_load import FIRST_WITH_FP8, absorbed_copies, joined_gguf, repacked
from sizing.engines.vllm.weights.allocator import rounding_bytes
from sizing.engines.vllm.weights.buffers import buffer_bytes
from sizing.engines.vllm.weights.held import GEMMA4, NO_PADDING, SPARSE_LATENT, held_spec
from sizing.engines.vllm.weights.mxfp4 import Mxfp4Experts, mxfp4_experts
from sizing.media.limits import TOWERS
from sizing.placement import stage_sizes
from sizing.placement import stages as stages_of
from sizing.scenario import Scenario
from sizing.weights.inventory import inventory
from sizing.weights.ranks import rank_bytes, ranks_of

VOCAB_MULTIPLE = 64
# Classes that put the output head on every pipeline stage, and those that put the embedding there.
HEAD_EVERYWHERE = frozenset({"mixtral", "qwen3_next", "qwen3_vl_moe"})
EMBEDDING_EVERYWHERE = HEAD_EVERYWHERE | {"gemma2", "granitemoe", "granitemoehybrid", "qwen3_5", "qwen3_5_moe"}
# Classes whose shared experts every rank holds whole where experts are spread over data-parallel ranks.
WHOLE_SHARED = frozenset(
    {"deepseek", "deepseek_v2", "deepseek_v3", "deepseek_v32", "deepseek_v4", "glm_moe_dsa", "kimi_k2", "kimi_k25"}
    | {"qwen3_next", "qwen3_5_moe"}
)
# What --cpu-offload-gb never moves: all that make_layers of model_executor/models/utils.py does not make.
STAYS = frozenset({*TOWERS, TensorClass.EMBEDDING, TensorClass.LM_HEAD, TensorClass.PREDICTION})


@dataclass(frozen=True, slots=True)
class StageWeights:
    """Bytes of one rank of a pipeline stage. `encoder` is the part of `parameters` that towers take, and
    `layers` that which the layers of the model do.

    `buffers`: rotary tables and buffers that come with the modules. `after_load`: what post-processing adds.
    `rounding`: what the allocator counts beyond the tensors.
    """

    parameters: int
    encoder: int
    layers: int
    prediction: int
    buffers: int
    after_load: int
    rounding: int

    @property
    def loaded(self) -> int:
        return self.parameters + self.buffers + self.after_load


@dataclass(frozen=True, slots=True)
class Loading:
    """What depends on the card and the release. `unsplit` as in allocator.py, `marlin_fp8` as in after_load.py."""

    experts: Mxfp4Experts | None
    unsplit: bool
    marlin_fp8: bool


def stage_weights(scenario: Scenario, spec: ModelSpec, capability: tuple[int, int]) -> list[StageWeights]:
    """One rank of each stage, first to last. `scenario` is resolved."""
    loading = Loading(
        experts=mxfp4_experts(scenario, spec, capability),
        unsplit=rules_of(release_of(scenario.engine_version)[1]).loads_unsplit,
        marlin_fp8=(0, 0) < capability < FIRST_WITH_FP8,
    )
    held = held_spec(spec, loading.experts.padding if loading.experts else NO_PADDING)
    known = inventory(held, scenario.weights).known
    key = ("vllm", scenario.placement, scenario.max_num_batched_tokens, loading)
    if key not in known:
        known[key] = _with_buffers(_without_buffers(scenario, held, loading), scenario, held)
    stages: list[StageWeights] = known[key]
    return stages


def _with_buffers(stages: list[StageWeights], scenario: Scenario, held: ModelSpec) -> list[StageWeights]:
    """Buffers alone depend on how many tokens a batch has."""
    layers = stages_of(held, scenario.placement)
    return [
        replace(stage, buffers=buffer_bytes(scenario, held, layers[number], first=number == 0))
        for number, stage in enumerate(stages)
    ]


def _without_buffers(scenario: Scenario, held: ModelSpec, loading: Loading) -> list[StageWeights]:
    known = inventory(held, scenario.weights).known
    key = ("vllm", scenario.placement, loading)
    if key not in known:
        known[key] = _stage_weights(scenario, held, loading)
    stages: list[StageWeights] = known[key]
    return stages


def _stage_weights(scenario: Scenario, held: ModelSpec, loading: Loading) -> list[StageWeights]:
    """Without buffers."""
    placement, whole = scenario.placement, _whole(scenario, held)
    stages = rank_bytes(held, scenario.weights, placement, whole=whole, vocab_multiple=VOCAB_MULTIPLE)
    if held.model_type in EMBEDDING_EVERYWHERE:
        _copy(stages, TensorClass.EMBEDDING)
    if held.model_type in HEAD_EVERYWHERE:
        _copy(stages, TensorClass.LM_HEAD)
    copies = absorbed_copies(held, scenario.weights, placement)
    sizes = stage_sizes(held.num_layers, placement.pipeline_parallel)
    laid_out = loading.experts.laid_out(held, sizes) if loading.experts else [0] * len(sizes)
    ranks = ranks_of(placement, whole, VOCAB_MULTIPLE)
    inventoried = inventory(held, scenario.weights)
    relaid = repacked(inventoried, ranks, sizes, fp8=loading.marlin_fp8)
    joined = joined_gguf(inventoried, ranks, sizes)
    rounding = rounding_bytes(inventoried, ranks, sizes, unsplit=loading.unsplit)
    return [
        StageWeights(
            parameters=sum(size for kind, size in stage.items() if kind is not TensorClass.PREDICTION),
            encoder=sum(stage.get(kind, 0) for kind in TOWERS),
            layers=sum(size for kind, size in stage.items() if kind not in STAYS),
            prediction=stage.get(TensorClass.PREDICTION, 0),
            buffers=0,
            after_load=copies[number] + laid_out[number] + relaid[number] + joined[number],
            rounding=rounding[number],
        )
        for number, stage in enumerate(stages)
    ]


def _whole(scenario: Scenario, spec: ModelSpec) -> frozenset[TensorClass]:
    whole: frozenset[TensorClass] = frozenset()
    if spec.model_type in GEMMA4:
        whole |= frozenset(TOWERS)
    if spec.model_type == "persimmon":  # the transformers backend finds no plan to divide its layers
        whole |= {TensorClass.ATTENTION, TensorClass.FEED_FORWARD, TensorClass.SMALL}
    if spec.model_type in WHOLE_SHARED and scenario.expert_parallel and scenario.data_parallel > 1:
        whole |= {TensorClass.SHARED_EXPERT}
        if spec.model_type in SPARSE_LATENT:
            whole |= {TensorClass.FEED_FORWARD}
    return whole


def _copy(stages: list[dict[TensorClass, int]], kind: TensorClass) -> None:
    size = max(stage.get(kind, 0) for stage in stages)
    for stage in stages:
        stage[kind] = size
