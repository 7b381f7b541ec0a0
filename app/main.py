"""The dashboard: its pages, and the run that all of them look at."""

from contextlib import suppress
from pathlib import Path

import state
import streamlit as st
import widgets

import tprprobe as tp

FOLDER = Path(__file__).parent
SIDE = 220  # pixels of the list of pages

ORDER = ("overview", "layers", "decomposition", "roles", "attention", "probes", "interventions")
ORDER += ("compare", "ask")  # then any other file of the folder
PAGES = dict.fromkeys([*ORDER, *sorted(path.stem for path in (FOLDER / "pages").glob("*.py"))])

st.set_page_config("tprprobe", layout="wide", initial_sidebar_state=SIDE)
pages = [
    st.Page(FOLDER / "pages" / f"{name}.py", title=name.capitalize(), default=name == ORDER[0])
    for name in PAGES  # no icons: these would be fetched from elsewhere
]
pages += [
    st.Page(state.plugged(plugin), title=plugin.title or name.capitalize(), url_path=name)
    for name, plugin in tp.plugins.find("pages").items()
    if name not in PAGES  # two pages of one address would stop all of them
]
page = st.navigation(pages)
state.follow_link()
state.choose_store()
with suppress(tp.InputError):  # of a damaged store, which the page tells
    state.choose_slice()
widgets.surround()
page.run()
state.FIRST_PAGE.set()
