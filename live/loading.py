"""The model of a run: a small variant with random weights, or a checkpoint from the Hub. Needs torch and transformers.

Of a checkpoint only config.json and safetensors files are fetched; no code that comes with it is run.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from live.dry_run import DryRunError, build_config, model_class_for
from live.families import FAMILIES
from live.receipts import DeviceKind, Settings
from model_catalog.config_text import parse_config_text

LARGEST_CHECKPOINT = 8 * 2**30
FILES = ("config.json", "*.safetensors", "*.safetensors.index.json")
TORCH_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


class CannotLoad(ValueError):
    """The model cannot be had; the message says why in a sentence."""


def config_of(settings: Settings) -> tuple[dict[str, Any], Path | None]:
    """(config.json, folder of the checkpoint or None). Raises CannotLoad or ConfigError."""
    if settings.family is not None:
        if settings.family not in FAMILIES:
            raise CannotLoad(f'There is no family "{settings.family}"; known are {", ".join(FAMILIES)}.')
        return FAMILIES[settings.family].config, None
    folder = fetch_checkpoint(settings.model)
    return parse_config_text((folder / "config.json").read_text(encoding="utf-8")), folder


def fetch_checkpoint(model: str) -> Path:
    """The local folder of a Hub id's config and safetensors. Raises CannotLoad with a sentence."""
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import GatedRepoError, HFValidationError, RepositoryNotFoundError

    try:
        files = HfApi().model_info(model, files_metadata=True, timeout=10).siblings or []
        stored = sum(file.size or 0 for file in files if file.rfilename.endswith(".safetensors"))
        _check_size(model, stored)
        return Path(snapshot_download(model, allow_patterns=list(FILES)))
    except CannotLoad:
        raise
    except HFValidationError:
        raise CannotLoad(f'"{model[:100]}" is not a Hugging Face id; one looks like owner/name.') from None
    except GatedRepoError:
        raise CannotLoad(f"{model} is gated; accept its terms on the Hub and log in on this machine first.") from None
    except RepositoryNotFoundError:
        raise CannotLoad(f"The Hub has no public model {model}.") from None
    except Exception as error:
        raise CannotLoad(
            f"The Hub cannot be reached from here ({type(error).__name__}), so {model} is not loaded."
        ) from None


def _check_size(model: str, stored: int) -> None:
    if not stored:
        raise CannotLoad(f"{model} has no safetensors files, and nothing else is loaded.")
    if stored > LARGEST_CHECKPOINT:
        raise CannotLoad(f"{model} has {stored / 2**30:.1f} GiB of weights; at most 8 GiB are fetched here.")


def load_model(config: Mapping[str, Any], folder: Path | None, dtype: str, device: DeviceKind) -> Any:
    """The model in `dtype` on `device`, ready to run. Raises CannotLoad."""
    try:
        library_config = build_config(config)
        library_config.dtype = TORCH_DTYPES[dtype]
        model_class = model_class_for(library_config)
    except DryRunError as error:
        raise CannotLoad(str(error)) from None
    if folder is not None:
        model = model_class.from_pretrained(
            folder, dtype=TORCH_DTYPES[dtype], use_safetensors=True, trust_remote_code=False, local_files_only=True
        )
        return model.eval().to(device)
    return random_model(model_class, library_config, dtype, device)


def random_model(model_class: Any, config: Any, dtype: str, device: DeviceKind) -> Any:
    """Built where it runs, with a fixed seed, so that a run can be repeated."""
    torch.manual_seed(0)
    before = torch.get_default_dtype()
    torch.set_default_dtype(TORCH_DTYPES[dtype])
    try:
        with torch.device(device):
            return model_class._from_config(config).eval()
    finally:
        torch.set_default_dtype(before)
