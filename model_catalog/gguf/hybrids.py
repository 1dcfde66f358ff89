"""Config fields of architectures with recurrent layers, or with layers that each have a shape of their own."""

from typing import Any

from model_catalog.gguf.facts import FEED_FORWARD, HEADS, KV_HEADS, Facts
from model_catalog.importers.hybrid import CONV
from model_catalog.layer_kinds import FULL, LINEAR


def attending(facts: Facts) -> list[bool]:
    """Which layers attend: those with KV heads (llama.cpp is_recr_impl)."""
    return [bool(count) for count in facts.each(KV_HEADS)]


def qwen_delta(facts: Facts) -> dict[str, Any]:
    """Qwen3-Next and Qwen3.5: recurrent layers as listed, else all but every full_attention_interval-th."""
    f = facts.fields
    listed = facts.flags("attention.recurrent_layers")
    interval = f.whole("full_attention_interval", 4)
    recurrent = listed or [(index + 1) % interval != 0 for index in range(facts.layers)]
    heads, inner = f.whole("ssm.time_step_rank"), f.whole("ssm.inner_size")
    if inner % heads:
        raise f.error("ssm.inner_size", f"a multiple of ssm.time_step_rank, {heads:,},")
    return {
        "layer_types": [LINEAR if each else FULL for each in recurrent],
        "linear_num_key_heads": f.whole("ssm.group_count"),
        "linear_num_value_heads": heads,
        "linear_key_head_dim": f.whole("ssm.state_size"),
        "linear_value_head_dim": inner // heads,
        "linear_conv_kernel_dim": f.whole("ssm.conv_kernel"),
        "mtp_num_hidden_layers": facts.drafts,
    }


def _expansion(facts: Facts) -> int:
    """How many times the hidden size the recurrent channels are; types with this field state a whole number."""
    f = facts.fields
    hidden, inner = f.whole("embedding_length"), f.whole("ssm.inner_size")
    if inner % hidden:
        f.doubt("ssm.inner_size", "The recurrent channels are no multiple of the width; they are rounded up to one.")
    return -(-inner // hidden)


def mamba(facts: Facts) -> dict[str, Any]:
    f = facts.fields
    return {
        "expand": _expansion(facts),
        "state_size": f.whole("ssm.state_size"),
        "time_step_rank": f.whole("ssm.time_step_rank"),
        "conv_kernel": f.whole("ssm.conv_kernel"),
    }


def mamba2(facts: Facts) -> dict[str, Any]:
    f = facts.fields
    heads = f.whole("ssm.time_step_rank")
    return {
        "expand": _expansion(facts),
        "num_heads": heads,
        "head_dim": max(f.whole("ssm.inner_size") // heads, 1),
        "state_size": f.whole("ssm.state_size"),
        "n_groups": f.whole("ssm.group_count", 1),
        "conv_kernel": f.whole("ssm.conv_kernel"),
    }


def _bamba_fields(facts: Facts) -> dict[str, Any]:
    """Mamba 2 in the field names that Falcon-H1 and Granite 4 share."""
    f = facts.fields
    heads = f.whole("ssm.time_step_rank")
    return {
        "mamba_n_heads": heads,
        "mamba_d_head": max(f.whole("ssm.inner_size") // heads, 1),
        "mamba_d_state": f.whole("ssm.state_size"),
        "mamba_n_groups": f.whole("ssm.group_count"),
        "mamba_d_conv": f.whole("ssm.conv_kernel"),
    }


def falcon_h1(facts: Facts) -> dict[str, Any]:
    return {**_bamba_fields(facts), "mamba_d_ssm": facts.fields.whole("ssm.inner_size")}


def granite(facts: Facts) -> dict[str, Any]:
    """Granite 4: a shared part in every layer, which dense models state as their feed-forward."""
    f = facts.fields
    count = f.whole("expert_count", 0, minimum=0)
    width = max(*facts.each(FEED_FORWARD), 1)
    return {
        **_bamba_fields(facts),
        "mamba_expand": _expansion(facts),
        "layer_types": [FULL if each else LINEAR for each in attending(facts)],
        "num_local_experts": count,
        "num_experts_per_tok": facts.alike("expert_used_count", 0),
        "shared_intermediate_size": f.whole("expert_shared_feed_forward_length", 0 if count else width, minimum=0)
        or width,
    }


def jamba(facts: Facts) -> dict[str, Any]:
    """Attention every few layers, which the type states as a period and an offset."""
    f = facts.fields
    at = [index for index, each in enumerate(attending(facts)) if each]
    offset = at[0] if at else facts.layers
    period = at[1] - at[0] if len(at) > 1 else facts.layers + 1
    if at != list(range(offset, facts.layers, period)):
        f.doubt(KV_HEADS, "Attention layers that do not come at even distances are counted as if they did.")
    return {
        "attn_layer_offset": offset,
        "attn_layer_period": period,
        "mamba_expand": _expansion(facts),
        "mamba_d_state": f.whole("ssm.state_size"),
        "mamba_dt_rank": f.whole("ssm.time_step_rank"),
        "mamba_d_conv": f.whole("ssm.conv_kernel"),
        "num_experts": max(f.whole("expert_count", 1, minimum=0), 1),
        "num_experts_per_tok": max(facts.alike("expert_used_count", 1), 1),
        **_jamba_mixtures(facts),
    }


def _jamba_mixtures(facts: Facts) -> dict[str, int]:
    at = [index for index in range(facts.layers) if facts.has_tensor("ffn_gate_exps.weight", index)]
    return {"expert_layer_offset": at[0], "expert_layer_period": at[1] - at[0]} if len(at) > 1 else {}


def lfm2(facts: Facts) -> dict[str, Any]:
    """Layers without KV heads are short convolutions; the stated width is the width itself."""
    return {
        "layer_types": [FULL if each else CONV for each in attending(facts)],
        "conv_L_cache": facts.fields.whole("shortconv.l_cache"),
        "block_auto_adjust_ff_dim": False,
        "intermediate_size": max(*facts.each(FEED_FORWARD), 1),
    }


def nemotron_h(facts: Facts) -> dict[str, Any]:
    """Each layer is one thing: attention where it has KV heads, a feed-forward where it has a width, else Mamba 2."""
    f = facts.fields
    heads = f.whole("ssm.time_step_rank")
    part = "moe" if f.raw("expert_count") else "mlp"
    pairs = zip(attending(facts), facts.each(FEED_FORWARD), strict=True)
    return {
        "layers_block_type": [FULL if attends else part if width else LINEAR for attends, width in pairs],
        "mamba_num_heads": heads,
        "mamba_head_dim": max(f.whole("ssm.inner_size") // heads, 1),
        "ssm_state_size": f.whole("ssm.state_size"),
        "n_groups": f.whole("ssm.group_count"),
        "conv_kernel": f.whole("ssm.conv_kernel"),
        "num_nextn_predict_layers": facts.drafts,
    }


def nemotron_experts(facts: Facts) -> dict[str, Any]:
    f = facts.fields
    return {
        "moe_shared_expert_intermediate_size": f.whole_or_none("expert_shared_feed_forward_length", minimum=1),
        "moe_latent_size": f.whole_or_none("moe_latent_size", minimum=1),
    }


def kimi_linear(facts: Facts) -> dict[str, Any]:
    """Kimi Linear counts its layers from 1."""
    f = facts.fields
    numbered = list(enumerate(attending(facts), start=1))
    return {
        "linear_attn_config": {
            "full_attn_layers": [number for number, each in numbered if each],
            "kda_layers": [number for number, each in numbered if not each],
            "num_heads": max(facts.each(HEADS)),
            "head_dim": f.whole("kda.head_dim"),
            "short_conv_kernel_size": f.whole("ssm.conv_kernel"),
        }
    }


def nas_blocks(facts: Facts) -> dict[str, Any]:
    """Nemotron-NAS: heads, KV heads and width of each layer; with neither heads nor width a part is left out."""
    rows = zip(facts.each(HEADS), facts.each(KV_HEADS), facts.each(FEED_FORWARD), strict=True)
    return {"block_configs": [_nas_block(facts, *row) for row in rows]}


def _nas_block(facts: Facts, heads: int, kv_heads: int, width: int) -> dict[str, Any]:
    hidden = facts.fields.whole("embedding_length")
    attention = {"n_heads_in_group": heads // kv_heads} if kv_heads and heads >= kv_heads else {"no_op": True}
    if heads and not kv_heads:
        attention = {"replace_with_linear": True}
    return {"attention": attention, "ffn": {"ffn_mult": 3 * width / (2 * hidden)} if width else {"no_op": True}}
