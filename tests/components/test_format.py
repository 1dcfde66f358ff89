import pytest
from hypothesis import given
from hypothesis import strategies as st

from components import format as f


def test_the_two_course_examples_in_both_units() -> None:
    assert f.both_units(2 * 80 * 8 * 128 * 8192 * 8 * 2) == "21,474,836,480 B = 20.00 GiB = 21.47 GB"
    assert f.both_units(2 * 32 * 8 * 128 * 8192 * 16 * 2) == "17,179,869,184 B = 16.00 GiB = 17.18 GB"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.78, "0.78"),
        (9.38, "9.38"),
        (9.996, "10.0"),
        (40.44, "40.4"),
        (99.96, "100"),
        (1035, "1,035"),
        (-5.4, "−5.40"),
    ],
)
def test_three_figures(value: float, shown: str) -> None:
    assert f.three_figures(value) == shown


@pytest.mark.parametrize(
    ("size", "unit", "shown"),
    [
        (2**30, "GiB", "1.00 GiB"),
        (2**30, "GB", "1.07 GB"),
        (5 * 2**20, "GiB", "5.00 MiB"),
        (656, "GiB", "0.64 KiB"),
        (0, "GiB", "0 B"),
    ],
)
def test_amount_steps_down_before_it_reads_nothing(size: int, unit: f.Unit, shown: str) -> None:
    assert f.amount(size, unit) == shown


@pytest.mark.parametrize(
    ("size", "shown"), [(131072, "128 KiB"), (656, "656 B"), (2**30, "1.00 GiB"), (3_207_168, "3.06 MiB")]
)
def test_scaled(size: int, shown: str) -> None:
    assert f.scaled(size, "GiB") == shown


@pytest.mark.parametrize(
    ("tokens", "shown"),
    [(8192, "8K"), (1536, "1.5K"), (131072, "128K"), (2**20, "1M"), (9760, "9,760"), (1000, "1,000"), (512, "512")],
)
def test_short_tokens(tokens: int, shown: str) -> None:
    assert f.short_tokens(tokens) == shown


@pytest.mark.parametrize(
    ("part", "shown"),
    [(0, "0%"), (4, "< 1%"), (5, "0%"), (280, "28%"), (1128, "113%"), (9990, "999%"), (14_000, "14×")],
)
def test_share_of_a_thousand(part: int, shown: str) -> None:
    assert f.share(part, 1000) == shown


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("24 GiB", 24 * 2**30),
        ("24gb", 24 * 10**9),
        ("0.5 g", 2**29),
        ("85,520,809,984", 85_520_809_984),
        (" 81559 MiB ", 85_520_809_984),
        ("7 B", 7),
    ],
)
def test_parse_size(text: str, size: int) -> None:
    assert f.parse_size(text) == size


@pytest.mark.parametrize("text", ["much", "-1 GiB", "1 GiB more", "1,00", "9" * 40, "1e9", ""])
def test_parse_size_says_what_it_takes(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a size\. Write it like 24 GiB"):
        f.parse_size(text)


@given(st.integers(0, 2**50))
def test_a_size_field_reads_back_the_same_bytes(size: int) -> None:
    assert f.parse_size(f.size_entry(size)) == size
