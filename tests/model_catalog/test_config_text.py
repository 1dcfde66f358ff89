import pytest

from model_catalog.config_text import LONGEST_TEXT, parse_config_text
from model_catalog.fields import ConfigError


def test_an_object_is_read() -> None:
    assert parse_config_text('{"model_type": "llama"}') == {"model_type": "llama"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "empty"),
        ("[]", "not an object"),
        ('{\n"a": 1,\n', "Line 3"),
        ('{"a": NaN}', "NaN is not a number"),
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


def test_a_byte_order_mark_is_passed_over() -> None:
    assert parse_config_text('\ufeff{"model_type": "llama"}') == {"model_type": "llama"}
