"""Recurrent decoders, and hybrids of recurrent and attention layers: the readers of all their modules."""

from collections.abc import Callable

from model_catalog.fields import Fields
from model_catalog.importers import (
    delta,
    gated_recurrence,
    inkling,
    inkling2,
    kimi,
    lightning,
    mamba,
    nemotron_h,
    qwen4_exp,
    rwkv,
    short_conv,
    zamba,
    zaya,
)
from model_catalog.spec import ModelSpec

READERS: dict[str, Callable[[Fields], ModelSpec]] = {
    **mamba.READERS,
    **zamba.READERS,
    **nemotron_h.READERS,
    **delta.READERS,
    **kimi.READERS,
    **short_conv.READERS,
    **lightning.READERS,
    **gated_recurrence.READERS,
    **rwkv.READERS,
    **zaya.READERS,
    **inkling.READERS,
    **inkling2.READERS,
    **qwen4_exp.READERS,
}
