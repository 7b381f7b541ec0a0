"""The page on probing: F1 of labels of words from vectors, in the generated English, over model seeds."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from studies.pages.deciding import COMPARED, DISCRETE, DISCRETE_T5, decide, find_compared
from studies.pages.markdown import share_text, verdict_table
from studies.pages.seed_roles import (
    KINDS,
    TASKS,
    VARIANTS,
    final_f1,
    find_layers,
    find_steps,
    mean_measure,
    seed_evidence,
)
from studies.pages.verdicts import claims_of
from studies.summary_roles.measures import DATA, REPORTS, SPLIT
from studies.summary_roles.records import STUDY, Roles, load_roles
from studies.templates import fill, table
from tprprobe.figures.colors import palette
from tprprobe.figures.style import FAINT, Drawing, drawing, tidy
from tprprobe.statistics import interval_text

FIGURE = "images/roles-along-training.svg"
CONTROLS = {  # measure of parts of speech, behind that of the last layer's roles or of no vector → what it is
    "{role}": "role",
    "{role}.untrained": "role of the untrained model",
    "{role}.random_roles": "random roles, bound to the filler",
    "{role}.quantized": "filler, quantized to as many bits",
    "{role}.indices": "which role every head takes",
    "pos.majority": "no vector: the most frequent tag",
    "pos.identity": "no vector: the most frequent tag of the word to come",
}


def make_page(_runs: Path) -> str:
    """The page, from the tables that ship."""
    return write_page(load_roles())


def draw_figures() -> dict[str, Drawing]:
    """The figure of the page by the path under which it shows it."""
    return {FIGURE: draw_discreteness(load_roles()[0])}


def write_page(trainings: Sequence[Roles]) -> str:
    """The page of the roles of a study's trainings."""
    evidence = {find_steps(roles)[-1]: seed_evidence(roles) for roles in trainings}
    return fill(
        Path(__file__).parent,
        "probing.md.j2",
        data=DATA,
        split=SPLIT,
        reports=REPORTS,
        study=STUDY,
        figure=FIGURE,
        verdicts=verdict_table(decide(claims_of("probing"), evidence)),
        trainings={
            find_steps(roles)[-1]: [
                summarize_leads(roles),
                summarize_controls(roles),
                summarize_table4(roles),
                summarize_discreteness(roles),
            ]
            for roles in sorted(trainings, key=lambda roles: -find_steps(roles)[-1])
        },
    )


def summarize_table4(roles: Roles) -> str:
    """F1 by task, layer and vector, a column a variant, over seeds and reports."""
    trained = set(roles.runs["variant"])
    return table(
        [
            {"task": task.upper(), "layer": str(layer), "vector": kind}
            | {
                variant: _percent(roles, f"{task}.{layer}.{kind}", variant)
                for variant in VARIANTS
                if variant in trained
            }
            for task in TASKS
            for layer in find_layers(roles)
            for kind in KINDS
        ]
    )


def _percent(roles: Roles, measure: str, variant: str = DISCRETE) -> str:
    return share_text(mean_measure(roles, {measure: 1.0}, variant), ".1f", 100)


def summarize_controls(roles: Roles) -> str:
    """F1 of parts of speech from TPT-d's last roles, and from what knows less."""
    role = f"pos.{find_layers(roles)[-1]}.role"
    return table(
        [
            {"parts of speech from": title, "F1": _percent(roles, measure.format(role=role))}
            for measure, title in CONTROLS.items()
        ]
    )


def summarize_leads(roles: Roles) -> str:
    """TPT-d's final representation minus the Transformer's, by task, layer and start."""
    return table(
        [
            {"task": task.upper(), "start": start}
            | {
                f"layer {layer}": interval_text(
                    final_f1(roles, task, layer).contrast(COMPARED[start]), "+z.1f", 100
                )
                for layer in find_layers(roles)
            }
            for task in TASKS
            for start in find_compared(roles)
        ]
    )


def summarize_discreteness(roles: Roles) -> str:
    """The share of role distributions that are nearly one-hot, by step, variant and layer: mean over
    seeds (least and most).
    """
    shares = roles.discreteness
    shares = shares.assign(variant=shares["run"].str.rpartition("-")[0])
    rows = []
    for (variant, place, layer), layer_rows in shares.groupby(["variant", "sublayer", "layer"]):
        by_step: Mapping[Any, Any] = layer_rows.groupby("step")["above_98"].agg(list).to_dict()
        cells = {"variant": str(variant), "sub-layer": str(place), "layer": str(layer)}
        for step, values in by_step.items():
            mean = sum(values) / len(values)
            cells[f"{step:,}"] = f"{mean:.2f} ({min(values):.2f}–{max(values):.2f})"
        rows.append(cells)
    return table(rows)


def draw_discreteness(roles: Roles) -> Drawing:
    """The share of nearly one-hot role distributions along the training, a panel a sub-layer, a line a
    model: layers by color, variants by dash.
    """
    shares = roles.discreteness
    places = sorted(set(shares["sublayer"]), reverse=True)
    layers = sorted(set(shares["layer"]))
    figure = drawing(7, 2.6)
    panels = figure.subplots(1, len(places), sharey=True, squeeze=False)[0]
    for panel, place in zip(panels, places, strict=True):
        for layer, color in zip(layers, palette(len(layers)), strict=True):
            layer_rows = shares[(shares["sublayer"] == place) & (shares["layer"] == layer)]
            for run, line in layer_rows.groupby("run"):
                alike = str(run).startswith(f"{DISCRETE_T5}-")
                panel.plot(
                    line["step"], line["above_98"], "--" if alike else "-", color=color, linewidth=1.1,
                    marker=".", markersize=3, alpha=0.9,
                )  # fmt: skip
            panel.plot([], [], color=color, label=f"layer {layer}")
        panel.axhline(0.9, color="0.5", linewidth=0.7, linestyle=":")
        panel.set(ylim=(0, 1), xlabel="step")
        panel.grid(axis="y", color=FAINT, linewidth=0.5)
        tidy(panel, place)
    panels[0].set_ylabel("share above .98")
    panels[0].plot([], [], "k--", linewidth=1.1, label="TPT-d, T5's start")
    panels[0].plot([], [], "k-", linewidth=1.1, label="TPT-d as published")
    panels[0].plot([], [], ":", color="0.5", linewidth=0.7, label="the paper: more than .9")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=7,
        frameon=False,
    )  # fmt: skip
    return figure
