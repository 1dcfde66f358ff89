"""KV Atlas: the page list, in the order of the navigation. The first page answers at /."""

import streamlit as st

from components.frame import open_page

open_page(
    [
        st.Page("pages/plan.py", title="Plan", icon=":material/straighten:", url_path="front", default=True),
        st.Page("pages/tradeoffs.py", title="Trade-offs", icon=":material/area_chart:"),
        st.Page("pages/compare.py", title="Compare", icon=":material/compare_arrows:"),
        st.Page("pages/live.py", title="Live", icon=":material/monitor_heart:"),
        st.Page("pages/accuracy.py", title="Accuracy", icon=":material/target:"),
    ]
)
