"""Tensors that heads of several kinds have: what joins the target's hidden states, and their own vocabulary."""

from model_catalog.blocks.ends import ends
from model_catalog.blocks.linear import linear, small
from model_catalog.tensors import Shard, Tensor, TensorClass


def joining(hidden: int, into: int) -> tuple[Tensor, ...]:
    """The projection to the head's width, whole on every rank."""
    return linear("model.fc", hidden, into, TensorClass.FEED_FORWARD)


def output_head(rows: int, hidden: int) -> Tensor:
    return Tensor("lm_head.weight", TensorClass.LM_HEAD, (rows, hidden), Shard.VOCAB)


def proposing(vocab: int, rows: int, hidden: int) -> tuple[Tensor, ...]:
    """The embedding, an output head of `rows` tokens, and the table from these to the target's where they are fewer."""
    table = () if rows == vocab else small("draft_id_to_target_id", rows, dtype="int64")
    return (*ends(vocab, hidden, tied=True), output_head(rows, hidden), *table)
