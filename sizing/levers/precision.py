"""Smaller formats of the cache and of the weights."""

from collections.abc import Iterator

from hardware_catalog.schema import Accelerator
from sizing.levers.step import Lever, Step
from sizing.scenario import Scenario

KV_STEPS = {"llama.cpp": ("q8_0", "q4_0"), "sglang": ("fp8_e4m3", "fp4_e2m1"), "transformers": ()}
USUAL_KV = ("fp8", "nvfp4")
FOUR_BIT_KV, BLACKWELL = ("nvfp4", "fp4_e2m1"), (10, 0)
WEIGHT_STEPS = {"llama.cpp": ("q8_0", "q6_k", "q5_k_m", "q4_k_m"), "transformers": ("bnb-int8", "bnb-nf4")}
USUAL_WEIGHTS = ("fp8", "awq-int4")
NAMES = {
    "fp8_e4m3": "FP8",
    "fp4_e2m1": "FP4",
    "awq-int4": "INT4 AWQ",
    "bnb-int8": "INT8 (bitsandbytes)",
    "bnb-nf4": "NF4 (bitsandbytes)",
}


def precision_levers(asked: Scenario, accelerator: Accelerator | None) -> Iterator[Lever]:
    yield Lever("precision", _steps("KV cache in", "kv_dtype", _kv_formats(asked, accelerator)))
    yield Lever("precision", _steps("Weights in", "weights", WEIGHT_STEPS.get(asked.engine, USUAL_WEIGHTS)))


def _kv_formats(asked: Scenario, accelerator: Accelerator | None) -> tuple[str, ...]:
    """Attention reads 4-bit floats on Blackwell only."""
    formats = KV_STEPS.get(asked.engine, USUAL_KV)
    capability = accelerator.compute_capability if accelerator else None
    reads = capability is not None and capability >= BLACKWELL
    return tuple(name for name in formats if reads or name not in FOUR_BIT_KV)


def _steps(text: str, field: str, formats: tuple[str, ...]) -> list[Step]:
    return [Step(f"{text} {NAMES.get(name, name.upper())}", {field: name}) for name in formats]
