"""What vectors know and how discrete roles are, over model seeds: the answer, tables and the figure."""

from collections.abc import Mapping
from typing import Any

from studies.pages.deciding import (
    ALIKE,
    COMPARED,
    DISCRETE,
    DISCRETE_T5,
    PUBLISHED,
    SEEDS,
    TORCH,
    find_compared,
    find_longest,
)
from studies.pages.differences import count_seeds
from studies.pages.markdown import share_text
from studies.pages.seed_roles import (
    KINDS,
    TASKS,
    VARIANTS,
    final_f1,
    find_layers,
    find_steps,
    half_of,
    mean_measure,
)
from studies.pages.snapping_section import MEAN, ONE_HOT, PLAIN, SCORES
from studies.summary_roles.measures import PEAK
from studies.summary_roles.records import COMPANIONS, LONGER, Roles
from studies.templates import table
from tprprobe.figures.colors import palette
from tprprobe.figures.style import FAINT, Drawing, drawing, tidy
from tprprobe.statistics import interval_text

SNAPPED = "rougeL"
STARTS = {
    PUBLISHED: "initial weights as published",
    ALIKE: "mean over both initializations",
    TORCH: "both initialized by PyTorch's default",
}


def describe_seeds(roles: Roles, companions: Mapping[str, Roles]) -> dict[str, Any]:
    """What the page says of model seeds: the answer, tables, and those of companions by their names."""
    return {
        "answer": summarize_seeds(roles, companions),
        "seeds": len(roles.seeds(DISCRETE)),
        "least": SEEDS,
        "longer": LONGER in companions,
        "steps": find_steps(roles),
        "measured": len(roles.reports),
        "by_variant": summarize_table4(roles),
        "leads": summarize_leads(roles),
        "along": summarize_discreteness(roles),
        "companions": {
            name: [
                COMPANIONS[name],
                summarize_leads(companion),
                summarize_table4(companion),
                summarize_discreteness(companion),
            ]
            for name, companion in companions.items()
        },
    }


def summarize_seeds(roles: Roles, companions: Mapping[str, Roles] | None = None) -> str:
    """The answer in tables, of the longest training; empty before two models that are compared have a
    common seed.
    """
    studies = companions or {}
    longest = find_longest(roles, studies)
    if not (compared := find_compared(longest)):
        return ""
    start, top_layer, steps = compared[-1], find_layers(longest)[-1], find_steps(longest)[-1]
    leads = {
        task.upper(): interval_text(
            final_f1(longest, task, top_layer).contrast(COMPARED[start]), "+z.1f", 100
        )
        for task in TASKS
    }
    seeds = count_seeds(len(longest.seeds(*COMPARED[start])))
    pos_f1 = {
        kind: share_text(mean_measure(longest, {f"pos.{top_layer}.{kind}": 1.0}), ".1f", 100)
        for kind in KINDS
    }
    return "\n\n".join(
        [
            f"F1 of TPT-d's last TPR minus that of the Transformer's representation, in points, after "
            f"{steps:,} steps ({STARTS[start]}; {seeds}):",
            table([leads]),
            "F1 of the next word's part of speech from the last vectors of the same TPT-d:",
            table([pos_f1]),
            "Share of TPT-d's role distributions that are nearly one-hot (a maximum above .98):",
            table(list_peaks(roles, studies)),
        ]
    )


def list_peaks(roles: Roles, companions: Mapping[str, Roles]) -> list[dict[str, str]]:
    """How many role distributions are nearly one-hot: at the end of the longest training, in the middle
    and at the end of the study's, and at the end of its companions'.
    """
    longest, steps = find_longest(roles, companions), find_steps(roles)
    trainings = [(roles, "", step) for step in ((half_of(steps), steps[-1]) if steps else ())]
    trainings += [
        (companion, COMPANIONS[name], find_steps(companion)[-1])
        for name, companion in companions.items()
        if find_steps(companion)
    ]
    trainings.sort(
        key=lambda training: training[0] is not longest
    )  # the longest training comes first
    return [
        {
            "training": title or "the study",
            "steps": f"{step:,}",
            "seeds": str(len(training_roles.seeds(DISCRETE))),
            "share": _peaked(training_roles, step),
        }
        for training_roles, title, step in trainings
    ]


def _peaked(roles: Roles, step: int) -> str:
    return share_text(mean_measure(roles, {f"{PEAK}.{step}": 1.0}))


def summarize_table4(roles: Roles) -> str:
    """F1 by task, layer and vector, a column a variant, over seeds and reports."""
    rows = []
    for task in TASKS:
        for layer in find_layers(roles):
            for kind in KINDS:
                name = f"{task}.{layer}.{kind}"
                row = {"task": task.upper(), "layer": str(layer), "vector": kind}
                for variant in _variants(roles):
                    row[variant] = share_text(mean_measure(roles, {name: 1.0}, variant), ".1f", 100)
                rows.append(row)
    return table(rows)


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
    if shares.empty:
        return ""
    shares = shares.assign(variant=shares["run"].str.rpartition("-")[0])
    steps = find_steps(roles)
    rows = []
    for (variant, place, layer), layer_rows in shares.groupby(["variant", "sublayer", "layer"]):
        by_step: Any = layer_rows.groupby("step")["above_98"].agg(["mean", "min", "max"])
        cells = {"variant": str(variant), "sub-layer": str(place), "layer": str(layer)}
        for step in steps:
            if step in by_step.index:
                mean, low, high = by_step.loc[step]
                cells[f"{step:,}"] = f"{mean:.2f} ({low:.2f}–{high:.2f})"
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


def summarize_snapped(roles: Roles) -> str:
    """The scores of summaries that are written with edited roles, and their change, by variant."""
    rows = []
    for variant in _variants(roles):
        seeds = str(len(roles.seeds(variant)))
        for edit in _edits(roles, variant):
            scores = {
                title: share_text(mean_measure(roles, {f"{edit}.{name}": 1.0}, variant))
                for name, title in SCORES.items()
            }
            change = "–" if edit == PLAIN else _change(roles, variant, edit)
            place = {"variant": variant, "seeds": seeds, "roles": edit}
            rows.append(place | scores | {f"change of {SCORES[SNAPPED]}": change})
    return table(rows) if rows else ""


def summarize_one_hot(roles: Roles) -> str:
    """What ROUGE-L loses when the weights over a dictionary become one-hot, and when they become their
    mean; empty before such models were measured.
    """
    changes = [
        f"{_change(roles, variant, ONE_HOT)} (`{variant}`; their mean instead: "
        f"{_change(roles, variant, MEAN)})"
        for variant in _variants(roles)
        if ONE_HOT in _edits(roles, variant)
    ]
    if not changes:
        return ""
    steps = find_steps(roles)[-1]
    return f"After {steps:,} steps, one-hot weights over the dictionary change ROUGE-L by {' and '.join(changes)}."


def _edits(roles: Roles, variant: str) -> list[str]:
    """How the models of a variant wrote summaries: as trained, then with edited roles."""
    measures = map(str, roles.of_run(f"{variant}-{roles.seeds(variant)[0]}")[0])
    return [measure.rpartition(".")[0] for measure in measures if measure.endswith(f".{SNAPPED}")]


def _change(roles: Roles, variant: str, edit: str) -> str:
    """What an edit changes of ROUGE-L."""
    paired = {f"{edit}.{SNAPPED}": 1.0, f"{PLAIN}.{SNAPPED}": -1.0}
    return interval_text(mean_measure(roles, paired, variant), "+.3f")


def _variants(roles: Roles) -> list[str]:
    trained = set(roles.runs["variant"])
    return [variant for variant in VARIANTS if variant in trained]
