"""One forward pass over a prompt on the meta device, for any text-generating class of transformers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from transformers.modeling_outputs import BaseModelOutput

from live.meta_ops import MetaOps


@dataclass
class Encoded(BaseModelOutput):
    """What an encoder hands to its decoder, with the mask that speech models look for."""

    attention_mask: torch.Tensor | None = None


def prefill_inputs(model: Any, batch: int, length: int, encoder_length: int | None) -> dict[str, Any]:
    """Meta tensors for a prompt of `length` tokens; for an encoder-decoder, a source of `encoder_length` positions.

    The source is tokens where the encoder reads tokens, and otherwise its finished output: by default as many positions
    as the encoder gives for its full input, or `length` where the config names no such number.
    """
    tokens = torch.empty((batch, length), dtype=torch.int64, device="meta")
    if not model.config.is_encoder_decoder:
        return {"input_ids": tokens}
    if model.main_input_name == "input_ids":
        return {"input_ids": tokens.new_empty((batch, encoder_length or length)), "decoder_input_ids": tokens}
    positions = encoder_length or int(getattr(model.config, "max_source_positions", length))
    width = model.get_encoder().config.hidden_size
    encoded = torch.empty((batch, positions, width), dtype=model.dtype, device="meta")
    return {"encoder_outputs": Encoded(last_hidden_state=encoded), "decoder_input_ids": tokens}


def prefill(model: Any, inputs: Mapping[str, Any]) -> Any:
    """The model's output, or its text decoder's where the parts around the decoder need an image or sound."""
    decoder = model if model.config.is_encoder_decoder else model.get_decoder()
    with torch.no_grad(), torch.device("meta"), _stub_experts(model), MetaOps():
        try:
            return model(**inputs, use_cache=True)
        except Exception:
            if decoder is model:
                raise
        return decoder(**inputs, use_cache=True)


@contextmanager
def _stub_experts(model: torch.nn.Module) -> Iterator[None]:
    """Experts give back a tensor of the right shape: routing needs values, and no cached shape depends on it."""
    stubbed = [module for module in model.modules() if type(module).__name__.endswith("Experts")]
    for module in stubbed:
        module.forward = partial(_stub_output, getattr(module, "output_size", None))
    try:
        yield
    finally:
        for module in stubbed:
            del module.forward


def _stub_output(output_size: int | None, hidden_states: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    return hidden_states.new_empty((*hidden_states.shape[:-1], output_size or hidden_states.shape[-1]))
