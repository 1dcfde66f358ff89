"""What the controls offer, in their order, and how each value is called."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from components.solve import OWN_CONFIG
from hardware_catalog import all_accelerators
from model_catalog.lookup import UnknownModel, all_ids, drafts_for, entry_ids, find_entry
from model_catalog.spec import ModelSpec
from sizing.engines import ENGINES, minimum, transformers
from sizing.engines.simple import SimpleRules
from sizing.weights.precisions import PRECISIONS

OWN_ACCELERATOR = "own"
NO_ACCELERATOR = ""
APART = "apart"
AUTO = "auto"
MODEL_PAGE = re.compile(r"(?:https?://)?(?:www\.)?(?:huggingface\.co|hf\.co)/([\w.-]+/[\w.-]+)", re.IGNORECASE)
TENSOR_PARALLEL = (1, 2, 4, 8, 16)
TOKENS = tuple(sorted({2**power for power in range(9, 21)} | {3 * 2**power for power in range(8, 20)}))
REQUESTS = tuple(sorted({1, 2, 4, 8, 12} | {2**p for p in range(4, 13)} | {3 * 2**p for p in range(3, 11)}))
STATE_FORMATS = ("fp32", "bf16", "fp16", "fp8")

WEIGHTS_SHORT = {
    "auto": "As stored",
    "fp8-block": "FP8 128×128",
    "awq-int4": "INT4 AWQ",
    "gptq-int4": "INT4 GPTQ",
    "bnb-nf4": "NF4 bnb",
    "bnb-int8": "INT8 bnb",
    "gguf-f16": "GGUF F16",
    "gguf-bf16": "GGUF BF16",
}


def with_current(options: Iterable[Any], value: Any) -> list[Any]:
    """The options with the value among them: numbers in their place, others at the end."""
    listed = list(options)
    if value in listed:
        return listed
    return sorted([*listed, value]) if isinstance(value, int) else [*listed, value]


@cache
def model_names() -> dict[str, str]:
    """Id → label: the name without its organisation, which only the first of several that share a name has alone."""
    owners = {organisation_of(model) for model in entry_ids()}
    ids = sorted(all_ids(), key=lambda model: organisation_of(model) not in owners)
    bare = {name_of(model): model for model in reversed(ids)}
    labels = {model: name_of(model) if bare[name_of(model)] == model else _told_apart(model) for model in all_ids()}
    return {OWN_CONFIG: "Your own config.json", **labels}


def organisation_of(model: str) -> str:
    return model.partition("/")[0]


def model_id(text: str) -> str:
    """An id as it was typed, or the one in the address of a model's page."""
    page = MODEL_PAGE.match(text.strip())
    return page[1] if page else text


def name_of(model: str) -> str:
    return model.rpartition("/")[2]


def _told_apart(model: str) -> str:
    organisation, _, name = model.rpartition("/")
    return f"{name} · {organisation}"


def model_label(model: str) -> str:
    return model_names().get(model, model)


@cache
def accelerator_names() -> dict[str, str]:
    own = {OWN_ACCELERATOR: "Your own accelerator", NO_ACCELERATOR: "None, no memory limit"}
    return own | {each.id: each.name for each in all_accelerators()}


def drafts(model: str, needs: str) -> list[str]:
    """Checkpoints to draft for a model: those made for it, or smaller models of its maker with its vocabulary."""
    if needs != "model":
        return [draft for draft in drafts_for(model) if find_entry(draft).spec.draft_kind == needs]
    try:
        vocab, width = _sizes(model)
    except UnknownModel:
        return []
    siblings = [other for other in entry_ids() if organisation_of(other) == organisation_of(model)]
    sizes = {other: _sizes(other) for other in siblings}
    return [other for other in siblings if vocab and sizes[other][0] == vocab and 0 < sizes[other][1] < width]


@cache
def _sizes(model: str) -> tuple[int, int]:
    """Vocabulary and width as the config states them, 0 where it does not."""
    config = find_entry(model).config
    text = config.get("text_config", config)
    vocab, width = text.get("vocab_size"), text.get("hidden_size")
    return vocab if isinstance(vocab, int) else 0, width if isinstance(width, int) else 0


def accelerator_label(accelerator: str) -> str:
    return accelerator_names().get(accelerator, accelerator)


@cache
def _short_names() -> dict[str, str]:
    """Names without what stands in brackets and without the architecture, where that tells no two apart."""
    short = {each.id: each.name.partition(" (")[0].replace(" Blackwell", "") for each in all_accelerators()}
    many = Counter(short.values())
    return {each.id: short[each.id] if many[short[each.id]] == 1 else each.name for each in all_accelerators()}


def short_accelerator(accelerator: str) -> str:
    return _short_names().get(accelerator, accelerator)


def weights_options() -> Sequence[str]:
    return PRECISIONS


def weights_label(name: str) -> str:
    return WEIGHTS_SHORT.get(name, name.upper())


def stored_label(spec: ModelSpec) -> str:
    """What "as stored" is for this model."""
    return weights_label(spec.quantization.method if spec.quantization else spec.dtype)


def kv_options(engine: str) -> list[str]:
    """The formats an engine has; keys and values can differ wherever there is more than one to choose."""
    formats = ENGINES[engine].kv_dtypes if engine in ENGINES else (AUTO,)
    return [*formats, APART]


def kv_label(name: str) -> str:
    return {AUTO: "Auto", APART: "K ≠ V"}.get(name, name.upper())


def engine_options() -> list[str]:
    return list(ENGINES)


def engine_label(name: str) -> str:
    return ENGINES[name].label


def engine_versions(name: str) -> list[str]:
    """The newest first."""
    return list(reversed(ENGINES[name].versions))


def cache_rules(engine: str) -> SimpleRules:
    """The rule for what one layer keeps: the library's own for transformers, else what the architecture needs."""
    return transformers.RULES if engine == transformers.RULES.name else minimum.RULES
