"""The GGUF file that is loaded, and what of it each device and the host hold (ENGINE_MEMORY 4.5)."""

from collections.abc import Iterable
from dataclasses import dataclass

from model_catalog.spec import ModelSpec
from model_catalog.tensors import TensorClass
from sizing.engines.llama_cpp.split import Share
from sizing.scenario import ScenarioError
from sizing.weights.inventory import Inventory, Stored, inventory
from sizing.weights.precisions import AUTO, GGUF, resolve_precision
from sizing.weights.stored import part_bytes

AS_GGUF = {"bf16": "gguf-bf16", "fp16": "gguf-f16", "fp32": "fp32"}
KEPT = ("mxfp4", "nvfp4", "fp32")  # formats of checkpoints that GGUF has too


def file_type(spec: ModelSpec, weights: str) -> tuple[str, str | None]:
    """The precision of the file, and a note where it was chosen here. Raises ScenarioError for one GGUF has not.

    `auto` is the checkpoint converted as convert_hf_to_gguf.py does by default: to its own 16-bit type, with experts
    that are stored in MXFP4 kept so.
    """
    name = resolve_precision(weights, spec).name
    if name in GGUF or name in KEPT:
        return name, None
    if name in AS_GGUF:
        return AS_GGUF[name], None
    if name != AUTO:
        raise ScenarioError("weights", f"llama.cpp loads GGUF files, and {name} is no type of theirs; try q4_k_m.")
    method = spec.quantization.method if spec.quantization else None
    if method in GGUF or method in ("mxfp4", "gguf"):
        return AUTO, None
    chosen = AS_GGUF.get(spec.dtype, "gguf-bf16")
    return chosen, f"The weights are counted as a GGUF file in {chosen.removeprefix('gguf-').upper()}."


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes of weights: `devices` one by one, and the `host`, which keeps the input embedding in any case.

    `encoder`: the projector file (mmproj), on the first device. `draft`: prediction layers, on the last.
    """

    devices: tuple[int, ...]
    host: int
    encoder: int
    draft: int


def held_by(spec: ModelSpec, precision: str, devices: tuple[Share, ...], host: Share) -> Held:
    """A tied embedding is loaded twice: for the input on the host, and as the output head."""
    file = inventory(spec, precision)
    key = ("llama.cpp", devices, host)
    if key not in file.known:
        file.known[key] = _held(file, devices, host)
    held: Held = file.known[key]
    return held


def _held(file: Inventory, devices: tuple[Share, ...], host: Share) -> Held:
    kinds = [_total(part) for part in file.kinds]
    layers = [kinds[number] for number in file.layer_kinds]
    output = _total(file.last) + _total(file.tied)
    predicts = [each for each in file.towers if each.tensor.kind is TensorClass.PREDICTION]
    beside = [each for each in file.towers if each.tensor.kind is not TensorClass.PREDICTION]

    def part(share: Share) -> int:
        return sum(layers[share.first : share.last]) + (output if share.output else 0)

    return Held(
        devices=tuple(part(share) for share in devices),
        host=_total(file.first) + part(host),
        encoder=_total(beside),
        draft=_total(predicts),
    )


def _total(part: Iterable[Stored]) -> int:
    return sum(part_bytes(part).values())
