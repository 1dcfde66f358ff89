"""Step-3.5 and Step-3.7: windowed layers with more query heads, and prediction layers in the same lists."""

from collections.abc import Callable, Mapping

from model_catalog.blocks.attention import attention
from model_catalog.blocks.mixture import feed_forward
from model_catalog.blocks.prediction import deepseek_prediction
from model_catalog.fields import ConfigError, Fields
from model_catalog.importers.decoder import decoder, overlaid, overrides
from model_catalog.importers.latent_parts import prediction_layers, two_norms
from model_catalog.importers.windowed_mixtures import output_gate, window_of
from model_catalog.layer_kinds import FULL, SLIDING
from model_catalog.spec import Attention, FeedForward, Layer, ModelSpec


def read_step3(f: Fields) -> ModelSpec:
    """The decoder of Step-3.7 (transformers 5.24.0, models/step3p7).

    Prediction layers have an output head of their own: three of them make up the 201,365,316,160 elements of
    stepfun-ai/Step-3.7-Flash.
    """
    layers, drafts = f.layer_count(), prediction_layers(f)
    kinds, mixtures = _kinds(f, layers, drafts), _mixtures(f, layers, drafts)
    own = overrides(f, layers) or [_sliding_shape(f) if kind == SLIDING else {} for kind in kinds]
    built = [_layer(overlaid(f, own[i]), kinds[i], mixtures[i]) for i in range(layers)]
    if not drafts:
        return decoder(f, built)
    draft_fields = overlaid(f, _sliding_shape(f) if kinds[layers] == SLIDING else {})
    draft = _layer(draft_fields, kinds[layers], mixtures[layers])
    hidden, vocab = f.whole("hidden_size"), f.whole("vocab_size")
    return decoder(f, built, towers=deepseek_prediction(draft.tensors, hidden, vocab, drafts, own_embedding=False))


def _padded(f: Fields, name: str, layers: int, drafts: int, known: tuple[str, str]) -> list[str] | None:
    """A list with an entry for each layer, and possibly for each prediction layer too."""
    stated = f.items(name, str)
    if stated is None:
        return None
    if len(stated) not in (layers, layers + drafts):
        raise ConfigError(f.path + name, f"{f.path}{name} names {len(stated):,} layers, but the model has {layers:,}.")
    for odd in sorted(set(stated) - set(known)):
        f.doubt(name, f'"{odd[:40]}" layers are not understood; they are counted as "{known[0]}".')
    return stated + [known[0]] * (layers + drafts - len(stated))


def _kinds(f: Fields, layers: int, drafts: int) -> list[str]:
    stated = _padded(f, "layer_types", layers, drafts, (FULL, SLIDING))
    return [FULL] * (layers + drafts) if stated is None else stated


def _mixtures(f: Fields, layers: int, drafts: int) -> list[bool]:
    """mlp_layer_types, else moe_layers_enum ("3,4,5"), else all but the first three; prediction layers are dense."""
    stated = _padded(f, "mlp_layer_types", layers, drafts, ("dense", "sparse"))
    if stated is not None:
        return [kind == "sparse" for kind in stated]
    sparse = _enumerated(f)
    chosen = set(range(3, layers)) if sparse is None else sparse
    return [i in chosen for i in range(layers + drafts)]


def _enumerated(f: Fields) -> set[int] | None:
    raw = f.raw("moe_layers_enum")
    if raw is None:
        return None
    parts = raw.split(",") if isinstance(raw, str) else raw
    if not isinstance(parts, list) or not all(str(part).strip().isdecimal() for part in parts if str(part).strip()):
        raise f.error("moe_layers_enum", "a list of layer indices")
    return {int(str(part)) for part in parts if str(part).strip()}


def _sliding_shape(f: Fields) -> dict[str, int]:
    """Query heads of windowed layers; published files state them in attention_other_setting."""
    stated = f.whole_or_none("num_sliding_attention_heads", minimum=1)
    if stated is None and isinstance(f.raw("attention_other_setting"), Mapping):
        other = f.part("attention_other_setting")
        stated = other.whole_or_none("num_attention_heads", minimum=1) if other else None
    return {} if stated is None else {"num_attention_heads": stated}


def _layer(f: Fields, kind: str, mixture: bool) -> Layer:
    hidden, heads, head_dim = f.whole("hidden_size"), f.whole("num_attention_heads"), f.whole("head_dim")
    mixer = Attention(
        heads=heads,
        kv_heads=_first(f, "num_attention_groups", "num_key_value_heads"),
        head_dim=head_dim,
        value_dim=head_dim,
        window=window_of(f, kind),
    )
    part = FeedForward(intermediate=f.whole("intermediate_size"))
    if mixture:
        part = FeedForward(
            intermediate=f.whole("moe_intermediate_size"),
            experts=_first(f, "moe_num_experts", "n_routed_experts"),
            top_k=_first(f, "moe_top_k", "num_experts_per_tok"),
            shared_intermediate=_first(f, "share_expert_dims", "share_expert_dim"),
        )
    bias, mlp_bias = f.flag("attention_bias"), f.flag("mlp_bias")
    return Layer(
        mixers=(mixer,),
        feed_forward=part,
        tensors=(
            *attention(mixer, hidden, qkv_bias=bias, out_bias=bias, qk_norm="head"),
            *output_gate(heads, heads, hidden),
            *feed_forward(hidden, part, bias=mlp_bias),
            *two_norms(f, mixture),
        ),
    )


def _first(f: Fields, older: str, name: str) -> int:
    """The older name wins where the file states it."""
    return f.whole(older if f.data.get(older) is not None else name)


READERS: dict[str, Callable[[Fields], ModelSpec]] = {"step3p5": read_step3}
