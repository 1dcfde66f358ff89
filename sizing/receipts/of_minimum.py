"""Figures that are worked out from the architecture alone, whatever engine runs it."""

from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from sizing.receipts.comparing import Predicted
from sizing.receipts.receipt import Receipt
from sizing.scenario import make_scenario
from sizing.size import size

Outcome = Predicted | str


def predict(receipt: Receipt, spec: ModelSpec, accelerator: Accelerator | None) -> dict[str, Outcome]:
    """Raises ScenarioError or PlacementError."""
    report = size(make_scenario(receipt.values), spec, accelerator)
    grade, stored = report.grades.kv, report.per_gpu.kv_bytes
    return {
        "cache_size": Predicted.exactly(stored / 2**30, grade),
        "cache_gb": Predicted.exactly(stored / 10**9, grade),
        "rate": Predicted.exactly(report.cache.bytes_per_token, grade),
    }
