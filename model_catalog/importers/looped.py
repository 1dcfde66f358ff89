"""Decoders that run some of their layers several times for each token, with keys and values of its own in each pass.

The layers' tensors exist once; a layer that runs n times is given its mixer n times.
"""

from collections.abc import Callable
from dataclasses import replace

from model_catalog import layer_kinds as kinds
from model_catalog.blocks.linear import small
from model_catalog.fields import MOST_LAYERS, ConfigError, Fields
from model_catalog.importers.common import query_heads_of
from model_catalog.importers.families import output_gate
from model_catalog.importers.plain import Family, read_plain
from model_catalog.spec import Attention, Layer, ModelSpec, run_length
from model_catalog.tensors import Tensor

MOST_PASSES = 64


def _repeated(layer: Layer, passes: int) -> Layer:
    return replace(layer, mixers=layer.mixers * passes)


def read_hrm(f: Fields) -> ModelSpec:
    """Hierarchical reasoning: each of H_cycles runs the low stack L_cycles times and then the high stack once."""
    own = f.raw("num_layers_per_stack") is not None
    stack = f.layer_count("num_layers_per_stack" if own else "num_hidden_layers")
    high, low = f.whole("H_cycles", maximum=MOST_PASSES), f.whole("L_cycles", maximum=MOST_PASSES)
    family = Family(
        kv_heads=query_heads_of,
        mlp_bias="mlp_bias",
        norms=0,
        final_norm=False,
        beside=_hrm_gate,
        outside=lambda f: small("model.z_L_init", f.whole("hidden_size")),
    )
    spec = read_plain(f.described(), family)
    layer = spec.layers[0].layer
    layers = [_repeated(layer, high * low)] * stack + [_repeated(layer, high)] * stack
    return replace(spec, layers=run_length(layers))


def _hrm_gate(f: Fields, mixer: Attention) -> tuple[Tensor, ...]:
    bias = small("self_attn.gate_proj.bias", mixer.heads * mixer.head_dim) if f.flag("attention_bias") else ()
    return (*output_gate(f, mixer), *bias)


def read_dory(f: Fields) -> ModelSpec:
    """Dory: the layers between n_input_layers and n_output_layers run n_recurrent_loops times."""
    blocks = 2 if "mlp" in (f.items("layer_types", str, most=2 * MOST_LAYERS) or ()) else 1
    own = _halved(f) if blocks == 2 else f
    spec = read_plain(own, DORY)
    first, last = own.whole("n_input_layers", minimum=0), own.whole("n_output_layers", minimum=0)
    looped = own.whole("n_recurrent_layers", max(0, spec.num_layers - first - last), minimum=0)
    if first + looped + last != spec.num_layers:
        raise ConfigError(
            f"{f.path}n_recurrent_layers", "Input, recurrent and output layers do not add up to num_hidden_layers."
        )
    loops = own.whole("n_recurrent_loops", maximum=MOST_PASSES)
    passes = 1 if own.text("recurrent_kv_cache_mode", "per_loop") == "last_loop" else loops
    layers = [
        _repeated(layer, passes if first <= index < first + looped else 1)
        for index, layer in enumerate(spec.each_layer())
    ]
    return replace(spec, layers=run_length(layers))


def _halved(f: Fields) -> Fields:
    """A saved config counts attention and feed-forward as two layers."""
    names = ("num_hidden_layers", "n_input_layers", "n_output_layers", "n_recurrent_layers")
    counts = {name: f.whole(name, minimum=0, maximum=2 * MOST_LAYERS) // 2 for name in names if f.raw(name) is not None}
    layer_types = (f.items("layer_types", str, most=2 * MOST_LAYERS) or [])[::2]
    other = Fields({**f.data, **counts, "layer_types": layer_types}, f.model_type, f.path)
    other.reading = f.reading
    return other


def _dory_scales(f: Fields, mixer: Attention) -> tuple[Tensor, ...]:
    return (
        *output_gate(f, mixer),
        *small("self_attn.scales", 2, mixer.heads * mixer.head_dim),
        *small("mlp.scales", 2, f.whole("intermediate_size")),
        *small("lambdas", 2, f.whole("hidden_size")),
    )


DORY = Family(
    layer_kinds=kinds.stated_or(kinds.fixed_one_full_in(4)),
    mlp_bias="mlp_bias",
    norms=0,
    final_norm=False,
    beside=_dory_scales,
    outside=lambda f: small("lm_head.logit_scale", f.whole("vocab_size")),
)
READERS: dict[str, Callable[[Fields], ModelSpec]] = {"dory": read_dory, "hrm_text": read_hrm}
