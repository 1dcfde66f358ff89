"""Fields of a config.json that many architectures make from the same metadata."""

from collections.abc import Callable
from typing import Any

from model_catalog.gguf.facts import FEED_FORWARD, Facts

Part = Callable[[Facts], dict[str, Any]]


def experts(name: str) -> Part:
    """Routed experts, where there are any; `name` is what the type calls their number."""

    def part(facts: Facts) -> dict[str, Any]:
        count = facts.fields.whole("expert_count", 0, minimum=0)
        if not count:
            return {name: 0}
        width = max(facts.each(FEED_FORWARD, 0))
        return {
            name: count,
            "num_experts_per_tok": max(facts.alike("expert_used_count", 1), 1),
            "moe_intermediate_size": max(facts.alike("expert_feed_forward_length", width), 1),
        }

    return part


def expert_width(name: str) -> Part:
    """The width of an expert, under the type's own name, where the file states it apart from the dense width."""

    def part(facts: Facts) -> dict[str, Any]:
        stated = facts.fields.raw("expert_feed_forward_length")
        return {} if stated is None else {name: max(facts.alike("expert_feed_forward_length"), 1)}

    return part


def per_token(name: str, key: str) -> Part:
    """One number under the type's own name; 0 where the file does not state it."""
    return lambda facts: {name: facts.fields.whole(key, 0, minimum=0)}
