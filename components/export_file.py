"""A visit as a file: the scenario, the pins and what else the page remembers. Reading one trusts nothing in it."""

import json
from collections.abc import Mapping
from datetime import date
from typing import Any

from components.pins import Pin, pin_to_dict, pins_of
from components.scenario_state import Held, held_from
from components.url_state import FIELDS, VIEW, values_to_query
from model_catalog.config_text import LONGEST_TEXT

FILE_VERSION = 1
LONGEST_FILE = 2 * LONGEST_TEXT  # bytes; a config.json may be part of it
PARTS = {"kv_atlas_file", "saved", "units", "accelerator_name", "config", "scenario", "pins", "view"}
FOREIGN = "This file is not one that KV Atlas saved: it holds no scenario."


class FileFault(ValueError):
    """A file that cannot be opened, with the sentence to show."""


def to_file(held: Held, day: date) -> str:
    """Everything that an address holds, of any length."""
    scenario = {name: value for name, value in held.values.items() if value is not None}
    content: dict[str, Any] = {
        "kv_atlas_file": FILE_VERSION,
        "saved": day.isoformat(),
        "units": held.units,
        "accelerator_name": held.accelerator_name,
        "config": held.own_config or None,
        "scenario": scenario,
        "pins": [pin_to_dict(pin) for pin in held.pins],
        "view": dict(held.view),
    }
    return json.dumps({name: part for name, part in content.items() if part is not None}, indent=2, ensure_ascii=False)


def from_file(data: bytes, page: str) -> Held:
    """What a saved file, a single Scenario or a Report holds; `complaints` names all that was not understood.

    Raises FileFault for a file that holds no scenario at all, is too large, or is of a later version.
    """
    content = _content(data)
    query = values_to_query(_known(content["scenario"]))
    for name in ("units", "accelerator_name"):
        if isinstance(content.get(name), str):
            query[name] = content[name][:100]
    view = content.get("view")
    if isinstance(view, Mapping):
        query |= {name: view[name][:10_000] for name in VIEW if isinstance(view.get(name), str)}
    held = held_from(query, page)
    complaints = [_of_file(sentence) for sentence in held.complaints] + _strangers(content)
    config = content.get("config")
    held.config_text = config[:LONGEST_TEXT] if isinstance(config, str) else ""
    held.pins, unread = _pins(content.get("pins", []))
    held.complaints = (*complaints, *unread)
    held.written = None
    return held


def _content(data: bytes) -> dict[str, Any]:
    """A dict with a dict as its scenario."""
    if len(data) > LONGEST_FILE:
        raise FileFault(f"The file is larger than {LONGEST_FILE:,} bytes, so it is not opened.")
    try:
        content = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise FileFault("The file is damaged or not JSON, so it is not opened.") from None
    if not isinstance(content, dict):
        raise FileFault(FOREIGN)
    if "kv_atlas_file" in content:
        _check_version(content["kv_atlas_file"])
    elif "model" in content:
        content = {"scenario": content}
    elif "per_gpu" in content:
        content = {"scenario": content.get("scenario")}
    if not isinstance(content.get("scenario"), dict):
        raise FileFault(FOREIGN)
    return content


def _check_version(version: object) -> None:
    if version != FILE_VERSION or isinstance(version, bool):
        shown = json.dumps(version)[:20]
        raise FileFault(f"The file's version is {shown}; this KV Atlas opens version {FILE_VERSION}.")


def _known(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Texts are bounded; a nested value keeps its own parts only as texts."""
    return {name: _bounded(scenario[name]) for name in FIELDS if name in scenario}


def _bounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(part)[:40]: str(inner)[:400] for part, inner in list(value.items())[:4] if inner is not None}
    return str(value)[:400] if isinstance(value, str | list) else value


def _strangers(content: Mapping[str, Any]) -> list[str]:
    """Parts and fields that are not known here."""
    names = [name for name in content if name not in PARTS]
    names += [name for name in content["scenario"] if name not in FIELDS and name != "scenario_version"]
    return [f'"{str(name)[:60]}" in the file is not a setting of this page; it is left out.' for name in names[:5]]


def _pins(parts: object) -> tuple[tuple[Pin, ...], tuple[str, ...]]:
    if not isinstance(parts, list):
        return (), ("The pins in the file cannot be read, so they are left out.",)
    return pins_of(parts, "in the file")


def _of_file(sentence: str) -> str:
    return sentence.replace("In the link,", "In the file,").replace("in the link", "in the file")
