"""What llama.cpp would have printed: caches, states and buffers, from the settings alone."""

from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from sizing.receipts.comparing import Predicted
from sizing.receipts.logs import llama_figures
from sizing.receipts.receipt import Receipt
from sizing.report import Grade
from sizing.scenario import make_scenario
from sizing.size import plan

Outcome = Predicted | str


def predict(receipt: Receipt, spec: ModelSpec, accelerator: Accelerator | None) -> dict[str, Outcome]:
    """Raises ScenarioError or PlacementError."""
    planned = plan(make_scenario(receipt.values), spec, accelerator)
    grades: dict[str, Grade] = {
        "compute": planned.grades.activation,
        "device_weights": planned.grades.weights,
        "host_weights": planned.grades.weights,
    }
    figures = llama_figures(planned.log.lines, planned.scenario.speculative is not None)
    outcomes: dict[str, Outcome] = {
        name: Predicted.exactly(value, grades.get(name, planned.grades.kv)) for name, value in figures.items()
    }
    if not spec.tensors:
        outcomes |= dict.fromkeys(("device_weights", "host_weights"), "The dimensions of its tensors are not known.")
    return outcomes
