"""The GGUF file that is loaded, and what of it each device and the host hold (src/llama-model.cpp load_tensors)."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from model_catalog.spec import ModelSpec
from model_catalog.tensors import TensorClass
from sizing.engines.llama_cpp.row_split import RowSplit, is_matrix, padding_of
from sizing.engines.llama_cpp.split import Share
from sizing.scenario import ScenarioError
from sizing.weights.inventory import Inventory, Part, Stored, inventory
from sizing.weights.linears import is_expert
from sizing.weights.precisions import AUTO, GGUF, resolve_precision
from sizing.weights.stored import part_bytes, size_of

AS_GGUF = {"bf16": "gguf-bf16", "fp16": "gguf-f16", "fp32": "fp32"}
ALIGNMENT = 128  # of tensors in CUDA's buffers (ggml_backend_cuda_buffer_type_get_alignment)
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
class Placing:
    """Which layers are where. `cpu_moe`: the first layers whose experts stay on the host (--n-cpu-moe).

    `rows`: how matrices are split, where that is by rows. `tied_twice`: a tied embedding is loaded as the output head
    too where both are on the host (until #10026). `projector`: whether the projector file (mmproj) is loaded.
    """

    devices: tuple[Share, ...]
    host: Share
    cpu_moe: int = 0
    rows: RowSplit | None = None
    tied_twice: bool = False
    projector: bool = True


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes of weights: `devices` one by one, and the `host`, which keeps the input embedding in any case.

    `mapped`: what of the file is mapped for the host. `cut`: of each device's layers, what is split by rows over all,
    and `own`, what is not. `largest`: of the matrices on the host, beside the input embedding.
    `encoder`: the projector file (mmproj), on the first device. `draft`: prediction layers, on the last; `draft_host`:
    their experts, where those stay on the host.
    """

    devices: tuple[int, ...]
    host: int
    mapped: int
    cut: tuple[int, ...]
    encoder: int
    draft: int
    draft_host: int
    own: tuple[int, ...]
    largest: int


def held_by(spec: ModelSpec, precision: str, placing: Placing) -> Held:
    """A tied embedding is loaded twice: for the input on the host, and as the output head on a device."""
    file = inventory(spec, precision)
    key = ("llama.cpp", placing)
    if key not in file.known:
        file.known[key] = _held(file, placing)
    held: Held = file.known[key]
    return held


def _held(file: Inventory, placing: Placing) -> Held:
    whole = _each_layer(file, _total)
    host = placing.host
    left = _each_layer(file, lambda part: _total(filter(is_of_experts, part)))[host.last : placing.cpu_moe]
    kept = _total(file.first) + sum(whole[: host.last])
    if host.output:
        kept += _total(file.last) + (_total(file.tied) if placing.tied_twice else 0)
    predicts = [each for each in file.towers if each.tensor.kind is TensorClass.PREDICTION]
    draft_host = [each for each in predicts if is_of_experts(each)] if placing.cpu_moe > len(whole) else []
    own = [_own(file, placing, share) for share in placing.devices]
    cut = [_cut(file, placing, owner) for owner in range(len(own))]
    uncut = tuple(size - sum(parts) for size, parts in zip(own, cut, strict=True))
    return Held(
        devices=tuple(size + sum(parts[device] for parts in cut) for device, size in enumerate(uncut)),
        host=kept + sum(left),
        mapped=kept + (sum(whole[host.last : placing.cpu_moe]) if any(left) else 0),
        cut=tuple(map(sum, cut)),
        encoder=_total(each for each in file.towers if each not in predicts) if placing.projector else 0,
        draft=_allocated(each for each in predicts if each not in draft_host),
        draft_host=_total(draft_host),
        own=uncut,
        largest=max(map(size_of, _on_host(file, placing)), default=0),
    )


def _each_layer(file: Inventory, measure: Callable[[Part], int]) -> list[int]:
    kinds = [measure(part) for part in file.kinds]
    return [kinds[number] for number in file.layer_kinds]


def _own(file: Inventory, placing: Placing, share: Share) -> int:
    """Bytes of a device's own layers, without the experts that are left on the host."""
    whole = _each_layer(file, _allocated)
    dense = _each_layer(file, lambda part: _allocated(each for each in part if not is_of_experts(each)))
    apart = min(max(share.first, placing.cpu_moe), share.last)
    output = _allocated((*file.last, *file.tied)) if share.output else 0
    return sum(dense[share.first : apart]) + sum(whole[apart : share.last]) + output


def _cut(file: Inventory, placing: Placing, owner: int) -> list[int]:
    """Bytes on each device of the matrices of one device's layers that are split by rows."""
    total = [0] * len(placing.devices)
    if placing.rows is None:
        return total
    share = placing.devices[owner]
    parts = [file.kinds[number] for number in file.layer_kinds[share.first : share.last]]
    for stored in chain(*parts, (*file.last, *file.tied) if share.output else ()):
        sizes = placing.rows.parts(stored) if is_matrix(stored) else ()
        if sizes and sizes[owner]:
            total = [sum(pair) for pair in zip(total, sizes, strict=True)]
    return total


def is_of_experts(stored: Stored) -> bool:
    """Routed experts with their biases: what --n-cpu-moe keeps on the host (common.h LLM_FFN_EXPS_REGEX)."""
    return is_expert(stored.tensor) or ".experts." in stored.tensor.name


def _on_host(file: Inventory, placing: Placing) -> Iterator[Stored]:
    """Matrices and experts of the layers, and of the output, that stay on the host."""
    layers = [file.kinds[number] for number in file.layer_kinds]
    for part in (*layers[: placing.host.last], (*file.last, *file.tied) if placing.host.output else ()):
        yield from (each for each in part if is_matrix(each) or is_expert(each.tensor))
    for part in layers[placing.host.last : placing.cpu_moe]:
        yield from filter(is_of_experts, part)


def _allocated(part: Iterable[Stored]) -> int:
    """Bytes on a device, where each tensor ends at a whole unit of alignment."""
    return sum(-(-(size_of(each) + padding_of(each)) // ALIGNMENT) * ALIGNMENT for each in part)


def _total(part: Iterable[Stored]) -> int:
    return sum(part_bytes(part).values())
