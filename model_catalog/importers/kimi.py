"""Hybrids of Kimi delta attention (KDA) and multi-head latent attention (MLA): Kimi Linear, Kimi K3, Ling 3."""

from collections.abc import Callable

from model_catalog.blocks.feed_forward import dense, experts, router
from model_catalog.blocks.latent import latent_attention
from model_catalog.blocks.linear import linear, norm
from model_catalog.blocks.prediction import deepseek_prediction
from model_catalog.blocks.recurrent import KimiDelta
from model_catalog.fields import ConfigError, Fields
from model_catalog.importers import latent_rules
from model_catalog.importers.decoder import decoder
from model_catalog.importers.hybrid import every_nth_full, stated_kinds
from model_catalog.importers.latent_parts import mixer_of
from model_catalog.layer_kinds import FULL, LINEAR
from model_catalog.spec import FeedForward, Layer, ModelSpec
from model_catalog.tensors import Shard, Tensor, TensorClass

KNOWN = (FULL, LINEAR)


def _feed_forward(f: Fields, mixture: bool) -> tuple[FeedForward, tuple[Tensor, ...]]:
    """Dense, or DeepSeek's mixture; with routed_expert_hidden_size (Kimi K3) routed experts are narrower."""
    hidden = f.whole("hidden_size")
    if not mixture:
        size = f.whole("intermediate_size")
        return FeedForward(intermediate=size), dense(hidden, size)
    size, count = f.whole("moe_intermediate_size"), f.whole("num_experts")
    shared = size * f.whole("n_shared_experts", 0, minimum=0)
    narrow = f.whole_or_none("routed_expert_hidden_size", minimum=1)
    part = FeedForward(
        intermediate=size, experts=count, top_k=f.whole("num_experts_per_tok", 1), shared_intermediate=shared
    )
    kind = TensorClass.SHARED_EXPERT
    weights = (
        *router(hidden, count),
        *experts(narrow or hidden, size, count),
        *(dense(hidden, shared, prefix="mlp.shared_experts", kind=kind) if shared else ()),
        *(() if narrow is None else _narrowing(f, hidden, narrow)),
    )
    return part, weights


def _narrowing(f: Fields, hidden: int, narrow: int) -> tuple[Tensor, ...]:
    kind = TensorClass.SHARED_EXPERT
    return (
        *linear("mlp.routed_down_proj", narrow, hidden, kind),
        *linear("mlp.routed_up_proj", hidden, narrow, kind),
        *(norm("mlp.routed_norm", narrow) if f.flag("latent_moe_use_norm") else ()),
    )


def _norms(f: Fields) -> tuple[Tensor, ...]:
    """Two norms and, with attention residuals (Kimi K3), a query and a norm for each of the layer's two inputs."""
    hidden = f.whole("hidden_size")
    own = (*norm("input_layernorm", hidden), *norm("post_attention_layernorm", hidden))
    if f.whole_or_none("attn_res_block_size") is None:
        return own
    return (*own, *_residual_query("attn_res", hidden), *_residual_query("mlp_res", hidden))


def _residual_query(name: str, hidden: int) -> tuple[Tensor, ...]:
    return (*linear(f"{name}.proj", 1, hidden, TensorClass.SMALL), *norm(f"{name}.norm", hidden))


def _latent_layer(f: Fields, mixture: bool, gate_width: int) -> Layer:
    """MLA, with an output gate of `gate_width` where that is not 0."""
    hidden, mixer = f.whole("hidden_size"), mixer_of(f)
    part, weights = _feed_forward(f, mixture)
    rank, kind = f.whole_or_none("q_lora_rank", minimum=1), TensorClass.ATTENTION
    gate = linear("self_attn.g_proj", gate_width, hidden, kind, Shard.COLUMN, units=mixer.heads)
    tensors = (
        *latent_attention(mixer, hidden, query_rank=rank, bias=f.flag("attention_bias")),
        *(gate if gate_width else ()),
    )
    return Layer(mixers=(mixer,), feed_forward=part, tensors=(*tensors, *weights, *_norms(f)))


def _delta_layer(f: Fields, mixture: bool, delta: KimiDelta) -> Layer:
    part, weights = _feed_forward(f, mixture)
    tensors = (*delta.tensors(), *weights, *_norms(f))
    return Layer(mixers=(delta.mixer(),), feed_forward=part, tensors=tensors)


def read_kimi_linear(f: Fields) -> ModelSpec:
    """Kimi Linear, and the decoder of Kimi K3 (gates of full rank, attention residuals, narrowed experts).

    Kimi K3's parts follow the sums that vLLM 0.33.0 builds for it; transformers 5.24.0 has no class for them.
    """
    layers, hidden = f.layer_count(), f.whole("hidden_size")
    kinds = stated_kinds(f, layers, KNOWN, _kimi_kinds)
    mixtures = latent_rules.stated_mixtures(_after_first_dense)(f, layers)
    mixer = mixer_of(f)
    gate = mixer.heads * mixer.value_dim if f.flag("mla_use_output_gate") else 0
    delta = _kimi_delta(f)
    made = {
        (kind, mixture): _latent_layer(f, mixture, gate) if kind == FULL else _delta_layer(f, mixture, delta)
        for kind, mixture in set(zip(kinds, mixtures, strict=True))
    }
    residual = f.whole_or_none("attn_res_block_size") is not None
    return decoder(
        f,
        [made[pair] for pair in zip(kinds, mixtures, strict=True)],
        extra=_residual_query("output_res", hidden) if residual else (),
    )


def _after_first_dense(f: Fields, layers: int) -> list[bool]:
    if f.raw("moe_layer_freq") not in (None, 1):
        f.doubt("moe_layer_freq", "Every layer after the first dense ones is counted as a mixture.", kv=False)
    return latent_rules.after(f.whole("first_k_dense_replace", 1, minimum=0))(f, layers)


def _kimi_kinds(f: Fields, layers: int) -> list[str]:
    """The two lists of linear_attn_config, which count layers from 1; without them the class's own rule."""
    part = f.part("linear_attn_config")
    full = part.items("full_attn_layers", int) if part else None
    delta = part.items("kda_layers", int) if part else None
    if part is None or full is None or delta is None:
        return [FULL if i and i % 4 == 0 else LINEAR for i in range(layers)]
    if set(full) & set(delta) or set(full) | set(delta) != set(range(1, layers + 1)):
        raise ConfigError(
            f"{part.path}full_attn_layers",
            f"{part.path}full_attn_layers and kda_layers do not name each layer from 1 to {layers:,} once.",
        )
    return [FULL if i + 1 in set(full) else LINEAR for i in range(layers)]


def _kimi_delta(f: Fields) -> KimiDelta:
    part = f.part("linear_attn_config") or Fields({}, "", f"{f.path}linear_attn_config.")
    return KimiDelta(
        hidden=f.whole("hidden_size"),
        heads=part.whole("num_heads", f.whole("linear_num_heads", 32)),
        head_dim=part.whole("head_dim", f.whole("linear_head_dim", 128)),
        kernel=part.whole("short_conv_kernel_size", f.whole("linear_conv_kernel_dim", 4)),
        low_rank_gate=not part.flag("use_full_rank_gate"),
    )


def read_bailing_hybrid(f: Fields) -> ModelSpec:
    """Ling 3: every layer_group_size-th layer is MLA; decay and gates of full rank."""
    layers = f.layer_count()
    kinds = stated_kinds(f, layers, KNOWN, every_nth_full("layer_group_size", 6))
    mixtures = latent_rules.stated_mixtures(_after_two_dense)(f, layers)
    if f.has("group_norm_size") and not f.has("short_conv_kernel_size"):
        f.doubt("group_norm_size", "This looks like Ling 2.5; its recurrent layers are counted as those of Ling 3.")
    heads, delta = f.whole("num_attention_heads"), _bailing_delta(f)
    made = {
        (kind, mixture): _latent_layer(f, mixture, heads) if kind == FULL else _delta_layer(f, mixture, delta)
        for kind, mixture in set(zip(kinds, mixtures, strict=True))
    }
    # With 41 correction biases the prediction layer makes up the 3,072,214,528 elements that
    # inclusionAI/Ling-3.0-flash holds beside the class's parameters.
    return decoder(
        f,
        [made[pair] for pair in zip(kinds, mixtures, strict=True)],
        towers=deepseek_prediction(
            _latent_layer(f, True, heads).tensors,
            f.whole("hidden_size"),
            f.whole("vocab_size"),
            f.whole("num_mtp_layers", 0, minimum=0, maximum=64),
            own_embedding=False,
            own_head=False,
        ),
    )


def _after_two_dense(f: Fields, layers: int) -> list[bool]:
    return latent_rules.after(f.whole("first_k_dense_replace", minimum=0))(f, layers)


def _bailing_delta(f: Fields) -> KimiDelta:
    """Files that transformers wrote keep the rotary dimension in head_dim and the delta rule's in linear_head_dim."""
    return KimiDelta(
        hidden=f.whole("hidden_size"),
        heads=f.whole("linear_num_heads", f.whole("num_attention_heads")),
        head_dim=f.whole("linear_head_dim", f.whole("head_dim")),
        kernel=f.whole("linear_conv_kernel_dim", f.whole("short_conv_kernel_size")),
        low_rank_decay=False,
        low_rank_gate=False,
    )


READERS: dict[str, Callable[[Fields], ModelSpec]] = {
    "kimi_linear": read_kimi_linear,
    "bailing_hybrid": read_bailing_hybrid,
}
