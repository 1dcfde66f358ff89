"""Fit vLLM's constants (sizing/engines/calibration.py) to start-up logs, and check them on models left out.

    python -m scripts.fit [folder of receipts]

Only logs that state all that the budget depends on are used. A term is the median over the logs in which it stands
alone. The check fits the terms without a model and predicts "Available KV cache memory" of that model's logs from
model, accelerator and flags.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from sizing.answer import find_accelerator, find_spec
from sizing.engines.calibration import GIB, VLLM, VllmConstants
from sizing.engines.vllm import budget
from sizing.engines.vllm.defaults import capability_of, is_linked, is_unified
from sizing.engines.vllm.profiling.graphs import captures, graphs_captured, layers_of, reduces_by_nccl
from sizing.engines.vllm.resolving import Resolved, resolved_of
from sizing.engines.vllm.weights.loaded import loaded_spec
from sizing.media.limits import tower_kinds
from sizing.placement import PlacementError
from sizing.receipts.receipt import Receipt, read_receipts
from sizing.receipts.shapes import read_shapes
from sizing.scenario import ScenarioError, make_scenario

RECEIPTS = Path("tests/receipts")


@dataclass(frozen=True, slots=True)
class Case:
    """One usable log with the scenario that it came from."""

    receipt: Receipt
    spec: ModelSpec
    accelerator: Accelerator | None
    resolved: Resolved

    @property
    def model(self) -> tuple[str, int, int]:
        """The same for all logs of models of one size."""
        return self.spec.model_type, self.spec.num_layers, self.spec.hidden_size

    @property
    def states_release(self) -> bool:
        return self.receipt.version is not None and not self.receipt.inferred.keys() & {"engine_version", "version"}

    @property
    def ranks(self) -> int:
        return self.resolved.scenario.tensor_parallel

    @property
    def unified(self) -> bool:
        return is_unified(self.accelerator)

    @property
    def encodes(self) -> bool:
        return bool(tower_kinds(loaded_spec(self.resolved.scenario, self.spec, self.resolved.rules)))

    @property
    def graphs(self) -> int:
        """CUDA graphs that vLLM captures."""
        return graphs_captured(self.resolved.scenario, capability_of(self.accelerator))

    @property
    def per_graph(self) -> float | None:
        """vLLM's estimate for one CUDA graph."""
        estimate = self.printed("graphs_estimate")
        return None if estimate is None else estimate / self.graphs

    @property
    def layers(self) -> int:
        return layers_of(self.resolved.scenario, self.spec)

    @property
    def per_layer(self) -> float | None:
        return None if self.per_graph is None else self.per_graph / self.layers

    def per_peer(self, constants: VllmConstants) -> float | None:
        """And what it is more for each of the other ranks."""
        return None if self.per_graph is None else (self.per_graph - self.layers * constants.graph) / (self.ranks - 1)

    @property
    def reduces_by_nccl(self) -> bool:
        return reduces_by_nccl(self.resolved.scenario, self.accelerator)

    @property
    def multicasts(self) -> bool:
        return budget.multicasts(self.resolved.scenario, self.resolved.rules, self.accelerator)

    @property
    def linked(self) -> bool:
        return is_linked(self.accelerator)

    @property
    def talks(self) -> bool:
        return budget.talks(self.resolved.scenario, self.spec, self.accelerator)

    @property
    def captures(self) -> bool:
        return captures(self.resolved.scenario, self.spec, self.resolved.rules)

    def outside(self, constants: VllmConstants) -> float | None:
        """What the log counts outside of PyTorch beside the terms that `constants` give."""
        printed, terms = self.printed("non_torch"), self.terms(constants)
        return None if printed is None else printed - max(each.runtime for each in terms)

    @property
    def source(self) -> str:
        """The repository or site that the log comes from."""
        return "/".join(self.receipt.link.split("/")[:5])

    @property
    def memory(self) -> int:
        return budget.memory_of(self.resolved.scenario, self.accelerator).total or 1

    @property
    def requested(self) -> int:
        return budget.memory_of(self.resolved.scenario, self.accelerator).budget or 0

    def printed(self, name: str) -> float | None:
        """Bytes of a figure printed in GiB."""
        text = self.receipt.printed.get(name)
        return None if text is None else float(text) * GIB

    def terms(self, constants: VllmConstants = VLLM) -> list[budget.Terms]:
        return budget.stage_terms(
            self.resolved.scenario, self.spec, self.resolved.rules, self.accelerator, constants=constants
        )

    def weights(self) -> int:
        return max(each.loaded for each in self.terms())

    def available(self, constants: VllmConstants) -> int:
        return min(self.requested - each.total for each in self.terms(constants))

    def unexplained(self, constants: VllmConstants) -> float:
        """What the log leaves beside its weights (ours where it prints none) and the terms that `constants` give.

        Of the CUDA graphs the log's own estimate, where it prints one that counts.
        """
        weights, estimate = self.printed("weights") or self.weights(), self.printed("graphs_estimate")
        terms = max(self.terms(constants), key=lambda each: each.total - each.loaded)
        graphs = terms.graphs if estimate is None or not terms.graphs else estimate
        own = terms.activation + terms.runtime + graphs
        return self.requested - weights - (self.printed("available_kv") or 0) - own


def case_of(receipt: Receipt, shapes: Mapping[str, ModelSpec]) -> Case | str:
    """The case of a receipt, or why it cannot be used."""
    spec = shapes[receipt.shape] if receipt.shape else find_spec(receipt.model) if receipt.model else None
    if spec is None or not spec.tensors:
        return "the model's tensors are not known"
    accelerator = find_accelerator(receipt.scenario.get("accelerator"))
    try:
        resolved = resolved_of(make_scenario(receipt.values), spec, accelerator)
    except (ScenarioError, PlacementError) as error:
        return error.message
    return Case(receipt, spec, accelerator, resolved)


def complete(case: Case) -> bool:
    """Whether the log states all that the budget depends on, but for the release."""
    receipt = case.receipt
    fraction = "memory_fraction" in receipt.scenario or "memory_fraction" in receipt.inferred
    aside = "available_kv" in receipt.unpredictable or "available_kv" in receipt.fitted
    known = fraction and case.accelerator is not None and not aside
    return known and (case.printed("available_kv") or 0) > 0


NOTHING = replace(VLLM, runtime=0, linked=0, captured=0, linked_captured=0, multicast=0, unified=0, graph=0)
# Where each term stands alone beside those that come before it
TERMS: tuple[tuple[str, Callable[[Case], bool]], ...] = (
    (
        "linked",
        lambda case: (
            case.ranks > 1 and case.linked and not (case.multicasts or case.captures or case.encodes or case.unified)
        ),
    ),
    ("multicast", lambda case: case.multicasts and not case.encodes),
)


def fit(cases: Iterable[Case]) -> VllmConstants:
    """What logs print by itself, then each term from the logs in which it stands alone; nothing where there are none.

    `cases` may hold logs that are not complete; only what they print by itself is taken from them. On memory that is
    shared with the host the runs differ more than the models (v011 and v012 are one start), so there each log counts.
    """
    every = [case for case in cases if not case.resolved.rules.v0]
    single = [case for case in every if case.ranks == 1 and not case.unified]
    fitted = replace(
        NOTHING,
        runtime=_median(((case, case.printed("non_torch")) for case in single if not case.captures), VLLM.runtime),
        graph=_median(((case, case.per_layer) for case in single), VLLM.graph),
    )
    fitted = replace(fitted, captured=_median(((case, case.outside(fitted)) for case in single if case.captures), 0))
    by_nccl = [case for case in every if case.reduces_by_nccl and "available_kv" not in case.receipt.unpredictable]
    peers = ((case, case.per_peer(fitted)) for case in by_nccl)
    fitted = replace(fitted, graph_peer=_median(peers, VLLM.graph_peer))
    known = [case for case in every if complete(case) and case.printed("weights") and case.states_release]
    for name, alone in TERMS:
        left = [(case, case.unexplained(fitted)) for case in known if alone(case)]
        fitted = replace(fitted, **{name: _median(left, 0)})
    both = [case for case in every if case.captures and case.talks and not case.unified]
    fitted = replace(fitted, linked_captured=_median(((case, case.outside(fitted)) for case in both), 0))
    shared = [case.unexplained(fitted) for case in known if case.unified]
    return replace(fitted, unified=round(median(shared)) if shared else VLLM.unified)


def _median(left: Iterable[tuple[Case, float | None]], otherwise: int) -> int:
    """Of the models, each by the median of its logs."""
    by_model: dict[tuple[str, int, int], list[float]] = {}
    for case, size in left:
        if size is not None:
            by_model.setdefault(case.model, []).append(size)
    return max(0, round(median(map(median, by_model.values())))) if by_model else otherwise


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else RECEIPTS
    shapes = read_shapes(folder)
    receipts = [receipt for receipt in read_receipts(folder) if receipt.engine == "vllm"]
    found = [case_of(receipt, shapes) for receipt in receipts]
    for receipt, case in zip(receipts, found, strict=True):
        if isinstance(case, str):
            print(f"{receipt.id} not used: {case}")
    known = [case for case in found if isinstance(case, Case)]
    cases = [case for case in known if complete(case)]
    print(fit(known))
    errors = {case.receipt.id: checked(case, known) for case in cases}
    _summary("available, all", errors.values())
    _summary("available, release stated", (errors[case.receipt.id] for case in cases if case.states_release))
    _summary("the same, without its largest source", (errors[case.receipt.id] for case in without_largest(cases)))
    for unified, shares in error_shares(known).items():
        kind = f"{'unified' if unified else 'discrete'}, release stated"
        _summary(f"share of the memory, {kind}", (share for _, share in shares))
        print(f"90th percentile with sources weighed alike: {ninetieth_of_sources(shares):.2%}")
    _summary("weights", (error for case in known if (error := _of_weights(case)) is not None))


def without_largest(cases: list[Case]) -> list[Case]:
    """Those that state their release, but for the source that most of them come from: one sweep on one card."""
    stated = [case for case in cases if case.states_release]
    largest, _ = Counter(case.source for case in stated).most_common(1)[0]
    return [case for case in stated if case.source != largest]


def error_shares(cases: list[Case]) -> dict[bool, list[tuple[str, float]]]:
    """Sources of logs that state their release, and errors as shares of the card's memory; by whether it is unified."""
    shares: dict[bool, list[tuple[str, float]]] = {False: [], True: []}
    for case in cases:
        if case.states_release and complete(case):
            error = _predicted(case, cases) - (case.printed("available_kv") or 0)
            shares[case.unified].append((case.source, abs(error) / case.memory))
    return shares


def _predicted(case: Case, cases: list[Case]) -> int:
    """By constants fitted to all other models."""
    return case.available(fit(other for other in cases if other.model != case.model))


def checked(case: Case, cases: list[Case]) -> float:
    """Relative error of the prediction."""
    predicted, printed = _predicted(case, cases), case.printed("available_kv") or 1
    error, weights = predicted / printed - 1, _of_weights(case)
    columns: tuple[Any, ...] = (case.receipt.id, case.receipt.name[-34:], case.receipt.scenario.get("accelerator", ""))
    beside = "" if weights is None else f"weights {weights:+.2%}"
    print("{:5} {:34} {:24}".format(*columns), f"{predicted / GIB:7.2f} {printed / GIB:7.2f} {error:+.1%} {beside}")
    return error


def _of_weights(case: Case) -> float | None:
    printed = None if "weights" in case.receipt.unpredictable else case.printed("weights")
    return None if printed is None else case.weights() / printed - 1


def _summary(what: str, errors: Iterable[float]) -> None:
    ordered = sorted(abs(error) for error in errors)
    print(f"{what}: {len(ordered)} logs, median {median(ordered):.2%}, 90th percentile {ninetieth(ordered):.2%}")


def ninetieth(errors: Iterable[float]) -> float:
    ordered = sorted(errors)
    return ordered[int(0.9 * len(ordered))]


def ninetieth_of_sources(shares: Iterable[tuple[str, float]]) -> float:
    """Each source weighs the same: half of the logs are one sweep on one kind of card."""
    ordered = sorted(shares, key=lambda each: each[1])
    logs = Counter(source for source, _ in ordered)
    weighed = 0.0
    for source, share in ordered:
        weighed += 1 / logs[source]
        if weighed > 0.9 * len(logs):
            return share
    return 0.0


if __name__ == "__main__":
    main()
