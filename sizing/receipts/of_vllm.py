"""What vLLM would have printed: tokens and concurrency of the printed KV size, sizes from the settings alone."""

from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from sizing.engines.plan import EnginePlan
from sizing.receipts.comparing import Predicted, half_digit
from sizing.receipts.receipt import Receipt
from sizing.report import GRADES, Grade, Grades
from sizing.scenario import make_scenario
from sizing.size import plan
from sizing.units import GIB

OF_THE_POOL = ("kv_tokens", "num_blocks", "max_concurrency")
Outcome = Predicted | str


def predict(receipt: Receipt, spec: ModelSpec, accelerator: Accelerator | None) -> dict[str, Outcome]:
    """Predictions, or why there is none, for the printed figures. Raises ScenarioError or PlacementError."""
    outcomes: dict[str, Outcome] = {}
    if any(name in receipt.printed for name in OF_THE_POOL):
        outcomes |= _of_the_pool(receipt, spec, accelerator)
    alone = plan(make_scenario(receipt.values), spec, accelerator)
    outcomes["block_size"] = Predicted.exactly(alone.scenario.block_size or 0, alone.grades.kv)
    outcomes["needed_kv"] = Predicted.exactly(alone.needed_kv_bytes / GIB, alone.grades.kv)
    outcomes["weights"] = _weights(spec, alone)
    outcomes["available_kv"] = _unstated(receipt, spec) or _available(alone)
    return outcomes


def _of_the_pool(receipt: Receipt, spec: ModelSpec, accelerator: Accelerator | None) -> dict[str, Outcome]:
    text = receipt.printed.get("available_kv")
    if text is None:
        return dict.fromkeys(OF_THE_POOL, "No KV size is printed beside it.")
    half = half_digit(text)
    low, middle, high = (
        plan(
            make_scenario(receipt.values | {"available_kv_bytes": max(0, round((float(text) + shift) * GIB))}),
            spec,
            accelerator,
        )
        for shift in (-half, 0.0, half)
    )
    return {
        name: Predicted(
            getattr(middle.printed, name) or 0,
            middle.grades.kv,
            getattr(low.printed, name) or 0,
            getattr(high.printed, name) or 0,
        )
        for name in OF_THE_POOL
    }


def _weights(spec: ModelSpec, planned: EnginePlan) -> Outcome:
    if reason := _no_weights(spec):
        return reason
    return Predicted.exactly((planned.log.model_loading_bytes or 0) / GIB, planned.grades.weights)


def _available(planned: EnginePlan) -> Outcome:
    pools = [rank.available for rank in planned.ranks if rank.available is not None]
    return Predicted.exactly(min(pools) / GIB, budget_grade(planned.grades)) if pools else "No memory size is known."


def budget_grade(grades: Grades) -> Grade:
    """The worst of all that is taken before the cache."""
    return max(grades.weights, grades.activation, grades.graphs, grades.runtime, key=GRADES.index)


def _no_weights(spec: ModelSpec) -> str | None:
    return None if spec.tensors else "The dimensions of its tensors are not known."


def _unstated(receipt: Receipt, spec: ModelSpec) -> str | None:
    """What the memory left for the cache depends on and is not known."""
    stated = receipt.values.keys() - receipt.inferred.keys()
    if reason := _no_weights(spec):
        return reason
    if not stated & {"accelerator", "total_memory_bytes"}:
        return "The GPU is not stated."
    if "memory_fraction" not in receipt.values.keys() | receipt.inferred.keys():
        return "gpu_memory_utilization is not stated."
    if "engine_version" not in stated:
        return "The release is not stated."
    return None
