"""Variants of the scenario that are drawn over its map: one changed setting each, and how they stand in the address.

In the address, `overlays` is a kind of setting ("kv_dtype": the usual values of that kind) or a list of variants
("kv_dtype:fp8,tensor_parallel:2"); "none" is no overlay at all.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from components import choices
from components.format import counted
from hardware_catalog import all_accelerators
from sizing.engines import ENGINES
from sizing.scenario import ANOTHER_CARD, ANOTHER_COUNT
from sizing.weights.precisions import PRECISIONS

MOST_OVERLAYS = 6
NONE = "none"
KINDS = {
    "kv_dtype": "KV cache",
    "weights": "Weights",
    "tensor_parallel": "GPUs",
    "accelerator": "Accelerator",
    "engine": "Engine",
}
FIRST_KIND = "kv_dtype"
USUAL: dict[str, tuple[Any, ...]] = {
    "kv_dtype": ("bf16", "fp8", "fp8_e4m3", "q8_0", "nvfp4", "int8", "q4_0"),
    "weights": ("bf16", "fp8", "awq-int4", "nvfp4", "q8_0", "q4_k_m"),
    "tensor_parallel": (1, 2, 4, 8),
    "accelerator": ("h100-sxm5-80gb", "h200-sxm-141gb", "b200-sxm", "mi300x"),
}
GGUF = ("q8_0", "q4_k_m")
SAME_SIZE = ({"bf16", "bfloat16", "fp16", "float16", "f16"}, {"fp8", "fp8_e4m3", "fp8_e5m2"})


@dataclass(frozen=True)
class Variant:
    """One setting with another value. Labels name what is changed, so that kinds can be mixed."""

    kind: str
    value: Any

    @property
    def key(self) -> str:
        return f"{self.kind}:{self.value}"

    @property
    def label(self) -> str:
        match self.kind:
            case "kv_dtype":
                return f"KV {choices.kv_label(self.value)}"
            case "weights":
                return f"Weights {choices.weights_label(self.value)}"
            case "tensor_parallel":
                return counted(self.value, "GPU")
            case "accelerator":
                return choices.short_accelerator(self.value)
            case _:
                return choices.engine_label(self.value)

    @property
    def changes(self) -> dict[str, Any]:
        """Another engine comes in its newest version, a catalog accelerator with the catalog's memory."""
        more: dict[str, dict[str, Any]] = {
            "engine": {"engine_version": None},
            "accelerator": ANOTHER_CARD,
            "tensor_parallel": ANOTHER_COUNT,
        }
        return {self.kind: self.value} | more.get(self.kind, {})


def values_of(kind: str, engine: str) -> list[Any]:
    """Everything that a kind of setting can be."""
    match kind:
        case "kv_dtype":
            return [name for name in ENGINES[engine].kv_dtypes if name != choices.AUTO]
        case "weights":
            return [name for name in PRECISIONS if name != choices.AUTO]
        case "tensor_parallel":
            return list(choices.TENSOR_PARALLEL)
        case "accelerator":
            return [each.id for each in all_accelerators()]
        case _:
            return list(ENGINES)


def usual(kind: str, values: Mapping[str, Any], current: Iterable[Any]) -> list[Variant]:
    """The variants of a kind that are drawn when it is picked, those left out that draw the same line as the
    scenario's own value, which goes by the names `current`. Weights are offered as files of the engine's own kind."""
    engine = str(values["engine"])
    offered = values_of(kind, engine)
    wanted = [value for value in USUAL.get(kind, offered) if value in offered]
    if kind == "weights":
        wanted = [value for value in wanted if (value in GGUF) == (engine == "llama.cpp")]
    if kind == "kv_dtype" and "fp8" in wanted:
        wanted = [value for value in wanted if value != "fp8_e4m3"]
    own = {name for value in current for name in next((same for same in SAME_SIZE if value in same), {value})}
    return [Variant(kind, value) for value in wanted if value not in own][:MOST_OVERLAYS]


def read_overlays(text: str, engine: str) -> tuple[list[Variant], list[str]]:
    """The variants of a list in the address, and a sentence for each part that is not one."""
    found: list[Variant] = []
    complaints = []
    for part in [] if text == NONE else text.split(","):
        kind, _, name = part.partition(":")
        known = {str(value): value for value in values_of(kind, engine)} if kind in KINDS else {}
        if name not in known:
            complaints.append(f'In the link, "{part[:60]}" is not an overlay that is known here; it is left out.')
        elif Variant(kind, known[name]) not in found:
            found.append(Variant(kind, known[name]))
    if len(found) > MOST_OVERLAYS:
        complaints.append(f"The link has {len(found)} overlays; the first {MOST_OVERLAYS} are drawn.")
    return found[:MOST_OVERLAYS], complaints


def write_overlays(variants: Iterable[Variant]) -> str:
    return ",".join(variant.key for variant in variants) or NONE
