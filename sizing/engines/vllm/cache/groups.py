"""KV cache groups: which layers share a block table (v1/core/kv_cache_planning.py)."""

from collections import defaultdict
from dataclasses import dataclass, replace

from sizing.engines.vllm.cache.layers import LayerCache, Member, as_full, same_type
from sizing.engines.vllm.cache.packed import pattern_groups
from sizing.scenario import ScenarioError

INDEX = "index"


@dataclass(frozen=True, slots=True)
class Group:
    """Layers that share a block table. All take the same number of blocks; `first` says how many."""

    members: tuple[Member, ...]

    @property
    def first(self) -> LayerCache:
        return self.members[0][1]


@dataclass(frozen=True, slots=True)
class Grouping:
    """What decides the groups. `hybrid`: the hybrid cache manager is on; `has_hybrid`: the release has one.

    `near_equal`: see Rules. `packed`: blocks are outermost (DeepSeek-V4).
    """

    hybrid: bool
    has_hybrid: bool
    near_equal: int
    packed: bool = False


def groups_of(members: list[Member], grouping: Grouping) -> tuple[Group, ...]:
    """The groups of a model's layers in vLLM's order. Raises ScenarioError where vLLM cannot form them."""
    if not members:
        return ()
    if not grouping.hybrid:
        members = _unwindowed(members)
    if _one_type([layer for _, layer in members]):
        return (Group(tuple(members)),)
    if not grouping.hybrid and not _one_type([layer for _, layer in members if layer.kind != "cross"]):
        raise ScenarioError(
            "hybrid_kv_cache_manager" if grouping.has_hybrid else "engine_version",
            "vLLM cannot bring this model's layers to one kind of cache without its hybrid cache manager.",
        )
    if grouping.packed:
        return tuple(Group(tuple(each)) for each in pattern_groups(members))
    if _has_index_beside_states(members):
        return _index_groups(members)
    return _page_groups(_one_page(members), grouping.near_equal)


def _one_type(layers: list[LayerCache]) -> bool:
    return all(same_type(layer, layers[0]) for layer in layers)


def _unwindowed(members: list[Member]) -> list[Member]:
    """Windows and chunks become full attention where the model has full attention too."""
    if not any(layer.kind == "full" for _, layer in members):
        return members
    return [(number, as_full(layer)) for number, layer in members]


def _one_page(members: list[Member]) -> list[Member]:
    """Every page as large as the largest: by a larger block where it divides, else by padding."""
    largest = max(layer.page for _, layer in members)
    return [(number, _grown(layer, largest)) for number, layer in members]


def _grown(layer: LayerCache, page: int) -> LayerCache:
    if layer.kind == "state" or layer.page == page:
        return replace(layer, page=page, filled=layer.content)
    times, rest = divmod(page, layer.page)
    if rest and layer.latent:
        raise ScenarioError("model", "vLLM cannot bring the cache pages of this model's layers to one size.")
    if rest:
        return replace(layer, page=page, filled=layer.content)
    return replace(layer, page=page, block_size=layer.block_size * times, filled=layer.content * times)


def _page_groups(members: list[Member], near_equal: int) -> tuple[Group, ...]:
    """Buckets of equal layers, cut into groups of one size; what is missing in a group is padding."""
    buckets: defaultdict[LayerCache, list[Member]] = defaultdict(list)
    for number, layer in members:
        buckets[layer].append((number, layer))
    size = _group_size([len(bucket) for bucket in buckets.values()], near_equal)
    return tuple(group for bucket in buckets.values() for group in _dealt(bucket, -(-len(bucket) // size)))


def _group_size(counts: list[int], near_equal: int) -> int:
    fewest, most = min(counts), max(counts)
    return most if most * 20 < fewest * near_equal else fewest


def _dealt(bucket: list[Member], groups: int) -> list[Group]:
    """Layers are dealt out in turn, so that pipeline stages hold like shares of every group."""
    return [Group(tuple(bucket[first::groups])) for first in range(groups)]


def _has_index_beside_states(members: list[Member]) -> bool:
    kinds = {layer.kind for _, layer in members}
    return "state" in kinds and any(layer.shape[:1] == (INDEX,) for _, layer in members)


def _index_groups(members: list[Member]) -> tuple[Group, ...]:
    """GLM-5.3-Flash: latents and index keys in one group, their tails in one, states dealt over the latents' pages."""
    attention = [member for member in members if member[1].kind != "state"]
    states = [member for member in members if member[1].kind == "state"]
    keys = [member for member in attention if member[1].shape[:1] == (INDEX,)]
    latents = [member for member in attention if member[1].shape[:1] != (INDEX,)]
    page = max(layer.page for _, layer in latents)
    if any(layer.page > page for _, layer in states):
        raise ScenarioError("tensor_parallel", "A recurrent state does not fit one attention page of this model.")
    tails = [(number, replace(layer, kind="state", bound=1, filled=0)) for number, layer in keys]
    padded = [(number, replace(layer, page=page, filled=layer.content)) for number, layer in states]
    return (Group(tuple(attention)), Group(tuple(tails)), *_dealt(padded, -(-len(padded) // len(latents))))
