"""Layout: the groups of a model on a placement and each stage's block, kept as long as the model's spec is.

It depends on neither context nor batch, so that maps of both compute it once.
"""

from collections import OrderedDict
from dataclasses import dataclass
from itertools import accumulate

from model_catalog.spec import ModelSpec
from sizing.engines.vllm.cache.groups import Group, Grouping, groups_of
from sizing.engines.vllm.cache.model_layers import LayerRules, model_layers
from sizing.engines.vllm.cache.pieces import Piece, pieces_of
from sizing.engines.vllm.cache.pool import block_bytes
from sizing.placement import stage_sizes

MOST_KEPT = 1024


@dataclass(frozen=True, slots=True)
class Layout:
    """`stage_blocks`: bytes of a block on one rank of each pipeline stage; `stage_pieces`: what is in them."""

    groups: tuple[Group, ...]
    stage_blocks: tuple[int, ...]
    stage_pieces: tuple[tuple[Piece, ...], ...]


Key = tuple[int, LayerRules, Grouping, int]
_KEPT: OrderedDict[Key, tuple[ModelSpec, Layout]] = OrderedDict()


def layout_of(spec: ModelSpec, by: LayerRules, grouping: Grouping, stages: int) -> Layout:
    """Raises ScenarioError where vLLM cannot group the layers. Kept by the spec's identity: comparing is slow."""
    key = (id(spec), by, grouping, stages)
    kept = _KEPT.get(key)
    if kept is not None and kept[0] is spec:
        return kept[1]
    groups = groups_of(model_layers(spec, by), grouping)
    bounds = _stage_bounds(spec, stages)
    layout = Layout(
        groups,
        tuple(block_bytes(groups, first, after) for first, after in bounds),
        tuple(pieces_of(groups, first, after) for first, after in bounds),
    )
    _KEPT[key] = (spec, layout)
    if len(_KEPT) > MOST_KEPT:
        _KEPT.popitem(last=False)
    return layout


def _stage_bounds(spec: ModelSpec, stages: int) -> list[tuple[int, int]]:
    """The first layer of each stage and that after its last. Draft layers are numbered after the decoder's."""
    ends = list(accumulate(stage_sizes(spec.num_layers, stages)))
    return list(zip([0, *ends[:-1]], [*ends[:-1], 10**9], strict=True))
