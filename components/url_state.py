"""The Scenario in the address bar: field names as parameters, ids and numbers as values, nested parts with a dot.

Only what differs from a Scenario's own defaults is written, but the model, the accelerator, the length and the load
always are, so that a link means the same when the page's first answer changes. An empty value means "left out".
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from components.format import listed
from hardware_catalog import UnknownAccelerator, get_accelerator
from sizing.cache_formats import KNOWN
from sizing.formats import SAME
from sizing.scenario import Scenario, ScenarioError, make_scenario
from sizing.weights import precisions

ARRIVAL: dict[str, Any] = {
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "accelerator": "h100-sxm5-80gb",
    "context_length": 8192,
    "batch_size": 16,
}
# What pages remember beside the scenario, each in the page's own words.
VIEW = ("baseline", "against", "prices", "overlays", "cut")
EXTRAS = ("accelerator_name", "units", "config", "pins", *VIEW)
DEFAULTS = Scenario(model="-").model_dump(mode="json")
FIELDS = tuple(name for name in DEFAULTS if name != "scenario_version")
MOST_PARTS = 5  # no nested value has more; each doubles what is tried
NUMBER = re.compile(r"-?\d{1,20}(\.\d{1,20})?([eE][-+]?\d{1,3})?")


@dataclass(frozen=True)
class Link:
    """What an address says: Scenario values by field, further settings of the page, and what was not understood."""

    values: dict[str, Any]
    extras: dict[str, str] = field(default_factory=dict)
    complaints: tuple[str, ...] = ()


def values_to_query(values: Mapping[str, Any]) -> dict[str, str]:
    """Parameters of Scenario values; a field that is missing has the Scenario's default."""
    query: dict[str, str] = {}
    for name in FIELDS:
        value = values.get(name, DEFAULTS[name])
        if isinstance(value, Mapping):
            query.update({f"{name}.{part}": _text(inner) for part, inner in value.items() if inner is not None})
        elif name in ARRIVAL or value != DEFAULTS[name]:
            query[name] = _text(value)
    return query


def scenario_to_query(scenario: Scenario) -> dict[str, str]:
    return values_to_query(scenario.model_dump(mode="json"))


def query_to_scenario(query: Mapping[str, str]) -> tuple[Scenario, tuple[str, ...]]:
    """The Scenario of an address and what was not understood. Raises ScenarioError where fields contradict."""
    link = read_query(query)
    return make_scenario(link.values), link.complaints


def read_query(query: Mapping[str, str]) -> Link:
    """Everything understood is kept; a sentence for each parameter that is not. A missing one has the arrival value."""
    values = {name: DEFAULTS[name] for name in FIELDS} | ARRIVAL
    extras, complaints = {}, []
    for name, text in _nested(query).items():
        if name in EXTRAS and isinstance(text, str):
            extras[name] = text
        elif name not in FIELDS:
            complaints.append(f'"{name[:60]}" in the link is not a setting of this page; it is left out.')
        else:
            try:
                values[name] = _value(name, text)
            except ScenarioError as error:
                complaints.append(f"In the link, {error.message} {_instead(name)}")
    return Link(values, extras, tuple(complaints))


def _nested(query: Mapping[str, str]) -> dict[str, Any]:
    """Dotted parameters gathered: kv_dtype.k and kv_dtype.v become one kv_dtype."""
    gathered: dict[str, Any] = {}
    for name, text in query.items():
        head, dot, part = name.partition(".")
        if not dot:
            gathered.setdefault(name, text)
        elif isinstance(gathered.setdefault(head, {}), dict):
            gathered[head][part] = text
    return gathered


def _text(value: Any) -> str:
    """None is empty; true and false in lower case; floats so that they read back the same; commas between many."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return listed(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _value(name: str, text: Any) -> Any:
    """The field's value, checked alone. Raises ScenarioError with a sentence."""
    if text == "" and DEFAULTS[name] is None:
        return None
    fault: ScenarioError | None = None
    for candidate in _candidates(text):
        try:
            scenario = make_scenario({"model": "-", name: candidate})
        except ScenarioError as error:
            fault = fault or error
            continue
        _check_known(name, candidate)
        return scenario.model_dump(mode="json", include={name})[name]
    raise fault or ScenarioError(name, f"{name} cannot be read.")


def _candidates(text: Any) -> list[Any]:
    """A number or a flag where the text looks like one, then the text itself; parts of a nested value likewise."""
    if isinstance(text, dict):
        parts = list(text.items())[:MOST_PARTS]
        return [dict(each) for each in product(*([(part, way) for way in _candidates(inner)] for part, inner in parts))]
    plain = _plain(text)
    return [plain] if plain is text else [plain, text]


def _plain(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if not NUMBER.fullmatch(text):
        return text
    return int(text) if text.lstrip("-").isdigit() else float(text)


def _check_known(name: str, value: Any) -> None:
    """Names that only a catalog or a list of formats can judge. The model is judged when it is looked up."""
    if name == "weights" and _dashed(value) not in map(_dashed, (*precisions.PRECISIONS, *precisions.SAME)):
        raise ScenarioError(name, f'weights "{value[:40]}" is not a precision that is known here.')
    if name == "accelerator":
        try:
            get_accelerator(value)
        except UnknownAccelerator as error:
            raise ScenarioError(name, str(error)) from None
    if name == "kv_dtype":
        for each in value.values() if isinstance(value, dict) else [value]:
            if each not in ("auto", *KNOWN, *SAME):
                raise ScenarioError(name, f'kv_dtype "{each[:40]}" is not a cache format that is known here.')


def _dashed(name: str) -> str:
    return name.strip().lower().replace("_", "-")


def _instead(name: str) -> str:
    used = ARRIVAL.get(name, DEFAULTS[name])
    return "It is left out." if used is None or used is False else f"{used} is used instead."
