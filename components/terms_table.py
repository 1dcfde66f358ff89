"""The Terms tab: every term with its bytes per GPU, in total, how sure it is and where it comes from."""

from collections.abc import Iterator
from dataclasses import dataclass

from components.format import amount, counted, two_decimals
from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from sizing.engines.plan import EnginePlan
from sizing.report import Report
from sizing.room import room
from sizing.weights.precisions import resolve_precision

NOTABLY_LESS = 0.01  # of what is left


@dataclass(frozen=True)
class Row:
    """`field` is the Footprint's; an empty `grade` is left blank."""

    name: str
    field: str
    grade: str
    source: str


def headers(report: Report) -> list[str]:
    gpus = report.scenario.placement.gpus
    totals = [f"{gpus:,} GPUs, GiB"] if gpus > 1 else []
    return ["Term", "Per GPU, GiB", "GB", *totals, "How sure", "From"]


def rows(planned: EnginePlan, report: Report, accelerator: Accelerator | None) -> list[list[str]]:
    """Cells in the order of `headers`; terms that take nothing are left out."""
    return [_cells(row, report) for row in _rows(planned, report, accelerator) if _shown(report, row)]


def number_columns(report: Report) -> range:
    return range(1, len(headers(report)) - 2)


def _cells(row: Row, report: Report) -> list[str]:
    size = getattr(report.per_gpu, row.field)
    sizes = [two_decimals(size, "GiB"), two_decimals(size, "GB")]
    if report.scenario.placement.gpus > 1:
        sizes.append(two_decimals(getattr(report.cluster, row.field), "GiB"))
    return [row.name, *sizes, row.grade, row.source]


def _shown(report: Report, row: Row) -> bool:
    size = getattr(report.per_gpu, row.field)
    return size is not None and (size != 0 or row.field in ("weights_bytes", "kv_bytes"))


def _rows(planned: EnginePlan, report: Report, accelerator: Accelerator | None) -> Iterator[Row]:
    scenario, grades = report.scenario, report.grades
    load = f"{scenario.batch_size:,} × {scenario.context_length or 0:,} tokens"
    yield Row("Weights", "weights_bytes", grades.weights, _of_weights(report, planned.spec))
    yield Row("Draft", "draft_bytes", grades.weights, "the draft's tensors")
    yield Row("Encoder", "encoder_bytes", grades.weights, "the encoder's tensors")
    yield Row("Activation peak", "activation_bytes", grades.activation, "the engine's profile run")
    yield Row("CUDA graphs", "graph_bytes", grades.graphs, "the engine's capture")
    yield Row("Runtime", "runtime_bytes", grades.runtime, "context, communication, and what the allocator rounds up")
    yield Row(
        "Recurrent state",
        "state_bytes",
        grades.state,
        f"{scenario.batch_size:,} requests, whatever their length",
    )
    yield Row("KV cache", "kv_bytes", grades.kv, load)
    yield Row("Left in the budget", "free_bytes", "", _left(planned, report))
    yield Row(
        "Outside the budget",
        "outside_budget_bytes",
        "",
        _budget(report),
    )
    yield _memory(report, accelerator)


def _of_weights(report: Report, spec: ModelSpec) -> str:
    scenario, tower = report.scenario, report.per_gpu.tower_bytes
    said = [f"tensor by tensor. {resolve_precision(scenario.weights, spec).label}"]
    if tower:
        said.append(f"{amount(tower, 'GiB')} of it are the encoder's")
    if scenario.cpu_offload_bytes:
        said.append(f"up to {amount(scenario.cpu_offload_bytes, 'GiB')} stay in host memory")
    if scenario.lora:
        said.append(f"with {counted(scenario.lora.max_loras, 'slot')} for adapters of rank {scenario.lora.rank}")
    return "; ".join(said)


def _left(planned: EnginePlan, report: Report) -> str:
    """Why the verdict leaves less unused: blocks are whole, and pools may be split by a fixed share."""
    left, free = room(planned), report.per_gpu.free_bytes
    if left is not None and free is not None and 0 < left < free * (1 - NOTABLY_LESS):
        return f"what the terms above leave; {amount(left, 'GiB')} of it can take more of these requests"
    blocks = report.capacity.num_blocks is not None
    return "what the terms above leave" + (", of which the pool takes whole blocks" if blocks else "")


def _budget(report: Report) -> str:
    """As a share of the memory, whatever rule led to it; the memory bar says the same."""
    gpu = report.per_gpu
    if not gpu.total_bytes or gpu.outside_budget_bytes is None:
        return ""
    return f"the budget is {(gpu.total_bytes - gpu.outside_budget_bytes) / gpu.total_bytes:.0%} of the memory"


def _memory(report: Report, accelerator: Accelerator | None) -> Row:
    """Engines budget with the driver's total or with CUDA's; the source is that of the one that was used."""
    known = (accelerator.memory_driver_bytes, accelerator.memory_cuda_bytes) if accelerator else ()
    figure = next((each for each in known if each and each.bytes == report.per_gpu.total_bytes), None)
    if figure is None:
        return Row("Memory", "total_bytes", "", "as given")
    return Row("Memory", "total_bytes", figure.grade, _first_source(figure.source))


def _first_source(source: str) -> str:
    """What was read, without its addresses."""
    return source.partition(";")[0].partition(": http")[0].partition(": github.com")[0]
