"""Entry: one checkpoint of the catalog, with where its facts come from.

An entry's config holds the fields of the checkpoint's config.json that say something about sizes, under their own
names. Aliases are further checkpoints with the same facts; licence, release and checkpoint are those of `id` itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from model_catalog.importers.read import read_config
from model_catalog.spec import Doubt, ModelSpec, Quantization


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where the config comes from. `exact`: it is the original config.json.

    Of a copy, `note` says what kind of copy it is. `verified` says which published parameter count the copy
    reproduces: that fixes layers, heads and widths, though not windows and context length.
    """

    source: str
    exact: bool
    note: str | None = None
    verified: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What is published about the stored tensors; None where nothing is.

    `parameters` counts stored elements, so it holds quantization scales, buffers and copies of tied tensors too.
    `stored_bytes` is the size of the tensors without the file headers. `unstated_quantization` is the precision
    in the checkpoint's name where its config.json has no quantization_config.
    """

    parameters: int | None = None
    parameters_source: str | None = None
    parameters_by_dtype: Mapping[str, int] = field(default_factory=dict)
    stored_bytes: int | None = None
    stored_bytes_source: str | None = None
    note: str | None = None
    unstated_quantization: str | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Entry:
    """A checkpoint. `released` (YYYY-MM-DD or YYYY-MM) is the day its repository appeared on the Hub, as llmfit
    1.1.17 lists it, or the month in its name. Without one, `sorted_as` places it among its generation and is not
    shown. `licence` is the Hub's licence tag, from the same list. `pools`: the repository has a modules.json of
    sentence-transformers, by which engines serve it as an embedding model. `draft_for`: ids of the models that it
    drafts for.
    """

    id: str
    provenance: Provenance
    config: Mapping[str, Any]
    aliases: tuple[str, ...] = ()
    released: str | None = None
    sorted_as: str | None = None
    licence: str | None = None
    checkpoint: Checkpoint = Checkpoint()
    pools: bool = False
    draft_for: tuple[str, ...] = ()

    @property
    def age_key(self) -> str:
        """Sorts entries by age: the later, the larger."""
        return self.released or self.sorted_as or ""

    @cached_property
    def spec(self) -> ModelSpec:
        """The architecture, with a doubt wherever the entry itself is not certain."""
        spec = read_config(self.config)
        named = self.checkpoint.unstated_quantization
        quantization = Quantization(method=named.lower()) if named else spec.quantization
        doubts = spec.doubts + tuple(doubts_of(self))
        return replace(spec, quantization=quantization, doubts=doubts, pools=self.pools)


def doubts_of(entry: Entry) -> list[Doubt]:
    """What the reading of the config cannot know. A verified copy is told, but lowers no grade."""
    doubts = []
    origin = entry.provenance
    if not origin.exact:
        assumed = origin.verified is None
        doubts.append(Doubt("", copy_sentence(origin), touches_kv=assumed, touches_weights=assumed))
    stored = entry.checkpoint.unstated_quantization
    if stored:
        message = (
            f"The checkpoint is stored in {stored}, but its config does not say which tensors are, nor which cache "
            "format it pins; all linear layers of its blocks are taken to be, and no cache format to be pinned."
        )
        doubts.append(Doubt("quantization_config", message))
    return doubts


def copy_sentence(origin: Provenance) -> str:
    kind = f"{origin.note}, " if origin.note else ""
    check = f"; {origin.verified}" if origin.verified else ""
    return f"The config is a copy, not the original file: {kind}from {origin.source}{check}."


def entry_from(data: Mapping[str, Any], aliases: tuple[str, ...] = ()) -> Entry:
    """The Entry of one object of data/entries/*.json."""
    parts = {
        "provenance": Provenance(**data["provenance"]),
        "checkpoint": Checkpoint(**data.get("checkpoint", {})),
        "aliases": aliases,
        "draft_for": tuple(data.get("draft_for", ())),
    }
    return Entry(**{**data, **parts})
