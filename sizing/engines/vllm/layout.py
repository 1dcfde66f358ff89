"""Layout: the groups of a model on a placement and each stage's block, kept as long as the model's spec is.

It depends on neither context nor batch, so that maps of both compute it once.
"""

from collections import OrderedDict
from dataclasses import dataclass

from model_catalog.spec import ModelSpec
from sizing.engines.vllm.groups import Group, Grouping, groups_of
from sizing.engines.vllm.model_layers import LayerRules, model_layers
from sizing.engines.vllm.pool import block_bytes
from sizing.placement import stage_sizes

MOST_KEPT = 1024


@dataclass(frozen=True, slots=True)
class Layout:
    """`stage_blocks`: bytes of a block on one rank of each pipeline stage."""

    groups: tuple[Group, ...]
    stage_blocks: tuple[int, ...]


Key = tuple[int, LayerRules, Grouping, int]
_KEPT: OrderedDict[Key, tuple[ModelSpec, Layout]] = OrderedDict()


def layout_of(spec: ModelSpec, by: LayerRules, grouping: Grouping, stages: int) -> Layout:
    """Raises ScenarioError where vLLM cannot group the layers. Kept by the spec's identity: comparing is slow."""
    key = (id(spec), by, grouping, stages)
    kept = _KEPT.get(key)
    if kept is not None and kept[0] is spec:
        return kept[1]
    groups = groups_of(model_layers(spec, by), grouping)
    layout = Layout(groups, _stage_blocks(spec, groups, stages))
    _KEPT[key] = (spec, layout)
    if len(_KEPT) > MOST_KEPT:
        _KEPT.popitem(last=False)
    return layout


def _stage_blocks(spec: ModelSpec, groups: tuple[Group, ...], stages: int) -> tuple[int, ...]:
    """Draft layers are numbered after the decoder's, and so are on the last stage."""
    sizes, first = [], 0
    layers = stage_sizes(spec.num_layers, stages)
    for stage, size in enumerate(layers):
        after = first + size if stage + 1 < stages else 10**9
        sizes.append(block_bytes(groups, first, after))
        first += size
    return tuple(sizes)
