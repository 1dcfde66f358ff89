import pytest

from sizing.formats import FormatError, format_named, turboquant_bytes


def test_q8_0_row_of_1024_elements_is_1088_bytes() -> None:
    """ggml-common.h: blocks of 32 elements in 34 bytes."""
    assert format_named("q8_0").row_bytes(8, 128) == 1088


@pytest.mark.parametrize(
    ("name", "bytes_of_pair"),
    [
        ("bf16", 512),
        ("fp8", 256),
        ("fp8_e5m2", 256),
        ("fp8_per_token_head", 264),
        ("int8_per_token_head", 264),
        ("int4_per_token_head", 136),
        ("nvfp4", 144),
        ("mxfp8", 264),
        ("ultraquant_4bit", 136),
    ],
)
def test_key_and_value_of_one_head_of_128(name: str, bytes_of_pair: int) -> None:
    """The d = 128 column of vLLM's and SGLang's formats."""
    assert 2 * format_named(name).row_bytes(1, 128) == bytes_of_pair


@pytest.mark.parametrize(
    ("name", "block_bytes"), [("q8_0", 34), ("q5_1", 24), ("q5_0", 22), ("q4_1", 20), ("q4_0", 18), ("iq4_nl", 18)]
)
def test_ggml_blocks_of_32(name: str, block_bytes: int) -> None:
    assert format_named(name).row_bytes(1, 32) == block_bytes


@pytest.mark.parametrize(
    ("name", "bytes_of_pair"),
    [("turboquant_k8v4", 196), ("turboquant_4bit_nc", 134), ("turboquant_k3v4_nc", 118), ("turboquant_3bit_nc", 102)],
)
def test_turboquant_pairs_of_128(name: str, bytes_of_pair: int) -> None:
    assert turboquant_bytes(name, 128, 128) == bytes_of_pair


def test_a_row_that_does_not_fill_its_blocks_is_refused() -> None:
    with pytest.raises(FormatError, match="not a multiple of 32"):
        format_named("q8_0").row_bytes(1, 80)
