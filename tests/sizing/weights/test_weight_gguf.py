"""GGUF mixes against published files of llama.cpp's quantizer."""

import pytest

from model_catalog.lookup import find_entry
from model_catalog.tensors import TensorClass
from sizing.weights.gguf import more_bits
from sizing.weights.stored import stored_bytes

# Sizes of bartowski/Meta-Llama-3.1-8B-Instruct-GGUF and of the same made without an importance matrix. A file
# is its tensors and a header with the vocabulary, which is the same in all but for a few keys.
FILES = {
    "q8_0": 8_540_770_880,
    "q6_k": 6_596_006_464,
    "q5_k_m": 5_732_987_456,
    "q5_k_s": 5_599_298_976,
    "q4_k_m": 4_920_734_272,
    "q4_k_s": 4_692_673_952,
    "q4_0": 4_661_211_808,
    "iq4_xs": 4_447_667_616,
    "q3_k_l": 4_321_960_352,
    "q3_k_m": 4_018_922_912,
    "q3_k_s": 3_664_504_224,
    "q2_k": 3_179_136_416,
}
LEAST_HEADER, MOST_HEADER = 7_836_224, 7_841_184


@pytest.mark.parametrize(("precision", "file_size"), FILES.items())
def test_llama_3_1_8b_files(precision: str, file_size: int) -> None:
    """The header is what remains; one attn_k of a neighbouring type would move it by 524,288 bytes."""
    spec = find_entry("meta-llama/Llama-3.1-8B-Instruct").spec
    assert LEAST_HEADER <= file_size - sum(stored_bytes(spec, precision).values()) <= MOST_HEADER


# Files of bartowski/Phi-3-mini-4k-instruct-GGUF: query, key and value are joined, gate and up projection too.
JOINED_FILES = {
    "q8_0": 4_061_222_688,
    "q6_k": 3_135_853_344,
    "q5_k_m": 2_815_275_744,
    "q5_k_s": 2_641_474_272,
    "q4_k_m": 2_393_232_096,
    "q4_k_s": 2_188_760_800,
    "q3_k_l": 2_087_598_816,
    "q3_k_m": 1_955_478_240,
    "q3_k_s": 1_681_799_904,
    "q2_k": 1_416_204_000,
}


@pytest.mark.parametrize(("precision", "file_size"), JOINED_FILES.items())
def test_phi_3_mini_files(precision: str, file_size: int) -> None:
    spec = find_entry("microsoft/Phi-3-mini-4k-instruct").spec
    assert 738_528 <= file_size - sum(stored_bytes(spec, precision).values()) <= 740_064


@pytest.mark.parametrize(
    ("model_id", "file_size", "header"),
    [
        ("Qwen/Qwen2.5-72B", 47_415_715_488, 5_990_048),  # attn_v of 80-layer models gets Q5_K at least
        ("meta-llama/Llama-3.3-70B-Instruct", 42_520_395_072, 7_863_616),
        ("mistralai/Mistral-7B-Instruct-v0.2", 4_368_439_584, 735_520),
        ("google/gemma-2-9b-it", 5_761_057_728, 6_056_896),
        ("Qwen/Qwen2.5-7B-Instruct", 4_683_073_184, 5_953_184),
    ],
)
def test_q4_k_m_files(model_id: str, file_size: int, header: int) -> None:
    """Files of bartowski's repositories, and what their vocabularies and other keys take."""
    assert file_size - sum(stored_bytes(find_entry(model_id).spec, "q4_k_m").values()) == header


@pytest.mark.parametrize(
    ("model_id", "precision", "gib", "digits"),
    [
        ("Qwen/Qwen3-30B-A3B", "q4_k_m", 17.28, 2),  # llama.cpp build 5622, "file size", 128 experts
        ("Qwen/Qwen3-235B-A22B", "q4_k_m", 132.386, 3),  # "model size"
        (
            "google/gemma-3-27b-it",
            "q4_k_m",
            15.404,
            3,
        ),  # "model size", tied embedding stored once as the output's type
    ],
)
def test_sizes_that_logs_print(model_id: str, precision: str, gib: float, digits: int) -> None:
    """ikawrakow/ik_llama.cpp issues 514 and 389, discussion 334."""
    stored = stored_bytes(find_entry(model_id).spec, precision)
    text = sum(size for kind, size in stored.items() if kind is not TensorClass.VISION)
    assert round(text / 2**30, digits) == gib


def test_rows_that_do_not_fill_256_fall_back() -> None:
    """Qwen2.5-0.5B has rows of 896, so k-quants become older types; its Q4_K_M file has 397,808,192 bytes."""
    spec = find_entry("Qwen/Qwen2.5-0.5B-Instruct").spec
    header = 397_808_192 - sum(stored_bytes(spec, "q4_k_m").values())
    assert 5_900_000 < header < 6_000_000


def test_more_bits_of_32_layers() -> None:
    """Llama-3.1-8B Q4_K_M: the layers whose attn_v and ffn_down are Q6_K in the published file."""
    assert [i for i in range(32) if more_bits(i, 32)] == [
        0,
        1,
        2,
        3,
        6,
        9,
        12,
        15,
        18,
        21,
        24,
        27,
        28,
        29,
        30,
        31,
    ]
