"""The sentences of Plan: scenario line, verdict, how sure, and what one request keeps."""

from collections.abc import Iterable, Sequence

from components import choices
from components.format import Unit, amount, both_units, counted, scaled, short_tokens
from components.formula import Line
from components.fullest import growth_after, ranks_differ, request_cost
from components.scenario_state import Held
from components.solve import OWN_CONFIG, Fault
from model_catalog.spec import ModelSpec
from sizing.cache import CacheCost
from sizing.engines.plan import EnginePlan
from sizing.report import Report
from sizing.room import fullest_load, room, tightest_rank
from sizing.scenario import KvFormats, Scenario

DIFFERENCES = {"replication": "copies on other GPUs"}
ICONS = {
    "fits": ":green[:material/check_circle:]",
    "tight": ":orange[:material/error:]",
    "short": ":red[:material/cancel:]",
}


def scenario_line(held: Held, scenario: Scenario, spec: ModelSpec, settings: Iterable[str] = ()) -> str:
    """Everything the sidebar is set to, in one line."""
    model = "Your own config.json" if scenario.model == OWN_CONFIG else scenario.model
    weights = choices.stored_label(spec) if scenario.weights == "auto" else choices.weights_label(scenario.weights)
    parts = [
        model,
        f"{weights} weights",
        f"{kv_name(scenario)} KV",
        hardware(held.accelerator_name, scenario),
        engine_name(scenario),
        f"{short_tokens(scenario.context_length or 0)} tokens × {scenario.batch_size:,}",
        *settings,
    ]
    return " · ".join(part for part in parts if part)


def kv_name(scenario: Scenario) -> str:
    kv = scenario.kv_dtype
    return f"{choices.kv_label(kv.k)}/{choices.kv_label(kv.v)}" if isinstance(kv, KvFormats) else choices.kv_label(kv)


def hardware(own_name: str | None, scenario: Scenario) -> str:
    """`own_name` is what the user calls an accelerator of their own; None for one of the catalog."""
    gpus = scenario.placement.gpus
    if own_name is not None:
        name = own_name or "your own accelerator"
    elif scenario.accelerator is None:
        name = "GPU" if scenario.total_memory_bytes is None else "your own accelerator"
    else:
        name = choices.short_accelerator(scenario.accelerator)
    split = _split(scenario)
    return f"{gpus:,} × {name}{f' ({split})' if split else ''}"


def _split(scenario: Scenario) -> str:
    """Named only where it is not plain tensor parallelism."""
    sizes = {
        "TP": scenario.tensor_parallel,
        "PP": scenario.pipeline_parallel,
        "DP": scenario.data_parallel,
        "DCP": scenario.decode_context_parallel,
    }
    given = [f"{name} {size}" for name, size in sizes.items() if size > 1]
    if scenario.expert_parallel:
        given.append("EP")
    return "" if not given or given == [f"TP {scenario.tensor_parallel}"] else ", ".join(given)


def engine_name(scenario: Scenario) -> str:
    return (
        "no engine"
        if scenario.engine == "minimum"
        else f"{choices.engine_label(scenario.engine)} {scenario.engine_version}"
    )


def verdict_line(planned: EnginePlan, report: Report, unit: Unit) -> str:
    """The page's headline: the answer with its amount."""
    scenario, gpu, verdict = report.scenario, report.per_gpu, report.verdict
    load = f"{counted(scenario.batch_size, 'request')} of {scenario.context_length or 0:,} tokens"
    one = scenario.batch_size == 1
    rank = tightest_rank(planned)
    each = " on each GPU" if scenario.placement.gpus > 1 else ""
    if rank.memory is not None:  # GPUs of different sizes
        each = f" on GPU {planned.ranks.index(rank) + 1}"
    usable, left = rank.usable, room(planned)
    if verdict.state is None or usable is None or left is None:
        need = amount(gpu.static_bytes + gpu.cache_bytes, unit)
        return f"{load} {'needs' if one else 'need'} {need}{each}; no memory size is known"
    icon = ICONS[verdict.state]
    if usable < 0:
        return f"{icon} Does not fit: {_no_pool(planned, -usable, unit)}{each}"
    if verdict.state == "short":
        short = amount(verdict.short_by_bytes or 0, unit)
        return f"{icon} Short by {short}{each}: {load} {'does' if one else 'do'} not fit"
    spare = amount(left, unit)
    if verdict.state == "tight":
        return f"{icon} Tight: {load} {'fits' if one else 'fit'} with {spare} to spare{each}"
    return f"{icon} Fits: {load} {'leaves' if one else 'leave'} {spare} of the KV pool unused{each}"


def _no_pool(planned: EnginePlan, over: int, unit: Unit) -> str:
    """Nothing is left for the cache: by the weights alone, or by all that is not cache."""
    rank = tightest_rank(planned)
    weights = rank.weights + rank.draft + rank.encoder
    budget = planned.memory_of(rank)[1]
    if budget is not None and weights > budget:
        return f"the weights alone exceed the budget by {amount(weights - budget, unit)}"
    return f"weights, activations and runtime exceed the budget by {amount(over, unit)}"


def fault_line(fault: Fault, held: Held) -> str:
    """The headline where the scenario cannot be."""
    model = str(held.values["model"])
    name = choices.name_of(model)
    size = held.values.get(fault.field)
    headlines = {
        "tensor_parallel": f"No split of {name} over {size} GPUs",
        "pipeline_parallel": f"No split of {name} into {size} stages",
        "decode_context_parallel": "No such split of a request's tokens",
        "model": _model_fault(held, model),
        "accelerator": "This accelerator is not known here",
        "kv_dtype": "No such KV cache for this model",
        "weights": "No such weights",
        "state_dtype": "No such state format",
    }
    return f":red[:material/error:] {headlines.get(fault.field, 'This scenario cannot be')}"


def _model_fault(held: Held, model: str) -> str:
    if model != OWN_CONFIG:
        return "This model is not known here"
    return "This config.json cannot be read" if held.config_text.strip() else "No config.json yet"


def how_sure(report: Report, unit: Unit) -> str:
    """One caption that turns the grades into a consequence."""
    gpu = report.per_gpu
    sure = sure_of(report)
    if gpu.activation_bytes or gpu.graph_bytes or gpu.runtime_bytes:
        return f"{sure}; activations, CUDA graphs and runtime are estimates{_error(report, unit)}."
    left_out = "Activations, CUDA graphs and runtime are not counted"
    if not gpu.outside_budget_bytes:
        return f"{sure}. {left_out}."
    return f"{sure}. {left_out}: the {amount(gpu.outside_budget_bytes, unit)} outside the budget is left for them."


def _error(report: Report, unit: Unit) -> str:
    """How far the estimates may be off, and what that makes of the verdict; nothing where it is not known."""
    error = report.verdict.error_bytes
    if not error:
        return ""
    consequence = ", so the verdict stands" if report.verdict.stands else ": too close to call"
    return f", together ±{amount(error, unit)}{consequence}"


def sure_of(report: Report) -> str:
    """Which of weights and KV are exact."""
    grades = {"Weights": report.grades.weights, "KV": report.grades.kv}
    assumed = [name for name, grade in grades.items() if grade == "assumed"]
    if not assumed:
        return "Weights and KV are exact"
    if len(assumed) == 2:
        return "Weights and KV rest on assumptions"
    return (
        "Weights are exact; KV rests on assumptions" if "KV" in assumed else "KV is exact; weights rest on assumptions"
    )


def bar_lead(scenario: Scenario, unit: Unit) -> str:
    gpus = scenario.placement.gpus
    if scenario.pipeline_parallel > 1:
        return f"{unit} on the fullest of {gpus:,} GPUs"
    return f"{unit} per GPU" if gpus == 1 else f"{unit} on each of {gpus:,} GPUs"


def answers_line(report: Report) -> str:
    """At 8K tokens 68 requests fit; at 16 requests, 55,552 tokens."""
    scenario, capacity = report.scenario, report.capacity
    longest, most = capacity.max_context_at_batch, capacity.max_batch_at_context
    if longest is None:
        return ""
    fit = "any number fits" if most is None else f"{counted(most, 'request')} {'fits' if most == 1 else 'fit'}"
    length = short_tokens(scenario.context_length or 0)
    return f"At {length} tokens {fit}; at {counted(scenario.batch_size, 'request')}, {longest:,} tokens"


def kept_rows(planned: EnginePlan, unit: Unit) -> list[tuple[str, str]]:
    """What one request keeps on the fullest GPU: at its length, for each further token, and whatever its length."""
    tokens = planned.scenario.context_length or 1
    cost = request_cost(planned)
    rows = [(f"{tokens:,} tokens", scaled(int(cost.bytes(tokens)), unit))]
    taken = max(int(rank.cache.live(tokens, 1)) for rank in planned.ranks)
    if taken != int(cost.bytes(tokens)):
        rows.append(
            (f"{tokens:,} tokens, as {choices.engine_label(planned.scenario.engine)} stores them", scaled(taken, unit))
        )
    rows += stretches(cost, unit)
    if cost.state:
        rows.append(("Recurrent state, whatever the length", scaled(cost.state, unit)))
    if cost.fixed_kv:
        rows.append(("Cross attention, whatever the length", scaled(cost.fixed_kv, unit)))
    return rows


def stretches(cost: CacheCost, unit: Unit) -> list[tuple[str, str]]:
    """What a token adds below, between and above the windows."""
    rows = []
    for start, end in zip([0, *cost.knees], [*cost.knees, None], strict=True):
        step, added = growth_after(cost, start)
        each = "Each token" if step == 1 else f"Every {step:,} tokens"
        where = f" after {start:,}" if start else ""
        where += f" up to {end:,}" if end else ""
        rows.append((each + where, scaled(added, unit) if added else "nothing"))
    return rows


def reserved_line(planned: EnginePlan, unit: Unit) -> str:
    """What the fullest GPU sets aside on admission beside what the requests then use; empty where it is the same."""
    load, cache = fullest_load(planned), tightest_rank(planned).cache
    reserved, live = int(cache.kv(*load)) + int(cache.state(*load)), int(cache.live(*load))
    if amount(reserved, unit) == amount(live, unit):
        return ""
    name = choices.engine_label(planned.scenario.engine)
    where = (
        " on the fullest GPU"
        if ranks_differ(planned)
        else " on each GPU"
        if planned.scenario.placement.gpus > 1
        else ""
    )
    held = f"{name} reserves {amount(reserved, unit)}{where} when it admits these requests"
    return f"{held}; they use {amount(live, unit)}."


def formula_line(lines: Sequence[Line], report: Report, unit: Unit) -> str:
    """What the lines add up to, and why all GPUs set aside another amount."""
    summed = sum(line.result for line in lines)
    one = f"One copy of the model keeps {both_units(summed)}."
    held, gpus = report.cache.reserved_bytes, counted(report.scenario.placement.gpus, "GPU")
    if held == summed:
        return one
    reasons = ", ".join(
        f"{DIFFERENCES.get(each.name, each.name)} {'+' if each.bytes > 0 else ''}{amount(each.bytes, unit)}"
        for each in report.differences
    )
    name = choices.engine_label(report.scenario.engine)
    return f"{one} {name} sets aside {both_units(held)} on {gpus}: {reasons}."
