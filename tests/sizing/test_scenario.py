"""Untrusted Scenario values: each fault is one sentence that names the field and what it takes."""

from typing import Any

import pytest

from sizing.scenario import ScenarioError, make_scenario


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("batch_size", True, "batch_size is true. A whole number is needed."),
        ("batch_size", 2.0, "batch_size is 2.0. A whole number is needed."),
        ("context_length", 2**31, "context_length is 2147483648. It can be at most 2,147,483,647."),
        ("tensor_parallel", 0, "tensor_parallel is 0. It must be at least 1."),
        ("memory_fraction", 2, "memory_fraction is 2. It can be at most 1."),
        ("memory_fraction", True, "memory_fraction is true. A number is needed."),
        ("memory_fraction", "0.5", "memory_fraction is '0.5'. A number is needed."),
        ("memory_fraction", float("nan"), "memory_fraction is NaN. A number is needed."),
        ("expert_parallel", 1, "expert_parallel is 1. True or false is needed."),
        ("enforce_eager", "yes", "enforce_eager is 'yes'. True or false is needed."),
        ("weights", None, "weights is null. A text is needed."),
        ("kv_dtype", {"k": "fp8"}, 'A format is needed, or {"k": …, "v": …} with one for each.'),
        ("state_dtype", "fp32", '"auto" is needed, or {"conv": …, "recurrent": …}'),
        ("speculative", {"method": "mtp", "tokens": -1}, "speculative.tokens is -1. It must be at least 1."),
        ("speculative", {}, "speculative.method is missing."),
        ("lora", {"max_loras": 1, "rank": 8, "size": 2}, "lora has no size."),
        ("media", {"images": 1}, "media needs a width and a height."),
        ("media", {"images": 1, "width": 0, "height": 9}, "media.width is 0. It must be at least 1."),
        ("media", {"pictures": 1}, "media has no pictures."),
        ("media_limits", {"image": -1}, "media_limits.image is -1. It must be at least 0."),
        ("media_limits", {"images": 1}, "media_limits has no images."),
        ("media_limits", 0, 'media_limits is 0. Null is needed, or {"image": …, "video": …, "audio": …}'),
    ],
)
def test_a_value_of_the_wrong_kind_is_a_sentence_about_its_field(field: str, value: Any, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        make_scenario({"model": "a", field: value})
    assert caught.value.field == field
    assert message in caught.value.message


def test_a_path_may_be_long() -> None:
    assert make_scenario({"model": "/" + "a" * 1000}).model.startswith("/a")
