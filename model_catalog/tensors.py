"""The tensors of a checkpoint: what each is for, its shape, and how parallel ranks share it out."""

from dataclasses import dataclass
from enum import Enum
from math import prod


class TensorClass(Enum):
    """What a tensor is for. A precision is a rule from this class to stored bytes."""

    EMBEDDING = "embedding"
    LM_HEAD = "lm_head"
    ATTENTION = "attention"
    INDEXER = "indexer"
    MIXER = "mixer"  # the linear layers of recurrent mixers
    FEED_FORWARD = "feed_forward"
    SHARED_EXPERT = "shared_expert"
    EXPERT = "expert"
    ROUTER = "router"
    NORM = "norm"
    SMALL = "small"  # biases, convolutions, gates, sinks and other tensors that no precision touches
    VISION = "vision"
    AUDIO = "audio"
    ENCODER = "encoder"
    PREDICTION = "prediction"  # multi-token-prediction layers


class Shard(Enum):
    """Which axis tensor parallelism divides."""

    REPLICATED = "replicated"
    COLUMN = "column"  # the output axis, the first of the shape
    ROW = "row"  # the input axis, the last of the shape
    VOCAB = "vocab"  # the first axis, after padding the vocabulary
    EXPERT = "expert"  # whole experts under expert parallelism, their intermediate axis under tensor parallelism


@dataclass(frozen=True, slots=True)
class Tensor:
    """`count` tensors of one `shape` ((out, in) for a linear layer, (n,) for a vector).

    `units` is what tensor parallelism shares out along the divided axis (attention heads, groups): with fewer
    units than ranks each rank holds a copy of one unit. 0 means that the axis divides element by element.
    `dtype` is set where the checkpoint keeps this tensor in a format of its own whatever the rest is stored in.
    """

    name: str
    kind: TensorClass
    shape: tuple[int, ...]
    shard: Shard = Shard.REPLICATED
    count: int = 1
    units: int = 0
    dtype: str | None = None

    @property
    def elements(self) -> int:
        """Number of elements of all `count` tensors."""
        return prod(self.shape) * self.count
