"""Medusa heads and MLP speculators: one small stack for each token that is drafted.

Sources: vllm/model_executor/models/{medusa,mlp_speculator}.py.
"""

from model_catalog.blocks.linear import linear, norm
from model_catalog.drafts.parts import output_head
from model_catalog.fields import Fields
from model_catalog.spec import DraftKind, Layer, ModelSpec, run_length
from model_catalog.tensors import Shard, Tensor, TensorClass

MOST_HEADS = 64


def medusa(f: Fields) -> ModelSpec:
    """Each head: residual layers whole on every rank, and an output head; old files leave the target's sizes out."""
    for name, size in (("hidden_size", 4096), ("vocab_size", 32_001)):
        if not f.has(name):
            f.doubt(name, f"{name} is not stated; {size:,} is assumed.", kv=False)
    hidden, vocab = f.whole("hidden_size", 4096), f.whole("vocab_size", 32_001)
    heads = f.whole("medusa_num_heads", f.whole("num_heads", 5, maximum=MOST_HEADS), maximum=MOST_HEADS)
    blocks = f.whole("medusa_num_layers", f.whole("num_hidden_layers", 1, maximum=MOST_HEADS), maximum=MOST_HEADS)
    rows = f.whole("truncated_vocab_size", vocab)
    block = linear("blocks", hidden, hidden, TensorClass.FEED_FORWARD, bias=f.flag("medusa_fc_bias"), count=blocks)
    return _stack("medusa", [Layer(tensors=(*block, output_head(rows, hidden)))] * heads, hidden, vocab)


def mlp_speculator(f: Fields) -> ModelSpec:
    """Each stage: embedding, projection, norm and output head; tied stages share all but the first projection."""
    vocab, width = f.whole("vocab_size", 32_000), f.whole("emb_dim", f.whole("hidden_size", 4096))
    inner = f.whole("inner_dim", 0, minimum=0) or width
    stages = f.whole("n_predict", 3, maximum=MOST_HEADS)
    shared = (
        Tensor("emb.weight", TensorClass.EMBEDDING, (vocab, inner), Shard.VOCAB),
        Tensor("head.weight", TensorClass.LM_HEAD, (vocab, inner), Shard.VOCAB),
        *norm("ln", inner, bias=True),
    )
    first = linear("proj", inner, width, TensorClass.FEED_FORWARD)
    later = linear("proj", inner, inner, TensorClass.FEED_FORWARD)
    tied = f.flag("tie_weights")
    second = (
        [Layer(tensors=later)] + [Layer()] * (stages - 2) if tied else [Layer(tensors=(*shared, *later))] * (stages - 1)
    )
    return _stack("mlp_speculator", [Layer(tensors=(*shared, *first)), *second[: stages - 1]], width, vocab)


def _stack(kind: DraftKind, layers: list[Layer], hidden: int, vocab: int) -> ModelSpec:
    return ModelSpec(
        model_type=kind,
        layers=run_length(layers),
        hidden_size=hidden,
        vocab_size=vocab,
        max_context=None,
        dtype="bf16",
        tied_embeddings=False,
        tensors=(),
        draft_kind=kind,
    )
