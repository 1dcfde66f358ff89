"""How sure each term is, from what the reader of the model did not understand."""

from model_catalog.spec import ModelSpec
from sizing.report import Grade, Grades


def grades_of(spec: ModelSpec, *, activation: Grade = "assumed", graphs: Grade = "assumed") -> Grades:
    """Doubts about the cache make kv and state assumed, those about the weights make weights assumed; a draft's too."""
    doubts = (*spec.doubts, *(spec.draft.doubts if spec.draft else ()))
    kv: Grade = "assumed" if any(doubt.touches_kv for doubt in doubts) else "exact"
    weights: Grade = "assumed" if any(doubt.touches_weights for doubt in doubts) else "exact"
    return Grades(weights=weights, kv=kv, state=kv, activation=activation, graphs=graphs)
