"""Page sizes that attention kernels of data-centre Blackwell GPUs (compute capability 10) force.

Sources: `_get_default_attn_backend` and the constraints on page_size in `server_args.py` (0.5.4 to 0.5.18) and
`arg_groups/overrides.py` (0.5.23); the kernels of single models in `arg_groups/model_overrides`.
"""

from model_catalog.spec import Attention, ModelSpec
from sizing.engines.sglang.rules import EXTRA_BUFFER, Rules
from sizing.engines.sglang.traits import Traits

PAGE = 64
UNEVEN_PAGE = 128
# Models that had the kernels of TensorRT-LLM before they became the default (0.5.7), and since when.
EARLY = {"gpt_oss": "0.5.1", "llama4": "0.5.5", "llama4_text": "0.5.5", "olmo2": "0.5.5", "olmo3": "0.5.5"}
LATENT = ("deepseek_v3", "kimi_k2", "kimi_k25", "kimi_k3", "longcat_flash")  # others have kernels for any page


def blackwell_page(spec: ModelSpec, traits: Traits, rules: Rules, asked: int | None, *, keeps_states: bool) -> int:
    """The page of a model without sparse or compressed attention; `asked` where its kernels take that."""
    page = asked or 1
    if traits.latent:
        fits = page in (32, 64) or spec.model_type not in LATENT or not rules.since("0.5.4")
        return page if fits else PAGE
    if not rules.since(EARLY.get(spec.model_type, "0.5.7")):
        return page
    if rules.since("0.5.17") and _uneven(spec):
        return UNEVEN_PAGE
    if traits.recurrent and keeps_states and not (rules.extra_buffer and spec.model_type in EXTRA_BUFFER):
        return 1
    taken = (16, 32, 64, 128) if rules.since("0.5.17") else (16, 32, 64)
    return page if page in taken else PAGE


def _uneven(spec: ModelSpec) -> bool:
    """Keys and values of different widths, which those kernels do not take (has_asymmetric_kv)."""
    mixers = (mixer for mixer in spec.mixers() if isinstance(mixer, Attention))
    return any(mixer.head_dim != mixer.value_dim for mixer in mixers)
