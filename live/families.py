"""Small variants of catalog families: the layers' caches are the full-size model's own, the rest is made small.

KV heads, head sizes, windows and latents stay as they are, so that an attention layer keeps the same bytes for a
token; there are fewer layers, and hidden size, feed-forward, experts, Mamba heads and vocabulary shrink. Weights are
random: no byte of a cache depends on their values.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from model_catalog.lookup import find_entry

SMALL: dict[str, Any] = {"hidden_size": 512, "intermediate_size": 1024, "vocab_size": 4096}
FEW_EXPERTS: dict[str, Any] = {"num_experts_per_tok": 2, "moe_intermediate_size": 128}


@dataclass(frozen=True)
class Family:
    """`changes` are the config fields that make the catalog entry `model` small."""

    name: str
    label: str
    model: str
    growth: str
    changes: Mapping[str, Any]

    @property
    def config(self) -> dict[str, Any]:
        """The small variant's config.json."""
        return {**find_entry(self.model).config, **self.changes}


FAMILIES = {
    family.name: family
    for family in (
        Family(
            "gqa",
            "GQA (Llama 3.1)",
            "meta-llama/Llama-3.1-8B-Instruct",
            "grouped-query attention, every layer keeps every token",
            SMALL | {"num_hidden_layers": 4, "num_attention_heads": 16, "head_dim": 128},
        ),
        Family(
            "windows",
            "Windows (Gemma 3)",
            "google/gemma-3-1b-it",
            "five of six layers stop growing at their window",
            SMALL | {"num_hidden_layers": 6},
        ),
        Family(
            "mla",
            "MLA (DeepSeek-V2)",
            "deepseek-ai/DeepSeek-V2-Lite",
            "multi-head latent attention, one compressed latent for a token instead of keys and values",
            SMALL | FEW_EXPERTS | {"num_hidden_layers": 4, "n_routed_experts": 4, "n_shared_experts": 1},
        ),
        Family(
            "gated-delta",
            "GatedDeltaNet (Qwen3-Next)",
            "Qwen/Qwen3-Next-80B-A3B-Instruct",
            "a hybrid, three of four layers keep a state of fixed size",
            SMALL | FEW_EXPERTS | {"num_hidden_layers": 4, "num_experts": 4, "shared_expert_intermediate_size": 128},
        ),
        Family(
            "mamba2",
            "Mamba 2 (Nemotron Nano)",
            "nvidia/NVIDIA-Nemotron-Nano-9B-v2",
            "a hybrid, Mamba layers keep a state of fixed size and one layer keeps every token",
            SMALL | {"num_hidden_layers": 7, "hybrid_override_pattern": "M-M*-M-", "mamba_num_heads": 16},
        ),
    )
}
