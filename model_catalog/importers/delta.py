"""Hybrids of gated delta rule and attention layers: Qwen3-Next, Qwen3.5, OLMo Hybrid, Lara Mini."""

from collections.abc import Callable

from model_catalog.blocks.attention import attention
from model_catalog.blocks.feed_forward import dense, experts, router
from model_catalog.blocks.linear import linear, norm
from model_catalog.blocks.prediction import prediction_tower
from model_catalog.blocks.recurrent import GatedDelta
from model_catalog.fields import Fields
from model_catalog.importers.decoder import decoder
from model_catalog.importers.hybrid import every_nth_full, softmax, state_dtype_of, stated_kinds
from model_catalog.layer_kinds import FULL, LINEAR, SLIDING
from model_catalog.spec import FeedForward, Layer, ModelSpec, Tower
from model_catalog.tensors import Tensor, TensorClass

QWEN_KINDS = every_nth_full("full_attention_interval", 4)


def delta_of(f: Fields) -> GatedDelta:
    """Dimensions in Qwen3-Next's field names."""
    return GatedDelta(
        hidden=f.whole("hidden_size"),
        key_heads=f.whole("linear_num_key_heads"),
        value_heads=f.whole("linear_num_value_heads"),
        key_dim=f.whole("linear_key_head_dim"),
        value_dim=f.whole("linear_value_head_dim"),
        kernel=f.whole("linear_conv_kernel_dim"),
        state_dtype=state_dtype_of(f, "mamba_ssm_dtype"),
    )


def shared_mixture(f: Fields, *, own_gate: bool = True) -> tuple[FeedForward, tuple[Tensor, ...]]:
    """Routed experts, and one shared expert, in Qwen behind a gate of its own."""
    hidden, size, count = f.whole("hidden_size"), f.whole("moe_intermediate_size"), f.whole("num_experts")
    shared = f.whole("shared_expert_intermediate_size")
    part = FeedForward(
        intermediate=size, experts=count, top_k=f.whole("num_experts_per_tok"), shared_intermediate=shared
    )
    weights = (
        *router(hidden, count),
        *experts(hidden, size, count),
        *dense(hidden, shared, prefix="mlp.shared_expert", kind=TensorClass.SHARED_EXPERT),
        *(router(hidden, 1, prefix="mlp.shared_expert_gate") if own_gate else ()),
    )
    return part, weights


def _dense(f: Fields) -> tuple[FeedForward, tuple[Tensor, ...]]:
    size = f.whole("intermediate_size")
    return FeedForward(intermediate=size), dense(f.whole("hidden_size"), size)


def _two_norms(hidden: int) -> tuple[Tensor, ...]:
    return (*norm("input_layernorm", hidden), *norm("post_attention_layernorm", hidden))


def _layer(f: Fields, kind: str, *, mixture: bool, gated: bool = True) -> Layer:
    """`gated`: attention and the shared expert have output gates (Qwen)."""
    hidden, bias = f.whole("hidden_size"), f.flag("attention_bias")
    part, weights = shared_mixture(f, own_gate=gated) if mixture else _dense(f)
    rest = (*weights, *_two_norms(hidden))
    if kind == LINEAR:
        delta = delta_of(f)
        return Layer(mixers=(delta.mixer(),), feed_forward=part, tensors=(*delta.tensors(), *rest))
    mixer = softmax(f, f.whole("sliding_window") if kind == SLIDING else None)
    weights = attention(mixer, hidden, qkv_bias=bias, out_bias=bias, qk_norm="head", gated=gated)
    return Layer(mixers=(mixer,), feed_forward=part, tensors=(*weights, *rest))


def read_qwen_next(f: Fields) -> ModelSpec:
    """Qwen3-Next: mixtures every decoder_sparse_step layers but for mlp_only_layers."""
    kinds = stated_kinds(f, f.layer_count(), (FULL, LINEAR), QWEN_KINDS)
    step, plain = f.whole("decoder_sparse_step"), set(f.items("mlp_only_layers", int) or ())
    some = f.whole("num_experts", minimum=0) > 0
    sparse = [some and (i + 1) % step == 0 and i not in plain for i in range(len(kinds))]
    made = {pair: _layer(f, pair[0], mixture=pair[1]) for pair in set(zip(kinds, sparse, strict=True))}
    layers = [made[pair] for pair in zip(kinds, sparse, strict=True)]
    # No field says so, but the published checkpoints hold one prediction layer (1,650,471,424 elements more than the
    # decoder); a config that only transformers wrote may have none.
    return decoder(f, layers, towers=prediction(f, some, f.whole("num_nextn_predict_layers", 1, minimum=0)))


def prediction(f: Fields, mixture: bool, count: int) -> tuple[Tower, ...]:
    """Attention layers of the decoder's kind, after two norms and a joining projection, before a norm, all once."""
    if not count:
        return ()
    hidden = f.whole("hidden_size")
    once = (
        *linear("fc", hidden, 2 * hidden, TensorClass.PREDICTION),
        *norm("pre_fc_norm_embedding", hidden),
        *norm("pre_fc_norm_hidden", hidden),
        *norm("norm", hidden),
    )
    (tower,) = prediction_tower(once, 1)
    (each,) = prediction_tower(_layer(f, FULL, mixture=mixture).tensors, count)
    return (Tower(name=tower.name, tensors=(*tower.tensors, *each.tensors), layers=count),)


def read_qwen35(f: Fields) -> ModelSpec:
    """Qwen3.5 and Qwen3.6, dense or (with experts) a mixture in every layer."""
    mixture = f.model_type.startswith("qwen3_5_moe")
    kinds = stated_kinds(f, f.layer_count(), (FULL, LINEAR), QWEN_KINDS)
    if f.raw("attn_output_gate") not in (None, True):
        f.doubt("attn_output_gate", "Attention is counted with an output gate.", kv=False)
    made = {kind: _layer(f, kind, mixture=mixture) for kind in set(kinds)}
    steps = f.whole("mtp_num_hidden_layers", 0, minimum=0, maximum=64)
    if f.flag("mtp_use_dedicated_embeddings"):
        f.doubt("mtp_use_dedicated_embeddings", "The prediction layer's own embeddings are not counted.", kv=False)
    return decoder(f, [made[kind] for kind in kinds], towers=prediction(f, mixture, steps))


def read_lara(f: Fields) -> ModelSpec:
    """Recurrent, windowed and full layers by turns, a mixture in each."""
    kinds = stated_kinds(f, f.layer_count(), (FULL, SLIDING, LINEAR), _lara_kinds)
    made = {kind: _layer(f, kind, mixture=True, gated=False) for kind in set(kinds)}
    return decoder(f, [made[kind] for kind in kinds])


def _lara_kinds(f: Fields, layers: int) -> list[str]:
    turn = (LINEAR, SLIDING, LINEAR, FULL, SLIDING)
    return [turn[i % len(turn)] for i in range(layers)]


def read_olmo_hybrid(f: Fields) -> ModelSpec:
    """OLMo 2's attention layers (norms after) among gated delta layers (norms before)."""
    kinds = stated_kinds(f, f.layer_count(), (FULL, LINEAR), _olmo_kinds)
    made = {kind: _olmo_layer(f, kind) for kind in set(kinds)}
    return decoder(f, [made[kind] for kind in kinds])


def _olmo_kinds(f: Fields, layers: int) -> list[str]:
    kinds = [FULL if i % 4 == 3 else LINEAR for i in range(layers)]
    return kinds if FULL in kinds else [*kinds[:-1], FULL]


def _olmo_layer(f: Fields, kind: str) -> Layer:
    hidden, bias = f.whole("hidden_size"), f.flag("attention_bias")
    part, weights = _dense(f)
    rest = (*weights, *_two_norms(hidden))
    if kind == LINEAR:
        delta = _olmo_delta(f)
        return Layer(mixers=(delta.mixer(),), feed_forward=part, tensors=(*delta.tensors(), *rest))
    mixer = softmax(f)
    own = attention(mixer, hidden, qkv_bias=bias, out_bias=bias, qk_norm="width")
    return Layer(mixers=(mixer,), feed_forward=part, tensors=(*own, *rest))


def _olmo_delta(f: Fields) -> GatedDelta:
    """Heads default to those of attention, the key to 3/4 of hidden over heads, the value to twice the key."""
    hidden, heads = f.whole("hidden_size"), f.whole("num_attention_heads")
    key_heads = f.whole("linear_num_key_heads", heads)
    key_dim = f.whole("linear_key_head_dim", max(3 * hidden // (4 * key_heads), 1))
    return GatedDelta(
        hidden=hidden,
        key_heads=key_heads,
        value_heads=f.whole("linear_num_value_heads", heads),
        key_dim=key_dim,
        value_dim=f.whole("linear_value_head_dim", 2 * key_dim),
        kernel=f.whole("linear_conv_kernel_dim"),
    )


READERS: dict[str, Callable[[Fields], ModelSpec]] = {
    "qwen3_next": read_qwen_next,
    "qwen3_5_text": read_qwen35,
    "qwen3_5_moe_text": read_qwen35,
    "lara_mini": read_lara,
    "olmo_hybrid": read_olmo_hybrid,
}
