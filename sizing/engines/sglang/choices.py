"""From a Scenario to SGLang's settings: page size, pools, slots and speculation as the server resolves them."""

from dataclasses import dataclass
from fractions import Fraction

from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from sizing.engines.sglang.defaults import GIB_IN_MIB, Card, Reserved, chunk_default, fraction_default
from sizing.engines.sglang.drafts import drafting_of
from sizing.engines.sglang.pages import blackwell_page
from sizing.engines.sglang.prefill_graphs import reserve_mib
from sizing.engines.sglang.refusals import cache_format, state_bytes
from sizing.engines.sglang.rules import EXTRA_BUFFER, INKLING, Rules
from sizing.engines.sglang.settings import Settings
from sizing.engines.sglang.traits import Traits
from sizing.scenario import Scenario
from sizing.units import MIB

RATIO = 0.8  # swa_full_tokens_ratio
SMALL_RATIO = 0.1
STATE_RATIO = 0.9  # mamba_full_memory_ratio
COMPRESSED_PAGE = 256
SPARSE_PAGE = 64
DRAFTED_REQUESTS, FIRST_DRAFTED_REQUESTS = 48, 32  # with speculative decoding, and before 0.4.5
ADVISED_GIB = 5
COMPRESSED_REQUESTS = 256  # DeepSeek-V4 (arg_groups/deepseek_v4_hook.py, 0.5.12 to 0.5.23)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """The Settings, mem_fraction_static, and the ratio that the server would take by itself."""

    settings: Settings
    fraction: float
    own_ratio: Fraction
    notes: tuple[str, ...]


def card_of(scenario: Scenario, accelerator: Accelerator | None) -> Card:
    """What the defaults go by: an H100 where nothing is known."""
    figure = accelerator.memory_driver_bytes or accelerator.memory_for_budget if accelerator else None
    known = scenario.total_memory_bytes or (figure.bytes if figure else None)
    capability = accelerator.compute_capability if accelerator else None
    mib = known / MIB if known else Card().mib
    return Card(
        mib=mib,
        capability=capability[0] if capability else Card().capability,
        nvidia=accelerator is None or accelerator.vendor == "NVIDIA",
    )


def choose(scenario: Scenario, spec: ModelSpec, traits: Traits, rules: Rules, card: Card) -> Choices:
    """Raises ScenarioError for formats that this release does not have."""
    page, notes = _page(scenario, spec, traits, rules, card.blackwell)
    settings = _settings(scenario, spec, traits, rules, card, page)
    own = _fraction(scenario, spec, traits, rules, card, settings.chunk)
    fraction = scenario.memory_fraction or own
    return Choices(
        settings=settings,
        fraction=fraction,
        own_ratio=_ratio(_own_ratio(spec, traits)),
        notes=(*notes, *_tight(fraction, own, card)),
    )


def _settings(scenario: Scenario, spec: ModelSpec, traits: Traits, rules: Rules, card: Card, page: int) -> Settings:
    replicas = scenario.data_parallel if scenario.dp_attention else 1
    radix = scenario.prefix_caching is not False
    running = _running(scenario, traits, rules, replicas)
    two_pools = _two_pools(scenario, spec, traits, rules, card.blackwell)
    own_states = SMALL_RATIO if spec.model_type in INKLING else STATE_RATIO
    slots = scenario.max_mamba_cache_size
    conv_bytes, recurrent_bytes = state_bytes(scenario)
    drafting = drafting_of(scenario, spec)
    return Settings(
        rules=rules,
        format=cache_format(scenario, spec, traits, rules, card.blackwell),
        placement=scenario.placement,
        page=page,
        ratio=_ratio(scenario.swa_full_tokens_ratio or _own_ratio(spec, traits)),
        two_pools=two_pools,
        caps_window=two_pools and rules.caps_window_pool and not radix and running is not None,
        running=running,
        chunk=scenario.chunked_prefill_size or chunk_default(rules, card),
        radix=radix,
        slots_each=_slots_each(spec, rules, radix) if traits.recurrent else 1,
        state_ratio=_ratio(scenario.mamba_full_memory_ratio or own_states),
        state_slots=max(1, slots // replicas) if slots else None,
        conv_bytes=conv_bytes,
        recurrent_bytes=recurrent_bytes,
        draft_tokens=_verified(scenario),
        draft_layers=drafting.layers,
        draft=drafting.draft,
        draft_sized=drafting.sized,
    )


def _own_ratio(spec: ModelSpec, traits: Traits) -> float:
    return SMALL_RATIO if traits.compressed or spec.model_type in INKLING else RATIO


def _tight(fraction: float, own: float, card: Card) -> list[str]:
    """docs/advanced_features/hyperparameter_tuning.md: 5 to 8 GB left are good, with fewer memory may run out."""
    left, usual = ((1 - share) * card.mib / GIB_IN_MIB for share in (fraction, own))
    if fraction <= own or left >= ADVISED_GIB:
        return []
    return [
        f"mem_fraction_static {fraction:g} leaves {left:.1f} GiB for activations and CUDA graphs, which SGLang does "
        f"not measure; it would leave {usual:.1f} GiB itself, and its documentation advises 5 to 8."
    ]


def _fraction(scenario: Scenario, spec: ModelSpec, traits: Traits, rules: Rules, card: Card, chunk: int) -> float:
    plain = fraction_default(
        rules,
        card,
        Reserved(
            ranks=scenario.tensor_parallel,
            stages=scenario.pipeline_parallel,
            replicas=scenario.data_parallel if scenario.dp_attention else 0,
            chunk=chunk,
            running=scenario.max_num_seqs,
            draft=scenario.speculative.method.lower() if scenario.speculative else "",
            decode_graphs=not scenario.enforce_eager,
            prefill_mib=reserve_mib(scenario, spec, traits, rules, card, chunk),
        ),
    )
    return plain * _multimodal_share(traits, rules)


def _multimodal_share(traits: Traits, rules: Rules) -> float:
    """Room for images: one factor for all models up to 0.4.9, then by the size of the vision encoder."""
    if rules.since("0.4.10"):
        return traits.vision_factor or 1.0
    return (0.90 if rules.since("0.4.5") else 0.95) if traits.multimodal else 1.0


def _ratio(value: float) -> Fraction:
    """The decimal that was meant."""
    return Fraction(value).limit_denominator(1_000_000) or Fraction(1, 1_000_000)


def _running(scenario: Scenario, traits: Traits, rules: Rules, replicas: int) -> int | None:
    """max_running_requests of one worker, where it does not follow from the pool."""
    asked = scenario.max_num_seqs
    if asked is None and traits.compressed:
        asked = COMPRESSED_REQUESTS
    if asked is None and scenario.speculative:
        asked = DRAFTED_REQUESTS if rules.since("0.4.5") else FIRST_DRAFTED_REQUESTS
    return None if asked is None else max(1, asked // replicas)


def _verified(scenario: Scenario) -> int:
    """speculative_num_draft_tokens: a draft model's tokens are verified with the one before them (eagle_topk 1)."""
    drafter = scenario.speculative
    if drafter is None:
        return 0
    return drafter.tokens if drafter.method.lower() == "ngram" else drafter.tokens + 1


def _page(
    scenario: Scenario, spec: ModelSpec, traits: Traits, rules: Rules, blackwell: bool
) -> tuple[int, tuple[str, ...]]:
    """The page size and a note where it is not the one asked for (section 3.1)."""
    asked = scenario.block_size
    page = asked or 1
    if traits.compressed:
        page = COMPRESSED_PAGE
    elif traits.indexer:
        page = SPARSE_PAGE * traits.indexer.pool
    elif blackwell:
        page = blackwell_page(spec, traits, rules, asked, keeps_states=scenario.prefix_caching is not False)
    if asked in (None, page):
        return page, ()
    return page, (f"SGLang replaces a page size of {asked} by {page} for this model and GPU.",)


def _two_pools(scenario: Scenario, spec: ModelSpec, traits: Traits, rules: Rules, blackwell: bool) -> bool:
    """Only listed models save memory by their windows (section 3.2)."""
    if not traits.windows or scenario.hybrid_kv_cache_manager is False:
        return False
    if spec.model_type.startswith("llama4") and rules.doubles_key:
        return scenario.swa_full_tokens_ratio is not None
    if spec.model_type == "gpt_oss" and rules.old_split and (blackwell or scenario.speculative):
        return False
    return rules.two_pools(spec.model_type)


def _slots_each(spec: ModelSpec, rules: Rules, radix: bool) -> int:
    """Slots of a running request: its own, and those that keep prefixes (section 3.4)."""
    if not radix:
        return 1
    return 5 if rules.extra_buffer and spec.model_type in EXTRA_BUFFER else 3
