"""Typed reading of a config.json whose author is not trusted.

A field is looked up under its own name, under the other name that the model's config class gives it, and last in the
defaults of that class (transformers 5.24.0; see data/class_defaults.json). What has the wrong type or an absurd size
raises ConfigError with a sentence that names the field.
"""

import json
from collections.abc import Mapping
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

from model_catalog.spec import Doubt

CLASS_DEFAULTS = Path(__file__).parent / "data" / "class_defaults.json"
LARGEST = 2**40  # no dimension of a real model comes near; products stay far below what slows Python down
MOST_LAYERS = 4096
# Classes that fill up a stated part with their own defaults for it; others take theirs or the part's.
MERGING = frozenset({"glmasr", "voxtral", "voxtral_realtime"})


class ConfigError(ValueError):
    """A config that cannot be read. `field` is the path of the field, such as text_config.head_dim."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


@cache
def class_defaults() -> dict[str, dict[str, Any]]:
    """What each class of transformers fills in by itself, by model_type.

    "defaults", "aliases" (common name → the class's name), "parts" (field → model_type) and "part_defaults", what the
    class states for a part in place of the part's own defaults.
    """
    data: dict[str, dict[str, Any]] = json.loads(CLASS_DEFAULTS.read_text())
    return data


class Reading:
    """What one reading of a file has come to, shared by all its parts: doubts, and the fields that were looked at."""

    def __init__(self) -> None:
        self.doubts: list[Doubt] = []
        self.asked: set[str] = set()


class Fields:
    """One config object (the file itself or a nested part such as text_config) with its class's defaults."""

    def __init__(self, data: Mapping[str, Any], model_type: str, path: str = "") -> None:
        known = class_defaults().get(model_type, {})
        self.data = data
        self.model_type = model_type
        self.path = path
        self.reading = Reading()
        self._defaults: Mapping[str, Any] = known.get("defaults", {})
        self._aliases: Mapping[str, str] = known.get("aliases", {})
        self._parts: Mapping[str, str] = known.get("parts", {})
        self._part_defaults: Mapping[str, Mapping[str, Any]] = known.get("part_defaults", {})

    def described(self, names: Mapping[str, str] | None = None, defaults: Mapping[str, Any] | None = None) -> "Fields":
        """The same object for a type that no class describes: its names (common name → its own) and defaults."""
        other = Fields(self.data, self.model_type, self.path)
        other.reading = self.reading
        other._aliases = {**self._aliases, **(names or {})}
        other._defaults = {**self._defaults, **(defaults or {})}
        return other

    def doubt(self, name: str, message: str, *, kv: bool = True, weights: bool = True) -> None:
        """Record what was assumed; the grade of what it touches drops."""
        self.reading.doubts.append(Doubt(self.path + name, message, kv, weights))

    @property
    def doubts(self) -> list[Doubt]:
        return self.reading.doubts

    def unread(self) -> list[str]:
        """Stated fields that the class does not have and that nobody looked at."""
        known = {*self._defaults, *self._aliases, *self._aliases.values()}
        return [name for name in self.data if name not in known and self.path + name not in self.reading.asked]

    def _names(self, name: str) -> list[str]:
        """The names that a field may go by; all of them count as looked at."""
        own = self._aliases.get(name, name)
        others = [common for common, target in self._aliases.items() if target == own]
        names = list(dict.fromkeys([name, own, *others]))
        self.reading.asked.update(self.path + each for each in names)
        return names

    def has(self, name: str) -> bool:
        """Whether the file itself states the field (null counts as stated)."""
        return any(each in self.data for each in self._names(name))

    def raw(self, name: str, default: Any = None) -> Any:
        """The stated value, else the class's default, else `default`."""
        for each in self._names(name):
            if each in self.data:
                return self.data[each]
        for each in self._names(name):
            if each in self._defaults:
                return self._defaults[each]
        return default

    def error(self, name: str, needed: str) -> ConfigError:
        value = json.dumps(self.raw(name), default=str)
        shown = value if len(value) <= 60 else value[:57] + "..."
        return ConfigError(self.path + name, f"{self.path}{name} is {shown}; {needed} is needed.")

    def whole_or_none(self, name: str, *, minimum: int = 0, maximum: int = LARGEST) -> int | None:
        value = self.raw(name)
        return None if value is None else self._whole(name, value, minimum, maximum)

    def whole(self, name: str, default: int | None = None, *, minimum: int = 1, maximum: int = LARGEST) -> int:
        """A whole number. Null and absence give `default`; without one they are an error."""
        value = self.raw(name)
        if value is None:
            value = default
        if value is None:
            raise ConfigError(self.path + name, f"{self.path}{name} is missing; a whole number is needed.")
        return self._whole(name, value, minimum, maximum)

    def layer_count(self, name: str = "num_hidden_layers") -> int:
        return self.whole(name, maximum=MOST_LAYERS)

    def _whole(self, name: str, value: Any, minimum: int, maximum: int) -> int:
        if isinstance(value, float) and value.is_integer():
            value = round(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(name, "a whole number")
        if not minimum <= value <= maximum:
            raise self.error(name, f"a whole number from {minimum:,} to {maximum:,}")
        return value

    def number(self, name: str, default: float) -> float:
        value = self.raw(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
            raise self.error(name, "a number")
        return float(value)

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.raw(name)
        if value is None:
            return default
        if not isinstance(value, bool) and value not in (0, 1):
            raise self.error(name, "true or false")
        return bool(value)

    def text(self, name: str, default: str = "") -> str:
        value = self.raw(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.error(name, "a text")
        return value

    def items(self, name: str, kind: type, *, most: int = MOST_LAYERS) -> list[Any] | None:
        """A list whose items are all of `kind` (bool is not an int here), or None where it is absent or null."""
        value = self.raw(name)
        if value is None:
            return None
        wrong = not isinstance(value, list) or any(type(item) is not kind for item in value)
        if wrong or len(value) > most:
            raise self.error(name, f"a list of at most {most:,} {PLURALS[kind]}")
        return list(value)

    def part(self, name: str) -> "Fields | None":
        """A nested config (text_config, vision_config, …) with the defaults of its own class, or None."""
        value, own = self.raw(name), self._part_defaults.get(name, {})
        if value is None and name in self._parts:
            value = own
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.error(name, "an object")
        if self.model_type in MERGING:
            value = {**own, **value}
        model_type = value.get("model_type") or self._parts.get(name) or ""
        if not isinstance(model_type, str):
            raise ConfigError(f"{self.path}{name}.model_type", f"{self.path}{name}.model_type is not a text.")
        part = Fields(value, model_type, f"{self.path}{name}.")
        part.reading = self.reading
        return part


PLURALS = {int: "whole numbers", str: "texts", bool: "true or false values", dict: "objects", list: "lists"}
