"""What a GGUF header says about a model, asked for in the words of its metadata."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from model_catalog.fields import ConfigError, Fields
from model_catalog.gguf.header import FileTensor, Header
from model_catalog.layer_kinds import FULL, SLIDING

HEADS = "attention.head_count"
KV_HEADS = "attention.head_count_kv"
FEED_FORWARD = "feed_forward_length"
PATTERN = "attention.sliding_window_pattern"
TOKENS = "tokenizer.ggml.tokens"
MOST_DRAFTS = 64
LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class Facts:
    """`fields` are the architecture's own metadata without its prefix; `layers` those of the decoder itself.

    `drafts` prediction layers follow them, under the next numbers. `tokens` is the length of the tokenizer's list.
    """

    arch: str
    fields: Fields
    layers: int
    drafts: int
    tensors: Mapping[str, FileTensor]
    tokens: int

    def has_tensor(self, ending: str, layer: int) -> bool:
        return f"blk.{layer}.{ending}" in self.tensors

    def each(self, key: str, default: int | None = None) -> list[int]:
        """A whole number for each layer, from an array or from one number for all."""
        if not isinstance(self.fields.raw(key), list):
            return [self.fields.whole(key, default, minimum=0)] * self.layers
        stated = self._array(key)
        if any(isinstance(value, bool) or not isinstance(value, int) or value < 0 for value in stated):
            raise self.fields.error(key, "a whole number for each layer")
        return stated

    def flags(self, key: str) -> list[bool] | None:
        """True or false for each layer, from an array of truth values or of 0 and 1; None where there is no array."""
        return [bool(value) for value in self._array(key)] if isinstance(self.fields.raw(key), list) else None

    def _array(self, key: str) -> list[Any]:
        stated: list[Any] = self.fields.raw(key)
        if len(stated) not in (self.layers, self.layers + self.drafts):
            raise self.fields.error(key, f"an entry for each of {self.layers:,} layers")
        return stated[: self.layers]

    def alike(self, key: str, default: int | None = None) -> int:
        """The one number of all layers; where they differ, the largest, in doubt."""
        values = self.each(key, default)
        if len(set(values)) > 1:
            self.fields.doubt(key, f"{self.fields.path}{key} differs from layer to layer; the largest is taken.")
        return max(values)

    def kinds(self, period: int, *, full_first: bool = False) -> list[str]:
        """Full and windowed layers: as listed, else one full layer in each period, its first or its last."""
        listed = self.flags(PATTERN)
        if listed is not None:
            return [SLIDING if windowed else FULL for windowed in listed]
        period = self.fields.whole(PATTERN, period, minimum=0)
        if not period:
            return [SLIDING] * self.layers
        at = 0 if full_first else period - 1
        return [FULL if index % period == at else SLIDING for index in range(self.layers)]

    def head_dim(self) -> int:
        """The stated length of a key, else the width over the heads (llama.cpp, llama_model::load_hparams)."""
        stated = self.fields.whole_or_none("attention.key_length", minimum=1)
        return stated or max(1, self.fields.whole("embedding_length") // max(1, *self.each(HEADS), 1))

    def vocabulary(self) -> int:
        """Rows of the embedding, else the tokens listed, else what the metadata states."""
        embedding = self.tensors.get("token_embd.weight")
        if embedding is not None:
            return embedding.shape[0]
        return self.tokens or self.fields.whole("vocab_size")


def facts_of(header: Header) -> Facts:
    """Raises ConfigError for a file that is no language model."""
    arch = header.metadata.get("general.architecture")
    if not isinstance(arch, str) or not 0 < len(arch) <= LONGEST_NAME:
        raise ConfigError("model", "general.architecture is missing, so the kind of model is not known.")
    _refuse_other_kinds(header, arch)
    prefix = f"{arch}."
    own = {key.removeprefix(prefix): value for key, value in header.metadata.items() if key.startswith(prefix)}
    fields = Fields(own, "", prefix)
    blocks = fields.layer_count("block_count")
    drafts = fields.whole("nextn_predict_layers", 0, minimum=0, maximum=MOST_DRAFTS)
    if drafts >= blocks:
        raise fields.error("nextn_predict_layers", f"less than block_count, {blocks:,},")
    named = {tensor.name: tensor for tensor in header.tensors}
    return Facts(arch, fields, blocks - drafts, drafts, named, header.lengths.get(TOKENS, 0))


def _refuse_other_kinds(header: Header, arch: str) -> None:
    kind = header.metadata.get("general.type", "model")
    if arch == "clip" or kind == "mmproj":
        raise ConfigError("model", "This GGUF file holds a projector for images or sound. Give the model's file.")
    if kind != "model":
        raise ConfigError("model", f'This GGUF file holds no model but a "{str(kind)[:40]}". Give the model\'s file.')
