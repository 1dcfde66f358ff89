"""The form's scenario on every accelerator, in every precision and with every engine: answers, frames and tables."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import pandas as pd

from components import choices
from components.compare_prices import rent_of
from components.export_tables import Cell, Table
from components.format import BYTES_IN, Unit
from components.scenario_state import Held
from components.solve import Outcome, drafted, find_model
from hardware_catalog import all_accelerators
from model_catalog.spec import ModelSpec
from sizing.answer import find_accelerator
from sizing.comparison import Option, over_accelerators, over_values
from sizing.engines import ENGINES
from sizing.scenario import Scenario, make_scenario

PRICE = "$ per GPU-hour"
VERDICTS = {"fits": "✓ fits", "tight": "✓ tight", "short": "✕ short", None: "no memory known"}

Question = tuple[str, str]  # a Scenario as JSON and the pasted config: what the answers are kept by


def question_of(held: Held, outcome: Outcome) -> Question:
    values = {name: value for name, value in held.values.items() if name not in outcome.set_aside}
    return json.dumps(values, sort_keys=True), held.own_config


def _asked(question: Question) -> Scenario:
    return make_scenario(json.loads(question[0]))


def _spec(scenario: Scenario, question: Question) -> ModelSpec:
    return drafted(find_model(scenario.model, question[1]), scenario)


@lru_cache(maxsize=32)
def accelerator_options(question: Question) -> tuple[Option, ...]:
    """Those on which the scenario fits as it is come first, both parts in the catalog's order."""
    scenario = _asked(question)
    options = over_accelerators(scenario, _spec(scenario, question), all_accelerators())
    return tuple(sorted(options, key=lambda each: each.room is None or each.room < 0))


@lru_cache(maxsize=32)
def precision_options(question: Question) -> tuple[Option, ...]:
    """Every format of the weights, then every format of the cache, the rest of the scenario as it is."""
    scenario = _asked(question)
    weights = {f"weights {name}": {"weights": name} for name in choices.weights_options()}
    cache = {f"KV {name}": {"kv_dtype": name} for name in ENGINES[scenario.engine].kv_dtypes}
    return _changed(scenario, question, weights | cache)


@lru_cache(maxsize=32)
def engine_options(question: Question) -> tuple[Option, ...]:
    """Each engine in its newest version."""
    changes = {name: {"engine": name, "engine_version": None} for name in ENGINES}
    return _changed(_asked(question), question, changes)


def _changed(scenario: Scenario, question: Question, changes: Mapping[str, Mapping[str, Any]]) -> tuple[Option, ...]:
    spec = _spec(scenario, question)
    return tuple(over_values(scenario, spec, find_accelerator(scenario.accelerator), changes))


def room_column(unit: Unit) -> str:
    return f"Room, {unit}"


def accelerator_frame(options: Sequence[Option], unit: Unit, own_prices: Mapping[str, float]) -> pd.DataFrame:
    """One row an accelerator; missing where something is not known or does not fit at all."""
    rents = [rent_of(option.key, own_prices) for option in options]
    columns: dict[str, list[Any]] = {"Accelerator": [choices.short_accelerator(option.key) for option in options]}
    columns |= _answers(options, unit)
    columns["GPUs needed"] = [option.gpus_needed for option in options]
    columns[PRICE] = [rent.usd if rent else None for rent in rents]
    columns["$ per hour"] = [
        rent.usd * option.gpus_needed if rent and option.gpus_needed else None
        for rent, option in zip(rents, options, strict=True)
    ]
    columns["Dated"] = [rent.date if rent else None for rent in rents]
    columns["Price from"] = [rent.source if rent else None for rent in rents]
    return _numbered(columns)


def _answers(options: Sequence[Option], unit: Unit) -> dict[str, list[Any]]:
    reports = [option.report for option in options]
    return {
        "Verdict": [VERDICTS[each.verdict.state] if each else "cannot be" for each in reports],
        room_column(unit): [None if option.room is None else option.room / BYTES_IN[unit] for option in options],
        "Max requests": [each.capacity.max_batch_at_context if each else None for each in reports],
        "Max tokens": [each.capacity.max_context_at_batch if each else None for each in reports],
    }


def _numbered(columns: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    """Counts stay whole beside missing ones."""
    frame = pd.DataFrame(columns)
    whole = [name for name in ("Max requests", "Max tokens", "GPUs needed") if name in columns]
    real = [name for name in columns if name.startswith(("Room", "$", "Weights,", "KV cache,"))]
    return frame.astype(dict.fromkeys(whole, "Int64") | dict.fromkeys(real, "Float64"))


def plain_frame(what: str, names: Sequence[str], options: Sequence[Option], unit: Unit) -> pd.DataFrame:
    """One row an option; one that cannot be says why."""
    gpus = [option.report.per_gpu if option.report else None for option in options]
    columns: dict[str, list[Any]] = {what: list(names)}
    columns |= _answers(options, unit)
    columns[f"Weights, {unit}"] = [each.weights_bytes / BYTES_IN[unit] if each else None for each in gpus]
    columns[f"KV cache, {unit}"] = [each.kv_bytes / BYTES_IN[unit] if each else None for each in gpus]
    columns["Why not"] = [option.fault for option in options]
    return _numbered(columns)


def precision_name(key: str) -> str:
    kind, _, name = key.partition(" ")
    return f"Weights {choices.weights_label(name)}" if kind == "weights" else f"KV {choices.kv_label(name)}"


def engine_name(option: Option) -> str:
    engine = ENGINES[option.key]
    return f"{engine.label} {engine.newest}" if len(engine.versions) > 1 else engine.label


ANSWERS = ("verdict", "room_bytes", "max_requests", "max_tokens", "weights_bytes", "kv_needed_bytes", "why_not")


def options_table(name: str, what: str, names: Sequence[str], options: Sequence[Option]) -> Table:
    rows = [[each, *_taken(option)] for each, option in zip(names, options, strict=True)]
    return Table(name, [what, *ANSWERS], rows)


def accelerator_table(options: Sequence[Option], own_prices: Mapping[str, float]) -> Table:
    headers = ["accelerator", *ANSWERS, "gpus_needed", "usd_per_gpu_hour", "price_date", "price_source"]
    rows: list[list[Cell]] = []
    for option in options:
        rent = rent_of(option.key, own_prices)
        price: list[Cell] = [rent.usd, rent.date, rent.source] if rent else [None, None, None]
        rows.append([option.key, *_taken(option), option.gpus_needed, *price])
    return Table("accelerators", headers, rows)


def _taken(option: Option) -> list[Cell]:
    report = option.report
    if report is None:
        return ["cannot be", None, None, None, None, None, option.fault]
    capacity, gpu = report.capacity, report.per_gpu
    verdict = report.verdict.state or "no memory known"
    answers = (capacity.max_batch_at_context, capacity.max_context_at_batch, gpu.weights_bytes, gpu.kv_bytes)
    return [verdict, option.room, *answers, ""]
