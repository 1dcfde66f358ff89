"""Short names of accelerators: no two alike, none cut in a table."""

import pytest

from components import choices
from hardware_catalog import all_accelerators


def test_short_names_tell_all_accelerators_apart() -> None:
    ids = [each.id for each in all_accelerators()]
    assert len({choices.short_accelerator(name) for name in ids}) == len(ids)


def test_what_stands_in_brackets_is_left_out_where_it_is_not_needed() -> None:
    assert choices.short_accelerator("b300-sxm") == "B300 SXM"
    assert choices.short_accelerator("gb200") == "GB200"
    assert choices.short_accelerator("apple-m4-max-32c") == "Apple M4 Max (14-core CPU, 32-core GPU)"
    assert choices.short_accelerator("not-known") == "not-known"


@pytest.mark.parametrize(
    ("typed", "model"),
    [
        ("https://huggingface.co/Qwen/Qwen3-32B", "Qwen/Qwen3-32B"),
        (" hf.co/Qwen/Qwen3-32B/tree/main?x=1 ", "Qwen/Qwen3-32B"),
        ("https://huggingface.co/deepseek-ai/DeepSeek-V3.1#top", "deepseek-ai/DeepSeek-V3.1"),
        ("Qwen/Qwen3-32B", "Qwen/Qwen3-32B"),
        ("https://example.org/a/b", "https://example.org/a/b"),
    ],
)
def test_the_address_of_a_models_page_names_the_model(typed: str, model: str) -> None:
    assert choices.model_id(typed) == model
