"""What readers of hybrid and recurrent decoders ask a config in the same way."""

from collections.abc import Sequence
from typing import Final

from model_catalog.fields import ConfigError, Fields
from model_catalog.importers.common import head_dim_of
from model_catalog.layer_kinds import FULL, LINEAR, Rule
from model_catalog.spec import Attention

CONV: Final = "conv"
INDEXED: Final = "indexed_attention"

# Older names that transformers 5.24.0 still reads (configuration_utils._LEGACY_LAYER_TYPE_REMAP).
LEGACY = {
    "mamba": LINEAR,
    "attention": FULL,
    "deepseek_sparse_attention": INDEXED,
    "qwen_sparse_attention": INDEXED,
}
STATE_DTYPES = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}


def stated_kinds(f: Fields, layers: int, known: Sequence[str], rule: Rule) -> list[str]:
    """layer_types where the config states it, else what `rule` derives. A kind not in `known` is read as the first."""
    stated = f.items("layer_types", str)
    if stated is None:
        return rule(f, layers)
    if len(stated) != layers:
        raise ConfigError(
            f"{f.path}layer_types",
            f"{f.path}layer_types names {len(stated):,} layers, but the model has {layers:,}.",
        )
    return known_kinds(f, [LEGACY.get(kind, kind) for kind in stated], known)


def known_kinds(f: Fields, kinds: list[str], known: Sequence[str], name: str = "layer_types") -> list[str]:
    """`kinds` with each one that is not in `known` doubted and read as the first of `known`."""
    for odd in sorted(set(kinds) - set(known)):
        f.doubt(name, f'"{odd[:40]}" layers are not understood; they are counted as "{known[0]}".')
    return [kind if kind in known else known[0] for kind in kinds]


def every_nth_full(field: str, default: int) -> Rule:
    """Each `field`-th layer is attention, the others are recurrent (Qwen3-Next: full_attention_interval 4)."""

    def kinds(f: Fields, layers: int) -> list[str]:
        interval = f.whole(field, default)
        return [LINEAR if (i + 1) % interval else FULL for i in range(layers)]

    return kinds


def softmax(f: Fields, window: int | None = None) -> Attention:
    """The attention of a layer that has it, as Llama's class reads its dimensions."""
    heads, head_dim = f.whole("num_attention_heads"), head_dim_of(f)
    return Attention(
        heads=heads,
        kv_heads=f.whole("num_key_value_heads", heads),
        head_dim=head_dim,
        value_dim=head_dim,
        window=window,
    )


def whole_or_auto(f: Fields, name: str, auto: int) -> int:
    """A whole number, or `auto` where the field says "auto" (mamba_d_head, time_step_rank)."""
    return auto if f.raw(name) == "auto" else f.whole(name)


def state_dtype_of(f: Fields, name: str) -> str | None:
    """The format that the config asks for its recurrent state, in our names."""
    stated = f.text(name).removeprefix("torch.")
    if stated and stated not in STATE_DTYPES:
        f.doubt(name, f'"{stated[:40]}" is not a state format that is known here.', weights=False)
    return STATE_DTYPES.get(stated)
