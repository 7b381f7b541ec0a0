"""Pictures of the page Ideas, computed with the package: binding, unbinding, gauge freedom, controls."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from matplotlib.patches import Patch
from sklearn.metrics import adjusted_rand_score

import tprprobe as tp
from tprprobe.algebra import bind, duals, unbind
from tprprobe.analyses.clustering import Clusters
from tprprobe.analyses.naming import name_all
from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.figures.colors import palette
from tprprobe.figures.dots import render
from tprprobe.figures.scenes import Dots
from tprprobe.figures.strips import Strip, Strips, draw_strips
from tprprobe.figures.style import MUTED, Drawing, drawing, tidy
from tprprobe.store import Store

SITE, HEAD, K, QUESTIONS = "encoder.-1.self.role", 0, 8, 300


def draw_named_roles(store: Store, rows: int = 5) -> Drawing:
    """Questions as strips of role clusters, and below them the name of every cluster."""
    roles = tp.cluster(store, SITE, head=HEAD, k=K)
    names = tp.name_roles(store, roles).set_index("cluster")["name"]
    caption = "k-means of one head's roles, k = 8; ⊢ start, ⊣ end.\nNames were chosen on other questions than they are scored on."
    title = "The role of every character, clustered and named"
    figure: Any = draw_strips(Strips(_strips(store, roles, rows), title=title, note=caption))
    patches = [
        Patch(color=color, label=f"{cluster}  {name}")
        for (cluster, name), color in zip(names.items(), palette(roles.k), strict=True)
        if name != UNNAMED
    ]
    figure.legend(
        handles=patches, loc="upper right", bbox_to_anchor=(1, 0.9), fontsize=7, frameon=False
    )
    return figure


def _strips(store: Store, roles: Clusters, rows: int) -> list[Strip]:
    tokens = store.tokens_of(roles.site).assign(label=roles.labels)
    short = tokens.groupby("sample").size().sort_values(kind="stable").index[5 : 5 + 12 * rows : 12]
    colors = palette(roles.k)
    groups = [tokens[tokens["sample"] == sample] for sample in short]
    return [
        Strip(
            tokens=group["token"].tolist(),
            colors=[colors[label] for label in group["label"]],
            notes=[str(label) for label in group["label"]],
        )
        for group in groups
    ]


def draw_binding(_: Store) -> Drawing:
    """A filler, a role, their two products, and a sum of two bindings, as squares of numbers."""
    torch.manual_seed(3)
    filler, role, second_filler, place = torch.randn(4, 6).round(decimals=1)
    bound = bind(filler, role)
    panels = [
        ("filler f", filler[:, None]),
        ("role r", role[None, :]),
        ("binding f ⊗ r", bound),
        ("its diagonal f ⊙ r", bind(filler, role, "hadamard")[None, :]),
        ("TPR: f ⊗ r + f′ ⊗ r′", bound + bind(second_filler, place)),
    ]
    figure = drawing(7, 1.9)
    for axes, (title, values) in zip(figure.subplots(1, len(panels)), panels, strict=True):
        axes.imshow(values.numpy(), cmap="PuOr", vmin=-3, vmax=3)
        axes.set(xticks=[], yticks=[])
        axes.set_title(title, fontsize=8)
        axes.spines[:].set_visible(False)
    return figure


def draw_unbinding(_: Store) -> Drawing:
    """The error of an unbound filler by the number of bindings: roles that are independent, or too many."""
    generator = torch.Generator().manual_seed(0)
    width, counts = 16, range(1, 33)
    errors_of = {"outer": [_error(n, width, "outer", generator) for n in counts]}
    errors_of["hadamard"] = [_error(n, width, "hadamard", generator) for n in counts]
    figure = drawing(6, 2.6)
    axes = figure.add_subplot()
    labels = {"outer": "f ⊗ r, unbound by the dual of r", "hadamard": "f ⊙ r, unbound by 1/r"}
    for (kind, errors), color in zip(
        errors_of.items(), (palette(6)[5], palette(4)[3]), strict=True
    ):
        axes.plot(counts, errors, "o-", markersize=3, color=color, label=labels[kind])
    axes.axvline(width, color=MUTED, linewidth=0.8, linestyle=":")
    axes.text(
        width - 0.3,
        0.5,
        f"as many roles as\ndimensions ({width})",
        fontsize=7,
        color=MUTED,
        va="center",
        ha="right",
    )
    axes.set(
        xlabel="bindings in the sum", ylabel="error beside the filler's length", ylim=(0, None)
    )
    axes.set_yscale("symlog", linthresh=0.1)
    axes.legend(fontsize=7, frameon=False)
    tidy(axes)
    return figure


def _error(n: int, width: int, kind: str, generator: torch.Generator, draws: int = 50) -> float:
    """The median of |found − f| / |f| where n random fillers are bound to n random roles and summed."""
    fillers, roles = torch.randn(2, draws, n, width, generator=generator, dtype=torch.float64)
    bindings = bind(fillers, roles, kind).sum(1)
    unbound = unbind(bindings, duals(roles, kind)[:, 0], kind)
    return float(((unbound - fillers[:, 0]).norm(dim=-1) / fillers[:, 0].norm(dim=-1)).median())


def draw_gauge(store: Store) -> Drawing:
    """Agreement of clusters before and after roles are rescaled as the network's function allows."""
    from sklearn.cluster import KMeans

    vectors = store.read(SITE)[:3000, HEAD]
    rng = np.random.default_rng(0)
    rows = []
    for spread in (1.5, 2, 4, 8):
        for _draw in range(6):
            gauge = np.exp(rng.uniform(-np.log(spread), np.log(spread), vectors.shape[1]))
            for way in ("raw", "standardized"):
                before, after = (
                    _partition(KMeans, rows_, way) for rows_ in (vectors, vectors * gauge)
                )
                rows.append(
                    {
                        "name": f"× or ÷ up to {spread}",
                        "group": way,
                        "ari": adjusted_rand_score(before, after),
                    }
                )
    agreement = (
        pd.DataFrame(rows).groupby(["name", "group"], sort=False)["ari"].agg(["mean", "min", "max"])
    )
    agreement = agreement.reset_index().set_axis(["name", "group", "value", "low", "high"], axis=1)
    label = "agreement with the clusters before (adjusted Rand index; line: lowest to highest of 6)"
    title = "Do clusters stay when dimensions are rescaled?"
    return render(Dots(agreement, label, percent=False, title=title))


def _partition(estimator: type, vectors: np.ndarray, way: str) -> np.ndarray:
    scaled = vectors if way == "raw" else (vectors - vectors.mean(0)) / vectors.std(0)
    return estimator(K, n_init=3, random_state=0).fit_predict(scaled)


def draw_controls(store: Store) -> Drawing:
    """How well clusters of roles and of their controls tell numerators from denominators, in all heads."""
    summary = name_all(store, SITE, k=K).summary
    named_rows = summary.assign(
        name=np.where(summary["model"] == "trained", "", "untrained ") + summary["vectors"]
    )
    rows = (
        named_rows.groupby("name", sort=False)["accuracy"].agg(["mean", "min", "max"]).reset_index()
    )
    rows = rows.set_axis(["name", "value", "low", "high"], axis=1).assign(
        group="mean of heads, lowest to highest head"
    )
    title = "Numerator or denominator, predicted from clusters alone"
    return render(Dots(rows, "share of digits predicted right, held out", title=title))


PICTURES: dict[str, Callable[[Store], Drawing]] = {
    "named-roles": draw_named_roles,
    "binding": draw_binding,
    "unbinding": draw_unbinding,
    "gauge": draw_gauge,
    "controls": draw_controls,
}


def draw_ideas(folder: Path) -> Iterator[tuple[str, Drawing]]:
    """The name and the drawing of every picture; the roles are the shipped model's, on generated questions."""
    model = tp.load_model("tpt-c-arithmetic")
    data = tp.load_data("mathematics:arithmetic__mixed", split="small-test", n=QUESTIONS)
    sites = [f"encoder.-1.self.{name}" for name in ("role", "query", "key", "filler", "input")]
    store = tp.extract(model, data, sites, folder / "store")
    for name, draw in PICTURES.items():
        yield name, draw(store)
