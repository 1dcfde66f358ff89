"""What stands before the first and after the last layer: embeddings, final norm, output head."""

from model_catalog.blocks.linear import norm
from model_catalog.tensors import Shard, Tensor, TensorClass


def ends(
    vocab: int,
    hidden: int,
    *,
    tied: bool,
    norm_bias: bool = False,
    final_norm: bool = True,
    head_bias: bool = False,
    prefix: str = "model",
) -> tuple[Tensor, ...]:
    """Token embedding, final norm and, unless tied to the embedding, the output head."""
    embedding = Tensor(f"{prefix}.embed_tokens.weight", TensorClass.EMBEDDING, (vocab, hidden), Shard.VOCAB)
    head = Tensor("lm_head.weight", TensorClass.LM_HEAD, (vocab, hidden), Shard.VOCAB)
    bias = Tensor("lm_head.bias", TensorClass.SMALL, (vocab,), Shard.VOCAB)
    return (
        embedding,
        *(norm(f"{prefix}.norm", hidden, bias=norm_bias) if final_norm else ()),
        *(() if tied else (head,)),
        *((bias,) if head_bias else ()),
    )


def positions(rows: int, hidden: int, *, name: str = "model.embed_positions.weight") -> tuple[Tensor, ...]:
    """Learned absolute positions."""
    return (Tensor(name, TensorClass.EMBEDDING, (rows, hidden)),)
