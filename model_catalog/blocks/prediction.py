"""Multi-token prediction (MTP): extra decoder layers of the checkpoint that draft the tokens after the next."""

from collections.abc import Iterable
from dataclasses import replace

from model_catalog.blocks.linear import linear, norm
from model_catalog.spec import Tower
from model_catalog.tensors import Tensor, TensorClass

TOWER = "multi-token prediction"
DSPARK = "DSpark"  # stages that draft a block at once, in place of prediction layers
EMBEDDING, HEAD = "embed_tokens.weight", "shared_head.head.weight"  # copies of the model's own ends
UNCOUNTED = "The multi-token prediction layers are not counted."


def deepseek_prediction(
    layer: Iterable[Tensor],
    hidden: int,
    vocab: int,
    count: int,
    *,
    own_embedding: bool = True,
    own_head: bool = True,
) -> tuple[Tower, ...]:
    """`count` layers as DeepSeek-V3 has them: a decoder layer, two norms, the joining projection and a last norm.

    `own_embedding`, `own_head`: whether the checkpoint has copies of these ends for each layer.
    """
    kind = TensorClass.PREDICTION
    embedding = Tensor(EMBEDDING, kind, (vocab, hidden))
    head = Tensor(HEAD, kind, (vocab, hidden))
    parts = (
        *layer,
        *norm("enorm", hidden),
        *norm("hnorm", hidden),
        *linear("eh_proj", hidden, 2 * hidden, kind),
        *norm("shared_head.norm", hidden),
        *((embedding,) if own_embedding else ()),
        *((head,) if own_head else ()),
    )
    return prediction_tower(parts, count)


def prediction_tower(parts: Iterable[Tensor], count: int) -> tuple[Tower, ...]:
    """`count` times the tensors of one prediction layer, as a tower; nothing where there is none."""
    if not count:
        return ()
    tensors = tuple(replace(part, kind=TensorClass.PREDICTION, count=part.count * count) for part in parts)
    return (Tower(name=TOWER, tensors=tensors, layers=count),)
