from math import inf

import pytest

from model_catalog.config_text import LONGEST_TEXT, parse_config_text
from model_catalog.fields import ConfigError, Fields


def test_an_object_is_read() -> None:
    assert parse_config_text('{"model_type": "llama"}') == {"model_type": "llama"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "empty"),
        ("[]", "not an object"),
        ('{\n"a": 1,\n', "Line 3"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 50 + "1" + "}" * 50, "nested more than 32"),
        ("x" * (LONGEST_TEXT + 1), "longer than"),
    ],
)
def test_anything_else_is_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        parse_config_text(text)


def test_a_number_of_a_million_digits_costs_nothing() -> None:
    assert parse_config_text('{"a": ' + "9" * 1_000_000 + "}")["a"] == 10**20 - 1


def test_what_python_writes_for_no_bound_is_read_and_no_field_takes_it() -> None:
    """nvidia/Nemotron-H-56B-Base-8K's config.json ends its time_step_limit with Infinity."""
    assert parse_config_text('{"time_step_limit": [0.0, Infinity]}') == {"time_step_limit": [0.0, inf]}
    for value in ("Infinity", "-Infinity", "NaN", "1e999"):
        fields = Fields(parse_config_text(f'{{"width": {value}}}'), "llama")
        with pytest.raises(ConfigError, match=r"width.*a whole number"):
            fields.whole("width")
        with pytest.raises(ConfigError, match=r"width.*a number"):
            fields.number("width", 1.0)


def test_a_byte_order_mark_is_passed_over() -> None:
    assert parse_config_text('\ufeff{"model_type": "llama"}') == {"model_type": "llama"}
