"""The rows of a comparison: each pinned scenario with its answer, and the form's own where it is not pinned."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from components import choices, wording
from components.compare_pins import NOW, is_pinned, pin_of
from components.compare_prices import rent_of
from components.format import short_tokens
from components.pins import Pin, letter
from components.scenario_state import Held
from components.segments import Bar, bar_of
from components.setting_words import setting_words
from components.solve import OWN_CONFIG, Outcome, solve
from sizing.engines.plan import EnginePlan
from sizing.report import Report
from sizing.scenario import Scenario


@dataclass(frozen=True)
class Row:
    """`label` says what it is: the pin's name, or model, formats and hardware. `usd` is the rent of all its GPUs."""

    key: str
    label: str
    pin: Pin
    outcome: Outcome
    usd: float | None = None

    @property
    def planned(self) -> EnginePlan | None:
        return None if self.outcome.fault else self.outcome.planned

    @property
    def report(self) -> Report | None:
        return None if self.outcome.fault else self.outcome.report

    @property
    def bar(self) -> Bar | None:
        return bar_of(self.planned) if self.planned else None

    @property
    def most(self) -> int | None:
        """Requests that fit at once; None where that is not known or has no limit."""
        return self.report.capacity.max_batch_at_context if self.report else None


def rows_of(held: Held, own_prices: Mapping[str, float]) -> list[Row]:
    """The pins in their order, then the form's scenario where no pin says the same."""
    pins = [(letter(index), pin) for index, pin in enumerate(held.pins)]
    if not is_pinned(held):
        pins.append((NOW, pin_of(held)))
    answered = _once([(key, pin, solved(pin)) for key, pin in pins])
    reports = [outcome.report for _, _, outcome in answered if outcome.report]
    varied = Varied.among(reports)
    settings = differing([setting_words(outcome.asked) for _, _, outcome in answered])
    return [
        Row(key, pin.name or label_of(pin, outcome, varied, own), pin, outcome, usd_of(outcome, own_prices))
        for (key, pin, outcome), own in zip(answered, settings, strict=True)
    ]


def differing(settings: Sequence[Mapping[str, str]]) -> list[list[str]]:
    """Of each row's settings in words, those that not all rows have."""
    common = set.intersection(*({*words.items()} for words in settings))
    return [[word for name, word in words.items() if (name, word) not in common] for words in settings]


def _once(rows: list[tuple[str, Pin, Outcome]]) -> list[tuple[str, Pin, Outcome]]:
    """Without the form's row where a pin comes to the same scenario by its defaults."""
    key, now, outcome = rows[-1]
    if key == NOW and any(
        outcome.report
        and earlier.report
        and outcome.report.scenario == earlier.report.scenario
        and (pin.accelerator_name, pin.config_text) == (now.accelerator_name, now.config_text)
        for _, pin, earlier in rows[:-1]
    ):
        return rows[:-1]
    return rows


def solved(pin: Pin) -> Outcome:
    return _solved(json.dumps(dict(pin.values), sort_keys=True), pin.config_text)


@lru_cache(maxsize=512)
def _solved(values: str, config_text: str) -> Outcome:
    return solve(json.loads(values), config_text)


def usd_of(outcome: Outcome, own_prices: Mapping[str, float]) -> float | None:
    if outcome.report is None:
        return None
    scenario = outcome.report.scenario
    rent = rent_of(scenario.accelerator, own_prices)
    return rent.usd * scenario.placement.gpus if rent else None


@dataclass(frozen=True)
class Varied:
    """Which parts differ between rows and so belong in each label."""

    engine: bool
    load: bool

    @classmethod
    def among(cls, reports: Sequence[Report]) -> "Varied":
        engines = {(each.scenario.engine, each.scenario.engine_version) for each in reports}
        loads = {(each.scenario.context_length, each.scenario.batch_size) for each in reports}
        return cls(len(engines) > 1, len(loads) > 1)


def label_of(pin: Pin, outcome: Outcome, varied: Varied, settings: Sequence[str] = ()) -> str:
    """Gemma-3-27B · BF16 · KV FP8 · 1 × H100 SXM5 80 GB, and the engine and the load where they differ.

    `settings` are those that tell the rows apart; they come early, since a figure cuts long names.
    """
    model = str(pin.values["model"])
    name = "Your own config.json" if model == OWN_CONFIG else choices.name_of(model)
    if outcome.report is None or outcome.spec is None:
        return name
    scenario = outcome.report.scenario
    weights = choices.weights_label(scenario.weights)
    parts = [
        name,
        *settings,
        choices.stored_label(outcome.spec) if scenario.weights == choices.AUTO else weights,
        _kv(pin.values["kv_dtype"]),
        wording.hardware(pin.accelerator_name, scenario),
        wording.engine_name(scenario) if varied.engine else "",
        load_of(scenario) if varied.load else "",
    ]
    return " · ".join(part for part in parts if part)


def _kv(kv_dtype: str | Mapping[str, str]) -> str:
    """As it was chosen; nothing where it was left to the engine."""
    if isinstance(kv_dtype, Mapping):
        return f"KV {choices.kv_label(kv_dtype['k'])}/{choices.kv_label(kv_dtype['v'])}"
    return "" if kv_dtype == choices.AUTO else f"KV {choices.kv_label(kv_dtype)}"


def load_of(scenario: Scenario) -> str:
    return f"{short_tokens(scenario.context_length or 0)} tokens × {scenario.batch_size:,}"


def scenario_line(rows: Sequence[Row]) -> str:
    """What all rows have in common."""
    reports = [row.report for row in rows if row.report]
    count = f"{len(rows):,} scenarios" if len(rows) > 1 else "1 scenario"
    if not reports:
        return count
    varied, scenario = Varied.among(reports), reports[0].scenario
    load = "" if varied.load else f" at {load_of(scenario)}"
    engine = "" if varied.engine else f" · {wording.engine_name(scenario)}"
    return f"{count}{load}, per GPU{engine}"


def chosen(view: Mapping[str, str], rows: Sequence[Row], name: str, default: int) -> Row:
    """The row that the address names, or the default one."""
    return next((row for row in rows if row.key == view.get(name)), rows[default])
