"""Fields about attention or the cache that no reader looked at: each is a doubt, so that nothing new passes for plain.

Fields that the model's class has are not meant; how the class uses them is known, whether it is read here or not.
"""

import re

from model_catalog.fields import Fields

ABOUT_CACHE = re.compile(
    "window|attention|attn|chunk|kv|key_value|query|head_dim|layer_type|layers_type|block_type|block_config|sparse|index"
    "|latent|compress|cross|shar|hybrid|mixer|mamba|recurrent|retention|delta|conv|state|cache|memory|_every|_layers$"
    "|(^|_)(mla|nsa|moba|dsa|csa|swa|ssm|yoco|cla|rwkv|global|local)(_|$)"
)
# Numerics, training and kernels, whatever they are about; sums of other fields; masks that leave the cache as it is
HARMLESS = re.compile(
    "^_|^architectures$|^qk_head_dim$|^blocksparse_|dropout|pdrop|softmax|fp32|implementation|flash|theta|(?<!qk_)rope|norm|init|bias"
    "|scal|alpha|beta|multiplier|softcap|capping|_act$|eps|token_(?!mixer)|_token|nextn|nope|fused|expert|moe|mtp|embedding|return|output"
    "|use_cache|compressor|quant|tower|vision|audio|image|batch|^num_hidden_layers$"
)
# What published files carry and their models' own code passes over as well
PASSED_OVER: dict[str, frozenset[str]] = {
    "attention_chunk_size": frozenset({"mimo_v2_flash"}),
    "attention_head_dim": frozenset({"nemotron_h"}),
    "attention_hidden_size": frozenset({"zamba2"}),
    "attn_type_list": frozenset({"minimax_m2"}),
    "cla_share_factor": frozenset({"hunyuan"}),
    "context_window_size": frozenset({"llama"}),
    "conv_dim": frozenset({"lfm2", "lfm2_moe"}),
    "conv_dim_out": frozenset({"lfm2", "lfm2_moe"}),
    "dense_attention_every_n_layers": frozenset({"phi3small"}),
    "full_attention_interval": frozenset({"qwen3_5_text", "qwen3_5_moe_text"}),
    "full_attn_mod": frozenset({"phi3"}),
    "head_dim": frozenset({"axk1", "deepseek_v3", "kimi_linear", "mistral4", "sarvam_mla", "youtu"}),
    "hybrid_layer_ids": frozenset({"zamba2"}),
    "index_skip_topk_offset": frozenset({"glm_moe_dsa"}),
    "index_topk_freq": frozenset({"glm_moe_dsa"}),
    "kv_channels": frozenset({"zamba2"}),
    "num_hash_layers": frozenset({"deepseek_v4", "deepseek_ref"}),
    "num_key_value_heads": frozenset({"deepseek_ref", "gpt_bigcode", "kimi_k2"}),
    "num_query_groups": frozenset({"zamba2"}),
    "number_of_conv_states": frozenset({"inkling_text"}),
    "order_of_interleaved_layers": frozenset({"cohere2"}),
    "prefill_chunk_size": frozenset({"llama"}),
    "qk_rope_head_dim": frozenset({"deepseek_v4"}),
    "sliding_window_size": frozenset({"gemma2"}),
    "use_logn_attn": frozenset({"qwen"}),
}


def doubt_unread(f: Fields) -> None:
    """Name what a config states about attention or its cache and nobody read; of a plain value nothing is said."""
    for name in f.unread():
        if _matters(f, name):
            shown = name[:60]
            f.doubt(shown, f"{shown} is not a field of {f.model_type} models that is known here; it is not heeded.")


def _matters(f: Fields, name: str) -> bool:
    value = f.data[name]
    if value in (None, False, 0, "", [], {}) or f.model_type in PASSED_OVER.get(name, ()):
        return False
    if name in ("sliding_window", "max_window_layers") and f.raw("use_sliding_window") in (None, False):
        return name == "sliding_window" and not f.has("use_sliding_window")
    if isinstance(value, list) and len(value) == f.raw("num_hidden_layers"):
        return not HARMLESS.search(name)
    return bool(ABOUT_CACHE.search(name)) and not HARMLESS.search(name)
