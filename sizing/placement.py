"""Which part of the model each GPU holds under tensor, pipeline, data, expert and decode-context parallelism."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from model_catalog.spec import (
    Attention,
    CompressedAttention,
    CrossAttention,
    LatentAttention,
    Layer,
    Mixer,
    ModelSpec,
    Recurrent,
)


class PlacementError(ValueError):
    """A placement that this model does not allow. `field` is the Scenario field to change."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Sizes of the parallel groups; GPUs = tensor × pipeline × data, where data is not inside tensor (dp_attention)."""

    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    data_parallel: int = 1
    decode_context_parallel: int = 1
    expert_parallel: bool = False
    dp_attention: bool = False

    @property
    def gpus(self) -> int:
        return self.ranks_per_stage * self.pipeline_parallel

    @property
    def ranks_per_stage(self) -> int:
        """With data-parallel attention the replicas are made of the tensor-parallel ranks; else each has its own."""
        return self.tensor_parallel if self.dp_attention else self.tensor_parallel * self.data_parallel

    @property
    def ranks_per_replica(self) -> int:
        """Ranks of one stage that serve the same sequences."""
        return max(1, self.ranks_per_stage // self.data_parallel)

    @property
    def expert_ranks(self) -> int:
        """Ranks that share out the experts of one stage, as whole experts or as slices of each."""
        return self.ranks_per_stage


def stage_sizes(layers: int, stages: int) -> list[int]:
    """Layers per pipeline stage: the remainder goes one each to the last stages but the very last.

    Source: vLLM distributed/utils.py get_pp_indices; 61 layers over 4 stages are 15, 15, 16, 15.
    """
    if stages > layers:
        raise PlacementError("pipeline_parallel", f"{layers} layers cannot be split over {stages} pipeline stages.")
    sizes = [layers // stages] * stages
    for offset in range(layers % stages):
        sizes[-2 - offset] += 1
    return sizes


def stages(spec: ModelSpec, placement: Placement) -> list[list[Layer]]:
    """The layers of each pipeline stage."""
    each = iter(list(spec.each_layer()))
    return [[next(each) for _ in range(size)] for size in stage_sizes(spec.num_layers, placement.pipeline_parallel)]


def heads_per_rank(heads: int, ranks: int) -> int:
    """Heads a rank holds. With fewer heads than ranks each rank holds a copy of one head."""
    return max(1, heads // ranks)


def shard_mixer(mixer: Mixer, ranks: int) -> Mixer:
    """The part of a mixer that one of `ranks` tensor-parallel ranks holds.

    Latent and compressed attention keep one vector for all heads, so every rank holds all of it.
    """
    match mixer:
        case Attention() | CrossAttention():
            return replace(
                mixer,
                heads=heads_per_rank(mixer.heads, ranks),
                kv_heads=heads_per_rank(mixer.kv_heads, ranks),
            )
        case Recurrent():
            return _shard_recurrent(mixer, ranks)
        case LatentAttention() | CompressedAttention():
            return replace(mixer, heads=heads_per_rank(mixer.heads, ranks))


def _shard_recurrent(mixer: Recurrent, ranks: int) -> Recurrent:
    """Heads and channels divide; groups that do not divide are replicated (vLLM extra_groups_for_head_shards)."""
    groups = mixer.groups
    if groups % ranks:
        groups += ranks - groups
    own = mixer.conv_channels - mixer.groups * mixer.group_width
    return replace(
        mixer,
        heads=mixer.heads // ranks,
        state_elements=mixer.state_elements // ranks,
        conv_channels=(own + groups * mixer.group_width) // ranks,
        groups=groups // ranks,
    )


def check_placement(spec: ModelSpec, placement: Placement) -> None:
    """Raise PlacementError with the sizes that work where heads do not divide over the tensor-parallel ranks."""
    if placement.dp_attention and placement.tensor_parallel % placement.data_parallel:
        raise PlacementError(
            "data_parallel",
            f"With data-parallel attention the {placement.tensor_parallel} tensor-parallel ranks are shared out over "
            f"{placement.data_parallel} replicas, which they do not divide by.",
        )
    ranks = placement.ranks_per_replica
    for field, name, count, may_copy in _divided_counts(spec):
        if count % ranks and not (may_copy and ranks % count == 0):
            works = [n for n in range(1, 65) if all(_divides(c, n, copy) for _, _, c, copy in _divided_counts(spec))]
            listed = " and ".join(filter(None, [", ".join(map(str, works[:-1])), str(works[-1])]))
            raise PlacementError(
                field,
                f"This model has {count} {name}, which {ranks} GPUs cannot share evenly. "
                f"Tensor parallel {listed} work{'s' if len(works) == 1 else ''}.",
            )
    if placement.tensor_parallel % placement.decode_context_parallel:
        raise PlacementError(
            "decode_context_parallel",
            f"Decode context parallel {placement.decode_context_parallel} does not divide "
            f"tensor parallel {placement.tensor_parallel}.",
        )
    stage_sizes(spec.num_layers, placement.pipeline_parallel)


def _divides(count: int, ranks: int, may_copy: bool) -> bool:
    return count % ranks == 0 or (may_copy and ranks % count == 0)


def _divided_counts(spec: ModelSpec) -> Iterator[tuple[str, str, int, bool]]:
    """(Scenario field, what is counted, how many, whether ranks may hold copies) of all that TP divides."""
    mixers = dict.fromkeys(spec.mixers())
    for mixer in mixers:
        if isinstance(mixer, Recurrent):
            yield "tensor_parallel", "heads of recurrent state", mixer.heads, False
        else:
            yield "tensor_parallel", "attention heads", mixer.heads, False
        if isinstance(mixer, Attention | CrossAttention):
            yield "tensor_parallel", "KV heads", mixer.kv_heads, True
