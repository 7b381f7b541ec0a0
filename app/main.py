"""The dashboard: its pages, and the run that all of them look at."""

from pathlib import Path

import parts
import state
import streamlit as st

HERE = Path(__file__).parent

PAGES = (
    "overview",
    "roles",
    "attention",
    "probes",
    "reconstruction",
    "decomposition",
    "interventions",
    "compare",
    "ask",
)

st.set_page_config("tprprobe", layout="wide")
pages = [
    st.Page(HERE / "pages" / f"{name}.py", title=name.capitalize(), default=name == PAGES[0])
    for name in PAGES  # no icons: these would be fetched from elsewhere
]
page = st.navigation(pages)
state.choose_store()
parts.guide()
page.run()
