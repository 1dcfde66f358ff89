import base64
import zlib
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.link_config import LONGEST_PARAMETER, pack, unpack
from model_catalog.config_text import LONGEST_TEXT


@given(st.text(max_size=500))
def test_a_config_survives_the_link(text: str) -> None:
    packed = pack(text)
    assert packed is not None
    assert unpack(packed) == text


def test_what_is_too_long_is_not_packed() -> None:
    noise = Random(1).randbytes(5_000).hex()
    assert pack(noise) is None


@pytest.mark.parametrize("parameter", ["", "%%%", "AAAA", "é", "x" * (LONGEST_PARAMETER + 1)])
def test_a_damaged_config_is_a_sentence(parameter: str) -> None:
    with pytest.raises(ValueError, match=r"\.$"):
        unpack(parameter)


def test_a_small_parameter_cannot_become_a_huge_text() -> None:
    bomb = base64.urlsafe_b64encode(zlib.compress(b"0" * (LONGEST_TEXT + 1), 9)).decode()
    assert len(bomb) < LONGEST_PARAMETER
    with pytest.raises(ValueError, match="damaged"):
        unpack(bomb)
