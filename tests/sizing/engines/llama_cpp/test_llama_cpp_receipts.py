"""Public start-up logs: what was printed, from the model and the settings alone, to the last printed digit."""

from typing import Any

import pytest

from tests.sizing.engines.llama_cpp.receipts import MIB, RECEIPTS, planned, predicted

CACHES = ("main", "window", "draft", "state")
ROUNDED = 0.005 + 1e-9


def named(receipts: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(receipt, id=f"{receipt['id']}-{number}") for number, receipt in enumerate(receipts)]


@pytest.mark.parametrize("receipt", named([r for r in RECEIPTS if any(name in r["printed"] for name in CACHES)]))
def test_caches_and_states_are_those_printed(receipt: dict[str, Any]) -> None:
    found = predicted(receipt)
    for name in CACHES:
        for part, printed in receipt["printed"].get(name, {}).items():
            assert found[name][part] == pytest.approx(printed, abs=ROUNDED), (name, part)


@pytest.mark.parametrize("receipt", named([r for r in RECEIPTS if "total" in r["printed"]]))
def test_totals_of_separate_streams_with_windows(receipt: dict[str, Any]) -> None:
    """Gemma-3-270m with 1, 2, 4 and 8 slots (l050): a stream of 512 cells bounds the window cache."""
    assert predicted(receipt)["total"]["size"] == receipt["printed"]["total"]


@pytest.mark.parametrize(("name", "expected"), [("l001", 4155.99), ("l048", 4403.49), ("l045", 26402.7)])
def test_weights_on_the_device(name: str, expected: float) -> None:
    """Those of prediction layers in: l045's projection of 5,120 × 10,240 is Q8_0; f32 were 147 MiB more."""
    receipt = next(r for r in RECEIPTS if r["id"] == name)
    (rank,) = planned(receipt).ranks
    assert receipt["printed"]["weights"] == expected
    assert (rank.weights + rank.draft) / MIB == pytest.approx(expected, abs=ROUNDED)


@pytest.mark.parametrize("receipt", named([r for r in RECEIPTS if "host" in r["printed"]]))
def test_the_input_embedding_stays_on_the_host(receipt: dict[str, Any]) -> None:
    assert "CPU" in planned(receipt).log.lines[0]
    assert f"buffer size = {receipt['printed']['host']:8.2f} MiB" in planned(receipt).log.lines[0]


@pytest.mark.parametrize("receipt", named([r for r in RECEIPTS if "compute" in r["printed"]]))
def test_compute_buffers(receipt: dict[str, Any]) -> None:
    """Exact without flash attention; with it the term is graded calibrated and keeps to the error it states."""
    printed, plan = receipt["printed"]["compute"], planned(receipt)
    found = plan.ranks[-1].activation / MIB
    if not plan.scenario.flash_attention:
        assert found == printed
    assert plan.grades.activation == "calibrated"
    assert 0.81 < found / printed < 1.02


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("l001", 80.01),
        ("l002", 36.01),
        ("l004", 138.51),
        ("l007", 92.01),
        ("l013", 76.01),
        ("l014", 28.01),
        ("l019", 288.02),
        ("l020", 10.01),
        ("l048", 24.01),
    ],
)
def test_the_host_buffer_of_inputs(name: str, printed: float) -> None:
    receipt = next(r for r in RECEIPTS if r["id"] == name)
    assert planned(receipt).log.lines[-1].endswith(f"_Host compute buffer size = {printed:8.2f} MiB")


def test_the_window_cache_of_may_2025_holds_a_logical_batch() -> None:
    """Command-R7B at 31,000 tokens: nvidia-smi showed 2,344 MiB less than with every layer at full length (l052).

    24 window layers of 4,096 B a cell: 31,232 cells less 4,096 + 2,048 are 2,352 MiB; the rest is the compute buffer.
    """
    settings = {"context_length": 31_000, "flash_attention": True, "engine_version": "2025-05-20"}

    def total(**more: Any) -> float:
        receipt = {"model": "CohereLabs/c4ai-command-r7b-12-2024", "scenario": settings | more}
        return predicted(receipt)["total"]["size"]

    assert total(swa_full=True) - total() == 2352


def test_the_lines_of_a_log_are_worded_as_printed() -> None:
    """l028 (b9010) and l047 (9849), whose lines are quoted in the threads linked beside them."""
    lines = planned(next(r for r in RECEIPTS if r["id"] == "l028")).log.lines
    assert (
        "llama_kv_cache: size = 6144.00 MiB (  4096 cells,  48 layers, 16/16 seqs), "
        "K (f16): 3072.00 MiB, V (f16): 3072.00 MiB"
    ) in lines
    rolled = planned(next(r for r in RECEIPTS if r["id"] == "l047")).log.lines
    assert any(" 1 seqs  2 rs_seq)" in line for line in rolled)
    old = planned(next(r for r in RECEIPTS if r["id"] == "l013")).log.lines
    assert any("KV self size  = 1952.00 MiB, K (f16):  976.00 MiB, V (f16):  976.00 MiB" in line for line in old)
