"""Fit vLLM's constants (sizing/engines/calibration.py) to start-up logs, and check them on models left out.

    python -m scripts.fit [receipts]

Each line of the receipts is one log as JSON. Only logs that say (or imply by release and accelerator) all that the
budget depends on are used. A term is the median over the logs in which it stands alone; the check fits the terms
without a model and predicts "Available KV cache memory" of that model's logs from model, accelerator and flags.
"""

import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from hardware_catalog import get_accelerator
from hardware_catalog.schema import Accelerator
from model_catalog.lookup import UnknownModel, find_entry
from model_catalog.spec import ModelSpec
from scripts.fit_names import ACCELERATORS, MIDDLE, MODELS, OLD_ENGINE, PRECISIONS, SETTINGS
from sizing.engines.calibration import GIB, VLLM, VllmConstants
from sizing.engines.vllm import budget
from sizing.engines.vllm.profile_run import TOWERS, activation_bytes
from sizing.engines.vllm.resolving import Resolved, resolved_of
from sizing.placement import PlacementError
from sizing.scenario import Scenario, ScenarioError, make_scenario

RECEIPTS = Path("tests/receipts/vllm.json")
NO_TERMS = VllmConstants(logit_bytes=0, runtime=0, runtime_per_rank=0, unified=0, encoder=0, graphs=0)


@dataclass(frozen=True, slots=True)
class Case:
    """One usable log: what it printed, and the scenario that it came from."""

    id: str
    spec: ModelSpec
    accelerator: Accelerator | None
    resolved: Resolved
    log: dict[str, Any]

    @property
    def model(self) -> str:
        return f"{self.spec.model_type} {self.spec.num_layers} {self.spec.hidden_size}"

    @property
    def available(self) -> float | None:
        return _bytes(self.log["available_kv_gib"])

    @property
    def requested(self) -> int | None:
        return budget.memory_of(self.resolved.scenario, self.accelerator).budget

    @property
    def ranks(self) -> int:
        return self.resolved.scenario.tensor_parallel

    @property
    def unified(self) -> bool:
        return self.accelerator is not None and self.accelerator.kind == "unified"

    @property
    def encodes(self) -> bool:
        skipped = self.log["limit_mm"] or ""
        towers = any(t.kind in TOWERS for tower in self.spec.towers for t in tower.tensors)
        return towers and "language_model_only" not in skipped and '"image": 0' not in skipped

    @property
    def complete(self) -> bool:
        """Whether the log says all that the budget depends on."""
        stated = self.log["gpu_memory_utilization"] is not None or self.dated
        return stated and self.accelerator is not None and (self.available or 0) > 0

    @property
    def dated(self) -> bool:
        return self.log["engine_version"] is not None

    def weights(self) -> float:
        return max(each.loaded - self._unloaded(each) for each in budget.stage_terms(*self._asked(NO_TERMS)))

    def predicted(self, constants: VllmConstants) -> float:
        own = constants if self.encodes else replace(constants, encoder=0)
        terms = budget.stage_terms(*self._asked(own))
        return min((self.requested or 0) - each.total + self._unloaded(each) for each in terms)

    def _unloaded(self, terms: budget.Terms) -> int:
        return terms.encoder if "language_model_only" in (self.log["limit_mm"] or "") else 0

    def outside(self) -> float:
        """What the log leaves between the request and the cache, weights aside (ours where it prints none)."""
        weights = _bytes(self.log["weights_gib"]) or self.weights()
        return (self.requested or 0) - weights - (self.available or 0)

    def activation(self, constants: VllmConstants) -> int:
        return activation_bytes(self.resolved.scenario, self.spec, constants)

    def logits(self) -> int:
        scenario = self.resolved.scenario
        return min(scenario.max_num_seqs or 1, scenario.max_num_batched_tokens or 1) * self.spec.vocab_size

    def _asked(self, constants: VllmConstants) -> tuple[Any, ...]:
        return self.resolved.scenario, self.spec, self.resolved.rules, self.accelerator, constants


def _bytes(gib: float | None) -> float | None:
    return None if gib is None else gib * GIB


def case_of(log: dict[str, Any]) -> Case | str:
    """The case of a log, or why it cannot be used."""
    if log.get("speculative") not in (None, "None"):
        return "a draft model is loaded"
    spec = _spec(log["model"])
    if spec is None:
        return "the model is not in the catalog"
    name = next((own for part, own in ACCELERATORS.items() if part in (log["gpu"] or "")), None)
    accelerator, version = get_accelerator(name) if name else None, log["engine_version"]
    try:
        resolved = resolved_of(_scenario(log, spec, version), spec, accelerator)
    except (ScenarioError, PlacementError) as error:
        return error.message
    return Case(log["id"], spec, accelerator, resolved, log)


def _spec(model: str) -> ModelSpec | None:
    for part, entry in MODELS.items():
        if part in model:
            return find_entry(entry).spec
    try:
        return find_entry(model).spec
    except UnknownModel:
        return None


def _precision(log: dict[str, Any], spec: ModelSpec) -> str:
    """What the checkpoint holds, where the entry that stands for it does not say."""
    if spec.quantization is not None:
        return "auto"
    named = [precision for part, precision in PRECISIONS.items() if part in log["model"]]
    set_so = [SETTINGS[word] for word in (log["quantization"], log["dtype"]) if word in SETTINGS]
    return next(iter((*set_so, *named)), "auto")


def _scenario(log: dict[str, Any], spec: ModelSpec, version: str | None) -> Scenario:
    total = _bytes(log["total_gpu_memory_gib"])
    return make_scenario(
        {
            "model": log["model"],
            "engine": "vllm",
            "weights": _precision(log, spec),
            "engine_version": version or (OLD_ENGINE if "V0" in (log["notes"] or "") else None) or MIDDLE,
            "total_memory_bytes": None if total is None else round(total),
            "tensor_parallel": log["tensor_parallel"] or 1,
            "pipeline_parallel": log["pipeline_parallel"] or 1,
            "max_model_len": log["max_model_len"],
            "max_num_seqs": log["max_num_seqs"],
            "max_num_batched_tokens": log["max_num_batched_tokens"],
            "memory_fraction": log["gpu_memory_utilization"],
            "enforce_eager": log["enforce_eager"],
        }
    )


def graph_estimates(logs: Iterable[dict[str, Any]]) -> dict[str, float]:
    """The estimates that logs print, one a model: the median of its logs."""
    found: dict[str, list[float]] = {}
    for log in logs:
        estimate = re.search(r"estimates CUDA graph ([0-9.]+) GiB", log["notes"] or "")
        if estimate:
            found.setdefault(log["model"], []).append(float(estimate[1]) * GIB)
    return {model: median(sizes) for model, sizes in found.items()}


def fit(cases: Iterable[Case], graphs: Mapping[str, float]) -> VllmConstants:
    """Each term from the logs in which it stands alone, in this order; as it is where no log has it alone."""
    known = list(cases)
    peaks = [case for case in known if case.log["activation_peak_gib"] and not case.resolved.rules.v0]
    logit = median(case.log["activation_peak_gib"] * GIB / case.logits() for case in peaks)
    alone = median(case.log["non_torch_gib"] for case in peaks if case.ranks == 1)
    fitted = replace(
        VLLM,
        logit_bytes=round(logit, 1),
        runtime=round(alone * GIB),
        graphs=_median(graphs.values(), VLLM.graphs),
    )
    rest = [(case, _rest(case, fitted)) for case in known]
    text = [(case, left) for case, left in rest if not case.encodes]
    shared = [left / (case.ranks - 1) for case, left in text if case.ranks > 1 and not case.unified]
    per_rank = _median(shared, VLLM.runtime_per_rank)
    unified = [left for case, left in text if case.unified]
    encoder = [left - per_rank * (case.ranks - 1) for case, left in rest if case.encodes and not case.unified]
    return replace(
        fitted,
        runtime_per_rank=per_rank,
        unified=_median(unified, VLLM.unified),
        encoder=_median(encoder, VLLM.encoder),
    )


def _median(sizes: Iterable[float], otherwise: int) -> int:
    known = list(sizes)
    return max(0, round(median(known))) if known else otherwise


def _rest(case: Case, constants: VllmConstants) -> float:
    """What the log leaves unexplained by weights, activations, runtime and graphs."""
    graphs = constants.graphs if case.resolved.rules.profiles_graphs and not case.resolved.scenario.enforce_eager else 0
    return case.outside() - case.activation(constants) - constants.runtime - graphs


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else RECEIPTS
    text = path.read_text()
    logs = [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else json.loads(text)
    tried = [(log, case_of(log)) for log in logs]
    known = [case for _, case in tried if isinstance(case, Case)]
    cases = [case for case in known if case.complete]
    graphs = graph_estimates(logs)
    print(fit(cases, graphs))
    for log, case in tried:
        if isinstance(case, str):
            print(f"{log['id']} not used: {case}")
    errors = {case.id: _checked(case, cases, graphs) for case in cases}
    _summary("all", list(errors.values()))
    _summary("release stated", [errors[case.id] for case in cases if case.dated])
    placed = [case for case in known if case.log["weights_gib"] and case.log["tensor_parallel"]]
    loaded = {case.id: _weights_error(case) for case in placed}
    for case in known:
        if abs(loaded.get(case.id, 0)) > 0.02:
            print(f"{case.id} {case.log['model'][-50:]}: weights {loaded[case.id]:+.1%}")
    _summary("weights", [abs(error) for error in loaded.values()])


def _weights_error(case: Case) -> float:
    printed: float = case.log["weights_gib"] * GIB
    return case.weights() / printed - 1


def _checked(case: Case, cases: list[Case], graphs: Mapping[str, float]) -> float:
    """Relative error of the prediction by constants fitted to all other models."""
    others = {model: size for model, size in graphs.items() if model != case.log["model"]}
    predicted = case.predicted(fit((other for other in cases if other.model != case.model), others))
    available = case.available or 1
    of_weights = f"{_weights_error(case):+.2%}" if case.log["weights_gib"] else ""
    name = case.accelerator.id if case.accelerator else ""
    print(
        f"{case.id} {case.log['model'][-34:]:34} {name:24} {predicted / GIB:7.2f} {available / GIB:7.2f}"
        f" {predicted / available - 1:+.1%} weights {of_weights}"
    )
    return abs(predicted / available - 1)


def _summary(what: str, errors: list[float]) -> None:
    ordered = sorted(errors)
    ninetieth = ordered[int(0.9 * len(ordered))]
    print(f"{what}: {len(ordered)} logs, median {median(ordered):.2%}, 90th percentile {ninetieth:.2%}")


if __name__ == "__main__":
    main()
