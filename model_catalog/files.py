"""Models on this machine: a config.json, a GGUF file, or a folder that holds one of them."""

from pathlib import Path

from model_catalog.config_text import LONGEST_TEXT, parse_config_text
from model_catalog.fields import ConfigError
from model_catalog.gguf_file import read_gguf
from model_catalog.importers import read_config
from model_catalog.spec import ModelSpec


def is_path(model: str) -> bool:
    """Whether a Scenario's model names a file or folder: by its ending, or because it says so (./x, /x, ~/x)."""
    return model.endswith((".json", ".gguf")) or model.startswith(("./", "../", "/", "~/"))


def read_file(path: Path) -> ModelSpec:
    """Raises ConfigError with a sentence that names the file."""
    path = path.expanduser()
    if path.is_dir():
        path = _inside(path)
    if path.suffix == ".gguf":
        return read_gguf(path)
    return read_config(parse_config_text(_text(path)))


def _inside(folder: Path) -> Path:
    config = folder / "config.json"
    if not config.is_file():
        raise ConfigError("model", f"The folder {folder} holds no config.json.")
    return config


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(LONGEST_TEXT + 1)
    except UnicodeDecodeError:
        raise ConfigError("model", f"{path} is not a text file.") from None
    except OSError as error:
        raise ConfigError("model", f"{path} cannot be read: {error.strerror}.") from None
