"""The layers of each pipeline stage summed, kept for as long as others are not asked for."""

from dataclasses import dataclass
from functools import lru_cache

from model_catalog.spec import Attention, LatentAttention, Layer, ModelSpec
from sizing.engines.tensorrt_llm.drafts import Drafting
from sizing.engines.tensorrt_llm.layers import LayerRules, Sums, sums_of
from sizing.engines.tensorrt_llm.pools import Pool, pools_of
from sizing.placement import Placement, stages
from sizing.scenario import ScenarioError


@dataclass(frozen=True, slots=True)
class Stage:
    """One rank of a pipeline stage. `slot`: bytes of one sequence's recurrent state."""

    pools: tuple[Pool, ...]
    slot: int


@lru_cache(maxsize=1024)
def stages_of(spec: ModelSpec, pipeline: int, by: LayerRules, drafting: Drafting) -> tuple[Stage, ...]:
    """Each of `pipeline` stages; those of what drafts are on the last.

    Stages are cut as vLLM cuts them; TensorRT-LLM's may have an uneven layer elsewhere.
    Raises ScenarioError where stages would have pools of different windows.
    """
    layers = stages(spec, Placement(pipeline_parallel=pipeline))
    sums = [sums_of([*each, *_drafts(spec, drafting)] if each is layers[-1] else each, by) for each in layers]
    _check_windows(sums)
    return tuple(Stage(pools_of(each.blocks, by.block, by.longest, equal=by.equal), each.slot) for each in sums)


def _drafts(spec: ModelSpec, drafting: Drafting) -> list[Layer]:
    """A separate draft's layers, or prediction layers like the model's last with attention."""
    if drafting.draft is not None:
        return list(drafting.draft.each_layer())
    with_attention = [
        run.layer
        for run in spec.layers
        if any(isinstance(mixer, Attention | LatentAttention) for mixer in run.layer.mixers)
    ]
    return with_attention[-1:] * drafting.own_layers


def _check_windows(sums: list[Sums]) -> None:
    """kvCacheManager.cpp calculateMaxNumBlocks."""
    if len({each.windows for each in sums}) > 1:
        raise ScenarioError(
            "pipeline_parallel",
            "TensorRT-LLM does not start with pools by window where pipeline stages have layers of different windows.",
        )
