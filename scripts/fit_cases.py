"""Start-up logs that vLLM's constants are fitted to: each with its scenario, and what it leaves beside other terms."""

from collections.abc import Mapping
from dataclasses import dataclass

from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from sizing.answer import find_accelerator, find_spec
from sizing.engines.calibration import VLLM, VllmConstants
from sizing.engines.vllm import budget
from sizing.engines.vllm.defaults import capability_of, is_linked, is_unified
from sizing.engines.vllm.profiling.graphs import captures, graphs_captured, layers_of, reduces_by_nccl
from sizing.engines.vllm.resolving import Resolved, resolved_of
from sizing.engines.vllm.weights.loaded import loaded_spec
from sizing.media.limits import tower_kinds
from sizing.placement import PlacementError
from sizing.receipts.receipt import Receipt
from sizing.scenario import ScenarioError, make_scenario
from sizing.units import GIB


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
