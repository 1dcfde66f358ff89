"""Trade-offs: how many requests of which length, and what would move that border."""

import streamlit as st

from components import (
    tradeoff_architectures,
    tradeoff_controls,
    tradeoff_cut,
    tradeoff_map,
    tradeoff_table,
    wording,
)
from components.choices import name_of
from components.page_top import complain, open_scenario
from components.scenario_state import Held
from components.solve import OWN_CONFIG, Outcome
from components.tradeoff_survey import Survey, survey
from components.tradeoff_variants import Variant
from sizing.engines.plan import EnginePlan
from sizing.report import Report


def border(held: Held, outcome: Outcome, surveyed: Survey, report: Report, variants: list[Variant]) -> None:
    """The map, and the table of what each overlay buys."""
    tradeoff_controls.draw_overlays(held, outcome, variants)
    with st.container(gap="xxsmall"):
        st.plotly_chart(
            tradeoff_map.tradeoff_map(surveyed, held.units),
            key=tradeoff_controls.MAP,
            on_select=tradeoff_controls.take_click,
            selection_mode="points",
            config=tradeoff_map.CONFIG,
            alt=tradeoff_map.alternative_text(surveyed),
        )
        st.caption(tradeoff_controls.reading(surveyed, report.scenario))
    with st.grid(2, min_column_width=370, gap=("small", "large")):
        with st.container():
            tradeoff_table.draw(surveyed)
        with st.container():
            tradeoff_controls.draw_point(held)


def sections(held: Held, surveyed: Survey, planned: EnginePlan) -> None:
    """The cut through the map, and what other architectures keep."""
    with st.grid(2, min_column_width=370, gap=("small", "large")):
        with st.container():
            st.header("Where the KV cache overtakes the weights", anchor=False)
            along = tradeoff_controls.draw_along(held, surveyed)
            cut = tradeoff_cut.drawn(planned, surveyed, along)
            with st.container(gap="xxsmall"):
                st.plotly_chart(
                    tradeoff_cut.cut_figure(cut, surveyed, held.units),
                    key="tradeoff_cut",
                    config=tradeoff_cut.CONFIG,
                    alt=tradeoff_cut.alternative_text(cut, held.units),
                )
                st.caption(tradeoff_cut.crossing_line(cut))
        with st.container():
            st.header("What one request costs, by architecture", anchor=False)
            model = str(held.values["model"])
            name = "Your model" if model == OWN_CONFIG else name_of(model)
            curves = tradeoff_architectures.curves(planned.spec, name, int(held.values["tensor_parallel"]))
            with st.container(gap="xxsmall"):
                st.plotly_chart(
                    tradeoff_architectures.architectures(curves, held.units),
                    key="tradeoff_architectures",
                    config=tradeoff_architectures.CONFIG,
                    alt=tradeoff_architectures.alternative_text(curves, held.units),
                )
                st.caption(tradeoff_architectures.sentences(curves, held.units))


held, outcome = open_scenario("tradeoffs")
if outcome.planned and outcome.report:
    shown, drawn = tradeoff_controls.without_faults(held, outcome)
    variants, vain = tradeoff_controls.chosen_overlays(shown, drawn)
    complain(vain)
    name = tradeoff_controls.own_name(shown, drawn)
    surveyed = survey(shown.values, shown.config_text, drawn, name, variants)
    if not outcome.fault:
        st.title(tradeoff_controls.headline(outcome, outcome.report, held.units), anchor=False)
        st.caption(wording.how_sure(outcome.report, held.units))
    border(shown, drawn, surveyed, outcome.report, variants)
    sections(shown, surveyed, outcome.planned)
