"""The text of a config.json from a visitor: bounded size and depth, with the line where reading failed."""

import json
from typing import Any

from model_catalog.fields import ConfigError

LONGEST_TEXT = 4_000_000  # nvidia/MiniMax-M3-NVFP4 lists every quantised expert in 3.1 MB
DEEPEST = 32


def parse_config_text(text: str) -> dict[str, Any]:
    """The JSON object of a config.json. Raises ConfigError with a sentence, naming the line where it can.

    Infinity and NaN pass as transformers writes them (Nemotron-H's time_step_limit); no field that is read takes them.
    """
    if len(text) > LONGEST_TEXT:
        raise ConfigError("", f"The text is longer than {LONGEST_TEXT:,} characters, so it is not a config.json.")
    if not text.strip():
        raise ConfigError("", "The text is empty; a JSON object is needed.")
    text = text.removeprefix("\ufeff")  # a byte order mark, as editors on Windows write it
    try:
        config = json.loads(text, parse_int=_bounded_int)
    except json.JSONDecodeError as error:
        raise ConfigError("", f"Line {error.lineno} is not JSON: {error.msg}.") from None
    except RecursionError:
        raise ConfigError("", "The text is nested too deeply to be a config.json.") from None
    if not isinstance(config, dict):
        raise ConfigError("", "The text is JSON, but not an object in braces.")
    if _depth(config) > DEEPEST:
        raise ConfigError("", f"The text is nested more than {DEEPEST} levels deep; no config.json is.")
    return config


def _bounded_int(digits: str) -> int:
    """Python refuses to read thousands of digits; anything past 20 is too large for every field anyway."""
    return int(digits) if len(digits) <= 20 else int(digits[:20])


def _depth(value: Any) -> int:
    """Levels of nesting, counted level by level so that depth costs no recursion."""
    level, depth = [value], 0
    while level:
        depth += 1
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
    return depth
