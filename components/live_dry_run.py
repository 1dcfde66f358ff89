"""The full-size dry run on the page: what the library builds and caches, layer by layer, beside the prediction."""

from itertools import groupby
from typing import Any

import streamlit as st
from pydantic import ValidationError

from components import choices, inks, plain_table
from components.format import BYTES_IN, scaled
from components.live_chart import CONFIG, note, unit_of
from components.scenario_state import Held
from components.solve import OWN_CONFIG
from components.wording import ICONS
from live.layers import MOST_RECURRENT_TOKENS, DryRun, LayerRow
from model_catalog.config_text import parse_config_text
from model_catalog.fields import ConfigError
from model_catalog.importers import read_config
from model_catalog.lookup import UnknownModel, find_entry
from model_catalog.spec import Recurrent

RESULT = "live_dry_result"
HEIGHT = 190
SECONDS = 120.0


class NoConfig(ValueError):
    """There is no config to build; the message says what to do."""


def config_of(model: str, held: Held) -> dict[str, Any]:
    """Of a catalog entry, or the visitor's own. Raises NoConfig."""
    try:
        if model != OWN_CONFIG:
            return dict(find_entry(model).config)
        if not held.config_text.strip():
            raise NoConfig("Paste your config.json on Plan first; it is used here too.")
        return parse_config_text(held.config_text)
    except (UnknownModel, ConfigError) as error:
        raise NoConfig(str(error)) from None


def bounded_tokens(config: dict[str, Any], tokens: int) -> tuple[int, str]:
    """(tokens, why fewer): recurrent layers are run token by token."""
    try:
        spec = read_config(config)
    except ConfigError:
        return tokens, ""
    recurrent = spec.has(Recurrent)
    if not recurrent or tokens <= MOST_RECURRENT_TOKENS:
        return tokens, ""
    reason = "the library runs recurrent layers token by token there, and their state has the same size at any length"
    return MOST_RECURRENT_TOKENS, f"A dry run of this model takes {MOST_RECURRENT_TOKENS} tokens: {reason}."


def result(model: str) -> DryRun | None:
    """The last dry run, if it was of this model."""
    kept_model, data = st.session_state.get(RESULT, (None, None))
    if kept_model != model or data is None:
        return None
    try:
        return DryRun.model_validate(data)
    except ValidationError:
        return None


def verdict(dry: DryRun) -> str:
    """The headline."""
    off = (dry.parameters != dry.predicted_parameters, dry.cache != dry.predicted_cache)
    if not any(off):
        built = f"{dry.parameters:,} parameters, {dry.cache:,} bytes of cache"
        return f"{ICONS['fits']} The library builds what is predicted: {built}"
    parts = []
    if off[0]:
        parts.append(f"{dry.parameters - dry.predicted_parameters:+,} parameters")
    if off[1]:
        parts.append(f"{dry.cache - dry.predicted_cache:+,} bytes of cache")
    return f"{ICONS['tight']} The library differs from the prediction by {' and '.join(parts)}"


def draw(dry: DryRun, model: str) -> None:
    st.caption(
        f"{choices.model_label(model)} · {dry.dtype.upper()} · {dry.model_class} of transformers {dry.version} "
        f"on torch's meta device · {dry.batch:,} × {dry.tokens:,} tokens · {dry.seconds:,.1f} s, no memory"
    )
    st.title(verdict(dry), anchor=False)
    kept = dry.storage - dry.cache
    slices = f" {scaled(kept, 'GiB')} more stay alive behind slices until the next token." if kept > 0 else ""
    st.caption(
        f"Full size, without weights: tensors have shapes and dtypes but no storage, so bytes are exact.{slices}"
    )
    st.header("Cache by layer", anchor=False)
    st.plotly_chart(figure(dry), key="live_dry_figure", config=CONFIG, alt=alternative(dry))
    plain_table.draw(
        ["Layers", "Kind", "Parameters each", "Predicted", "Cache each, B", "Predicted, B"],
        table_rows(dry.layers),
        numbers=[2, 3, 4, 5],
    )
    st.caption(f"Outside these layers: {dry.parameters - sum(row.parameters for row in dry.layers):,} parameters.")


def figure(dry: DryRun) -> dict[str, Any]:
    """Bars as the library allocates, rings as predicted."""
    unit = unit_of(max((row.cache for row in dry.layers), default=0))
    layers = [row.layer for row in dry.layers]
    return {
        "data": [
            {
                "type": "bar",
                "name": "Built",
                "x": layers,
                "y": [row.cache / BYTES_IN[unit] for row in dry.layers],
                "marker": {
                    "color": [inks.STATE if "_" in row.kind or "mamba" in row.kind else inks.KV for row in dry.layers]
                },
                "hovertemplate": f"layer %{{x}}: %{{y:,.3f}} {unit}<extra>Built</extra>",
            },
            {
                "type": "scatter",
                "mode": "markers",
                "name": "Predicted",
                "x": layers,
                "y": [row.predicted_cache / BYTES_IN[unit] for row in dry.layers],
                "marker": {"symbol": "line-ew-open", "size": 9, "color": inks.INK, "line": {"width": 2}},
                "hovertemplate": f"layer %{{x}}: %{{y:,.3f}} {unit}<extra>Predicted</extra>",
            },
        ],
        "layout": {
            "height": HEIGHT,
            "margin": {"t": 26, "b": 36, "l": 48, "r": 8},
            "showlegend": False,
            "bargap": 0.16,
            "hoverlabel": {"font": {"size": 12}},
            "xaxis": {"fixedrange": True, "title": {"text": "layer", "font": {"size": 12}}, "tickfont": {"size": 11}},
            "yaxis": {"fixedrange": True, "rangemode": "tozero", "tickfont": {"size": 11}},
            "annotations": [note(f"{unit}: bar built, line predicted", 0, 1, yshift=4)],
        },
    }


def alternative(dry: DryRun) -> str:
    off = sum(row.cache != row.predicted_cache for row in dry.layers)
    return f"Cache bytes of each of {len(dry.layers)} layers, built and predicted; {off} layers differ."


def table_rows(layers: list[LayerRow]) -> list[list[str]]:
    """Equal layers in a row as one line."""
    rows = []
    for _, same in groupby(layers, key=lambda row: row.model_dump(exclude={"layer"})):
        run = list(same)
        first, last = run[0], run[-1]
        span = f"{first.layer}" if len(run) == 1 else f"{first.layer}–{last.layer}"
        numbers = (first.parameters, first.predicted_parameters, first.cache, first.predicted_cache)
        rows.append([span, first.kind, *(f"{number:,}" for number in numbers)])
    return rows
