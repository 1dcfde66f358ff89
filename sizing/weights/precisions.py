"""The precisions that weights can be asked for, and what each leaves in 16 bits."""

from dataclasses import dataclass, replace

from model_catalog.spec import ModelSpec
from sizing.scenario import ScenarioError

AUTO = "auto"
REST = "Embeddings, output head, norms, router and vision stay in 16 bits."


@dataclass(frozen=True, slots=True)
class Precision:
    """A choice of the weights field: `label` for people, `kept` a sentence about what is stored otherwise."""

    name: str
    label: str
    kept: str


def _gguf(name: str, label: str) -> Precision:
    return Precision(
        name,
        f"GGUF {label}",
        "Each tensor has the type that llama.cpp gives it; norms, biases and router stay in 32 bits.",
    )


LISTED = (
    Precision(AUTO, "As the checkpoint is stored", "What the checkpoint's own config says."),
    Precision("bf16", "BF16", "Every tensor is in 16 bits but those the model always keeps in 32."),
    Precision("fp16", "FP16", "Every tensor is in 16 bits but those the model always keeps in 32."),
    Precision("fp32", "FP32", "Every tensor is in 32 bits."),
    Precision("fp8", "FP8, one scale per channel", REST),
    Precision("fp8-block", "FP8, blocks of 128 × 128", REST),
    Precision("int8", "INT8, one scale per channel", REST),
    Precision("awq-int4", "INT4 AWQ, group 128", REST),
    Precision("gptq-int4", "INT4 GPTQ, group 128", REST),
    Precision("nvfp4", "NVFP4", REST),
    Precision(
        "mxfp4",
        "MXFP4",
        "Mixtures keep all but their experts in 16 bits, other models embeddings, output head and norms.",
    ),
    Precision("bnb-nf4", "NF4, bitsandbytes", REST),
    Precision("bnb-int8", "INT8, bitsandbytes", REST),
    _gguf("q8_0", "Q8_0"),
    _gguf("q6_k", "Q6_K"),
    _gguf("q5_k_m", "Q5_K_M"),
    _gguf("q5_k_s", "Q5_K_S"),
    _gguf("q5_0", "Q5_0"),
    _gguf("q4_k_m", "Q4_K_M"),
    _gguf("q4_k_s", "Q4_K_S"),
    _gguf("q4_0", "Q4_0"),
    _gguf("iq4_xs", "IQ4_XS"),
    _gguf("iq4_nl", "IQ4_NL"),
    _gguf("q3_k_l", "Q3_K_L"),
    _gguf("q3_k_m", "Q3_K_M"),
    _gguf("q3_k_s", "Q3_K_S"),
    _gguf("q2_k", "Q2_K"),
    _gguf("gguf-f16", "F16"),
    _gguf("gguf-bf16", "BF16"),
)
BY_NAME = {precision.name: precision for precision in LISTED}
PRECISIONS: tuple[str, ...] = tuple(BY_NAME)
GGUF = frozenset(precision.name for precision in LISTED if precision.label.startswith("GGUF"))
SAME = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "float32": "fp32",
    "fp8-e4m3": "fp8",
    "awq": "awq-int4",
    "gptq": "gptq-int4",
    "nf4": "bnb-nf4",
    "f16": "gguf-f16",
}

# Formats of checkpoints that are not offered as a choice.
STORED = {
    "fp8-tensor": "FP8, one scale per tensor",
    "mxfp8": "MXFP8",
    "gptq-int8": "INT8 GPTQ, group 128",
    "int4-group32": "INT4, symmetric groups",
    "gguf": "GGUF, each tensor in its own type",
}


def resolve_precision(name: str, spec: ModelSpec) -> Precision:
    """The precision of that name, whatever its case. Raises ScenarioError for one that is unknown.

    `auto` says what this model's checkpoint holds.
    """
    plain = name.strip().lower()
    dashed = plain.replace("_", "-")
    for each in (plain, dashed, SAME.get(dashed, "")):
        if each in BY_NAME:
            return _as_stored(spec) if each == AUTO else BY_NAME[each]
    shown = name if len(name) <= 40 else name[:37] + "..."
    listed = ", ".join(PRECISIONS)
    raise ScenarioError("weights", f'"{shown}" is not a precision that is known here. Known are {listed}.')


def _as_stored(spec: ModelSpec) -> Precision:
    """`auto` with what it means for this model in its label."""
    stored = spec.quantization.method if spec.quantization else spec.dtype
    label = BY_NAME[stored].label if stored in BY_NAME else STORED.get(stored, stored)
    return replace(BY_NAME[AUTO], label=f"As stored: {label}")
