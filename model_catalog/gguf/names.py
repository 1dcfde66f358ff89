"""Names of GGUF files that were split: each says which one it is, and of how many."""

import re
from pathlib import Path

from model_catalog.fields import ConfigError

NUMBERED = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.ASCII)
MOST_FILES = 256


def parts_of(path: Path) -> list[Path]:
    """All files of a model that was split, in their order; a file that was not is alone."""
    named = NUMBERED.fullmatch(path.name)
    if named is None:
        return [path]
    count = int(named["count"])
    if not 0 < count <= MOST_FILES:
        raise ConfigError("model", f"{path} says that it is one of {count:,} files; at most {MOST_FILES:,} are read.")
    parts = [path.with_name(f"{named['stem']}-{number:05}-of-{count:05}.gguf") for number in range(1, count + 1)]
    missing = [part.name for part in parts if not part.is_file()]
    if missing:
        raise ConfigError("model", f"{path} is one of {count:,} files, and {missing[0]} is missing.")
    return parts
