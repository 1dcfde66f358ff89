"""The Terms tab: every term with its bytes per GPU, in total, how sure it is and where it comes from."""

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from components import choices
from components.format import two_decimals
from hardware_catalog.schema import Accelerator
from sizing.report import Report

TOTALS = {"free_bytes", "outside_budget_bytes", "total_bytes"}


@dataclass(frozen=True)
class Row:
    """`field` is the Footprint's; an empty `grade` is left blank."""

    name: str
    field: str
    grade: str
    source: str


def terms_table(report: Report, accelerator: Accelerator | None) -> pd.DataFrame:
    gpus = report.scenario.placement.gpus
    rows = [row for row in _rows(report, accelerator) if _shown(report, row)]
    per_gpu = [getattr(report.per_gpu, row.field) for row in rows]
    columns = {
        "Term": [row.name for row in rows],
        "Per GPU, GiB": [two_decimals(size, "GiB") for size in per_gpu],
        "GB": [two_decimals(size, "GB") for size in per_gpu],
    }
    if gpus > 1:
        columns[f"{gpus:,} GPUs, GiB"] = [two_decimals(getattr(report.cluster, row.field), "GiB") for row in rows]
    columns["How sure"] = [row.grade for row in rows]
    columns["From"] = [row.source for row in rows]
    return pd.DataFrame(columns)


def _shown(report: Report, row: Row) -> bool:
    size = getattr(report.per_gpu, row.field)
    return size is not None and (size != 0 or row.field in ("weights_bytes", "kv_bytes"))


def _rows(report: Report, accelerator: Accelerator | None) -> Iterator[Row]:
    scenario, grades = report.scenario, report.grades
    load = f"{scenario.batch_size:,} × {scenario.context_length or 0:,} tokens"
    precision = choices.weights_help(scenario.weights).partition(".")[0].lower() or scenario.weights
    yield Row("Weights", "weights_bytes", grades.weights, f"tensor by tensor, {precision}")
    yield Row("Draft", "draft_bytes", grades.weights, "the draft's tensors")
    yield Row("Encoder", "encoder_bytes", grades.weights, "the encoder's tensors")
    yield Row("Activation peak", "activation_bytes", grades.activation, "the engine's profile run")
    yield Row("CUDA graphs", "graph_bytes", grades.graphs, "the engine's capture")
    yield Row("Runtime", "runtime_bytes", grades.runtime, "context and communication")
    yield Row("Recurrent state", "state_bytes", grades.state, f"{scenario.batch_size:,} requests, whatever their length")
    yield Row("KV needed", "kv_bytes", grades.kv, load)
    yield Row("Left in the budget", "free_bytes", "", "what the terms above leave")
    yield Row("Outside the budget", "outside_budget_bytes", "", f"the budget is {scenario.memory_fraction or 1:.0%} of the memory")
    yield _memory(report, accelerator)


def _memory(report: Report, accelerator: Accelerator | None) -> Row:
    figure = accelerator.memory_driver_bytes if accelerator else None
    if report.scenario.total_memory_bytes is not None or figure is None:
        return Row("Memory", "total_bytes", "", "as given")
    return Row("Memory", "total_bytes", figure.grade, figure.source)
