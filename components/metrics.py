"""The four figures of Plan: a number each, its condition in the chip."""

import streamlit as st

from components.format import Unit, amount, counted, multiple, scaled, short_tokens
from components.fullest import growth_after, ranks_differ, request_cost
from sizing.engines.plan import EnginePlan
from sizing.report import Report

UNKNOWN = "–"


def draw(planned: EnginePlan, report: Report, unit: Unit) -> None:
    with st.grid(4, min_column_width=128):
        _metric("Max requests", *max_requests(report), "How many requests of this length fit at once.")
        _metric("Max tokens", *max_tokens(report), "How long each request may be at this load.")
        if report.log.lines:
            _metric("KV cache size, tokens", *printed_size(report), "The size that the engine prints at start-up.")
        else:
            _metric("KV pool", *pool(report, unit), "What is left of each GPU's budget for the cache.")
        _metric("One request", *one_request(planned, unit), None)


def _metric(label: str, value: str, chip: str, help_: str | None) -> None:
    st.metric(label, value, delta=chip or None, delta_color="off", delta_arrow="off", help=help_)


def max_requests(report: Report) -> tuple[str, str]:
    scenario, most = report.scenario, report.capacity.max_batch_at_context
    of = f"of {short_tokens(scenario.context_length or 0)} tokens"
    if report.per_gpu.available_kv_bytes is None:
        return UNKNOWN, "no memory is known"
    if most is None:
        return "no limit", of
    return f"{most:,}", f"{of}, {multiple(most, scenario.batch_size)} yours" if most else of


def max_tokens(report: Report) -> tuple[str, str]:
    longest = report.capacity.max_context_at_batch
    at = f"at {counted(report.scenario.batch_size, 'request')}"
    if longest is None:
        return UNKNOWN, "no memory is known"
    limit = report.scenario.max_model_len
    return f"{longest:,}", at if limit is None or longest <= limit else f"{at}; limit {short_tokens(limit)}"


def pool(report: Report, unit: Unit) -> tuple[str, str]:
    size, tokens = report.per_gpu.available_kv_bytes, report.capacity.kv_tokens
    if size is None:
        return UNKNOWN, "no memory is known"
    each = "each GPU" if report.scenario.placement.gpus > 1 else "on the GPU"
    return amount(max(0, size), unit), f"{tokens:,} tokens" if tokens is not None else each


def printed_size(report: Report) -> tuple[str, str]:
    tokens = report.capacity.kv_tokens
    return (UNKNOWN, "no memory is known") if tokens is None else (f"{tokens:,}", "as the log prints it")


def one_request(planned: EnginePlan, unit: Unit) -> tuple[str, str]:
    """On the fullest GPU."""
    tokens = planned.scenario.context_length or 1
    taken = max(int(rank.cache.live(tokens, 1)) for rank in planned.ranks)
    step, added = growth_after(request_cost(planned), tokens)
    per = "a token" if step == 1 else f"every {step:,} tokens"
    each = ", each GPU" if planned.scenario.placement.gpus > 1 else ""
    where = ", at most" if ranks_differ(planned) else each
    return amount(taken, unit), f"{scaled(added, unit)} {per}{where}"
