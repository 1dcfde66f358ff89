"""Pins as text: nothing is lost, and whatever is damaged is named while the rest is kept."""

import base64
import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.link_config import LONGEST_PARAMETER
from components.pins import MOST_PINS, Pin, letter, link_text, pins_of, read_pins, write_pins
from components.url_state import DEFAULTS, FIELDS

VALUES = {name: DEFAULTS[name] for name in FIELDS}


def pin(name: str = "", **values: object) -> Pin:
    return Pin(VALUES | {"model": "google/gemma-3-27b-it"} | values, name)


def packed(data: object) -> str:
    return base64.urlsafe_b64encode(zlib.compress(json.dumps(data).encode())).decode().rstrip("=")


pins = st.builds(
    Pin,
    st.fixed_dictionaries(
        {
            "model": st.text(min_size=1, max_size=50),
            "batch_size": st.integers(1, 2**20),
            "memory_fraction": st.none() | st.floats(0.01, 1),
            "kv_dtype": st.sampled_from(["auto", "fp8", {"k": "q8_0", "v": "bf16"}]),
            "speculative": st.none() | st.just({"method": "eagle", "tokens": 3, "model": None, "weights": None}),
            "enforce_eager": st.sampled_from([None, True, False]),
        }
    ).map(lambda values: VALUES | values),
    st.text(max_size=60),
    st.none() | st.text(max_size=60),
    st.text(max_size=500),
)


@given(st.lists(pins, max_size=6))
def test_nothing_is_lost(kept: list[Pin]) -> None:
    text = write_pins(kept)
    assert read_pins(text) == (tuple(kept), ())
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")


@given(st.integers(0, 2), st.data())
def test_a_damaged_pin_is_named_and_the_others_kept(which: int, data: st.DataObject) -> None:
    kept = [pin("first"), pin(batch_size=2), pin(tensor_parallel=4)]
    parts = write_pins(kept).split(".")
    place = data.draw(st.integers(0, len(parts[which]) - 1))
    parts[which] = parts[which][:place] + "!" + parts[which][place + 1 :]
    read, complaints = read_pins(".".join(parts))
    assert read == (*kept[:which], *kept[which + 1 :])
    assert complaints == (f"Pin {letter(which)} in the link is left out: it holds no scenario.",)


def test_a_cut_link_keeps_what_came_before_the_cut() -> None:
    text = write_pins([pin("first"), pin("second")])
    read, complaints = read_pins(text[:-5])
    assert [each.name for each in read] == ["first"]
    assert complaints == ("Pin B in the link is left out: it holds no scenario.",)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ([1], "it holds no scenario."),
        ({"scenario": {}}, "model is missing."),
        ({"scenario": {"model": "x", "batch_size": 0}}, "batch_size is 0. It must be at least 1."),
        ({"scenario": {"model": "x", "colour": 1}}, '"colour" is not a field of a Scenario.'),
        ({"scenario": {"model": "x"}, "extra": 1}, '"extra" is not a part of a pin.'),
        ({"scenario": {"model": "x"}, "name": 5}, "have to be texts."),
    ],
)
def test_foreign_pins_are_explained(data: object, sentence: str) -> None:
    read, complaints = read_pins(packed(data))
    assert read == ()
    assert sentence in complaints[0]


def test_a_pin_that_unpacks_to_too_much_is_left_out() -> None:
    bomb = base64.urlsafe_b64encode(zlib.compress(b" " * 3_000_000, 9)).decode().rstrip("=")
    assert len(bomb) < LONGEST_PARAMETER
    assert read_pins(bomb) == ((), ("Pin A in the link is left out: it holds no scenario.",))


def test_too_long_and_too_many() -> None:
    many = [pin(f"number {index}") for index in range(MOST_PINS + 1)]
    assert link_text(many) is None
    assert read_pins(write_pins(many))[1] == ("The pins in the link are too long to be read, so they are left out.",)
    read, complaints = pins_of([{"scenario": {"model": "x"}}] * (MOST_PINS + 1), "in the file")
    assert len(read) == MOST_PINS
    assert complaints == (f"Only the first {MOST_PINS} pins in the file are kept.",)


def test_eight_pins_make_a_short_link() -> None:
    eight = [pin(tensor_parallel=2**size, context_length=32_768, batch_size=16) for size in range(8)]
    assert len(write_pins(eight)) < 1_500


def test_letters() -> None:
    assert [letter(index) for index in (0, 25, 26, 51, 52, 701, 702)] == ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]
