"""The page on probing: F1 of labels of words from vectors, in the generated English."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from studies.pages import contrasts, probing_runs
from studies.pages.contrasts import Place, compare, count_documents
from studies.pages.deciding import decide
from studies.pages.markdown import verdict_table
from studies.pages.probing_runs import CONTINUOUS, DISCRETE, MODELS, TRANSFORMER, Probed
from studies.pages.seed_roles import gather_seeds
from studies.pages.seed_tables import describe_seeds, draw_discreteness
from studies.pages.verdicts import claims_of
from studies.summary_roles.records import STUDY, Roles, load_companions, load_roles
from studies.templates import fill, table
from tprpapers.claims import Evidence
from tprpapers.jiang.discreteness import measure_roles, pool_roles, share_of_peaks
from tprpapers.jiang.figures import table4
from tprprobe.console import stderr
from tprprobe.figures.style import Drawing
from tprprobe.statistics import (
    Interval,
    interval_text,
    read_interval,
)
from tprprobe.store import Store, open_store

TASKS = ("pos", "dep", "srl", "nel")
FIGURE = "images/roles-along-training.svg"
NAMES = {
    "untrained": "untrained twin",
    "previous": "previous word",
    "random_roles": "random roles",
    "quantized": "quantized filler",
    "indices": "role indices",
}

ProbesByKind = Mapping[str, Mapping[str, Probed]]


def make_page(runs: Path) -> str:
    """The page; intermediate results are kept in a folder."""
    folder = runs / "probing"
    probes = probing_runs.probe_english(folder, lambda name: stderr.print(f"{name} …"))
    return write_page(probes, folder, load_roles(), load_companions())


def draw_figures() -> dict[str, Drawing]:
    """The figure of the page by the path under which it shows it."""
    return {FIGURE: draw_discreteness(load_roles())}


def write_page(
    probes: ProbesByKind, folder: Path, roles: Roles, companions: Mapping[str, Roles] | None = None
) -> str:
    """The page of these probes of what ships, of the study's roles and of its companions'."""
    studies = companions or {}
    verdicts = decide(
        claims_of("probing"), gather_seeds(roles, studies), gather_evidence(probes, folder)
    )
    store = open_store(folder / f"{DISCRETE}.read.store")
    return fill(
        Path(__file__).parent,
        "probing.md.j2",
        transformer=TRANSFORMER,
        continuous=CONTINUOUS,
        discrete=DISCRETE,
        runs=probing_runs,
        documents=probing_runs.N_SUMMARIES,
        study=STUDY,
        figure=FIGURE,
        **describe_seeds(roles, studies),
        verdicts=verdict_table(verdicts),
        table4=_layerwise(probes),
        advantages=_advantages(probes),
        sides=table([_by_side(task, probes["written"][DISCRETE]) for task in TASKS]),
        controls=table([row for name in MODELS for row in _control_rows(probes["written"][name])]),
        bits=table([row for name in MODELS for row in _information(probes["coded"][name])]),
        generated=table([row for name in MODELS for row in _generated(probes, name)]),
        trained=_trained(probes),
        agreement=_agreement(probes),
        without=_without(probes),
        encoders=table([row for name in MODELS for row in _encoder_rows(probes["read"][name])]),
        reports=store.samples,
        roles=_roles(store),
    )


# ---- claims -----------------------------------------------------------------------------------------


def gather_evidence(probes: ProbesByKind, folder: Path) -> dict[str, Evidence]:
    """The evidence for the claims about probing, by their ids."""
    decoder_probes = probes["written"]
    folder_of_discrete = decoder_probes[DISCRETE].folder
    layers = _layers(decoder_probes[DISCRETE])
    top_layer = layers[-1]

    def find_place(
        task: str, layer: int, kind: str, where: Path = folder_of_discrete, control: str = "real"
    ) -> Place:
        return Place(where, task, f"decoder.{layer}.cross.{kind}", control)

    def each_layer(task: str, vector: str, second: str, where: Path) -> dict[str, Interval]:
        """The first vector of TPT-d minus the second of a model, layer by layer."""
        return {
            f"{task} layer {layer}": compare(
                contrasts.minus,
                [find_place(task, layer, vector), find_place(task, layer, second, where)],
            )
            for layer in layers
        }

    pos = find_place("pos", top_layer, "role")
    rivals = [
        Place(folder_of_discrete, "pos", "", "majority"),
        find_place("pos", top_layer, "role", folder_of_discrete, "untrained"),
    ]
    by_document: dict[str, dict[str, Interval]] = {
        "jiang-pos-rises": {
            kind: compare(contrasts.slope, [find_place("pos", layer, kind) for layer in layers])
            for kind in ("role", "filler", "tpr")
        },
        "jiang-pos-role": {"": compare(contrasts.first_minus_best, [pos, *rivals])},
        "jiang-pos-tpr-aggregates": {
            f"layer {layer}": compare(
                contrasts.first_minus_best,
                [find_place("pos", layer, kind) for kind in ("tpr", "role", "filler")],
            )
            for layer in layers
        },
        "jiang-dep-srl-tpr-like-filler": {
            **each_layer("dep", "tpr", "filler", folder_of_discrete),
            **each_layer("srl", "tpr", "filler", folder_of_discrete),
        },
        "jiang-nel-roles-poorer": {
            "": compare(
                contrasts.lowest_minus_last, [find_place(task, top_layer, "role") for task in TASKS]
            )
        },
        "jiang-nel-tpr-similar": {
            "": compare(
                contrasts.minus,
                [find_place("pos", top_layer, "tpr"), find_place("nel", top_layer, "tpr")],
            )
        },
        "jiang-filler-semantic": {
            "": compare(
                contrasts.gain_of_gains,
                [
                    find_place(task, top_layer, kind)
                    for task, kind in [(t, k) for t in ("nel", "pos") for k in ("filler", "role")]
                ],
            )
        },
        "jiang-syntax-in-roles": {
            "": compare(
                contrasts.minus,
                [
                    find_place("pos", top_layer, "role", folder_of_discrete, control)
                    for control in ("indices", "quantized")
                ],
            )
        },
    }
    documents = count_documents(pos)
    evidence = {name: Evidence(cases, "document", documents) for name, cases in by_document.items()}
    store = open_store(folder / f"{DISCRETE}.read.store")
    evidence["jiang-discrete"] = Evidence({"": share_of_peaks(store)}, "document", store.samples)
    return evidence


def _layers(probed: Probed) -> list[int]:
    return sorted({int(layer) for layer in probed.rows["layer"].dropna()})


def _weights(store: Store) -> list[str]:
    return [site for site in store.sites if site.endswith(".role_weights")]


# ---- tables -----------------------------------------------------------------------------------------


def _layerwise(probes: ProbesByKind) -> str:
    rows = pd.concat([probes["written"][name].rows for name in MODELS], ignore_index=True)
    return table4(rows).markdown().rstrip("\n")


def _advantages(probes: ProbesByKind) -> str:
    discrete, transformer = (probes["written"][name] for name in (DISCRETE, TRANSFORMER))
    return table(
        [
            {"task": task}
            | {
                f"layer {layer}": interval_text(
                    compare(
                        contrasts.minus,
                        [
                            Place(discrete.folder, task, f"decoder.{layer}.cross.tpr"),
                            Place(transformer.folder, task, f"decoder.{layer}.cross.filler"),
                        ],
                    ),
                    "+.3f",
                )
                for layer in _layers(discrete)
            }
            for task in TASKS
        ]
    )


def _by_side(task: str, probed: Probed) -> dict[str, str]:
    rows = probed.rows.query("control == 'real' and task == @task")
    tpr_rows = rows[rows["site"] == f"decoder.{_layers(probed)[-1]}.cross.tpr"]
    names = {"f1": "all", "f1_left": "head on the left", "f1_right": "on the right"}
    names["f1_single"] = "single tokens"
    means = {title: tpr_rows[name].mean() for name, title in names.items() if name in tpr_rows}
    return {"task": task} | {k: "–" if pd.isna(v) else f"{100 * v:.1f}" for k, v in means.items()}


def _without(probes: ProbesByKind) -> str:
    """F1 of the baselines that read no vector."""
    rows = pd.concat([probes["written"][name].rows for name in MODELS])
    baselines = rows[rows["control"].isin(["majority", "identity"])]
    scores: Any = baselines.groupby(["task", "control"], sort=False)["f1"].mean().unstack("control")
    return table(
        [
            {
                "task": str(task),
                "most frequent label": f"{100 * row['majority']:.1f}",
                "most frequent label of the word to come": f"{100 * row['identity']:.1f}",
            }
            for task, row in scores.iterrows()
        ]
    )


def _control_rows(probed: Probed) -> Iterator[dict[str, str]]:
    rows = probed.rows
    previous: Any = rows[rows["control"] == "previous"].set_index("task")["f1"]
    cross_rows = rows[rows["site"].str.contains(".cross.", regex=False)]
    for (task, site), site_rows in cross_rows.groupby(["task", "site"], sort=False):
        by_control: Any = site_rows.set_index("control")
        if "real" not in by_control.index:
            continue
        row = {"model": probed.model, "task": str(task), "site": str(site)}
        real = by_control.loc["real"]
        row["F1"] = interval_text(read_interval(real, "f1"), ".1f", 100)
        row["selectivity"] = f"{100 * real['selectivity']:.1f}"
        control_f1 = {k: by_control.loc[k, "f1"] for k in NAMES if k in by_control.index}
        control_f1["previous"] = previous.get(task, float("nan"))
        cross_rows = {NAMES[k]: f"{100 * control_f1[k]:.1f}" for k in NAMES if k in control_f1}
        yield row | cross_rows


def _real(probed: Probed) -> pd.DataFrame:
    """F1 of real labels by task and site, of whole vectors."""
    rows = probed.rows[(probed.rows["control"] == "real") & probed.rows["head"].isna()]
    return rows.set_index(["task", "site"])


def _information(probed: Probed) -> Iterator[dict[str, str]]:
    """What a probe's codelength says of the cross-attention's vectors."""
    for (task, site), row in _real(probed).iterrows():  # type: ignore[misc]
        if ".cross." in site and pd.notna(row.get("codelength")):
            yield {
                "model": probed.model,
                "task": str(task),
                "site": str(site),
                "codelength (bits)": f"{row['codelength']:,.0f}",
                "compression": f"{row['compression']:.2f}",
                "usable information (bits a target)": f"{row['information']:.2f}",
                "beyond the other of role and filler": (
                    "–" if pd.isna(row.get("added")) else f"{row['added']:+.2f}"
                ),
            }


def _generated(probes: ProbesByKind, name: str) -> Iterator[dict[str, str]]:
    """F1 on what the model writes, beside that on the references."""
    of_generated: Any = _real(probes["generated"][name])
    of_references: Any = _real(probes["written"][name])
    for site in dict.fromkeys(of_generated.index.get_level_values("site")):
        row = {"model": name, "site": str(site)}
        for task in TASKS:
            if (task, site) in of_generated.index and (task, site) in of_references.index:
                score_text = interval_text(
                    read_interval(of_generated.loc[task, site], "f1"), ".1f", 100
                )
                row[task] = f"{score_text} ({100 * of_references.loc[(task, site), 'f1']:.1f})"
        yield row


def _trained(probes: ProbesByKind) -> str:
    """The paper's Table 4 by its own kind of probe."""
    rows = pd.concat([probes["span-conv"][name].rows for name in MODELS], ignore_index=True)
    return table4(rows).markdown().rstrip("\n")


def _agreement(probes: ProbesByKind) -> str:
    """How the two kinds of probe agree on the same vectors and tasks, by model."""
    rows = []
    for name in MODELS:
        span_conv, second = (_real(probes[kind][name])["f1"] for kind in ("span-conv", "written"))
        joined = pd.concat(
            [span_conv, second.reindex(span_conv.index)], axis=1, keys=["own", "linear"]
        )
        rank = joined["own"].corr(joined["linear"], method="spearman")
        differences = (joined["own"] - joined["linear"]).abs()
        farthest: Any = differences.idxmax()
        row = {"model": name, "rank correlation": f"{rank:.2f}"}
        row["largest difference in points"] = f"{100 * differences.max():.1f}"
        rows.append(row | {"of": " ".join(farthest)})
    return table(rows)


def _encoder_rows(probed: Probed) -> Iterator[dict[str, str]]:
    rows = probed.rows[probed.rows["site"] != ""]
    keyed: Any = rows.set_index(["site", "task", "control"])["f1"]
    for site in dict.fromkeys(rows["site"]):
        row = {"model": probed.model, "site": str(site)}
        for task in TASKS:
            real, twin = (keyed.get((site, task, c)) for c in ("real", "untrained"))
            if real is not None:
                row[task] = f"{100 * real:.1f} ({'–' if twin is None else f'{100 * twin:.1f}'})"
        yield row


def _roles(store: Store) -> str:
    heads = measure_roles({site: store.read(site) for site in _weights(store)})
    pooled = pd.concat([pool_roles(heads, ["sublayer"]), pool_roles(heads).assign(sublayer="all")])
    return table(
        [
            {
                "sub-layers": str(row["sublayer"]),
                "distributions": f"{row['n_distributions']:,}",
                "above .98": f"{row['above_98']:.3f}",
                "above .90": f"{row['above_90']:.3f}",
                "entropy (bits)": f"{row['entropy']:.2f}",
            }
            for row in pooled.to_dict("records")
        ]
    )
