"""What most readers ask a config in the same way."""

from model_catalog.fields import ConfigError, Fields


def head_dim_of(f: Fields) -> int:
    """The stated head_dim, else hidden_size / num_attention_heads."""
    stated = f.whole_or_none("head_dim", minimum=1)
    return derived_head_dim(f) if stated is None else stated


def derived_head_dim(f: Fields) -> int:
    """hidden_size / num_attention_heads, for classes that have no head_dim of their own."""
    hidden, heads = f.whole("hidden_size"), f.whole("num_attention_heads")
    if hidden % heads:
        raise ConfigError(
            f"{f.path}num_attention_heads",
            f"{f.path}hidden_size {hidden:,} does not divide by num_attention_heads {heads:,}; head_dim is needed.",
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
