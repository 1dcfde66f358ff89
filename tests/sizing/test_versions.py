"""Release texts in the order of PEP 440."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version as Packaged

from sizing.versions import at_least, parse_version, release_of

ASCENDING = (
    "0.4.2",
    "0.6.3.post1",
    "0.20.1.dev0+g101584af0.d20260424",
    "0.20.1rc1.dev16+g7a1eb8ac2",
    "0.20.1rc1",
    "0.20.1",
    "0.20.1.post1",
    "0.20.2rc1.dev249+glmkimirebase20260514",
    "0.21",
    "1.0",
)


@pytest.mark.parametrize(("lower", "higher"), list(pairwise(ASCENDING)))
def test_order(lower: str, higher: str) -> None:
    first, second = parse_version(lower), parse_version(higher)
    assert first is not None and second is not None and first < second
    assert at_least(second, lower) and not at_least(first, higher)


def test_same_release() -> None:
    assert parse_version("0.33") == parse_version("0.33.0") == parse_version("v0.33.0+cu129")


@pytest.mark.parametrize("text", ["", "nightly", "main", "+g1234"])
def test_no_release(text: str) -> None:
    assert parse_version(text) is None


parts = st.builds(
    lambda release, pre, post, dev: ".".join(map(str, release)) + pre + post + dev,
    st.lists(st.integers(0, 40), min_size=1, max_size=3),
    st.sampled_from(("", "a1", "b2", "rc1", "rc3")),
    st.sampled_from(("", ".post1", ".post2")),
    st.sampled_from(("", ".dev0", ".dev16")),
)


@given(parts, parts)
def test_as_packaging_orders(one: str, other: str) -> None:
    first, second = parse_version(one), parse_version(other)
    assert first is not None and second is not None
    assert (first < second) == (Packaged(one) < Packaged(other))


@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    parse_version(text)


@pytest.mark.parametrize(
    ("newest", "text", "modelled"),
    [
        ("0.33", None, True),
        ("0.33", "0.33.0.post1", True),
        ("0.33", "0.33.4", True),  # as many parts count as the newest release names
        ("0.33", "0.34.0", False),
        ("0.33", "0.34.0rc1", False),
        ("0.5.23", "0.5.23.post1", True),
        ("0.5.23", "0.5.24", False),
        ("0.33", "0.3", True),
        ("0.33", "0.3rc1", False),
        ("0.33", "0.1.dev18+g1", False),
        ("0.33", "nightly", False),
    ],
)
def test_releases_that_are_modelled(newest: str, text: str | None, modelled: bool) -> None:
    shown, version, notes = release_of(text, "Engine", oldest="0.3", newest=newest, untagged="0.2")
    assert (shown, notes == ()) == (text or newest, modelled)
    assert text not in (None, "nightly", "0.1.dev18+g1") or version == parse_version(newest)
