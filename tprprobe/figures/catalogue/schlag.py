"""schlag's figures and the matched study: measured on a store or read from results, drawn, and saved."""

import io
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from tprprobe.analyses.attention import most_relating_head, pick_examples
from tprprobe.analyses.binding_problem import demonstrate, measure_degrees
from tprprobe.analyses.clustering import cluster
from tprprobe.analyses.hadamard.variance import capture_variance
from tprprobe.analyses.reconstruction import reconstruct
from tprprobe.claims import Verdict
from tprprobe.errors import InputError
from tprprobe.figures import binding, hadamard, reconstruction
from tprprobe.figures.accuracy import module_bars
from tprprobe.figures.attention import attention_examples, attention_rows
from tprprobe.figures.catalogue.schlag_claims import (
    Cases,
    of_capture,
    of_demonstration,
    of_reconstruction,
)
from tprprobe.figures.catalogue.verdicts import judge_cases
from tprprobe.figures.clusters import role_clusters
from tprprobe.figures.study import matched_study
from tprprobe.figures.style import Drawing
from tprprobe.figures.tables import Table
from tprprobe.files.kinds import KINDS
from tprprobe.files.writing import write_folder
from tprprobe.store import Store
from tprprobe.training.study.comparisons import compare_variants
from tprprobe.training.study.records import Study


def draw_clusters(
    store: Store,
    layer: int = -1,
    head: int = 0,
    k: int = 20,
    seed: int = 0,
    raw: bool = True,
    every: bool = False,
) -> Drawing:
    """Clusters of an encoder layer's roles; of raw vectors, as in the paper.

    Numerators and denominators are framed by their value, where the questions are arithmetic. Of
    questions that were answered right, unless ``every`` question is meant.
    """
    roles = cluster(store, f"encoder.{layer}.self.role", head, k, seed, raw)
    return role_clusters(store, roles, correct_only=not every, gold=True)


def draw_attention(
    store: Store,
    layer: int = -1,
    head: int | None = None,
    sample: int | None = None,
    positions: Sequence[int] | None = None,
) -> Drawing:
    """Attention of numbers to '/', in three kinds of example that are picked, or in one question.

    Without a head, of that of the layer whose digits of denominators look most at their '/'.
    """
    site = f"encoder.{layer}.self.attention"
    if head is None:
        head = most_relating_head(store, site)
    if sample is not None:
        return attention_rows(store, site, sample, head, positions)
    if positions is not None:
        raise InputError("positions are of one question: give the number of a sample too")
    return attention_examples(store, site, head, pick_examples(store))


def draw_interpolation(evaluations: pd.DataFrame) -> Drawing:
    return module_bars(evaluations, "interpolate")


def draw_extrapolation(evaluations: pd.DataFrame) -> Drawing:
    return module_bars(evaluations, "extrapolate")


def draw_reconstruction(store: Store, layer: int = -1, seed: int = 0) -> Drawing:
    found = reconstruct(store, seed=seed)
    drawn = reconstruction.reconstruction_curves(found, layer)
    drawn.verdicts = _judge(of_reconstruction(found), store)
    return drawn


def tabulate_reconstruction(store: Store, layer: int = -1, seed: int = 0) -> Table:
    found = reconstruct(store, layer, seed=seed)
    verdicts = _judge(of_reconstruction(found), store) if layer == -1 else ()
    return replace(reconstruction.reconstruction_table(found), verdicts=verdicts)


def tabulate_demonstration(seed: int = 0) -> Table:
    shown = demonstrate(seed=seed)
    verdicts = judge_cases(of_demonstration(shown), "exact", 1)
    table = binding.demonstration_table(shown, measure_degrees(seed=seed))
    return replace(table, verdicts=tuple(verdicts))


def draw_binding(bindings: pd.DataFrame) -> Drawing:
    return binding.binding_accuracy(bindings)


def tabulate_binding(bindings: pd.DataFrame) -> Table:
    return binding.binding_table(bindings)


def draw_capture(store: Store, seed: int = 0) -> Drawing:
    from tprprobe.analyses.hadamard.crosstalk import measure_unbinding  # imports torch

    found = capture_variance(store, seed=seed)
    drawn = hadamard.hadamard_against_tensor(found, measure_unbinding(store, seed=seed))
    drawn.verdicts = _judge(of_capture(found), store)
    return drawn


def tabulate_capture(store: Store, seed: int = 0) -> Table:
    found = capture_variance(store, seed=seed)
    return replace(hadamard.capture_table(found), verdicts=_judge(of_capture(found), store))


def _judge(cases: Cases, store: Store) -> tuple[Verdict, ...]:
    """The verdicts of estimates on held-out questions, a quarter of the store's at least."""
    return tuple(judge_cases(cases, "question", store.samples // 4))


def draw_study(study: Study) -> Drawing:
    return matched_study(study.curves, study.runs, compare_variants(study))


def save_reconstruction(
    results: pd.DataFrame, out: str | os.PathLike[str], stores: Sequence[Store]
) -> Path:
    """The new folder with the results of some stores, their table and their figure.

    Raises:
        InputError: the folder exists already.
    """
    files = {KINDS["reconstruction"].file: results.to_csv(index=False)}
    files["reconstruction.json"] = _named({"stores": [each.fingerprint for each in stores]})
    files["reconstruction.md"] = reconstruction.reconstruction_table(results).markdown()
    return write_folder(out, files | _drawn(reconstruction.reconstruction_curves(results)))


def save_binding(
    exact: Mapping[str, pd.DataFrame],
    probed: pd.DataFrame | None,
    out: str | os.PathLike[str],
    weights: Sequence[str],
) -> Path:
    """The new folder with the demonstration, and with the probe of trained models where it was made.

    ``weights`` are the fingerprints of these.

    Raises:
        InputError: the folder exists already.
    """
    files: dict[str, bytes | str] = {
        f"{name}.csv": table.to_csv(index=False) for name, table in exact.items()
    }
    files["demonstration.md"] = binding.demonstration_table(**exact).markdown()
    if probed is not None:
        files |= {KINDS["bindings"].file: probed.to_csv(index=False)}
        files |= {"binding.json": _named({"weights": list(weights)})}
        files |= {"binding.md": binding.binding_table(probed).markdown()}
        files |= _drawn(binding.binding_accuracy(probed))
    return write_folder(out, files)


def _named(origin: Mapping[str, list[str]]) -> str:
    """The origin of a result as JSON (see `store.origins`)."""
    return json.dumps(origin, indent=1) + "\n"


def _drawn(figure: Drawing) -> dict[str, bytes | str]:
    """The files of a figure."""
    streams = {kind: io.BytesIO() for kind in ("pdf", "png")}
    for kind, stream in streams.items():
        figure.savefig(stream, format=kind)
    return {f"figure.{kind}": stream.getvalue() for kind, stream in streams.items()}
