"""A ModelSpec from a GGUF file: its metadata through the readers of config.json, its tensors as they are stored."""

from dataclasses import replace
from pathlib import Path

from model_catalog.gguf.architectures import config_of
from model_catalog.gguf.check import mismatches
from model_catalog.gguf.facts import Facts, facts_of
from model_catalog.gguf.inventory import with_tensors
from model_catalog.gguf.split import read_whole
from model_catalog.importers import read_config
from model_catalog.spec import Doubt, ModelSpec, Quantization

METHOD = "gguf"  # every tensor has a ggml type of its own


def read_gguf(path: Path) -> ModelSpec:
    """Raises ConfigError with a sentence that names the file or the metadata key."""
    header = read_whole(path)
    facts = facts_of(header)
    spec = read_config({**config_of(facts), "dtype": _dtype(facts)})
    if header.tensors:
        checked = mismatches(spec, facts)
        stored = with_tensors(spec, header.tensors)
        spec = replace(stored, quantization=Quantization(method=METHOD), doubts=(*spec.doubts, *checked))
    else:
        spec = replace(spec, doubts=(*spec.doubts, _without_tensors(path)))
    return replace(spec, doubts=tuple(dict.fromkeys((*spec.doubts, *facts.fields.doubts))))


def _dtype(facts: Facts) -> str:
    """What the model runs in: the 16-bit type of the file, float16 beside quantised tensors."""
    types = {tensor.dtype for tensor in facts.tensors.values()}
    if "bf16" in types:
        return "bfloat16"
    return "float32" if types == {"f32"} else "float16"


def _without_tensors(path: Path) -> Doubt:
    return Doubt("tensors", f"{path.name} names no tensors; weights are counted in 16 bits.", touches_kv=False)
