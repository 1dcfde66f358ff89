"""EAGLE and EAGLE-3: one layer or a few that read the target's hidden states beside the embedding.

Sources: vllm/model_executor/models/{llama_eagle,llama_eagle3,deepseek_eagle3}.py.
"""

from collections.abc import Mapping
from dataclasses import replace

from model_catalog.blocks.linear import norm
from model_catalog.drafts.parts import joining, proposing
from model_catalog.fields import Fields
from model_catalog.spec import ModelSpec, run_length
from model_catalog.tensors import Tensor

TAPS = 3  # hidden states of the target that EAGLE-3 joins
INTO = ("q_proj.weight", "k_proj.weight", "v_proj.weight", "q_a_proj.weight", "kv_a_proj_with_mqa.weight")


def eagle_head(spec: ModelSpec) -> ModelSpec:
    """EAGLE joins embedding and hidden state in one layer, and norms neither the first layer's input nor the output."""
    hidden = spec.hidden_size
    first, *rest = spec.each_layer()
    bare = replace(first, tensors=_without(first.tensors, "norm_0."))
    return replace(
        spec,
        layers=run_length([bare, *rest]),
        tensors=(*_without(spec.tensors, "model.norm."), *joining(hidden, 2 * hidden)),
        draft_kind="eagle",
    )


def eagle3_head(spec: ModelSpec, *, vocab: int | None = None, target_hidden: int = 0, taps: int = TAPS) -> ModelSpec:
    """EAGLE-3: hidden states of several layers joined, a first layer that reads them beside the embedding.

    `vocab`: tokens that the head can propose, fewer than the target has, which a table maps to the target's.
    """
    hidden, rows = spec.hidden_size, vocab or spec.vocab_size
    first, *rest = spec.each_layer()
    tensors = (*map(_twice_as_wide, first.tensors), *norm("hidden_norm", hidden))
    joined = joining(hidden, taps * (target_hidden or hidden)) if taps else ()
    return replace(
        spec,
        layers=run_length([replace(first, tensors=tensors), *rest]),
        tied_embeddings=False,
        tensors=(*proposing(spec.vocab_size, rows, hidden), *joined),
        draft_kind="eagle3",
    )


def read_eagle3(f: Fields, spec: ModelSpec) -> ModelSpec:
    part = f.raw("eagle_config")
    joins = part.get("use_aux_hidden_state", True) if isinstance(part, Mapping) else True
    target = f.whole_or_none("target_hidden_size", minimum=1) or spec.hidden_size
    head = eagle3_head(
        spec,
        vocab=f.whole_or_none("draft_vocab_size", minimum=1),
        target_hidden=target,
        taps=TAPS if joins else 0,
    )
    norms = norm("model.input_norm", TAPS * target) if f.flag("norm_before_fc") else ()
    return replace(head, tensors=(*head.tensors, *norms))


def _twice_as_wide(tensor: Tensor) -> Tensor:
    """Projections of a layer's input, which is two vectors."""
    if not tensor.name.endswith(INTO):
        return tensor
    return replace(tensor, shape=(tensor.shape[0], 2 * tensor.shape[1]))


def _without(tensors: tuple[Tensor, ...], name: str) -> tuple[Tensor, ...]:
    return tuple(tensor for tensor in tensors if name not in tensor.name)
