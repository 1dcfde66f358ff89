"""Pinned scenarios and their text in a link: each apart and with its own checksum, so that one can be damaged alone."""

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from components.link_config import LONGEST_PARAMETER
from components.url_state import DEFAULTS, FIELDS
from model_catalog.config_text import LONGEST_TEXT
from sizing.scenario import ScenarioError, make_scenario

MOST_PINS = 200
LONGEST_NAME = 60
LONGEST_PIN = LONGEST_TEXT + 20_000  # characters of a pin's JSON; a config.json may be part of it
PARTS = {"name", "accelerator_name", "config", "scenario"}


@dataclass(frozen=True)
class Pin:
    """A scenario kept to be compared. An empty name is shown as what the scenario consists of.

    `accelerator_name` and `config_text` are the form's: an accelerator of the user's own, a pasted config.json.
    """

    values: Mapping[str, Any]
    name: str = ""
    accelerator_name: str | None = None
    config_text: str = ""

    def content(self) -> tuple[Any, ...]:
        """All but the name: two pins of one content say the same."""
        return self.values, self.accelerator_name, self.config_text


def letter(index: int) -> str:
    """A … Z, AA, AB …"""
    quotient, rest = divmod(index, 26)
    return (letter(quotient - 1) if quotient else "") + chr(ord("A") + rest)


def pin_to_dict(pin: Pin) -> dict[str, Any]:
    """Only what differs from the defaults."""
    given = {"name": pin.name or None, "accelerator_name": pin.accelerator_name, "config": pin.config_text or None}
    changed = {name: pin.values[name] for name in FIELDS if pin.values.get(name, DEFAULTS[name]) != DEFAULTS[name]}
    changed["model"] = pin.values["model"]  # has no default
    return {name: value for name, value in given.items() if value is not None} | {"scenario": changed}


def pin_from_dict(data: object) -> Pin:
    """Raises ValueError with what is wrong, to follow "Pin A: "."""
    if not isinstance(data, dict) or not isinstance(data.get("scenario"), dict):
        raise ValueError("it holds no scenario.")
    if unknown := sorted(set(map(str, data)) - PARTS):
        raise ValueError(f'"{unknown[0][:60]}" is not a part of a pin.')
    name, accelerator, config = data.get("name", ""), data.get("accelerator_name"), data.get("config", "")
    if not isinstance(name, str) or not isinstance(accelerator, str | None) or not isinstance(config, str):
        raise ValueError("its name, accelerator name and config have to be texts.")
    try:
        scenario = make_scenario(data["scenario"]).model_dump(mode="json")
    except ScenarioError as error:
        raise ValueError(error.message) from None
    return Pin(
        {field: scenario[field] for field in FIELDS},
        name[:LONGEST_NAME],
        accelerator[:LONGEST_NAME] if accelerator is not None else None,
        config[:LONGEST_TEXT],
    )


def write_pins(pins: Iterable[Pin]) -> str:
    """Letters, digits, - and _ a pin; a dot between two."""
    return ".".join(_packed(pin_to_dict(pin)) for pin in pins)


def link_text(pins: Iterable[Pin]) -> str | None:
    """`write_pins`, or None where that is too long for a link."""
    text = write_pins(pins)
    return text if len(text) <= LONGEST_PARAMETER else None


def read_pins(text: str) -> tuple[tuple[Pin, ...], tuple[str, ...]]:
    """The pins of a link, and a sentence for each that cannot be read; it is left out."""
    if len(text) > LONGEST_PARAMETER:
        return (), ("The pins in the link are too long to be read, so they are left out.",)
    return pins_of((_unpacked(part) for part in text.split(".")) if text else (), "in the link")


def pins_of(parts: Iterable[object], where: str) -> tuple[tuple[Pin, ...], tuple[str, ...]]:
    """Pins of untrusted parts, MOST_PINS at most, and a sentence for each that cannot be read."""
    pins, complaints = [], []
    for index, part in enumerate(parts):
        if index == MOST_PINS:
            complaints.append(f"Only the first {MOST_PINS} pins {where} are kept.")
            break
        try:
            pins.append(pin_from_dict(part))
        except ValueError as error:
            complaints.append(f"Pin {letter(index)} {where} is left out: {error}")
    return tuple(pins), tuple(complaints)


def _packed(data: Mapping[str, Any]) -> str:
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def _unpacked(part: str) -> object:
    """None for what `_packed` did not make, whole."""
    try:
        data = base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
        inflater = zlib.decompressobj()
        text = inflater.decompress(data, LONGEST_PIN).decode()
        return json.loads(text) if inflater.eof else None
    except (ValueError, zlib.error, RecursionError):
        return None
