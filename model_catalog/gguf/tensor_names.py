"""GGUF tensor names: the checkpoint's name, class and sharding of each.

Source: llama.cpp gguf-py/gguf/constants.py, TENSOR_NAMES. Names that are not here keep their own and are counted whole.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from model_catalog.tensors import Shard, TensorClass

Units = Literal["", "heads", "kv_heads"]
KIND = TensorClass


@dataclass(frozen=True, slots=True)
class Named:
    """`units` is what tensor parallelism shares out; the attention of the layer says how many there are."""

    name: str
    kind: TensorClass
    shard: Shard = Shard.REPLICATED
    units: Units = ""


def _attention(name: str, shard: Shard = Shard.REPLICATED, units: Units = "") -> Named:
    return Named(f"self_attn.{name}", KIND.ATTENTION, shard, units)


def _mixer(name: str, shard: Shard = Shard.COLUMN) -> Named:
    return Named(f"mixer.{name}", KIND.MIXER, shard)


def _feed_forward(prefix: str, kind: TensorClass, ending: str) -> dict[str, Named]:
    into = Shard.EXPERT if kind is KIND.EXPERT else Shard.COLUMN
    out = Shard.EXPERT if kind is KIND.EXPERT else Shard.ROW
    return {
        f"ffn_gate{ending}": Named(f"{prefix}.gate_proj", kind, into),
        f"ffn_up{ending}": Named(f"{prefix}.up_proj", kind, into),
        f"ffn_down{ending}": Named(f"{prefix}.down_proj", kind, out),
    }


OUTSIDE: Final[Mapping[str, Named]] = {
    "token_embd": Named("model.embed_tokens", KIND.EMBEDDING, Shard.VOCAB),
    "position_embd": Named("model.embed_positions", KIND.EMBEDDING),
    "token_types": Named("model.embed_token_types", KIND.EMBEDDING),
    "per_layer_token_embd": Named("model.embed_tokens_per_layer", KIND.EMBEDDING),
    "per_layer_model_proj": Named("model.per_layer_model_projection", KIND.FEED_FORWARD),
    "altup_proj": Named("model.altup_projections", KIND.FEED_FORWARD),
    "altup_unembd_proj": Named("model.altup_unembed_projections", KIND.FEED_FORWARD),
    "output": Named("lm_head", KIND.LM_HEAD, Shard.VOCAB),
}
IN_LAYERS: Final[Mapping[str, Named]] = {
    "attn_q": _attention("q_proj", Shard.COLUMN, "heads"),
    "attn_k": _attention("k_proj", Shard.COLUMN, "kv_heads"),
    "attn_v": _attention("v_proj", Shard.COLUMN, "kv_heads"),
    "attn_qkv": _attention("qkv_proj", Shard.COLUMN),
    "attn_gate": _attention("gate_proj", Shard.COLUMN, "heads"),
    "attn_output": _attention("o_proj", Shard.ROW, "heads"),
    "attn_sinks": Named("self_attn.sinks", KIND.SMALL, Shard.COLUMN),
    "attn_q_a": _attention("q_a_proj"),
    "attn_q_b": _attention("q_b_proj", Shard.COLUMN, "heads"),
    "attn_kv_a_mqa": _attention("kv_a_proj_with_mqa"),
    "attn_kv_b": _attention("kv_b_proj", Shard.COLUMN, "heads"),
    "attn_k_b": _attention("k_b_proj", Shard.COLUMN, "heads"),
    "attn_v_b": _attention("v_b_proj", Shard.COLUMN, "heads"),
    "indexer.attn_k": Named("self_attn.indexer.wk", KIND.INDEXER),
    "indexer.attn_q_b": Named("self_attn.indexer.wq_b", KIND.INDEXER),
    "indexer.proj": Named("self_attn.indexer.weights_proj", KIND.INDEXER),
    **_feed_forward("mlp", KIND.FEED_FORWARD, ""),
    **_feed_forward("mlp.shared_expert", KIND.SHARED_EXPERT, "_shexp"),
    **_feed_forward("mlp.experts", KIND.EXPERT, "_exps"),
    **_feed_forward("mlp.chunk_experts", KIND.EXPERT, "_chexps"),
    "ffn_gate_up_exps": Named("mlp.experts.gate_up_proj", KIND.EXPERT, Shard.EXPERT),
    "ffn_gate_inp": Named("mlp.gate", KIND.ROUTER),
    "ffn_gate_inp_shexp": Named("mlp.shared_expert_gate", KIND.ROUTER),
    "ffn_latent_down": Named("mixer.fc1_latent_proj", KIND.SHARED_EXPERT),
    "ffn_latent_up": Named("mixer.fc2_latent_proj", KIND.SHARED_EXPERT),
    "exp_probs_b": Named("mlp.gate.e_score_correction_bias", KIND.SMALL),
    "inp_gate": Named("per_layer_input_gate", KIND.FEED_FORWARD),
    "proj": Named("per_layer_projection", KIND.FEED_FORWARD),
    "laurel_l": Named("laurel.linear_left", KIND.FEED_FORWARD),
    "laurel_r": Named("laurel.linear_right", KIND.FEED_FORWARD),
    "shortconv.in_proj": _mixer("in_proj"),
    "shortconv.out_proj": _mixer("out_proj", Shard.ROW),
    "shortconv.conv": Named("mixer.conv", KIND.SMALL, Shard.COLUMN),
    "ssm_in": _mixer("in_proj"),
    "ssm_out": _mixer("out_proj", Shard.ROW),
    "ssm_x": _mixer("x_proj", Shard.ROW),
    "ssm_dt": _mixer("dt_proj"),
    "ssm_alpha": _mixer("in_proj_a"),
    "ssm_beta": _mixer("in_proj_b"),
    "ssm_ba": _mixer("in_proj_ba"),
    "ssm_f_a": _mixer("f_a_proj", Shard.REPLICATED),
    "ssm_f_b": _mixer("f_b_proj"),
    "ssm_g_a": _mixer("g_a_proj", Shard.REPLICATED),
    "ssm_g_b": _mixer("g_b_proj"),
    "ssm_a": Named("mixer.A_log", KIND.SMALL, Shard.COLUMN),
    "ssm_d": Named("mixer.D", KIND.SMALL, Shard.COLUMN),
    **{f"ssm_conv1d{part}": Named(f"mixer.conv1d{part}", KIND.SMALL, Shard.COLUMN) for part in ("", "_q", "_k", "_v")},
    "nextn.eh_proj": Named("eh_proj", KIND.PREDICTION),
    "nextn.embed_tokens": Named("embed_tokens", KIND.PREDICTION, Shard.VOCAB),
    "nextn.shared_head_head": Named("shared_head.lm_head", KIND.PREDICTION, Shard.VOCAB),
}
# In recurrent layers these are the mixer's: the joined projection of query, key and value, and the output's gate.
IN_RECURRENT_LAYERS: Final[Mapping[str, Named]] = {
    "attn_qkv": Named("linear_attn.in_proj_qkv", KIND.MIXER, Shard.COLUMN),
    "attn_gate": Named("linear_attn.in_proj_z", KIND.MIXER, Shard.COLUMN),
    "attn_q": Named("self_attn.q_proj", KIND.MIXER, Shard.COLUMN),
    "attn_k": Named("self_attn.k_proj", KIND.MIXER, Shard.COLUMN),
    "attn_v": Named("self_attn.v_proj", KIND.MIXER, Shard.COLUMN),
    "attn_output": Named("self_attn.o_proj", KIND.MIXER, Shard.ROW),
}


def named_in_layer(stem: str, *, recurrent: bool) -> Named:
    own = IN_RECURRENT_LAYERS.get(stem) if recurrent else None
    return own or IN_LAYERS.get(stem) or _unlisted(stem)


def named_outside(stem: str) -> Named:
    return OUTSIDE.get(stem) or _unlisted(stem)


def _unlisted(stem: str) -> Named:
    return Named(stem, KIND.NORM if "norm" in stem else KIND.SMALL)
