"""Values in, a Report's or an error's dict out: what the command line and other programs call."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from hardware_catalog import UnknownAccelerator, get_accelerator
from hardware_catalog.schema import Accelerator
from model_catalog.fields import ConfigError
from model_catalog.files import is_path, read_file
from model_catalog.lookup import UnknownModel, find_entry
from model_catalog.spec import ModelSpec
from sizing.drafting import with_draft
from sizing.engines.plan import EnginePlan
from sizing.placement import PlacementError
from sizing.report import Report
from sizing.scenario import Scenario, ScenarioError, make_scenario
from sizing.size import plan, report_of
from sizing.weights.stated import held_against_files


def answer(values: Mapping[str, Any]) -> dict[str, Any]:
    """The Report of a Scenario given as untrusted values, or {"error": {"field", "message"}} for bad ones."""
    try:
        scenario = make_scenario(values)
        accelerator = find_accelerator(scenario.accelerator)
        planned = plan(scenario, find_models(scenario), accelerator)
        report = _with_remedies(report_of(planned), scenario, planned, accelerator)
    except (ScenarioError, PlacementError) as error:
        return error_of(error.field, error.message)
    except ConfigError as error:
        return error_of("model", error.message)
    return report.to_dict()


def _with_remedies(report: Report, scenario: Scenario, planned: EnginePlan, accelerator: Accelerator | None) -> Report:
    """Remedies are worked out where the load does not fit, or only just."""
    if report.verdict.state not in ("short", "tight"):
        return report
    from sizing.remedies import remedies  # here, since few reports need it and starts are to be quick

    found = remedies(scenario, planned, accelerator)
    return replace(report, verdict=replace(report.verdict, remedies=found))


def error_of(field: str, message: str) -> dict[str, Any]:
    return {"error": {"field": field, "message": message}}


def find_spec(model: str) -> ModelSpec:
    """The spec of a catalog id, or of a file or folder on this machine. Raises ScenarioError or ConfigError."""
    if is_path(model):
        return _spec_of_file(model, _modified(Path(model)))
    try:
        return find_entry(model).spec
    except UnknownModel as error:
        raise ScenarioError("model", str(error)) from None


def find_models(scenario: Scenario) -> ModelSpec:
    """The spec of a Scenario's model, with that of its draft. Raises ScenarioError or ConfigError."""
    spec = find_spec(scenario.model)
    name = scenario.speculative.model if scenario.speculative else None
    if name is None:
        return spec
    try:
        return with_draft(spec, find_spec(name))
    except (ScenarioError, ConfigError) as error:
        raise ScenarioError("speculative", error.message) from None


def _modified(path: Path) -> int:
    """When a file or folder last changed, in nanoseconds; 0 for one that cannot be looked at."""
    try:
        return path.expanduser().stat().st_mtime_ns
    except (OSError, RuntimeError, ValueError):
        return 0


@cache
def _spec_of_file(model: str, modified: int) -> ModelSpec:
    """Read once for as long as the file does not change."""
    path = Path(model)
    return held_against_files(read_file(path), path.expanduser())


def find_accelerator(accelerator: str | None) -> Accelerator | None:
    """Raises ScenarioError for an id that the hardware catalog does not hold."""
    if accelerator is None:
        return None
    try:
        return get_accelerator(accelerator)
    except UnknownAccelerator as error:
        raise ScenarioError("accelerator", str(error)) from None
