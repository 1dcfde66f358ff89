"""Machines whose CPU and GPU share their memory: the shares that were printed, and who is told what."""

import pytest

from hardware_catalog import all_accelerators, get_accelerator
from hardware_catalog.shared_memory import new_metal_limit, shared_memory
from sizing.memory import reading_notes
from sizing.scenario import make_scenario

GIB = 2**30


@pytest.mark.parametrize(
    ("ram", "printed"),
    [
        (16, "12713.12"),
        (24, "19069.67"),
        (32, "26800.60"),
        (36, "30150.67"),
        (48, "40200.90"),
        (64, "55662.79"),
        (128, "115448.73"),
        (512, "498216.21"),
    ],
)
def test_what_metal_recommends_on_recent_systems(ram: int, printed: str) -> None:
    """recommendedMaxWorkingSetSize in MB of 10^6, from llama.cpp's start-up lines in public files."""
    limit = new_metal_limit(ram)
    assert limit is not None
    assert f"{limit / 1e6:.2f}" == printed


def test_sizes_that_were_not_seen_are_not_guessed() -> None:
    assert new_metal_limit(192) is None


def test_a_mac_is_told_both_limits_and_how_to_raise_them() -> None:
    """128 GiB: three quarters, 107.52 GiB from macOS 26 on, and 114,688 MiB by hand (antirez/ds4 pull request 893)."""
    shared = shared_memory(get_accelerator("apple-m4-max-40c"))
    assert shared is not None
    assert "96.0 of the 128 GiB" in shared.note
    assert "from macOS 26 on 107.5" in shared.note
    assert [(limit.by, round(limit.bytes / GIB, 2)) for limit in shared.raised] == [
        ("macOS 26 or later", 107.52),
        ("iogpu.wired_limit_mb", 112.0),
    ]


def test_strix_halo_maps_what_linux_is_told_to() -> None:
    """llama.cpp printed 126,976 MiB (ggml-org/llama.cpp issue 21801); the BIOS set 96 GiB aside."""
    shared = shared_memory(get_accelerator("strix-halo-395-128gb"))
    assert shared is not None
    assert "96.0 of the 128 GiB" in shared.note
    assert [limit.bytes for limit in shared.raised] == [126_976 * 2**20]


@pytest.mark.parametrize("name", ["dgx-spark-gb10", "jetson-thor-t5000", "jetson-agx-orin-64gb"])
def test_nvidia_sets_nothing_aside(name: str) -> None:
    shared = shared_memory(get_accelerator(name))
    assert shared is not None
    assert "as CUDA reports" in shared.note
    assert shared.raised == ()


def test_cards_share_nothing_and_limits_rise() -> None:
    for accelerator in all_accelerators():
        shared = shared_memory(accelerator)
        assert shared is None or accelerator.kind == "unified"
        if shared:
            assert accelerator.memory_for_budget is not None
            sizes = [accelerator.memory_for_budget.bytes, *(limit.bytes for limit in shared.raised)]
            assert sizes == sorted(set(sizes))
    assert shared_memory(None) is None


def test_a_memory_that_nobody_has_read_is_told_with_its_rule_alone() -> None:
    figures = [card.memory_for_budget for card in all_accelerators()]
    scenario = make_scenario({"model": "test"})
    notes = {note for figure in figures for note in reading_notes(scenario, figure)}
    told = "The accelerator's memory is not a reading but follows a rule: driver total − 384 MiB − 2 MiB per GiB."
    assert told in notes
    assert all("http" not in note and note.count("rule: ") == 1 and note.endswith(".") for note in notes)
