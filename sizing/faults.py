"""What is wrong with a value of a Scenario, as a sentence for the field that it was given for."""

import json
from typing import Any

from pydantic import ValidationError

# What the fields take that are not one number or text
OBJECTS = {
    "kv_dtype": 'A format is needed, or {"k": …, "v": …} with one for each.',
    "state_dtype": '"auto" is needed, or {"conv": …, "recurrent": …} with a format for each.',
    "speculative": 'Null is needed, or {"method": …, "tokens": …, "model": …}.',
    "memory_by_gpu": "Sizes are needed, one for each GPU, with commas between.",
    "tensor_split": "Numbers from 0 on are needed, one for each GPU, with commas between: 3,1.",
    "lora": 'Null is needed, or {"max_loras": …, "rank": …}.',
    "media": 'Null is needed, or {"images": …, "frames": …, "width": …, "height": …, "audio_seconds": …}.',
    "media_limits": 'Null is needed, or {"image": …, "video": …, "audio": …}, each a number or null.',
}
WITH_PARTS = ("speculative", "lora", "media", "media_limits")


def fault_of(error: ValidationError) -> tuple[str, str]:
    """The first field at fault, and what is wrong with it as a sentence."""
    fault = error.errors(include_url=False)[0]
    field = str(fault["loc"][0]) if fault["loc"] else "model"
    part = fault["loc"][1:] if field in WITH_PARTS else ()
    name = ".".join(str(step)[:60] for step in (field, *part))
    if fault["type"] == "missing":
        return field, f"{name} is missing."
    if fault["type"] == "extra_forbidden":
        return field, f"{field} has no {part[0] if part else ''}. {OBJECTS[field]}"
    return field, f"{name} is {_shown(fault['input'])}. {_needed(field, bool(part), fault)}"


def _shown(value: Any) -> str:
    """A text in quotes, any other value as JSON has it, not too long."""
    text = repr(value) if isinstance(value, str) else json.dumps(value, default=repr)
    return text if len(text) <= 60 else text[:57] + "..."


def _needed(field: str, in_part: bool, fault: Any) -> str:
    """What the field accepts, as a sentence."""
    context = fault.get("ctx", {})
    if field in OBJECTS and not in_part:
        return OBJECTS[field]
    match fault["type"]:
        case "int_type" | "int_from_float" | "int_parsing":
            return "A whole number is needed."
        case "float_type" | "finite_number":
            return "A number is needed."
        case "greater_than_equal":
            return f"It must be at least {context['ge']:,}."
        case "greater_than":
            return f"It must be more than {context['gt']:,.0f}."
        case "less_than_equal":
            return f"It can be at most {context['le']:,.0f}."
        case "bool_type" | "bool_parsing":
            return "True or false is needed."
        case "literal_error":
            return f"It can be {context['expected']}."
        case "string_type" | "string_too_short" | "string_unicode":
            return "A text is needed."
        case "string_too_long":
            return f"A text of at most {context['max_length']} characters is needed."
        case _:
            return f"{fault['msg']}."
