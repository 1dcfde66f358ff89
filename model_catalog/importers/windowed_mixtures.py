"""Decoders with windowed and full layers, and dense and mixture layers: Llama 4, MiMo-V2-Flash, Laguna, Muse."""

from collections.abc import Callable

from model_catalog.blocks.attention import attention
from model_catalog.blocks.feed_forward import correction_bias, dense, experts, router
from model_catalog.blocks.linear import linear, norm, small
from model_catalog.blocks.mixture import feed_forward
from model_catalog.fields import ConfigError, Fields
from model_catalog.importers.decoder import decoder, per_layer
from model_catalog.importers.latent_parts import two_norms
from model_catalog.importers.latent_rules import after, stated_mixtures
from model_catalog.layer_kinds import CHUNKED, FULL, SLIDING
from model_catalog.spec import Attention, FeedForward, Layer, ModelSpec
from model_catalog.tensors import Shard, Tensor, TensorClass


def window_of(f: Fields, kind: str) -> int | None:
    return f.whole("sliding_window") if kind == SLIDING else None


def output_gate(heads: int, width: int, hidden: int, name: str = "g_proj") -> tuple[Tensor, ...]:
    """A gate on what attention puts out: one number per head, or one per element."""
    return linear(f"self_attn.{name}", width, hidden, TensorClass.ATTENTION, Shard.COLUMN, units=heads)


def read_llama4(f: Fields) -> ModelSpec:
    """Llama 4: layers with rotation see their own chunk only; a mixture every interleave_moe_layer_step layers."""
    layers = f.layer_count()
    kinds, mixtures = _llama4_kinds(f, layers), _llama4_mixtures(f, layers)
    return decoder(f, [_llama4_layer(f, kinds[i], i in mixtures) for i in range(layers)])


def _llama4_kinds(f: Fields, layers: int) -> list[str]:
    """layer_types, else chunked where no_rope_layers has a 1 (by default, all but every fourth)."""
    stated = per_layer(f, "layer_types", layers, (FULL, CHUNKED))
    if stated is not None:
        return stated
    every = f.whole("no_rope_layer_interval", 4)
    rotated = f.items("no_rope_layers", int) or [(i + 1) % every for i in range(layers)]
    if len(rotated) != layers:
        raise f.error("no_rope_layers", f"a list of {layers:,} whole numbers")
    chunked = f.raw("attention_chunk_size") is not None
    return [CHUNKED if chunked and each else FULL for each in rotated]


def _llama4_mixtures(f: Fields, layers: int) -> set[int]:
    stated = f.items("moe_layers", int)
    step = f.whole("interleave_moe_layer_step", 1)
    return set(range(step - 1, layers, step)) if stated is None else set(stated)


def _llama4_layer(f: Fields, kind: str, mixture: bool) -> Layer:
    hidden, heads, bias = f.whole("hidden_size"), f.whole("num_attention_heads"), f.flag("attention_bias")
    head_dim, size = f.whole("head_dim", max(hidden // heads, 1)), f.whole("intermediate_size")
    mixer = Attention(
        heads=heads,
        kv_heads=f.whole("num_key_value_heads", heads),
        head_dim=head_dim,
        value_dim=head_dim,
        chunk=f.whole("attention_chunk_size") if kind == CHUNKED else None,
    )
    part = FeedForward(intermediate=f.whole("intermediate_size_mlp"))
    if mixture:
        part = FeedForward(
            intermediate=size,
            experts=f.whole("num_local_experts"),
            top_k=f.whole("num_experts_per_tok"),
            shared_intermediate=size,
        )
    return Layer(
        mixers=(mixer,),
        feed_forward=part,
        tensors=(
            *attention(mixer, hidden, qkv_bias=bias, out_bias=bias),
            *feed_forward(hidden, part, prefix="feed_forward", gate="router", shared="shared_expert"),
            *two_norms(f, mixture),
        ),
    )


def read_mimo_v2(f: Fields) -> ModelSpec:
    """MiMo-V2-Flash: windowed layers have twice the KV heads and learned sinks; values are narrower than keys."""
    layers = f.layer_count()
    kinds = _mimo_kinds(f, layers)
    mixtures = stated_mixtures(after(1))(f, layers)
    _doubt_other_shapes(f)
    return decoder(f, [_mimo_layer(f, kinds[i], mixtures[i]) for i in range(layers)])


def _mimo_kinds(f: Fields, layers: int) -> list[str]:
    """The first and every sixth layer are full, which published files also say as hybrid_layer_pattern."""
    stated = per_layer(f, "layer_types", layers, (FULL, SLIDING))
    if stated is not None:
        return stated
    kinds = [FULL if i == 0 or (i + 1) % 6 == 0 else SLIDING for i in range(layers)]
    pattern = f.items("hybrid_layer_pattern", int)
    if pattern is not None and [SLIDING if each else FULL for each in pattern] != kinds:
        f.doubt("hybrid_layer_pattern", "The pattern differs from the usual one; the usual one is counted.")
    return kinds


def _doubt_other_shapes(f: Fields) -> None:
    """Fields of the published file that the class does not read, where they say something else than it does."""
    expected = {
        "swa_num_key_value_heads": 2 * f.whole("num_key_value_heads"),
        "swa_num_attention_heads": f.whole("num_attention_heads"),
        "swa_head_dim": f.whole("head_dim"),
        "swa_v_head_dim": f.whole("v_head_dim"),
    }
    for name, usual in expected.items():
        if f.raw(name) not in (None, usual):
            f.doubt(name, f"Windowed layers are counted with {usual:,} here, as the model's class has it.")


def _mimo_layer(f: Fields, kind: str, mixture: bool) -> Layer:
    hidden, heads = f.whole("hidden_size"), f.whole("num_attention_heads")
    sliding = kind == SLIDING
    before = f.whole_or_none("sliding_window_size", minimum=1)  # older tokens, the newest comes on top
    window = f.whole("sliding_window") if before is None else before + 1
    mixer = Attention(
        heads=heads,
        kv_heads=f.whole("num_key_value_heads") * (2 if sliding else 1),
        head_dim=f.whole("head_dim"),
        value_dim=f.whole("v_head_dim"),
        window=window if sliding else None,
    )
    part = FeedForward(intermediate=f.whole("intermediate_size"))
    if mixture:
        part = FeedForward(
            intermediate=f.whole("moe_intermediate_size"),
            experts=f.whole("n_routed_experts"),
            top_k=f.whole("num_experts_per_tok"),
        )
    return Layer(
        mixers=(mixer,),
        feed_forward=part,
        tensors=(
            *attention(mixer, hidden, qkv_bias=f.flag("attention_bias")),
            *(small("self_attn.sinks", heads, shard=Shard.COLUMN) if sliding else ()),
            *feed_forward(hidden, part),
            *two_norms(f, mixture),
        ),
    )


def read_laguna(f: Fields) -> ModelSpec:
    """Laguna: query heads by layer, a gate on the output of attention."""
    layers = f.layer_count()
    kinds = per_layer(f, "layer_types", layers, (FULL, SLIDING)) or [FULL] * layers
    mixtures = stated_mixtures(after(1))(f, layers)
    heads = f.items("num_attention_heads_per_layer", int) or [f.whole("num_attention_heads")] * layers
    if len(heads) != layers or min(heads) < 1:
        raise f.error("num_attention_heads_per_layer", f"a whole number for each of {layers:,} layers")
    return decoder(f, [_laguna_layer(f, kinds[i], heads[i], mixtures[i]) for i in range(layers)])


def _laguna_layer(f: Fields, kind: str, heads: int, mixture: bool) -> Layer:
    hidden, head_dim, bias = f.whole("hidden_size"), f.whole("head_dim"), f.flag("attention_bias")
    mixer = Attention(
        heads=heads,
        kv_heads=f.whole("num_key_value_heads"),
        head_dim=head_dim,
        value_dim=head_dim,
        window=window_of(f, kind),
    )
    part = FeedForward(intermediate=f.whole("intermediate_size"))
    if mixture:
        part = FeedForward(
            intermediate=f.whole("moe_intermediate_size"),
            experts=f.whole("num_experts"),
            top_k=f.whole("num_experts_per_tok"),
            shared_intermediate=f.whole("shared_expert_intermediate_size", minimum=0),
        )
    by_head = f.raw("gating") in (True, "per-head")
    return Layer(
        mixers=(mixer,),
        feed_forward=part,
        tensors=(
            *attention(mixer, hidden, qkv_bias=bias, out_bias=bias, qk_norm="head"),
            *output_gate(heads, heads if by_head else heads * head_dim, hidden),
            *feed_forward(hidden, part),
            *(correction_bias(part.experts) if mixture else ()),
            *two_norms(f, mixture),
        ),
    )


def read_muse(f: Fields) -> ModelSpec:
    """Muse: every fourth layer counted from the last is full; Glimmer is dense, Spark a mixture in a narrower space."""
    layers = f.layer_count()
    stated = per_layer(f, "layer_types", layers, (FULL, SLIDING))
    kinds = stated or [SLIDING if (layers - 1 - i) % 4 else FULL for i in range(layers)]
    spark = f.model_type == "muse_spark_text"
    mixtures = stated_mixtures(after(0))(f, layers) if spark else [False] * layers
    return decoder(f, [_muse_layer(f, kinds[i], mixtures[i], spark) for i in range(layers)])


def _muse_layer(f: Fields, kind: str, mixture: bool, spark: bool) -> Layer:
    hidden, heads, bias = f.whole("hidden_size"), f.whole("num_attention_heads"), f.flag("attention_bias")
    head_dim = f.whole("head_dim")
    if kind == SLIDING and f.raw("sliding_window") is None:
        raise ConfigError(f"{f.path}sliding_window", f"{f.path}sliding_window is missing for windowed layers.")
    mixer = Attention(
        heads=heads,
        kv_heads=f.whole("num_key_value_heads"),
        head_dim=head_dim,
        value_dim=head_dim,
        window=window_of(f, kind),
    )
    part, weights = _muse_mixture(f) if mixture else _muse_dense(f)
    # Spark: three norms and two residual gates of hidden size; Glimmer: four norms.
    return Layer(
        mixers=(mixer,),
        feed_forward=part,
        tensors=(
            *attention(mixer, hidden, qkv_bias=bias, out_bias=bias),
            *output_gate(heads, heads * head_dim, hidden, "gate_proj"),
            *weights,
            *norm("layernorms", hidden, count=3 if spark else 4),
            *(small("residual_gates", 2, hidden, dtype="fp32") if spark else ()),
        ),
    )


def _muse_dense(f: Fields) -> tuple[FeedForward, tuple[Tensor, ...]]:
    size = f.whole("intermediate_size")
    return FeedForward(intermediate=size), dense(f.whole("hidden_size"), size)


def _muse_mixture(f: Fields) -> tuple[FeedForward, tuple[Tensor, ...]]:
    """Experts work in moe_hidden_size; the router sees the whole hidden state."""
    hidden, inner = f.whole("hidden_size"), f.whole("moe_hidden_size")
    part = FeedForward(
        intermediate=f.whole("moe_intermediate_size"),
        experts=f.whole("num_local_experts"),
        top_k=f.whole("num_experts_per_tok"),
    )
    kind = TensorClass.SHARED_EXPERT
    tensors = (
        *router(hidden, part.experts),
        *experts(inner, part.intermediate, part.experts),
        *linear("mlp.pre_expert_proj", inner, hidden, kind),
        *linear("mlp.post_expert_proj", hidden, inner, kind),
        *norm("mlp.expert_norms", inner, count=2),
    )
    return part, tensors


READERS: dict[str, Callable[[Fields], ModelSpec]] = {
    "llama4_text": read_llama4,
    "mimo_v2_flash": read_mimo_v2,
    "laguna": read_laguna,
    "muse_spark_text": read_muse,
    "muse_glimmer_text": read_muse,
}
