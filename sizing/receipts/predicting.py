"""Every printed figure of every receipt beside its prediction."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from sizing.answer import find_accelerator, find_spec
from sizing.drafting import with_draft
from sizing.placement import PlacementError
from sizing.receipts import of_llama_cpp, of_minimum, of_sglang, of_tensorrt_llm, of_vllm
from sizing.receipts.comparing import Comparison, Predicted
from sizing.receipts.figures import FIGURES
from sizing.receipts.receipt import Receipt
from sizing.scenario import ScenarioError

Outcome = Predicted | str
Predictor = Callable[[Receipt, ModelSpec, Accelerator | None], dict[str, Outcome]]
PREDICTORS: dict[str, Predictor] = {
    "vllm": of_vllm.predict,
    "sglang": of_sglang.predict,
    "llama.cpp": of_llama_cpp.predict,
    "tensorrt-llm": of_tensorrt_llm.predict,
    "minimum": of_minimum.predict,
}


def compare(receipts: Iterable[Receipt], shapes: Mapping[str, ModelSpec]) -> tuple[Comparison, ...]:
    return tuple(comparison for receipt in receipts for comparison in comparisons_of(receipt, shapes))


def comparisons_of(receipt: Receipt, shapes: Mapping[str, ModelSpec]) -> Iterator[Comparison]:
    """One for each printed figure; figures that only serve to work out others are left out."""
    spec = _spec(receipt, shapes)
    outcomes = _outcomes(receipt, spec)
    family = spec.model_type if spec else None
    for name, text in receipt.printed.items():
        if name not in FIGURES:
            continue
        found = receipt.unpredictable.get(name) or outcomes.get(name, "The engine's rules say nothing about it.")
        predicted, reason = (None, found) if isinstance(found, str) else (found, receipt.explained.get(name))
        yield Comparison(receipt=receipt, family=family, name=name, text=text, predicted=predicted, reason=reason)


def _outcomes(receipt: Receipt, spec: ModelSpec | None) -> Mapping[str, Outcome]:
    if receipt.engine not in PREDICTORS:
        return _all(f"There are no rules for {receipt.engine} yet.")
    if spec is None:
        return _all(receipt.resolved or "The model is not named.")
    try:
        accelerator = find_accelerator(receipt.scenario.get("accelerator"))
        return PREDICTORS[receipt.engine](receipt, _with_draft(receipt, spec), accelerator)
    except (ScenarioError, PlacementError) as error:
        return _all(error.message)


def _with_draft(receipt: Receipt, spec: ModelSpec) -> ModelSpec:
    draft = (receipt.scenario.get("speculative") or {}).get("model")
    return with_draft(spec, find_spec(draft)) if draft else spec


def _all(reason: str) -> dict[str, Outcome]:
    return dict.fromkeys(FIGURES, reason)


def _spec(receipt: Receipt, shapes: Mapping[str, ModelSpec]) -> ModelSpec | None:
    if receipt.shape is not None:
        return shapes[receipt.shape]
    return find_spec(receipt.model) if receipt.model else None
