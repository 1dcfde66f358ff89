"""A checkpoint on this machine: what its own files say that the weights take, held against what is counted."""

from dataclasses import replace
from pathlib import Path

from model_catalog.safetensors_index import stated_bytes
from model_catalog.spec import Doubt, ModelSpec
from sizing.scenario import ScenarioError
from sizing.weights.stored import stored_bytes

TOLERATED = 1000  # a thousandth


def held_against_files(spec: ModelSpec, folder: Path) -> ModelSpec:
    """The spec, with a doubt where the folder's safetensors files hold another size than is counted.

    Raises ConfigError for files that cannot be used.
    """
    stated = stated_bytes(folder) if folder.is_dir() else None
    counted = None if stated is None else _counted(spec)
    if stated is None or counted is None or abs(counted - stated) * TOLERATED <= stated:
        return spec
    message = f"The weights are counted as {counted:,} bytes; the checkpoint's files hold {stated:,}."
    return replace(spec, doubts=(*spec.doubts, Doubt("weights", message, touches_kv=False)))


def _counted(spec: ModelSpec) -> int | None:
    """None where the checkpoint's format is not known, which is said when its weights are asked for."""
    try:
        return sum(stored_bytes(spec).values())
    except ScenarioError:
        return None
