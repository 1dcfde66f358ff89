"""Gemma 3n and Gemma 4: windowed and full layers of different shapes, last layers that reuse earlier caches."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from model_catalog.blocks.attention import attention, query_and_output
from model_catalog.blocks.feed_forward import dense, experts, router
from model_catalog.blocks.linear import linear, norm, small
from model_catalog.fields import Fields
from model_catalog.importers.decoder import decoder, overlaid, overrides, per_layer
from model_catalog.layer_kinds import FULL, SLIDING
from model_catalog.spec import Attention, FeedForward, Layer, ModelSpec
from model_catalog.tensors import Tensor, TensorClass


def read_gemma3n(f: Fields) -> ModelSpec:
    """Gemma 3n (transformers 5.24.0, models/gemma3n): four residual streams, a low-rank branch, per-layer inputs."""
    layers, hidden, streams = f.layer_count(), f.whole("hidden_size"), f.whole("altup_num_inputs")
    kinds, sizes = _kinds(f, layers, 5), _gemma3n_widths(f, layers)
    first_reusing = _first_reusing(f, kinds)
    built = [_gemma3n_layer(f, kinds[i], sizes[i], i >= first_reusing) for i in range(layers)]
    mixing = linear("model.altup_projections", hidden, hidden, TensorClass.FEED_FORWARD, count=2 * (streams - 1))
    return decoder(f, built, extra=(*_per_layer_inputs(f, layers), *(mixing if streams > 1 else ())))


def _kinds(f: Fields, layers: int, every: int) -> list[str]:
    """layer_types, else one full layer in `every`."""
    stated = per_layer(f, "layer_types", layers, (FULL, SLIDING))
    return stated or [SLIDING if (i + 1) % every else FULL for i in range(layers)]


def _gemma3n_widths(f: Fields, layers: int) -> list[int]:
    """intermediate_size is one number, or one for each layer."""
    if not isinstance(f.raw("intermediate_size"), list):
        return [f.whole("intermediate_size")] * layers
    sizes = f.items("intermediate_size", int) or []
    if len(sizes) != layers or min(sizes) < 1:
        raise f.error("intermediate_size", f"a whole number for each of {layers:,} layers")
    return sizes


def _first_reusing(f: Fields, kinds: list[str]) -> int:
    """The first of the last layers that read the cache of the last earlier layer of their kind."""
    layers = len(kinds)
    first = layers - f.whole("num_kv_shared_layers", 0, minimum=0, maximum=layers)
    if first and set(kinds[first:]) - set(kinds[:first]):
        raise f.error("num_kv_shared_layers", "an earlier layer of every kind that is shared")
    return first


def _gemma3n_layer(f: Fields, kind: str, size: int, reuses: bool) -> Layer:
    hidden, rank, streams = f.whole("hidden_size"), f.whole("laurel_rank"), f.whole("altup_num_inputs")
    mixer = _mixer(f, kind, reuses)
    dense_kind = TensorClass.FEED_FORWARD
    return Layer(
        mixers=(mixer,),
        feed_forward=FeedForward(intermediate=size),
        tensors=(
            *_attention_tensors(f, mixer, shared_projection=False),
            *dense(hidden, size),
            *_norms(hidden, 4),
            *_per_layer_branch(f),
            *linear("laurel.linear_left", rank, hidden, dense_kind),
            *linear("laurel.linear_right", hidden, rank, dense_kind),
            *norm("laurel.post_laurel_norm", hidden),
            *small("altup.correct_output_scale", hidden),
            *small("altup.coefs", streams + streams**2, streams),
            *small("altup.modality_router", streams, hidden),
            *norm("altup.router_norm", hidden),
        ),
    )


def _mixer(f: Fields, kind: str, reuses: bool) -> Attention:
    head_dim = f.whole("head_dim")
    return Attention(
        heads=f.whole("num_attention_heads"),
        kv_heads=f.whole("num_key_value_heads"),
        head_dim=head_dim,
        value_dim=head_dim,
        window=_window(f) if kind == SLIDING else None,
        reuses_cache=reuses,
    )


def _window(f: Fields) -> int:
    """Gemma 4 halves the window where attention looks both ways."""
    window = f.whole("sliding_window")
    return window // 2 + 1 if f.raw("use_bidirectional_attention") == "all" else window


def _attention_tensors(f: Fields, mixer: Attention, *, shared_projection: bool) -> tuple[Tensor, ...]:
    """A reusing layer has no key and value; with a shared projection, values are made by the key projection."""
    hidden, bias = f.whole("hidden_size"), f.flag("attention_bias")
    if mixer.reuses_cache:
        weights = query_and_output(mixer, hidden, qkv_bias=bias, out_bias=bias)
        return (*weights, *norm("self_attn.q_norm", mixer.head_dim))
    weights = attention(mixer, hidden, qkv_bias=bias, out_bias=bias, qk_norm="head")
    return tuple(tensor for tensor in weights if not (shared_projection and ".v_proj." in tensor.name))


def _norms(hidden: int, count: int) -> tuple[Tensor, ...]:
    return norm("layernorms", hidden, count=count)


def _per_layer_branch(f: Fields) -> tuple[Tensor, ...]:
    """What adds the per-layer embedding of each token to a layer's output."""
    hidden, width = f.whole("hidden_size"), f.whole("hidden_size_per_layer_input", 0, minimum=0)
    if not width:
        return ()
    return (
        *linear("per_layer_input_gate", width, hidden, TensorClass.FEED_FORWARD),
        *linear("per_layer_projection", hidden, width, TensorClass.FEED_FORWARD),
        *norm("post_per_layer_input_norm", hidden),
    )


def _per_layer_inputs(f: Fields, layers: int) -> tuple[Tensor, ...]:
    """The second embedding table, with one row part for each layer, and its counterpart from the hidden state."""
    hidden, width = f.whole("hidden_size"), f.whole("hidden_size_per_layer_input", 0, minimum=0)
    if not width:
        return ()
    rows = f.whole("vocab_size_per_layer_input")
    return (
        Tensor("model.embed_tokens_per_layer.weight", TensorClass.EMBEDDING, (rows, layers * width)),
        *linear("model.per_layer_model_projection", layers * width, hidden, TensorClass.FEED_FORWARD),
        *norm("model.per_layer_projection_norm", width),
    )


def read_gemma4(f: Fields) -> ModelSpec:
    """Gemma 4 (transformers 5.24.0, models/gemma4, gemma4_unified): full layers have heads of another size."""
    layers = f.layer_count()
    kinds = _kinds(f, layers, 6)
    kinds[-1] = FULL
    own = _own_shapes(f, kinds)
    first_reusing = _first_reusing(f, kinds)
    built = [_gemma4_layer(overlaid(f, own[i]), kinds[i], i >= first_reusing) for i in range(layers)]
    return decoder(f, built, extra=_per_layer_inputs(f, layers))


def _own_shapes(f: Fields, kinds: list[str]) -> list[Mapping[str, Any]]:
    """What each layer changes; a per_layer_config, even a null, takes the place of the class's own for full layers."""
    if f.has("per_layer_config"):
        return overrides(f, len(kinds)) or [{}] * len(kinds)
    return [_full_shape(f) if kind == FULL else {} for kind in kinds]


def _full_shape(f: Fields) -> dict[str, int]:
    """Head size of full layers, and their KV heads where keys and values share a projection."""
    shape = {"head_dim": f.whole("global_head_dim", 512)}
    kv_heads = f.whole_or_none("num_global_key_value_heads", minimum=1)
    if kv_heads is not None and f.flag("attention_k_eq_v"):
        shape["num_key_value_heads"] = kv_heads
    return shape


def _gemma4_layer(f: Fields, kind: str, reuses: bool) -> Layer:
    hidden = f.whole("hidden_size")
    size = f.whole("intermediate_size") * (2 if reuses and f.flag("use_double_wide_mlp") else 1)
    mixer = _mixer(f, kind, reuses)
    shared_projection = f.flag("attention_k_eq_v") and kind == FULL
    part, mixture = _gemma4_mixture(f, size) if f.flag("enable_moe_block") else (FeedForward(intermediate=size), ())
    return Layer(
        mixers=(mixer,),
        feed_forward=part,
        tensors=(
            *_attention_tensors(f, mixer, shared_projection=shared_projection),
            *dense(hidden, size),
            *_norms(hidden, 4),
            *_per_layer_branch(f),
            *mixture,
        ),
    )


def _gemma4_mixture(f: Fields, dense_size: int) -> tuple[FeedForward, tuple[Tensor, ...]]:
    """Routed experts beside the dense part, which every token takes too."""
    hidden, count, size = f.whole("hidden_size"), f.whole("num_experts"), f.whole("moe_intermediate_size")
    part = FeedForward(intermediate=size, experts=count, top_k=f.whole("top_k_experts"), shared_intermediate=dense_size)
    tensors = (
        *router(hidden, count, prefix="router.proj"),
        *small("router.scale", hidden),
        *small("router.per_expert_scale", count),
        *experts(hidden, size, count, prefix="experts"),
        *_norms(hidden, 3),
    )
    return part, tensors


def read_gemma4_assistant(f: Fields) -> ModelSpec:
    """A draft model that reads the caches of its target: no layer stores anything of its own."""
    text = f.part("text_config")
    if text is None:
        raise f.error("text_config", "an object")
    layers, hidden, target = text.layer_count(), text.whole("hidden_size"), f.whole("backbone_hidden_size")
    own = {"num_kv_shared_layers": layers, "tie_word_embeddings": f.flag("tie_word_embeddings")}
    spec = read_gemma4(overlaid(text, own))
    kind = TensorClass.FEED_FORWARD
    centroids = f.whole("num_centroids") if f.flag("use_ordered_embeddings") else 0
    extra = (
        *linear("pre_projection", hidden, 2 * target, kind),
        *linear("post_projection", target, hidden, kind),
        *(linear("masked_embedding.centroids", centroids, hidden, kind) if centroids else ()),
    )
    return replace(spec, model_type=f.model_type, tensors=(*spec.tensors, *extra), draft_kind="assistant")


def read_diffusion_gemma(f: Fields) -> ModelSpec:
    """DiffusionGemma: Gemma 4 with experts in every layer; encoder and decoder of the prompt share all weights."""
    if not f.flag("tie_word_embeddings"):
        f.doubt("tie_word_embeddings", "The decoder is counted as sharing the encoder's weights.", kv=False)
    if f.flag("attention_bias"):
        f.doubt("attention_bias", "The decoder's own biases, which it does not share, are not counted.", kv=False)
    hidden, size = f.whole("hidden_size"), f.whole("intermediate_size")
    spec = read_gemma4(overlaid(f, {"attention_k_eq_v": True, "enable_moe_block": True}))
    extra = (
        *dense(hidden, size, prefix="model.decoder.self_conditioning"),
        *norm("model.decoder.self_conditioning.pre_norm", hidden),
    )
    return replace(spec, tensors=(*spec.tensors, *extra))


READERS: dict[str, Callable[[Fields], ModelSpec]] = {
    "gemma3n_text": read_gemma3n,
    "gemma4_text": read_gemma4,
    "gemma4_unified_text": read_gemma4,
    "diffusion_gemma_text": read_diffusion_gemma,
    "gemma4_assistant": read_gemma4_assistant,
    "gemma4_unified_assistant": read_gemma4_assistant,
}
