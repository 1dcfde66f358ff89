"""What most readers ask a config in the same way."""

from model_catalog.fields import ConfigError, Fields

# Classes that refuse a width which does not divide by the heads; the others round the quotient down (GLM-4.5's
# defaults do not divide). transformers 5.24.0, validate_architecture
DIVIDING = frozenset(
    {"aria_text", "arcee", "cwm", "gemma", "gemma2", "gemma3_text", "hyperclovax", "jais2"}
    | {"llama", "llama4_text", "muse_glimmer_text", "muse_spark_text", "vaultgemma"}
)


def head_dim_of(f: Fields) -> int:
    """The stated head_dim, else hidden_size / num_attention_heads."""
    stated = f.whole_or_none("head_dim", minimum=1)
    if stated is not None:
        return stated
    hidden, heads = f.whole("hidden_size"), f.whole("num_attention_heads")
    rounds = f.model_type not in DIVIDING and hidden > heads
    return hidden // heads if rounds else derived_head_dim(f)


def derived_head_dim(f: Fields) -> int:
    """hidden_size / num_attention_heads, for classes that have no head_dim of their own and do not round."""
    hidden, heads = f.whole("hidden_size"), f.whole("num_attention_heads")
    if hidden % heads:
        raise ConfigError(
            f"{f.path}num_attention_heads",
            f"{f.path}hidden_size {hidden:,} does not divide by num_attention_heads {heads:,}.",
        )
    return hidden // heads


def kv_heads_of(f: Fields) -> int:
    """The stated num_key_value_heads, else as many as query heads."""
    return f.whole("num_key_value_heads", f.whole("num_attention_heads"))


def query_heads_of(f: Fields) -> int:
    """As many key-value heads as query heads, for classes without grouped queries."""
    return f.whole("num_attention_heads")


def max_context_of(f: Fields) -> int | None:
    """The longest sequence the model was made for."""
    for name in ("max_position_embeddings", "model_max_length", "max_sequence_length", "seq_length", "max_seq_len"):
        value = f.whole_or_none(name, minimum=0)
        if value:
            return value
    return None


def tied_of(f: Fields, trait: bool | str = "tie_word_embeddings") -> bool:
    return f.flag(trait) if isinstance(trait, str) else trait
