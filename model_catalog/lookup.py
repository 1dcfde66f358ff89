"""Find a catalog entry by its Hugging Face id.

data/entries/<organisation>.json is a list with one entry a line, each starting with its id, newest first. A look-up
reads the one file and parses the one line. data/aliases.json maps further ids to the entry with the same facts, and
data/drafts.json holds checkpoints that only draft for others; they are found by id and are not among the entries.
"""

import json
from functools import cache
from pathlib import Path

from model_catalog.entry import Entry, entry_from

DATA = Path(__file__).parent / "data"
LONGEST_ID = 96 + 1 + 96  # the Hub allows 96 characters for the owner and for the name
LINE_START = '{"id":"'


class UnknownModel(ValueError):
    """No entry and no alias has this id."""


def find_entry(model_id: str) -> Entry:
    """The entry of an id or alias, in any case of letters. Raises UnknownModel with a sentence that names close ids."""
    entry_id = _resolve(model_id) or _resolve(_ids_by_lower_case().get(model_id.lower(), ""))
    if entry_id is None:
        raise UnknownModel(unknown_sentence(model_id))
    return _entry(entry_id)


def all_entries() -> tuple[Entry, ...]:
    """Every entry, newest first."""
    return tuple(_entry(entry_id) for entry_id in entry_ids())


@cache
def entry_ids() -> tuple[str, ...]:
    """The ids of all entries, newest first; entries of the same age by id."""
    entries = [_entry(entry_id) for name in _files() for entry_id in _lines(name)]
    entries.sort(key=lambda entry: entry.id.lower())
    entries.sort(key=lambda entry: entry.age_key, reverse=True)
    return tuple(entry.id for entry in entries)


def drafts_for(model_id: str) -> tuple[str, ...]:
    """Ids of the drafts that were made for this entry or alias."""
    entry_id = _resolve(model_id) or model_id
    return tuple(draft for draft in _drafts() if entry_id in map(_target, _entry(draft).draft_for))


def _target(model_id: str) -> str:
    return _resolve(model_id) or model_id


def all_ids() -> tuple[str, ...]:
    """Every id that find_entry knows: entries newest first, then aliases."""
    return entry_ids() + tuple(_aliases())


def unknown_sentence(model_id: str) -> str:
    shown = model_id if len(model_id) <= LONGEST_ID else model_id[:LONGEST_ID] + "..."
    close = close_ids(model_id)
    hint = f"did you mean {_either(close)}?" if close else "import its config.json instead."
    return f'"{shown}" is not in the model catalog; {hint}'


def close_ids(model_id: str, most: int = 3) -> list[str]:
    """Catalog ids that look like this one, by the whole id or by the name without the organisation."""
    from difflib import get_close_matches  # only a wrong id needs it

    wanted = model_id.lower()[:LONGEST_ID]
    by_text, by_name = _ids_by_lower_case(), _ids_by_name()
    found = [by_text[text] for text in get_close_matches(wanted, by_text, n=most, cutoff=0.7)]
    named = get_close_matches(wanted.rpartition("/")[2], by_name, n=most, cutoff=0.7)
    same_name = [known for name in named for known in by_name[name]]
    both = [*found, *same_name] if "/" in wanted else same_name
    return list(dict.fromkeys(both))[:most]


def _either(ids: list[str]) -> str:
    return ids[0] if len(ids) == 1 else f"{', '.join(ids[:-1])} or {ids[-1]}"


def _resolve(model_id: str) -> str | None:
    if model_id in _lines(_organisation(model_id)) or model_id in _drafts():
        return model_id
    return _aliases().get(model_id)


def _organisation(model_id: str) -> str:
    return model_id.partition("/")[0]


@cache
def _entry(entry_id: str) -> Entry:
    line = _lines(_organisation(entry_id)).get(entry_id) or _drafts()[entry_id]
    return entry_from(json.loads(line), _aliases_of().get(entry_id, ()))


@cache
def _files() -> dict[str, Path]:
    return {path.stem: path for path in sorted((DATA / "entries").glob("*.json"))}


def _lines(organisation: str) -> dict[str, str]:
    """Entry id → its line, unparsed. Empty for an organisation that has no file."""
    return _read_lines(_files()[organisation]) if organisation in _files() else {}


def _drafts() -> dict[str, str]:
    return _read_lines(DATA / "drafts.json")


@cache
def _read_lines(path: Path) -> dict[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    entries = [line.rstrip(",") for line in lines if line.startswith(LINE_START)]
    return {line[len(LINE_START) : line.index('"', len(LINE_START))]: line for line in entries}


@cache
def _aliases() -> dict[str, str]:
    aliases: dict[str, str] = json.loads((DATA / "aliases.json").read_text(encoding="utf-8"))
    return aliases


@cache
def _aliases_of() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for alias, entry_id in _aliases().items():
        found[entry_id] = (*found.get(entry_id, ()), alias)
    return found


@cache
def _ids_by_lower_case() -> dict[str, str]:
    entries = [entry_id for name in _files() for entry_id in _lines(name)]
    return {known.lower(): known for known in (*_drafts(), *_aliases(), *entries)}


@cache
def _ids_by_name() -> dict[str, list[str]]:
    """The name without the organisation → the ids that have it, those of organisations with entries first."""
    found: dict[str, list[str]] = {}
    for known in sorted(_ids_by_lower_case().values(), key=lambda known: _organisation(known) not in _files()):
        found.setdefault(known.lower().rpartition("/")[2], []).append(known)
    return found
