"""How tensors are stored: as the checkpoint says (`auto`), and in precisions that pack linear layers only."""

from collections.abc import Callable
from dataclasses import replace

from model_catalog.spec import ModelSpec, Quantization
from model_catalog.tensors import Tensor
from sizing.scenario import ScenarioError
from sizing.weights.linears import has_experts, is_expert, is_linear
from sizing.weights.packing import GGML, PACKED, PLAIN, Packing
from sizing.weights.precisions import AUTO
from sizing.weights.skipped import SkippedModules

# How the tensor of this name, in the layer of this number (None outside the layers), is stored.
Rule = Callable[[Tensor, int | None], Packing]
HALF = PLAIN["bf16"]
GGUF_FILE = "gguf"  # every tensor has the ggml type that the file stores it in


def checkpoint_rule(spec: ModelSpec, precision: str) -> Rule:
    """The rule of a precision that is not a GGUF type."""
    if precision == AUTO:
        stated = spec.quantization if spec.quantization and spec.quantization.method != GGUF_FILE else None
        return _as_stored(spec, stated) if stated else _unpacked(usual_format(spec))
    if precision in PLAIN:
        return _unpacked(PLAIN[precision], minimum=PLAIN[precision].bits)
    packing = PACKED[precision]
    experts_only = precision == "mxfp4" and has_experts(spec)
    packs = is_expert if experts_only else is_linear
    return lambda tensor, layer: packing if packs(tensor) else own_format(tensor, HALF)


def own_format(tensor: Tensor, usual: Packing, minimum: int = 16) -> Packing:
    """The format of this tensor's own, where the model gives it one of at least `minimum` bits."""
    if tensor.dtype is None:
        return usual
    own = PLAIN.get(tensor.dtype) or PACKED.get(tensor.dtype) or GGML.get(tensor.dtype, usual)
    return own if own.bits >= minimum else usual


def usual_format(spec: ModelSpec) -> Packing:
    """The format of what no quantiser touches."""
    return PLAIN.get(spec.dtype, HALF)


def _unpacked(usual: Packing, minimum: int = 0) -> Rule:
    return lambda tensor, layer: own_format(tensor, usual, minimum)


def _as_stored(spec: ModelSpec, quantization: Quantization) -> Rule:
    """What the config's quantization says: packed linear layers but for the skipped ones."""
    usual, packing = usual_format(spec), stored_packing(quantization)
    skipped = SkippedModules(quantization.skipped)

    def rule(tensor: Tensor, layer: int | None) -> Packing:
        if tensor.dtype is not None:
            return own_format(tensor, usual, 0)
        if not is_linear(tensor) or module_name(tensor, layer) in skipped:
            return usual
        return packing

    return rule


def stored_packing(quantization: Quantization) -> Packing:
    """The packing of a checkpoint's linear layers, with the group size it states."""
    packing = PACKED.get(quantization.method)
    if packing is None:
        raise ScenarioError(
            "weights",
            f'The checkpoint is stored as "{quantization.method[:40]}", which is not known here. Choose a precision.',
        )
    if quantization.group_size and packing.block_rows == 1 and packing.block_columns:
        return replace(packing, block_columns=quantization.group_size)
    return packing


def module_name(tensor: Tensor, layer: int | None) -> str:
    """The tensor's module as a checkpoint would name it, from "layers." on."""
    name = tensor.name.removesuffix(".weight")
    return name if layer is None else f"layers.{layer}.{name}"
