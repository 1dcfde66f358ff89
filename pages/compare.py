"""Compare: which model, precision, engine or accelerator?"""

import streamlit as st

from components import scenario_form
from components.frame import enter
from components.scenario_state import open_state, publish
from components.share import draw as draw_share
from components.solve import solve

enter("pages/compare.py")
held = open_state("compare")
scenario_form.draw(held)
publish(held)
outcome = solve(held.values, held.config_text)
draw_share(held, outcome)
st.title("Pin a scenario on Plan to compare it here.", anchor=False)
