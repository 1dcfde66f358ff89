"""What the start commands of all engines share: flags for the settings that were set, and lines."""

import shlex
from collections.abc import Iterable, Iterator
from typing import Any

from components.format import listed
from sizing.engines.plan import EnginePlan
from sizing.engines.words import OPTIONS, Option
from sizing.scenario import Scenario
from sizing.units import GIB

Flags = Iterator[tuple[str, ...]]  # a flag and its value, or a flag alone

LONG_NAMES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}


def lines(start: str, flags: Iterable[tuple[str, ...]]) -> str:
    return " \\\n    ".join([start, *(" ".join([flag, *map(shlex.quote, value)]) for flag, *value in flags)])


def long(name: Any) -> str:
    return LONG_NAMES.get(name, name) if isinstance(name, str) else name.k


def parallel(asked: Scenario, flags: dict[str, str]) -> Flags:
    for field, flag in flags.items():
        if getattr(asked, field) > 1:
            yield flag, str(getattr(asked, field))


def settings(asked: Scenario) -> Flags:
    """The engine's settings that were set."""
    for field, option in OPTIONS[asked.engine].items():
        value = getattr(asked, field)
        if value is not None:
            yield from _setting(field, option, value)


def starts(planned: EnginePlan) -> bool:
    """Whether a request of max_model_len fits."""
    known = planned.ranks[0].usable is not None
    return not known or planned.fits(planned.scenario.max_model_len or 1, 1)


def with_length(asked: Scenario, planned: EnginePlan) -> Scenario:
    """max_model_len is said where the request is longer than the model's own, or one of that length does not fit."""
    scenario = planned.scenario
    if asked.max_model_len is not None:
        return asked
    if not starts(planned) and planned.fits(scenario.context_length or 1, 1):
        return asked.model_copy(update={"max_model_len": scenario.context_length})
    longer = (scenario.context_length or 0) > (scenario.max_model_len or 0)
    return asked.model_copy(update={"max_model_len": scenario.context_length}) if longer else asked


def _setting(field: str, option: Option, value: Any) -> Flags:
    if isinstance(value, bool):
        words = (option.flag if value else option.off).split()
        if words:
            yield tuple(words)
    elif option.flag:
        yield option.flag, _text(field, value)


def _text(field: str, value: Any) -> str:
    if field == "tensor_split":
        return listed(value)
    return listed([value / GIB]) if field == "cpu_offload_bytes" else str(value)
