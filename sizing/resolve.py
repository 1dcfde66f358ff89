"""Fill in what a Scenario leaves open, and say which of its wishes are unusual."""

from model_catalog.spec import ModelSpec
from sizing.cache_formats import CacheFormats
from sizing.scenario import LONGEST_CONTEXT, KvFormats, Scenario

DEFAULT_CONTEXT = 8192


def resolve(scenario: Scenario, spec: ModelSpec, formats: CacheFormats, *, version: str, fraction: float) -> Scenario:
    """The same Scenario with the defaults of the model and the engine put in."""
    longest = min(scenario.max_model_len or own_limit(spec), LONGEST_CONTEXT)
    same = formats.key == formats.value
    return scenario.model_copy(
        update={
            "max_model_len": longest,
            "context_length": scenario.context_length or min(DEFAULT_CONTEXT, longest),
            "engine_version": scenario.engine_version or version,
            "kv_dtype": formats.key if same else KvFormats(k=formats.key, v=formats.value),
            "memory_fraction": scenario.memory_fraction or fraction,
        }
    )


def own_limit(spec: ModelSpec) -> int:
    """The longest request of a model, of which engines make max_model_len where it is not set."""
    return spec.max_context or DEFAULT_CONTEXT


def too_long(scenario: Scenario, spec: ModelSpec) -> bool:
    """Whether requests are longer than max_model_len was set to. Set to the model's own limit it is not set at all."""
    longest = scenario.max_model_len
    return longest not in (None, own_limit(spec)) and (scenario.context_length or 0) > (longest or 0)


def notes_on(scenario: Scenario, spec: ModelSpec, version: str) -> list[str]:
    """Sentences about a resolved Scenario: those on the model, and which release's rules were used."""
    notes = model_notes(scenario, spec)
    if scenario.engine_version != version:
        notes.append(f"The rules used are those of {scenario.engine} {version}.")
    return notes


def model_notes(scenario: Scenario, spec: ModelSpec) -> list[str]:
    """What was assumed about the model of a resolved Scenario, and wishes beyond its own limits."""
    notes = [doubt.message for doubt in spec.doubts]
    context = scenario.context_length or 0
    if spec.max_context and context > spec.max_context:
        notes.append(f"{context:,} tokens are more than the {spec.max_context:,} this model was made for.")
    if spec.max_context is None:
        notes.append("The config states no longest context.")
    return notes
