"""The fit finds again what its logs hold, and vLLM's constants are what the committed receipts give."""

from pathlib import Path
from statistics import median

import pytest

from scripts.fit import (
    checked,
    error_shares,
    fit,
    ninetieth,
    ninetieth_of_sources,
    without_largest,
)
from scripts.fit_cases import Case, case_of, complete
from sizing.engines.calibration import VLLM, VLLM_CHECKED
from sizing.receipts.receipt import read_receipts
from sizing.receipts.shapes import read_shapes
from sizing.units import GIB

FOLDER = Path(__file__).parents[3] / "receipts"
TABLE = ("v051", "v052", "v053", "v054")  # llm-d-planner, docs/empirical-vllm-memory-results.md


@pytest.fixture(scope="module")
def known() -> dict[str, Case | str]:
    shapes = read_shapes(FOLDER)
    return {each.id: case_of(each, shapes) for each in read_receipts(FOLDER) if each.engine == "vllm"}


def usable(known: dict[str, Case | str]) -> list[Case]:
    return [case for case in known.values() if isinstance(case, Case)]


def test_the_constants_are_those_of_the_receipts(known: dict[str, Case | str]) -> None:
    """The calibration is the last fit; 10 % allows for receipts and rules that came after it."""
    fitted = fit(usable(known))
    names = ("runtime", "linked", "captured", "linked_captured", "multicast", "unified", "graph", "graph_peer")
    for name in names:
        assert getattr(fitted, name) == pytest.approx(getattr(VLLM, name), rel=0.1), name


def test_the_errors_are_those_of_models_left_out(known: dict[str, Case | str]) -> None:
    """63 logs of discrete cards and 4 of unified memory state their release."""
    shares = error_shares(usable(known))
    assert [len(shares[unified]) for unified in (False, True)] == [63, 4]
    assert ninetieth_of_sources(shares[False]) == pytest.approx(VLLM.error_share, abs=5e-5)
    assert max(share for _, share in shares[True]) == pytest.approx(VLLM.unified_error_share, abs=5e-5)


def test_the_check_on_models_left_out_is_the_one_that_accuracy_shows(known: dict[str, Case | str]) -> None:
    cases = usable(known)
    errors = [abs(checked(case, cases)) for case in cases if complete(case) and case.states_release]
    assert len(errors) == VLLM_CHECKED.logs
    assert median(errors) == pytest.approx(VLLM_CHECKED.median, abs=5e-5)
    assert ninetieth(errors) == pytest.approx(VLLM_CHECKED.ninetieth, abs=5e-5)
    others = [abs(checked(case, cases)) for case in without_largest([each for each in cases if complete(each)])]
    assert len(others) == VLLM_CHECKED.others
    assert median(others) == pytest.approx(VLLM_CHECKED.others_median, abs=5e-5)
    assert ninetieth(others) == pytest.approx(VLLM_CHECKED.others_ninetieth, abs=5e-5)


def test_terms_of_a_published_table(known: dict[str, Case | str]) -> None:
    """Two GPUs take 0.54 GiB outside of PyTorch there, one 0.13."""
    fitted = fit(case for case in usable(known) if case.receipt.id in TABLE)
    assert fitted.runtime == pytest.approx(0.13 * GIB, rel=0.05)
    assert fitted.runtime + fitted.linked == pytest.approx(0.54 * GIB, rel=0.05)


def test_predictions_of_the_table(known: dict[str, Case | str]) -> None:
    for name in TABLE:
        case = known[name]
        assert isinstance(case, Case)
        assert case.available(VLLM) == pytest.approx(case.printed("available_kv"), rel=0.005)
        assert case.weights() == pytest.approx(case.printed("weights"), rel=1e-3)


def test_logs_with_an_unknown_draft_model_are_left_out(known: dict[str, Case | str]) -> None:
    """But not those of models that draft with their own layers."""
    assert "needs a draft model" in str(known["v008"])
    assert isinstance(known["v189"], Case)


def test_a_graph_costs_what_single_gpus_estimate(known: dict[str, Case | str]) -> None:
    """v134: 0.14 GiB for 30 graphs."""
    case = known["v134"]
    assert isinstance(case, Case)
    assert case.graphs == 30
    assert case.per_graph == pytest.approx(0.14 * GIB / 30)
