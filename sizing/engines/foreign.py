"""Settings that are another engine's."""

from collections.abc import Mapping
from types import MappingProxyType

from sizing.engines.words import OPTIONS
from sizing.scenario import Scenario, ScenarioError

NAMES = MappingProxyType({"vllm": "vLLM", "sglang": "SGLang", "llama.cpp": "llama.cpp", "tensorrt-llm": "TensorRT-LLM"})
OWNERS = MappingProxyType(
    {
        field: tuple(engine for engine in NAMES if field in OPTIONS[engine])
        for field in sorted({field for engine in NAMES for field in OPTIONS[engine]})
    }
)
NO_REASONS: Mapping[str, str] = MappingProxyType({})
ON_BY_ITSELF = "kv_offload"  # of the switches, the one that changes something where it is off


def check_foreign(scenario: Scenario, engine: str, reasons: Mapping[str, str] = NO_REASONS) -> None:
    """Raises ScenarioError for a setting that only other engines have, with the reason if one is given."""
    for field, owners in OWNERS.items():
        if engine in owners or not _is_set(scenario, field):
            continue
        whose = " and ".join(NAMES[owner] for owner in owners)
        told = f"{field} is a setting of {whose}; {NAMES[engine]} has none like it."
        raise ScenarioError(field, reasons.get(field, told))


def unused_notes(scenario: Scenario, engine: str) -> list[str]:
    """What to say where an engine that is not started by options is given some."""
    unused = [field for field in OWNERS if field not in OPTIONS[engine] and _is_set(scenario, field)]
    return [f"Of no effect on this engine: {', '.join(unused)}."] if unused else []


def _is_set(scenario: Scenario, field: str) -> bool:
    value = getattr(scenario, field)
    return value is False if field == ON_BY_ITSELF else value not in (None, False)
