"""Mamba and Mamba 2 decoders, and hybrids that put attention layers or attention heads beside them."""

from collections.abc import Callable
from math import ceil

from model_catalog.blocks.attention import attention
from model_catalog.blocks.feed_forward import dense, experts, router
from model_catalog.blocks.linear import norm
from model_catalog.blocks.mixture import feed_forward
from model_catalog.blocks.recurrent import Mamba1, Mamba2
from model_catalog.fields import Fields
from model_catalog.importers.decoder import decoder
from model_catalog.importers.hybrid import softmax, stated_kinds, whole_or_auto
from model_catalog.layer_kinds import FULL, LINEAR
from model_catalog.spec import FeedForward, Layer, ModelSpec
from model_catalog.tensors import Tensor, TensorClass


def read_mamba(f: Fields) -> ModelSpec:
    """Mamba and FalconMamba: one mixer a layer, nothing else."""
    hidden = f.whole("hidden_size")
    mamba = Mamba1(
        hidden=hidden,
        channels=f.whole("intermediate_size", f.whole("expand") * hidden),
        state=f.whole("state_size"),
        step_rank=whole_or_auto(f, "time_step_rank", ceil(hidden / 16)),
        kernel=f.whole("conv_kernel"),
        conv_bias=f.flag("use_conv_bias"),
        bias=f.flag("use_bias"),
    )
    layer = Layer(mixers=(mamba.mixer(),), tensors=(*mamba.tensors("mixer"), *norm("norm", hidden)))
    return decoder(f, [layer] * f.layer_count())


def read_mamba2(f: Fields) -> ModelSpec:
    hidden = f.whole("hidden_size")
    mamba = Mamba2(
        hidden=hidden,
        channels=f.whole("expand") * hidden,
        heads=f.whole("num_heads"),
        head_dim=f.whole("head_dim"),
        state=f.whole("state_size"),
        groups=f.whole("n_groups"),
        kernel=f.whole("conv_kernel"),
        conv_bias=f.flag("use_conv_bias"),
        bias=f.flag("use_bias"),
    )
    layer = Layer(mixers=(mamba.mixer(),), tensors=(*mamba.tensors("mixer"), *norm("norm", hidden)))
    return decoder(f, [layer] * f.layer_count())


def two_norms(hidden: int) -> tuple[Tensor, ...]:
    return (*norm("input_layernorm", hidden), *norm("pre_ff_layernorm", hidden))


def read_jamba(f: Fields) -> ModelSpec:
    """Attention every attn_layer_period layers, a mixture every expert_layer_period layers."""
    return decoder(f, [_jamba_layer(f, index) for index in range(f.layer_count())])


def _jamba_layer(f: Fields, index: int) -> Layer:
    hidden, experts_count = f.whole("hidden_size"), f.whole("num_experts")
    is_attention = index % f.whole("attn_layer_period") == f.whole("attn_layer_offset", minimum=0)
    is_mixture = index % f.whole("expert_layer_period") == f.whole("expert_layer_offset", minimum=0)
    part = FeedForward(intermediate=f.whole("intermediate_size"))
    if is_mixture and experts_count > 1:
        part = FeedForward(intermediate=part.intermediate, experts=experts_count, top_k=f.whole("num_experts_per_tok"))
    weights = (*feed_forward(hidden, part, prefix="feed_forward", gate="router"), *two_norms(hidden))
    if is_attention:
        mixer = softmax(f)
        return Layer(mixers=(mixer,), feed_forward=part, tensors=(*attention(mixer, hidden), *weights))
    mamba = jamba_mamba(f)
    step_norms = (
        *norm("mamba.dt_layernorm", mamba.step_rank),
        *norm("mamba.b_layernorm", mamba.state),
        *norm("mamba.c_layernorm", mamba.state),
    )
    return Layer(
        mixers=(mamba.mixer(),),
        feed_forward=part,
        tensors=(*mamba.tensors("mamba"), *step_norms, *weights),
    )


def jamba_mamba(f: Fields, heads: int = 0) -> Mamba1:
    hidden = f.whole("hidden_size")
    return Mamba1(
        hidden=hidden,
        channels=f.whole("mamba_expand") * hidden,
        state=f.whole("mamba_d_state"),
        step_rank=whole_or_auto(f, "mamba_dt_rank", ceil(hidden / 16)),
        kernel=f.whole("mamba_d_conv"),
        conv_bias=f.flag("mamba_conv_bias"),
        bias=f.flag("mamba_proj_bias"),
        heads=heads,
    )


def bamba_mamba(f: Fields, channels: int, *, norm: bool = True, out_bias: bool | None = None) -> Mamba2:
    """Mamba 2 in the field names that Bamba, Falcon-H1 and Granite 4 share."""
    heads = f.whole("mamba_n_heads")
    return Mamba2(
        hidden=f.whole("hidden_size"),
        channels=channels,
        heads=heads,
        head_dim=whole_or_auto(f, "mamba_d_head", channels // heads),
        state=f.whole("mamba_d_state"),
        groups=f.whole("mamba_n_groups"),
        kernel=f.whole("mamba_d_conv"),
        conv_bias=f.flag("mamba_conv_bias"),
        bias=f.flag("mamba_proj_bias"),
        out_bias=out_bias,
        norm=norm,
    )


def _dense(f: Fields) -> tuple[FeedForward, tuple[Tensor, ...]]:
    size = f.whole("intermediate_size")
    weights = dense(f.whole("hidden_size"), size, prefix="feed_forward", bias=f.flag("mlp_bias"))
    return FeedForward(intermediate=size), weights


def read_bamba(f: Fields) -> ModelSpec:
    """Attention in the layers of attn_layer_indices, Mamba 2 in the others."""
    attending = set(f.items("attn_layer_indices", int) or ())
    layers = {is_attention: _bamba_layer(f, is_attention) for is_attention in (True, False)}
    return decoder(f, [layers[index in attending] for index in range(f.layer_count())])


def _bamba_layer(f: Fields, is_attention: bool) -> Layer:
    hidden = f.whole("hidden_size")
    part, weights = _dense(f)
    rest = (*weights, *two_norms(hidden))
    if is_attention:
        mixer, bias = softmax(f), f.flag("attention_bias")
        tensors = attention(mixer, hidden, qkv_bias=bias, out_bias=bias)
        return Layer(mixers=(mixer,), feed_forward=part, tensors=(*tensors, *rest))
    mamba = bamba_mamba(f, f.whole("mamba_expand") * hidden)
    return Layer(mixers=(mamba.mixer(),), feed_forward=part, tensors=(*mamba.tensors("mamba"), *rest))


def read_falcon_h1(f: Fields) -> ModelSpec:
    """Attention heads and Mamba 2 heads side by side in every layer."""
    hidden, bias = f.whole("hidden_size"), f.flag("attention_bias")
    mixer = softmax(f)
    mamba = bamba_mamba(
        f,
        f.whole("mamba_d_ssm", f.whole("mamba_expand", 2) * hidden),
        norm=f.flag("mamba_rms_norm"),
        out_bias=f.flag("projectors_bias"),
    )
    part, weights = _dense(f)
    tensors = (
        *attention(mixer, hidden, qkv_bias=bias, out_bias=bias),
        *mamba.tensors("mamba"),
        *weights,
        *two_norms(hidden),
    )
    layer = Layer(mixers=(mixer, mamba.mixer()), feed_forward=part, tensors=tensors)
    return decoder(f, [layer] * f.layer_count())


def read_granite_hybrid(f: Fields) -> ModelSpec:
    """Granite 4: layer_types says which layers attend; a shared part in all, routed experts where there are any."""
    kinds = stated_kinds(f, f.layer_count(), (FULL, LINEAR), lambda f, layers: [LINEAR] * layers)
    layers = {kind: _granite_layer(f, kind) for kind in set(kinds)}
    return decoder(f, [layers[kind] for kind in kinds])


def _granite_layer(f: Fields, kind: str) -> Layer:
    hidden, count = f.whole("hidden_size"), f.whole("num_local_experts", minimum=0)
    shared, size = f.whole("shared_intermediate_size"), f.whole("intermediate_size")
    routed = (*router(hidden, count, prefix="moe.router"), *experts(hidden, size, count, prefix="moe.experts"))
    part = FeedForward(intermediate=shared)
    if count:
        top_k = f.whole("num_experts_per_tok")
        part = FeedForward(intermediate=size, experts=count, top_k=top_k, shared_intermediate=shared)
    always = TensorClass.SHARED_EXPERT if count else TensorClass.FEED_FORWARD
    rest = (
        *(routed if count else ()),
        *dense(hidden, shared, prefix="shared_mlp", kind=always),
        *two_norms(hidden),
    )
    if kind == LINEAR:
        mamba = bamba_mamba(f, f.whole("mamba_expand") * hidden)
        return Layer(mixers=(mamba.mixer(),), feed_forward=part, tensors=(*mamba.tensors("mamba"), *rest))
    mixer, bias = softmax(f), f.flag("attention_bias")
    tensors = attention(mixer, hidden, qkv_bias=bias, out_bias=bias)
    return Layer(mixers=(mixer,), feed_forward=part, tensors=(*tensors, *rest))


READERS: dict[str, Callable[[Fields], ModelSpec]] = {
    "mamba": read_mamba,
    "falcon_mamba": read_mamba,
    "mamba2": read_mamba2,
    "jamba": read_jamba,
    "bamba": read_bamba,
    "falcon_h1": read_falcon_h1,
    "granitemoehybrid": read_granite_hybrid,
}
