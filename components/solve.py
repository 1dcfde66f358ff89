"""From what the form holds to a Report, or to the fault and the nearest thing that can still be shown."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from components.format import parse_size
from hardware_catalog.schema import Accelerator
from model_catalog.config_text import parse_config_text
from model_catalog.fields import ConfigError
from model_catalog.importers import read_config
from model_catalog.lookup import UnknownModel, find_entry
from model_catalog.spec import ModelSpec
from sizing.answer import find_accelerator
from sizing.drafting import with_draft
from sizing.engines.plan import EnginePlan
from sizing.placement import PlacementError, check_placement
from sizing.report import Report
from sizing.scenario import Scenario, ScenarioError, make_scenario
from sizing.size import plan, report_of

OWN_CONFIG = "config.json"
SIZES = ("total_memory_bytes", "other_memory_bytes", "cpu_offload_bytes")
MOST_STAND_INS = 3


@dataclass(frozen=True)
class Fault:
    """What cannot be, and the field that says so."""

    field: str
    message: str


@dataclass(frozen=True)
class Outcome:
    """An answer. With a fault, `planned` and `report` are those of the same scenario without the fields at fault.

    `asked` is the Scenario that was planned, its defaults left open.
    """

    spec: ModelSpec | None = None
    asked: Scenario | None = None
    accelerator: Accelerator | None = None
    planned: EnginePlan | None = None
    report: Report | None = None
    fault: Fault | None = None
    set_aside: tuple[str, ...] = ()


def solve(values: Mapping[str, Any], config_text: str = "") -> Outcome:
    """Never raises for bad values. Models come from the catalog or from the text, never from a path."""
    try:
        spec = find_model(str(values["model"]), config_text)
    except ConfigError as error:
        return Outcome(fault=Fault("model", _config_sentence(error)))
    except UnknownModel as error:
        return Outcome(fault=Fault("model", _sentence(str(error))))
    return _solve_spec(dict(values), spec)


def find_model(model: str, config_text: str) -> ModelSpec:
    """Raises UnknownModel or ConfigError."""
    if model != OWN_CONFIG:
        return find_entry(model).spec
    if not config_text.strip():
        raise ConfigError("", "drop the file in the sidebar or paste its text.")
    return read_text(config_text)


@lru_cache(maxsize=16)
def read_text(text: str) -> ModelSpec:
    return read_config(parse_config_text(text))


def _solve_spec(values: dict[str, Any], spec: ModelSpec) -> Outcome:
    """Answer; where a field is at fault, keep the first fault and answer without the field."""
    outcome = Outcome(spec=spec)
    for _ in range(1 + MOST_STAND_INS):
        try:
            return _answered(values, outcome)
        except (ScenarioError, PlacementError) as error:
            fault = Fault(error.field, _sentence(error.message))
            outcome = replace(outcome, fault=outcome.fault or fault, set_aside=(*outcome.set_aside, error.field))
            if error.field not in values:
                break
            del values[error.field]
    return outcome


def _answered(values: dict[str, Any], outcome: Outcome) -> Outcome:
    _check_sizes(values)
    scenario = make_scenario(values)
    accelerator = find_accelerator(scenario.accelerator)
    assert outcome.spec is not None
    planned = plan(scenario, drafted(outcome.spec, scenario), accelerator)
    return replace(outcome, asked=scenario, accelerator=accelerator, planned=planned, report=report_of(planned))


def drafted(spec: ModelSpec, scenario: Scenario) -> ModelSpec:
    """The model with its draft, which comes from the catalog and never from a path. Raises ScenarioError."""
    name = scenario.speculative.model if scenario.speculative else None
    try:
        return with_draft(spec, find_entry(name).spec) if name else spec
    except UnknownModel as error:
        raise ScenarioError("speculative", str(error)) from None


def _check_sizes(values: Mapping[str, Any]) -> None:
    """A size that could not be read is held as its text, so that nothing typed is lost."""
    for name in SIZES:
        if isinstance(values.get(name), str):
            try:
                parse_size(values[name])
            except ValueError as error:
                raise ScenarioError(name, str(error)) from None


def working_tensor_parallel(scenario: Scenario, spec: ModelSpec) -> int:
    """The largest smaller tensor parallel size that the model's heads allow, powers of two before others."""
    smaller = range(scenario.tensor_parallel - 1, 1, -1)
    for size in sorted(smaller, key=lambda size: size & (size - 1) != 0):
        try:
            check_placement(spec, replace(scenario.placement, tensor_parallel=size))
        except PlacementError:
            continue
        return size
    return 1


def _config_sentence(error: ConfigError) -> str:
    return _sentence(f"config.json: {error.message}")


def _sentence(text: str) -> str:
    """Messages end as sentences do."""
    return text if text.endswith((".", "?")) else f"{text}."
