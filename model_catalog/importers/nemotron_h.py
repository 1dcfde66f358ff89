"""Nemotron-H and Nemotron 3: each layer is one thing, Mamba 2, attention, a dense feed-forward or a mixture.

The layers are named by layers_block_type or by the letters of hybrid_override_pattern; num_hidden_layers is ignored.
"""

from collections.abc import Callable

from model_catalog.blocks.attention import attention
from model_catalog.blocks.feed_forward import dense, experts, router
from model_catalog.blocks.linear import linear, norm
from model_catalog.blocks.prediction import prediction_tower
from model_catalog.blocks.recurrent import Mamba2
from model_catalog.fields import MOST_LAYERS, Fields
from model_catalog.importers.decoder import decoder
from model_catalog.importers.hybrid import LEGACY, known_kinds, softmax, state_dtype_of
from model_catalog.layer_kinds import FULL, LINEAR
from model_catalog.spec import FeedForward, Layer, ModelSpec, Tower
from model_catalog.tensors import Tensor, TensorClass

LETTERS = {"M": LINEAR, "E": "moe", "*": FULL, "-": "mlp"}
KNOWN = (FULL, LINEAR, "moe", "mlp")


def read_nemotron_h(f: Fields) -> ModelSpec:
    kinds = _kinds(f, "layers_block_type", "hybrid_override_pattern") or [LINEAR, "moe", FULL, "mlp"]
    layers = {kind: _layer(f, kind) for kind in set(kinds)}
    return decoder(f, [layers[kind] for kind in kinds], towers=_prediction(f))


def _kinds(f: Fields, list_name: str, pattern_name: str) -> list[str] | None:
    """The stated list of layers, else the pattern spelled out, else None."""
    stated = f.items(list_name, str)
    if stated is not None:
        return known_kinds(f, [LEGACY.get(kind, kind) for kind in stated], KNOWN, list_name)
    pattern = f.text(pattern_name)
    if len(pattern) > MOST_LAYERS or set(pattern) - set(LETTERS):
        raise f.error(pattern_name, f"a text of at most {MOST_LAYERS:,} letters M, E, * and -")
    return [LETTERS[letter] for letter in pattern] or None


def _layer(f: Fields, kind: str) -> Layer:
    hidden = f.whole("hidden_size")
    own = norm("norm", hidden)
    match kind:
        case "moe":
            part, weights = _mixture(f)
            return Layer(feed_forward=part, tensors=(*own, *weights))
        case "mlp":
            size = f.whole("intermediate_size")
            weights = dense(hidden, size, prefix="mixer", gated=False, bias=f.flag("mlp_bias"))
            return Layer(feed_forward=FeedForward(intermediate=size), tensors=(*own, *weights))
        case "linear_attention":
            mamba = _mamba(f)
            return Layer(mixers=(mamba.mixer(),), tensors=(*own, *mamba.tensors("mixer")))
        case _:
            mixer = softmax(f)
            return Layer(mixers=(mixer,), tensors=(*own, *attention(mixer, hidden, prefix="mixer")))


def _mamba(f: Fields) -> Mamba2:
    """Fields by their own names or, as older files have them, with mamba_ before; those win where both stand."""
    heads, head_dim = f.whole("mamba_num_heads"), f.whole("mamba_head_dim")
    return Mamba2(
        hidden=f.whole("hidden_size"),
        channels=heads * head_dim,
        heads=heads,
        head_dim=head_dim,
        state=f.whole("ssm_state_size"),
        groups=f.whole(_older(f, "mamba_n_groups", "n_groups")),
        kernel=f.whole(_older(f, "mamba_d_conv", "conv_kernel")),
        conv_bias=f.flag(_older(f, "mamba_conv_bias", "use_conv_bias")),
        bias=f.flag("use_bias"),
        state_dtype=state_dtype_of(f, "mamba_ssm_cache_dtype"),
    )


def _older(f: Fields, older: str, name: str) -> str:
    return older if f.has(older) else name


def _mixture(f: Fields) -> tuple[FeedForward, tuple[Tensor, ...]]:
    """Experts without a gate; with moe_latent_size (Nemotron 3 Super) they work in a narrower space."""
    hidden, size, count = f.whole("hidden_size"), f.whole("moe_intermediate_size"), f.whole("n_routed_experts")
    latent, bias = f.whole_or_none("moe_latent_size", minimum=1), f.flag("mlp_bias")
    shared = f.whole_or_none("moe_shared_expert_intermediate_size") or f.whole("intermediate_size")
    kind = TensorClass.SHARED_EXPERT
    narrowing = () if latent is None else _latent_projections(hidden, latent, bias=bias)
    part = FeedForward(
        intermediate=size, experts=count, top_k=f.whole("num_experts_per_tok"), shared_intermediate=shared
    )
    weights = (
        *router(hidden, count, prefix="mixer.gate"),
        *experts(latent or hidden, size, count, prefix="mixer.experts", gated=False),
        *dense(hidden, shared, prefix="mixer.shared_experts", gated=False, bias=bias, kind=kind),
        *narrowing,
    )
    return part, weights


def _latent_projections(hidden: int, latent: int, *, bias: bool) -> tuple[Tensor, ...]:
    kind = TensorClass.SHARED_EXPERT
    return (
        *linear("mixer.fc1_latent_proj", latent, hidden, kind, bias=bias),
        *linear("mixer.fc2_latent_proj", hidden, latent, kind, bias=bias),
    )


def _prediction(f: Fields) -> tuple[Tower, ...]:
    """Each prediction step is a short stack of layers with two norms and a joining projection before, a norm after.

    The sum meets the 11,215,609,856 elements that nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16 holds beside the model.
    """
    steps = f.whole("num_nextn_predict_layers", 0, minimum=0, maximum=64)
    if not steps:
        return ()
    hidden = f.whole("hidden_size")
    kinds = _kinds(f, "mtp_layers_block_type", "mtp_hybrid_override_pattern") or [FULL, "moe"]
    around = (
        *norm("enorm", hidden),
        *norm("hnorm", hidden),
        *linear("eh_proj", hidden, 2 * hidden, TensorClass.PREDICTION),
        *norm("final_layernorm", hidden),
    )
    stack = (tensor for kind in kinds for tensor in _layer(f, kind).tensors)
    return prediction_tower((*around, *stack), steps)


READERS: dict[str, Callable[[Fields], ModelSpec]] = {"nemotron_h": read_nemotron_h}
