"""The pools of every pipeline stage (srt/model_executor/pool_configurator.py)."""

from dataclasses import replace
from fractions import Fraction

from model_catalog.spec import ModelSpec
from sizing.cache import CacheCost, Growth, total
from sizing.engines.sglang.cache import Stage
from sizing.engines.sglang.compressed import compressed_stage
from sizing.engines.sglang.layers import Sums, sums_of
from sizing.engines.sglang.pools import TokenPools
from sizing.engines.sglang.rows import Row
from sizing.engines.sglang.settings import Settings
from sizing.engines.sglang.slots import Slots
from sizing.engines.sglang.traits import traits_of
from sizing.integers import up
from sizing.placement import stages

EVICTION_INTERVAL = 128  # SGLANG_SWA_EVICTION_INTERVAL
_MOST = 2048
_known: dict[tuple[int, Settings], tuple[ModelSpec, list[tuple[Sums, Stage]]]] = {}


def stages_of(spec: ModelSpec, settings: Settings) -> list[tuple[Sums, Stage]]:
    """The sums and the Stage of each pipeline stage, kept for as long as a few hundred others are not asked for."""
    key = (id(spec), settings)
    if key not in _known:
        if len(_known) >= _MOST:
            _known.clear()
        _known[key] = (spec, _stages(spec, settings))
    return _known[key][1]


def _stages(spec: ModelSpec, settings: Settings) -> list[tuple[Sums, Stage]]:
    layers = stages(spec, settings.placement)
    if traits_of(spec).compressed:
        return [(Sums(), compressed_stage(each, settings)) for each in layers]
    sums = [sums_of(each, spec, settings) for each in layers]
    most = max(each.slot for each in sums) if settings.rules.stage_slots else sum(each.slot for each in sums)
    all_window = not any(each.full_layers for each in sums)
    return [(each, _stage(each, settings, most, all_window)) for each in sums]


def _stage(sums: Sums, settings: Settings, slot: int, all_window: bool) -> Stage:
    draft = draft_row(sums, settings)
    full = sums.full.plus(draft)
    page = settings.page
    drafts = CacheCost((Growth(draft.held),)) if draft.held else CacheCost()
    return Stage(
        pools=_pools(sums, full, settings, all_window and sums.window_layers > 0),
        full_page=full.held * page,
        window_page=sums.window.held * page,
        window_kept=_window_kept(sums.window_tokens, settings) if sums.window_layers else 0,
        all_window=all_window and sums.window_layers > 0,
        slots=_slots(slot, settings) if slot else None,
        slots_each=settings.slots_each,
        state_each=sums.slot * (settings.slots_each + settings.draft_tokens),
        shared_by=settings.placement.decode_context_parallel,
        encoder_tokens=sums.encoder_tokens,
        live=total([sums.live, drafts]),
    )


def draft_row(sums: Sums, settings: Settings) -> Row:
    """A token in the draft's pool. The budget takes its layers to be like the target's (DefaultPoolConfigurator).

    Only DFlash's and DSpark's are charged as they are; what is allocated is always the draft's own.
    """
    alike = _like_the_target(sums, settings)
    if settings.draft is None:
        return alike
    plain = replace(settings, two_pools=False, draft=None)
    own = sums_of(settings.draft.each_layer(), settings.draft, plain).full
    return own if settings.draft_sized else replace(own, charged=alike.charged)


def _like_the_target(sums: Sums, settings: Settings) -> Row:
    if not settings.draft_layers or not sums.full_layers:
        return Row()
    layers, drafts, full = sums.full_layers, settings.draft_layers, sums.full
    return Row(
        full.charged * drafts // layers,
        full.key * drafts // layers,
        full.value * drafts // layers,
        full.shown_key * drafts // layers,
        full.shown_value * drafts // layers,
    )


def _pools(sums: Sums, full: Row, settings: Settings, all_window: bool) -> TokenPools:
    page, ratio, window = settings.page, settings.ratio, sums.window
    if not sums.window_layers:
        return TokenPools(page=page, cell=Fraction(full.charged + sums.workspace))
    least = up(sums.window_tokens + page + 1, page) if settings.rules.window_pool_checked else 0
    if all_window:
        cell = Fraction(full.charged + window.charged)
        return TokenPools(page=page, cell=cell, ratio=Fraction(1), least_window=int(least))
    if settings.caps_window:
        cap = _cap(sums.window_tokens, settings)
        return TokenPools(page=page, cell=Fraction(full.charged), cap=cap, fixed=cap * window.charged)
    if settings.rules.old_split:
        return _old_split(sums, full, settings)
    cell = full.charged + ratio * window.charged
    return TokenPools(page=page, cell=cell, ratio=ratio, least_window=int(least))


def _old_split(sums: Sums, full: Row, settings: Settings) -> TokenPools:
    """Up to 0.5.8: one cell for all layers; window rows that differ are added to a full charge for every layer."""
    layers = sums.full_layers + sums.window_layers
    alike = sums.window.charged * sums.full_layers == sums.full.charged * sums.window_layers
    cell = full.charged + sums.window.charged
    if not alike and sums.full_layers:
        cell += sums.full.charged * sums.window_layers // sums.full_layers
    gain = layers / (sums.full_layers + settings.ratio * sums.window_layers)
    return TokenPools(page=settings.page, cell=Fraction(cell), gain=gain, ratio=settings.ratio)


def _window_kept(window: int, settings: Settings) -> int:
    """Most tokens of a request in the window pool: the window, and what cannot be evicted yet."""
    if settings.caps_window:
        return int(up(_per_request(window, settings), settings.page))
    return int(up(window, settings.page)) + settings.page


def _per_request(window: int, settings: Settings) -> int:
    """Window, eviction interval, a page to align it, and the next decode step's tokens (overlapped: twice a draft)."""
    drafts = settings.draft_tokens
    decode = 2 * max(settings.page, drafts) if drafts else settings.page
    return window + EVICTION_INTERVAL * max(1, drafts) + settings.page + decode


def _cap(window: int, settings: Settings) -> int:
    """SWAChunkCapPoolConfigurator: what max_running_requests can hold, and two chunks in flight."""
    requests = settings.running or 1
    return int(up(requests * _per_request(window, settings) + 2 * settings.chunk_each + settings.page, settings.page))


def _slots(slot: int, settings: Settings) -> Slots:
    rules, drafts, each = settings.rules, settings.draft_tokens, settings.slots_each
    pad = slot if rules.padding_slot_charged else 0
    if settings.state_slots is not None:
        return _chosen_slots(slot, pad, settings.state_slots, settings)
    pad *= 1 + drafts
    share, rest = settings.state_ratio.numerator, settings.state_ratio.denominator
    if not settings.radix:
        fixed = settings.running or rules.fixed_slots
        if fixed is not None:
            return Slots(unit=slot * (1 + drafts), pad=pad, fixed=fixed)
    if not drafts:
        return Slots(unit=slot, pad=pad, share=share, rest=rest)
    if rules.draft_slots == "copies":
        return Slots(unit=slot * (1 + drafts), share=share, rest=rest)
    if rules.draft_slots == "first":
        return Slots(unit=slot, before=slot * (settings.running or 0) * drafts, share=share, rest=rest)
    return Slots(unit=slot * (each + drafts), parts=each, pad=pad, share=share, rest=rest)


def _chosen_slots(slot: int, pad: int, chosen: int, settings: Settings) -> Slots:
    """max_mamba_cache_size; copies for drafts are kept for the requests that can run (_handle_max_mamba_cache)."""
    running = min(settings.running or 0, chosen // settings.slots_each) + 1
    return Slots(unit=slot, pad=pad, before=slot * settings.draft_tokens * running, fixed=chosen)
