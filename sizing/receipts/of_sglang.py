"""What SGLang would have printed: sizes of the printed tokens and slots, tokens of the printed free memory."""

from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from sizing.engines.plan import EnginePlan
from sizing.engines.sglang.choices import card_of, choose
from sizing.engines.sglang.defaults import running_default
from sizing.engines.sglang.lines import lines_of
from sizing.engines.sglang.rules import release_of, rules_of
from sizing.engines.sglang.sizes import Sizes
from sizing.engines.sglang.stages import stages_of
from sizing.engines.sglang.traits import traits_of
from sizing.receipts.comparing import Predicted, half_digit
from sizing.receipts.logs import sglang_figures
from sizing.receipts.receipt import Receipt
from sizing.scenario import make_scenario
from sizing.size import plan
from sizing.units import GIB

Outcome = Predicted | str


def predict(receipt: Receipt, spec: ModelSpec, accelerator: Accelerator | None) -> dict[str, Outcome]:
    """Predictions, or why there is none, for the printed figures. Raises ScenarioError or PlacementError."""
    outcomes: dict[str, Outcome] = {}
    planned = plan(make_scenario(receipt.values), spec, accelerator)
    if "kv_tokens" in receipt.printed or "slots" in receipt.printed:
        figures = sglang_figures(_lines(receipt, spec))
        outcomes |= {name: Predicted.exactly(value, planned.grades.kv) for name, value in figures.items()}
    outcomes["kv_tokens"] = _tokens(receipt, spec)
    outcomes["weights"] = _weights(planned)
    return outcomes


def _lines(receipt: Receipt, spec: ModelSpec) -> tuple[str, ...]:
    """The lines of pools with the printed numbers of tokens and slots."""
    scenario = make_scenario(receipt.values)
    rules = rules_of(release_of(scenario.engine_version)[1])
    settings = choose(scenario, spec, traits_of(spec), rules, card_of(scenario, None)).settings
    sums, stage = stages_of(spec, settings)[0]
    printed = receipt.printed
    full, context = int(printed.get("kv_tokens", "1")), spec.max_context or 1
    sizes = Sizes(
        full=full,
        window=int(full * settings.ratio) // settings.page * settings.page,
        slots=int(printed.get("slots", "0")),
        running=running_default(full, context),
    )
    return lines_of(sums, stage, sizes, settings, context)


def _tokens(receipt: Receipt, spec: ModelSpec) -> Outcome:
    budget = _budget(receipt)
    if budget is None:
        return "The log prints neither a budget nor the free memory before and after loading."
    value, low, high = (
        plan(make_scenario(receipt.values | {"available_kv_bytes": max(0, round(size))}), spec, None) for size in budget
    )
    tokens = [each.printed.kv_tokens or 0 for each in (value, low, high)]
    return Predicted(tokens[0], value.grades.kv, tokens[1], tokens[2])


def _budget(receipt: Receipt) -> tuple[float, float, float] | None:
    """Bytes for the pools, with the least and the most that the rounding allows: free memory after loading less the
    share of the free memory before that is left alone."""
    printed, fraction = receipt.printed, receipt.scenario.get("memory_fraction")
    if "budget_bytes" in printed:
        return (float(printed["budget_bytes"]),) * 3
    if "free_before" not in printed or "free_after" not in printed or fraction is None:
        return None
    before, after, share = float(printed["free_before"]), float(printed["free_after"]), 1 - float(fraction)
    size = after - before * share
    slack = half_digit(printed["free_after"]) + half_digit(printed["free_before"]) * share
    return size * GIB, (size - slack) * GIB, (size + slack) * GIB


def _weights(planned: EnginePlan) -> Outcome:
    """What loading took, which is a little more than the tensors."""
    runtime = max(rank.runtime for rank in planned.ranks)
    return Predicted.exactly(((planned.log.model_loading_bytes or 0) + runtime) / GIB, "calibrated")
