"""How sure each term is, from what the reader of the model did not understand."""

from dataclasses import replace

from model_catalog.spec import ModelSpec
from sizing.engines.plan import EnginePlan
from sizing.report import Grade, Grades
from sizing.weights.precisions import AUTO, GGUF

AT_HOME_IN_GGUF = frozenset({"llama.cpp", "minimum"})


def grades_of(spec: ModelSpec, *, activation: Grade = "assumed", graphs: Grade = "assumed") -> Grades:
    """Doubts about the cache make kv and state assumed, those about the weights make weights assumed; a draft's too."""
    doubts = (*spec.doubts, *(spec.draft.doubts if spec.draft else ()))
    kv: Grade = "assumed" if any(doubt.touches_kv for doubt in doubts) else "exact"
    weights: Grade = "assumed" if any(doubt.touches_weights for doubt in doubts) else "exact"
    return Grades(weights=weights, kv=kv, state=kv, activation=activation, graphs=graphs)


def of_foreign_files(planned: EnginePlan) -> EnginePlan:
    """The plan with its weights assumed where an engine reads GGUF files that are not its own format."""
    scenario, stated = planned.scenario, planned.spec.quantization
    read = scenario.weights in GGUF or (scenario.weights == AUTO and stated is not None and stated.method == "gguf")
    if not read or scenario.engine in AT_HOME_IN_GGUF:
        return planned
    note = f"No log of {scenario.engine} with a GGUF file was at hand; its weights are assumed to be those of the file."
    return replace(planned, grades=replace(planned.grades, weights="assumed"), notes=(*planned.notes, note))
