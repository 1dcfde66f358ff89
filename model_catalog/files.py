"""Models on this machine: a config.json, a GGUF file, or a folder that holds one of them."""

from pathlib import Path

from model_catalog.config_text import LONGEST_TEXT, parse_config_text
from model_catalog.fields import ConfigError
from model_catalog.gguf.names import NUMBERED
from model_catalog.importers import read_config
from model_catalog.spec import ModelSpec

MOST_LISTED = 1024


def is_path(model: str) -> bool:
    """Whether a Scenario's model names a file or folder: by its ending, or because it says so (./x, /x, ~/x)."""
    return model.endswith((".json", ".gguf")) or model.startswith(("./", "../", "/", "~/"))


def read_file(path: Path) -> ModelSpec:
    """Raises ConfigError with a sentence that names the file."""
    path = _located(path)
    if path.suffix.lower() == ".gguf":
        from model_catalog.gguf_file import read_gguf  # here, since a config.json does without

        return read_gguf(path)
    return read_config(parse_config_text(_text(path)))


def _located(path: Path) -> Path:
    """The file that is meant; what is neither file nor folder (a pipe, a device) is not opened."""
    try:
        path = path.expanduser()
        path = _inside(path) if path.is_dir() else path
        if path.is_file():
            return path
        known = path.exists()
    except (OSError, RuntimeError):  # RuntimeError: ~ of a user who is not known
        raise ConfigError("model", f"{str(path)[:200]} cannot be read.") from None
    reason = "it is no file" if known else "there is no such file"
    raise ConfigError("model", f"{path} cannot be read: {reason}.")


def _inside(folder: Path) -> Path:
    """The folder's config.json, else its one GGUF model."""
    config = folder / "config.json"
    if config.is_file():
        return config
    models = [path for path in sorted(folder.glob("*.gguf"))[:MOST_LISTED] if _is_model(path)]
    if not models:
        raise ConfigError("model", f"The folder {folder} holds no config.json and no GGUF file.")
    if len(models) > 1:
        names = ", ".join(path.name for path in models[:5])
        raise ConfigError("model", f"The folder {folder} holds several GGUF files ({names}). Give one of them.")
    return models[0]


def _is_model(path: Path) -> bool:
    """Not a projector, and of a model that was split the first file."""
    named = NUMBERED.fullmatch(path.name)
    return "mmproj" not in path.name.lower() and (named is None or int(named["number"]) == 1)


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(LONGEST_TEXT + 1)
    except UnicodeDecodeError:
        raise ConfigError("model", f"{path} is not a text file.") from None
    except OSError as error:
        raise ConfigError("model", f"{path} cannot be read: {error.strerror}.") from None
