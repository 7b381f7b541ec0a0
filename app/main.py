"""The dashboard: its pages, and the run that all of them look at."""

from pathlib import Path

import state
import streamlit as st

HERE = Path(__file__).parent

PAGES = {
    "overview": ("Overview", ":material/dashboard:"),
    "roles": ("Roles", ":material/scatter_plot:"),
    "attention": ("Attention", ":material/grid_on:"),
    "probes": ("Probes", ":material/query_stats:"),
    "reconstruction": ("Reconstruction", ":material/straighten:"),
    "compare": ("Compare", ":material/compare:"),
    "ask": ("Ask", ":material/chat:"),
}

st.set_page_config("tprprobe", layout="wide")
pages = [
    st.Page(HERE / "pages" / f"{name}.py", title=title, icon=icon, default=name == "overview")
    for name, (title, icon) in PAGES.items()
]
page = st.navigation(pages)
state.choose_store()
page.run()
