"""One measured run on the page: verdict, figures, charts, padding, and its comparison with another."""

import streamlit as st

from components import inks, live_chart, live_times, live_words, plain_table
from components.format import scaled
from components.legend import Item
from components.legend import draw as draw_legend
from components.live_compare import draw as draw_comparison
from components.live_controls import Chosen
from live.prediction import Predicted, held_ratio, predicted_of, residuals, times_of
from live.receipts import Run, write_receipt
from model_catalog.fields import ConfigError
from sizing.scenario import ScenarioError


def draw(chosen: Chosen, others: dict[str, Chosen], *, playable: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(live_words.run_line(chosen.receipt, chosen.run, chosen.name.partition(" · ")[0]), width="content")
        st.space("stretch")
        st.download_button(
            "Run file",
            write_receipt(chosen.receipt),
            "live-run.json",
            "application/json",
            icon=":material/download:",
            type="tertiary",
            key="live_download",
            on_click="ignore",
        )
    try:
        predicted = predicted_of(chosen.run)
        predicted.cost  # noqa: B018 (raises here where the config has no such cache)
    except (ConfigError, ScenarioError) as error:
        st.title("This run has no prediction", anchor=False)
        st.markdown(f"{error}")
        return
    st.title(live_words.verdict(chosen.run, predicted), anchor=False)
    st.caption(live_words.how_sure(chosen.run, predicted, chosen.receipt.device))
    if chosen.receipt.note:
        st.caption(chosen.receipt.note)
    if chosen.run.steps.tokens:
        _measured(chosen, others, predicted, playable)


def _measured(chosen: Chosen, others: dict[str, Chosen], predicted: Predicted, playable: bool) -> None:
    _metrics(chosen.run, predicted)
    growth(chosen.run, predicted, playable=playable)
    if len(chosen.run.steps.tokens) > 1:
        st.header("Time per token", anchor=False)
        st.plotly_chart(
            live_times.times_figure(chosen.run),
            key="live_times",
            config=live_chart.CONFIG,
            alt=live_times.times_alternative(chosen.run),
        )
        st.caption(live_words.times_sentence(chosen.run, predicted))
    if chosen.run.padding:
        st.header("Padding", anchor=False)
        plain_table.draw(["Batch of mixed lengths", "Cache", "Prefill"], padding_rows(chosen.run), numbers=[1, 2])
        st.caption(live_words.padding_sentence(chosen.run))
    draw_comparison(chosen, others)


def growth(run: Run, predicted: Predicted, *, playable: bool) -> None:
    """The main chart with its legend."""
    with st.container(gap="xxsmall"):
        st.plotly_chart(
            live_chart.growth_figure(run, predicted, playable=playable),
            key="live_growth",
            config=live_chart.CONFIG,
            alt=live_chart.growth_alternative(run, predicted),
        )
        draw_legend("", legend(run, predicted))


def legend(run: Run, predicted: Predicted) -> list[Item]:
    last = run.steps
    items = [
        Item(inks.KV, "Predicted", scaled(predicted.at(last.tokens[-1]), "GiB"), height=0.3),
        Item("transparent", "Measured", scaled(last.cache[-1], "GiB"), outline="currentColor"),
    ]
    for name, value, before in (
        ("Allocated by torch", last.allocated[-1], run.before.allocated),
        ("Reserved by the allocator", last.reserved[-1], run.before.reserved),
    ):
        if value is not None and before is not None:
            items.append(Item(inks.NEUTRAL, name, scaled(max(0, value - before), "GiB"), height=0.3))
    return items


def _metrics(run: Run, predicted: Predicted) -> None:
    with st.grid(5, min_column_width=128):
        for label, value, chip in figures(run, predicted):
            st.metric(label, value, delta=chip or None, delta_color="off", delta_arrow="off")


def figures(run: Run, predicted: Predicted) -> list[tuple[str, str, str]]:
    """(label, value, condition) of each figure."""
    last, times = run.steps.tokens[-1], times_of(run)
    residual = residuals(run, predicted)[-1]
    decoded = len(run.steps.seconds) - 1
    rows = [
        ("Predicted", live_words.size(predicted.at(last)), f"{predicted.rate(last):,} B a step"),
        ("Measured in tensors", live_words.size(run.steps.cache[-1]), f"residual {residual:,} B"),
        _kept(run),
    ]
    if times:
        rows.append(("First token", live_words.milliseconds(times.first), f"prefill of {run.settings.prompt_tokens:,}"))
        each = live_words.milliseconds(times.each) if times.each is not None else "–"
        rows.append(("Time per token", each, f"median of {decoded:,}"))
    return rows


def _kept(run: Run) -> tuple[str, str, str]:
    """The allocator's figure where there is one, else the memory that the tensors keep alive."""
    ratio = held_ratio(run)
    if ratio is not None:
        held = (run.steps.reserved[-1] or 0) - (run.before.reserved or 0)
        return "Reserved by torch", live_words.size(held), f"{ratio:,.1f}× the cache"
    more = run.steps.storage[-1] - run.steps.cache[-1]
    return (
        "Kept alive",
        live_words.size(run.steps.storage[-1]),
        f"{more:,} B behind slices" if more else "nothing behind slices",
    )


def padding_rows(run: Run) -> list[list[str]]:
    padding = run.padding
    assert padding is not None
    ms = live_words.milliseconds
    return [
        ["Padded to the longest", live_words.size(padding.padded_bytes), ms(padding.padded_seconds)],
        ["Without padding", live_words.size(padding.alone_bytes), ms(padding.even_seconds)],
        [
            "Wasted",
            live_words.size(padding.padded_bytes - padding.alone_bytes),
            ms(max(0.0, padding.padded_seconds - padding.even_seconds)),
        ],
    ]
