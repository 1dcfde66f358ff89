"""The Terms tab: every term with its bytes per GPU, in total, how sure it is and where it comes from."""

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd
from pandas.io.formats.style import Styler

from components.format import in_unit
from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from sizing.report import Report
from sizing.weights.precisions import resolve_precision


@dataclass(frozen=True)
class Row:
    """`field` is the Footprint's; an empty `grade` is left blank."""

    name: str
    field: str
    grade: str
    source: str


def terms_table(spec: ModelSpec, report: Report, accelerator: Accelerator | None) -> Styler:
    gpus = report.scenario.placement.gpus
    rows = [row for row in _rows(spec, report, accelerator) if _shown(report, row)]
    per_gpu = [getattr(report.per_gpu, row.field) for row in rows]
    columns: dict[str, list[object]] = {
        "Term": [row.name for row in rows],
        "Per GPU, GiB": [in_unit(size, "GiB") for size in per_gpu],
        "GB": [in_unit(size, "GB") for size in per_gpu],
    }
    if gpus > 1:
        columns[f"{gpus:,} GPUs, GiB"] = [in_unit(getattr(report.cluster, row.field), "GiB") for row in rows]
    columns["How sure"] = [row.grade for row in rows]
    columns["From"] = [row.source for row in rows]
    sizes = [name for name in columns if name == "GB" or name.endswith("GiB")]
    return pd.DataFrame(columns).style.format(dict.fromkeys(sizes, _two_decimals))


def _shown(report: Report, row: Row) -> bool:
    size = getattr(report.per_gpu, row.field)
    return size is not None and (size != 0 or row.field in ("weights_bytes", "kv_bytes"))


def _rows(spec: ModelSpec, report: Report, accelerator: Accelerator | None) -> Iterator[Row]:
    scenario, grades = report.scenario, report.grades
    load = f"{scenario.batch_size:,} × {scenario.context_length or 0:,} tokens"
    precision = resolve_precision(scenario.weights, spec)
    yield Row("Weights", "weights_bytes", grades.weights, f"tensor by tensor. {precision.label}")
    yield Row("Draft", "draft_bytes", grades.weights, "the draft's tensors")
    yield Row("Encoder", "encoder_bytes", grades.weights, "the encoder's tensors")
    yield Row("Activation peak", "activation_bytes", grades.activation, "the engine's profile run")
    yield Row("CUDA graphs", "graph_bytes", grades.graphs, "the engine's capture")
    yield Row("Runtime", "runtime_bytes", grades.runtime, "context and communication")
    yield Row(
        "Recurrent state",
        "state_bytes",
        grades.state,
        f"{scenario.batch_size:,} requests, whatever their length",
    )
    yield Row("KV needed", "kv_bytes", grades.kv, load)
    yield Row("Left in the budget", "free_bytes", "", "what the terms above leave")
    yield Row(
        "Outside the budget",
        "outside_budget_bytes",
        "",
        f"the budget is {scenario.memory_fraction or 1:.0%} of the memory",
    )
    yield _memory(report, accelerator)


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


def _two_decimals(value: object) -> str:
    return f"{value:,.2f}".replace("-", "−")
