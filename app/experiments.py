"""The experiments of a browser's tab: each edit that was tried on Ask is a row."""

import asked
import parts
import streamlit as st

import tprprobe as tp


def _rows() -> dict[tuple[str, ...], dict]:
    return st.session_state.setdefault("experiments", {})


def try_edit(folder: str, posed, change) -> dict | None:
    """The row of a change, the newest; None without one. What was tried already is not tried again."""
    if change is None:
        return None
    rows, key = _rows(), (folder, posed.text, change.told)
    row = rows.pop(key, None) or tp.dashboard.experiments.try_change(posed, change)
    rows[key] = row
    return row


def show_rows() -> None:
    """The table of everything that was tried."""
    if not _rows():
        return
    table = tp.dashboard.experiments.tabulate([*_rows().values()])
    st.subheader("Experiments")
    parts.table(table)
    with st.container(horizontal=True):
        st.download_button(
            "CSV", table.to_csv(index=False), "experiments.csv", "text/csv", on_click="ignore"
        )
        st.button("Clear the table", on_click=_clear)


def _clear() -> None:
    _rows().clear()
    asked.pick()
