"""Which kind each layer is, in words, and how it is drawn."""

from collections import Counter
from dataclasses import dataclass

from components import inks
from components.format import short_tokens
from model_catalog.spec import (
    Attention,
    CompressedAttention,
    CrossAttention,
    Indexer,
    LatentAttention,
    Layer,
    Mixer,
    ModelSpec,
    Recurrent,
)

RECURRENT_NAMES = {
    "mamba1": "Mamba state",
    "mamba2": "Mamba 2 state",
    "gated_delta": "gated delta state",
    "kda": "Kimi delta state",
    "lightning": "lightning attention state",
    "short_conv": "short convolution",
    "cca": "convolved attention state",
    "rwkv": "RWKV state",
    "xlstm": "xLSTM state",
    "rg_lru": "RG-LRU state",
}
NOTHING = "keeps nothing of its own"


@dataclass(frozen=True)
class Kind:
    """How a mixer is called and drawn. Height tells kinds apart where colour cannot."""

    name: str
    height: float
    colour: str


def kind_of(mixer: Mixer) -> Kind:
    match mixer:
        case Attention(reuses_cache=True) | LatentAttention(reuses_cache=True, indexer=None):
            return Kind("shares another layer's cache", 0.1, inks.NEUTRAL)
        case Attention():
            return _attention(mixer)
        case LatentAttention():
            name = f"latent attention, window of {mixer.window:,}" if mixer.window else "latent attention (MLA)"
            return Kind(name + _with_indexer(mixer.indexer), 0.34 if mixer.window else 0.62, inks.KV)
        case CompressedAttention():
            return _compressed(mixer)
        case CrossAttention():
            return Kind(f"cross attention to {mixer.source_tokens:,} tokens", 0.45, inks.KV)
        case Recurrent():
            return Kind(RECURRENT_NAMES[mixer.kind], 0.62, inks.STATE)


def _attention(mixer: Attention) -> Kind:
    if mixer.window:
        return Kind(f"window of {mixer.window:,}" + _with_indexer(mixer.indexer), 0.34, inks.KV)
    if mixer.chunk:
        return Kind(f"chunks of {mixer.chunk:,}" + _with_indexer(mixer.indexer), 0.34, inks.KV)
    return Kind("full attention" + _with_indexer(mixer.indexer), 1.0, inks.KV)


def _compressed(mixer: CompressedAttention) -> Kind:
    if not mixer.ratio:
        return Kind(f"window of {mixer.window:,}", 0.2, inks.KV)
    name = f"one entry for {mixer.ratio} tokens, window of {mixer.window:,}"
    return Kind(name + _with_indexer(mixer.indexer), 0.62 if mixer.indexer else 0.4, inks.KV)


def _with_indexer(indexer: Indexer | None) -> str:
    return ", with indexer" if indexer else ""


def layer_name(layer: Layer) -> str:
    """One name for a layer, its mixers joined where several run side by side."""
    names = dict.fromkeys(kind_of(mixer).name for mixer in layer.mixers)
    return " + ".join(names) if names else NOTHING


def count_by_name(spec: ModelSpec) -> Counter[str]:
    counts: Counter[str] = Counter()
    for run in spec.layers:
        counts[layer_name(run.layer)] += run.count
    return counts


def first_kv(mixer: Mixer) -> tuple[bool, float]:
    """Sorts mixers for legends and formulas: keys and values before state, what keeps more first."""
    kind = kind_of(mixer)
    return kind.colour == inks.STATE, -kind.height


def headline(spec: ModelSpec, tokens: int) -> str:
    return f"{spec.num_layers} layers, by what each keeps of a {short_tokens(tokens)}-token request"
