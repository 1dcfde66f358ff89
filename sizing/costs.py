"""What a sequence costs on each GPU: a rule for one mixer, summed over the layers a rank holds."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import groupby

from model_catalog.spec import Layer, Mixer, ModelSpec
from sizing.cache import CacheCost, shared_out, times, total
from sizing.cache_formats import CacheFormats
from sizing.placement import Placement, shard_mixer, stages

MixerCost = Callable[[Mixer, CacheFormats], CacheCost]


@lru_cache(maxsize=4096)
def model_cost(spec: ModelSpec, mixer_cost: MixerCost, formats: CacheFormats) -> CacheCost:
    """One copy of the whole model on one rank."""
    return total(times(mixer_cost(mixer, formats), run.count) for run in spec.layers for mixer in run.layer.mixers)


@lru_cache(maxsize=4096)
def stage_costs(
    spec: ModelSpec, mixer_cost: MixerCost, formats: CacheFormats, placement: Placement
) -> tuple[CacheCost, ...]:
    """One rank of each pipeline stage (the tensor-parallel ranks of a stage hold equal shares)."""
    if placement.ranks_per_replica == 1 and placement.pipeline_parallel == 1:
        return (model_cost(spec, mixer_cost, formats),)
    return tuple(_stage_cost(layers, mixer_cost, formats, placement) for layers in stages(spec, placement))


def _stage_cost(
    layers: Iterable[Layer], mixer_cost: MixerCost, formats: CacheFormats, placement: Placement
) -> CacheCost:
    runs = [(layer, len(list(same))) for layer, same in groupby(layers)]
    return total(
        times(_rank_cost(mixer, mixer_cost, formats, placement), count)
        for layer, count in runs
        for mixer in layer.mixers
    )


def _rank_cost(mixer: Mixer, mixer_cost: MixerCost, formats: CacheFormats, placement: Placement) -> CacheCost:
    cost = mixer_cost(shard_mixer(mixer, placement.ranks_per_replica), formats)
    sharing = placement.decode_context_parallel
    return shared_out(cost, sharing) if sharing > 1 else cost
