"""Probes: what vectors predict, beside their strongest control; the row behind a mark."""

import state
import streamlit as st
import widgets

import tprprobe as tp

NOTHING = "No probes of this store yet. They show what its vectors predict better than controls."
NOT_KEPT = "This run does not say which targets it predicted rightly, so slices have no scores: run `tprprobe probe` again."


def _show_probes(folders) -> None:
    views, paths = tp.dashboard.probes, folders.values()
    newest = sorted(paths, key=lambda path: path.stat().st_mtime, reverse=True)  # is shown first
    rows, lead = state.once(lambda: views.load_probes(newest), "probes"), st.container()
    with widgets.controls():
        task = widgets.choose("Task", rows["task"].unique().tolist(), "task")
        models = rows.loc[rows["task"] == task, "model"].unique().tolist()
        model = widgets.choose("Model (run)", models, "probed")
    with lead:
        widgets.lead(views.summarize_probes(rows, task, [model]))
        widgets.list_replaced()
    view = views.show_probes(rows, task, [model])
    marked = widgets.show(view, "probes")
    table_rows = view.data.iloc[marked] if marked else view.data
    _show_slices(folders, table_rows)
    title = "The rows of the marked points" if marked else "All rows"
    widgets.fold(title, title, lambda: widgets.table(table_rows, 3), bool(marked))


def _show_slices(folders, rows) -> None:
    """Scores of the slices that are saved, and of the chosen one, beside those of all tokens: of a marked point, or the best site."""
    views, row = tp.dashboard.probes, tp.dashboard.probes.find_best(rows)
    slices = state.list_slices(row["side"]) if state.find_store() else []
    if slices:
        score = lambda: views.score_slices(state.store(), folders.values(), row, slices)  # noqa: E731
        table = state.once(score, "slices", row["model"], row["task"], row["site"], *slices)
        st.subheader(state.escape(f"Slices, {tp.figures.labels.site_label(row['site'])}"))
        if table is None:
            st.caption(NOT_KEPT)
        else:
            widgets.table(tp.dashboard.slices.write_scores(table), key=str(slices))


@state.page("Probes")
def probes() -> None:
    if folders := state.runs().beside(state.find_store(), "probes"):
        _show_probes(folders)
    else:
        widgets.offer_runs("probes", why=NOTHING)
    widgets.list_unclaimed("probes")
