"""Figures of planted numbers, whose pictures are kept in tests/golden; run as a script, draws these anew."""

from pathlib import Path

import numpy as np
import pandas as pd

from tprpapers.study.study_figure import matched_study
from tprpapers.swaps.swap_drawing import swap_shares
from tprprobe.figures.accuracy import module_bars
from tprprobe.figures.dots import render
from tprprobe.figures.style import Drawing
from tprprobe.figures.sweeps import ablation_map

FOLDER = Path(__file__).parents[1] / "golden"
DPI = 50


def draw_ablation() -> Drawing:
    changes = np.linspace(-0.6, 0.02, 24)
    places = [
        (f"encoder.{i}.self.role", h, e)
        for e in ("zero", "mean")
        for i in range(3)
        for h in range(4)
    ]
    rows = [
        {"site": site, "head": head, "edit": edit, "strength": 1.0, "n": 200}
        | {"change": change, "change_low": change - 0.05, "change_high": change + 0.05}
        for (site, head, edit), change in zip(places, changes, strict=True)
    ]
    return render(ablation_map(pd.DataFrame(rows)))


def draw_modules() -> Drawing:
    modules = [f"arithmetic__{name}" for name in ("add_or_sub", "mixed", "mul_div_multiple")]
    cases = [
        (m, s, k)
        for s in ("small-test", "interpolate")
        for m in ("tpt", "transformer")
        for k in modules
    ]
    rows = [
        {"model": model, "split": split, "module": module, "exact_match": 0.95 - 0.07 * i}
        | {"low": 0.9 - 0.07 * i, "high": 0.97 - 0.07 * i}
        for i, (model, split, module) in enumerate(cases)
    ]
    return render(module_bars(pd.DataFrame(rows), "interpolate"))


def draw_swaps() -> Drawing:
    ways = [("none", "pair"), ("question", "pair")]
    ways += [("role", place) for place in ("pair", "elsewhere", "alike")]
    row = {"subset": "answered", "model": "planted", "layer": -1, "head": -1}
    rows = [
        row
        | {"kind": kind, "vectors": vectors}
        | {"at": place, "n": 57, "counterfactual": share, "counterfactual_low": share - 0.1}
        | {"counterfactual_high": share + 0.1, "other": 0.3, "original": 0.7 - share}
        for kind in ("polarity", "argument", "place")
        for (vectors, place), share in zip(ways, (0.0, 0.7, 0.5, 0.2, 0.1), strict=True)
    ]
    return render(swap_shares(pd.DataFrame(rows)))


def draw_study() -> Drawing:
    names, steps = (
        ("transformer", "tp-transformer", "no-embedding-binding", "outer"),
        (500, 1000, 1500),
    )
    curves = [
        {"metric": "exact_match", "variant": name, "seed": seed, "step": step}
        | {"value": step / 2000 + 0.03 * i + 0.01 * seed * i}
        for i, name in enumerate(names)
        for seed in range(2)
        for step in steps
    ]
    runs = [
        {"variant": name, "gigaflops": 1000.0 * (1 + i), "parameters": 1000 * (1 + i)}
        for i, name in enumerate(names)
    ]
    scores = [
        {"measure": "exact_match", "set": subset, "variant": name, "difference": 0.02 * i}
        | {"difference_low": 0.02 * i - 0.05, "difference_high": 0.02 * i + 0.05}
        for subset in ("all", "discordant")
        for i, name in enumerate(names)
    ]
    return render(matched_study(pd.DataFrame(curves), pd.DataFrame(runs), pd.DataFrame(scores)))


FIGURES = {
    "ablation": draw_ablation,
    "modules": draw_modules,
    "swaps": draw_swaps,
    "study": draw_study,
}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, make in FIGURES.items():
        make().savefig(FOLDER / f"{name}.png", dpi=DPI)
