"""What TensorRT-LLM would have printed: blocks, tokens and their size, from the free memory or the size printed."""

from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from sizing.receipts.comparing import Predicted, half_digit
from sizing.receipts.receipt import Receipt
from sizing.scenario import make_scenario
from sizing.size import plan
from sizing.units import GIB

NO_BUDGET = "Neither the free memory nor the size of the pool is printed beside it."
Outcome = Predicted | str


def predict(receipt: Receipt, spec: ModelSpec, accelerator: Accelerator | None) -> dict[str, Outcome]:
    """Predictions, or why there is none. Raises ScenarioError or PlacementError."""
    budget = _budget(receipt)
    if budget is None:
        return dict.fromkeys(("kv_tokens", "num_blocks", "cache_size"), NO_BUDGET)
    low, middle, high = (
        plan(make_scenario(receipt.values | {"available_kv_bytes": round(size * GIB)}), spec, accelerator)
        for size in budget
    )
    outcomes: dict[str, Outcome] = {
        name: Predicted(
            getattr(middle.printed, name) or 0,
            middle.grades.kv,
            getattr(low.printed, name) or 0,
            getattr(high.printed, name) or 0,
        )
        for name in ("kv_tokens", "num_blocks")
    }
    if "free_memory" not in receipt.printed:
        return outcomes | {"cache_size": "Its tokens are worked out from it."}
    shown = [sum(rank.usable or 0 for rank in planned.ranks) / GIB for planned in (low, middle, high)]
    outcomes["cache_size"] = Predicted(shown[1], middle.grades.kv, shown[0], shown[2])
    return outcomes


def _budget(receipt: Receipt) -> tuple[float, float, float] | None:
    """GiB for the pools by the printed digits: the least, the figure itself, the most."""
    name, share = ("free_memory", float(receipt.scenario.get("memory_fraction", 0.9)))
    if name not in receipt.printed:
        name, share = "cache_size", 1.0
    text = receipt.printed.get(name)
    if text is None:
        return None
    half = half_digit(text)
    return (float(text) - half) * share, float(text) * share, (float(text) + half) * share
