"""Compare: which model, precision, engine or accelerator?"""

import streamlit as st

from components import compare_editor, compare_option_tabs, compare_view, compare_wording, scenario_form
from components.compare_prices import read_prices
from components.compare_rows import Row, rows_of, scenario_line
from components.frame import enter
from components.page_top import complain
from components.plain_text import literal
from components.scenario_state import Held, open_state, publish
from components.share import draw as draw_share
from components.solve import solve
from components.trouble import draw as draw_trouble


def comparison(held: Held, rows: list[Row]) -> None:
    st.title(compare_wording.headline(rows, held.units), anchor=False)
    st.caption(compare_wording.how_sure(rows))
    if not held.pins:
        st.caption("Pin this scenario, here or on Plan, then change it: both are compared here.")
    for row in rows:
        if row.outcome.fault:
            fault = literal(row.outcome.fault.message)
            st.caption(f":orange[:material/error:] {row.key}: {fault}")
    compare_view.figure(rows, held.units)
    if len(rows) > 1:
        compare_view.differences(held, rows)
        compare_view.steps(held, rows)
    if held.pins:
        compare_editor.draw(held, rows)


enter("pages/compare.py")
held = open_state("compare")
slots = scenario_form.draw(held)
own_prices, unread = read_prices(held.view.get("prices", ""))
rows = rows_of(held, own_prices)
publish(held)
outcome = solve(held.values, held.config_text)
draw_share(held, outcome, line=scenario_line(rows), rows=rows, pin="Add current", icon=":material/add:")
complain([*held.complaints, *([unread] if unread else [])])
if outcome.fault and not held.pins:
    draw_trouble(held, outcome, slots)
else:
    comparison(held, rows)
if outcome.report:
    st.header("The scenario of the form with other hardware, formats and engines", anchor=False)
    compare_option_tabs.draw(held, outcome, own_prices)
