"""Fit vLLM's constants (sizing/engines/calibration.py) to start-up logs, and check them on models left out.

    python -m scripts.fit [folder of receipts]

Only logs that state all that the budget depends on are used. A term is the median over the logs in which it stands
alone. The check fits the terms without a model and predicts "Available KV cache memory" of that model's logs from
model, accelerator and flags.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from scripts.fit_cases import Case, case_of, complete
from sizing.engines.calibration import VLLM, VllmConstants
from sizing.receipts.receipt import read_receipts
from sizing.receipts.shapes import read_shapes
from sizing.units import GIB

RECEIPTS = Path("tests/receipts")


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

    `cases` may hold logs that are not complete; only what they print by itself is taken from them.
    """
    every = [case for case in cases if not case.resolved.rules.v0]
    known = [case for case in every if complete(case) and case.printed("weights") and case.states_release]
    fitted = _with_graph_peer(_of_one_gpu(every), every)
    for name, alone in TERMS:
        left = [(case, case.unexplained(fitted)) for case in known if alone(case)]
        fitted = replace(fitted, **{name: _median(left, 0)})
    both = [case for case in every if case.captures and case.talks and not case.unified]
    fitted = replace(fitted, linked_captured=_median(((case, case.outside(fitted)) for case in both), 0))
    return replace(fitted, unified=_unified(known, fitted))


def _of_one_gpu(every: list[Case]) -> VllmConstants:
    single = [case for case in every if case.ranks == 1 and not case.unified]
    captured, others = [case for case in single if case.captures], [case for case in single if not case.captures]
    fitted = replace(
        NOTHING,
        runtime=_median(((case, case.printed("non_torch")) for case in others), VLLM.runtime),
        graph=_median(((case, case.per_layer) for case in single), VLLM.graph),
    )
    return replace(fitted, captured=_median(((case, case.outside(fitted)) for case in captured), 0))


def _with_graph_peer(fitted: VllmConstants, every: list[Case]) -> VllmConstants:
    by_nccl = [case for case in every if case.reduces_by_nccl and "available_kv" not in case.receipt.unpredictable]
    peers = ((case, case.per_peer(fitted)) for case in by_nccl)
    return replace(fitted, graph_peer=_median(peers, VLLM.graph_peer))


def _unified(known: list[Case], fitted: VllmConstants) -> int:
    """Each log counts, since the runs differ more than the models there (v011 and v012 are one start)."""
    left = [case.unexplained(fitted) for case in known if case.unified]
    return round(median(left)) if left else VLLM.unified


def _median(left: Iterable[tuple[Case, float | None]], otherwise: int) -> int:
    """Of the models, each by the median of its logs."""
    by_model: dict[tuple[str, int, int], list[float]] = {}
    for case, size in left:
        if size is not None:
            by_model.setdefault(case.model, []).append(size)
    return max(0, round(median(map(median, by_model.values())))) if by_model else otherwise


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else RECEIPTS
    known = _read(folder)
    print(fit(known))
    cases = [case for case in known if complete(case)]
    errors = {case.receipt.id: checked(case, known) for case in cases}
    _summary("available, all", errors.values())
    _summary("available, release stated", (errors[case.receipt.id] for case in cases if case.states_release))
    _summary("the same, without its largest source", (errors[case.receipt.id] for case in without_largest(cases)))
    for unified, shares in error_shares(known).items():
        kind = f"{'unified' if unified else 'discrete'}, release stated"
        _summary(f"share of the memory, {kind}", (share for _, share in shares))
        print(f"90th percentile with sources weighed alike: {ninetieth_of_sources(shares):.2%}")
    _summary("weights", (error for case in known if (error := _of_weights(case)) is not None))


def _read(folder: Path) -> list[Case]:
    """The cases of the folder's logs of vLLM; those that cannot be used are printed with the reason."""
    shapes = read_shapes(folder)
    cases = []
    for receipt in read_receipts(folder):
        if receipt.engine == "vllm":
            case = case_of(receipt, shapes)
            if isinstance(case, Case):
                cases.append(case)
            else:
                print(f"{receipt.id} not used: {case}")
    return cases


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
