"""What readers of latent-attention models ask a config in the same way: MLA, indexer and expert dimensions."""

from model_catalog.blocks.latent import latent_attention, lightning_indexer
from model_catalog.blocks.linear import norm
from model_catalog.fields import Fields
from model_catalog.importers import latent_rules as rules
from model_catalog.spec import FeedForward, Indexer, LatentAttention
from model_catalog.tensors import Tensor


def prediction_layers(f: Fields) -> int:
    """How many prediction layers the checkpoint has; only where the file itself says so."""
    if not f.has("num_nextn_predict_layers"):
        return 0
    return f.whole("num_nextn_predict_layers", 0, minimum=0, maximum=64)


def mixer_of(f: Fields) -> LatentAttention:
    """MLA dimensions as the config states them."""
    heads = f.whole("num_attention_heads")
    return LatentAttention(
        heads=heads,
        latent_dim=f.whole("kv_lora_rank"),
        rope_dim=f.whole("qk_rope_head_dim", minimum=0),
        nope_dim=f.whole("qk_nope_head_dim", minimum=0),
        value_dim=f.whole("v_head_dim", max(f.whole("hidden_size") // heads, 1)),
    )


def indexer_of(f: Fields, *, pool: int = 1) -> Indexer:
    return Indexer(
        head_dim=f.whole("index_head_dim"),
        heads=f.whole("index_n_heads"),
        top_k=f.whole("index_topk"),
        pool=pool,
    )


def mixture_of(f: Fields) -> FeedForward:
    """Routed experts, and shared experts that are one dense part of their joint width."""
    size = f.whole("moe_intermediate_size")
    return FeedForward(
        intermediate=size,
        experts=rules.expert_count(f),
        top_k=f.whole("num_experts_per_tok", 1),
        shared_intermediate=size * f.whole("n_shared_experts", 0, minimum=0),
    )


def attention_tensors(f: Fields, mixer: LatentAttention) -> tuple[Tensor, ...]:
    """MLA and, where the layer owns one, its indexer, which reads the query latent."""
    hidden, rank = f.whole("hidden_size"), f.whole_or_none("q_lora_rank", minimum=1)
    tensors = latent_attention(mixer, hidden, query_rank=rank, bias=f.flag("attention_bias"))
    if mixer.indexer is None:
        return tensors
    return (*tensors, *lightning_indexer(mixer.indexer, hidden, query_rank=f.whole("q_lora_rank")))


def two_norms(f: Fields, mixture: bool) -> tuple[Tensor, ...]:
    hidden = f.whole("hidden_size")
    return (*norm("input_layernorm", hidden), *norm("post_attention_layernorm", hidden))
