"""schlag's figures and the matched study: measured on a store or read from results, drawn, and saved."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd

from tprpapers.claims import Verdict
from tprpapers.kinds import BINDINGS
from tprpapers.schlag import binding_drawings as binding
from tprpapers.schlag import hadamard_drawings as hadamard
from tprpapers.schlag import reconstruction_drawings as reconstruction
from tprpapers.schlag.attention_examples import attention_examples, pick_examples
from tprpapers.schlag.binding_problem import demonstrate, measure_degrees
from tprpapers.schlag.claim_cases import Cases, of_capture, of_demonstration, of_reconstruction
from tprpapers.schlag.hadamard.variance import capture_variance
from tprpapers.schlag.module_table import draw_modules, table1
from tprpapers.schlag.relation_scores import most_relating_head
from tprpapers.study.comparisons import baseline_of, compare_variants
from tprpapers.study.records import Study, load_study
from tprpapers.study.study_figure import matched_study
from tprpapers.verdicts import judge_cases, with_verdicts
from tprprobe.errors import InputError
from tprprobe.figures.attention import name_origin, row_strips
from tprprobe.figures.catalogue import Input, Maker
from tprprobe.figures.catalogue.loaders import load_tables
from tprprobe.figures.catalogue.makers import (
    RECONSTRUCTED,
    VALUES,
    draw_roles,
    measure_reconstruction,
)
from tprprobe.figures.reconstruction import figure_files
from tprprobe.figures.scenes import Grid
from tprprobe.figures.strips import Strips
from tprprobe.figures.tables import Table
from tprprobe.files import assets
from tprprobe.files.writing import write_folder
from tprprobe.store import Store
from tprprobe.store.contents import origin_json


def draw_attention(
    store: Store,
    layer: int = -1,
    head: int | None = None,
    sample: int | None = None,
    positions: Sequence[int] = (),
) -> Strips:
    """Attention of numbers to '/', in three kinds of example that are picked, or in one question.

    Without a head, of that of the layer whose digits of denominators look most at their '/'.
    """
    site = f"encoder.{layer}.self.attention"
    drawn = most_relating_head(store, site) if head is None else head
    if sample is not None:
        return row_strips(store, site, sample, drawn, positions or None)
    if positions:
        raise InputError("positions are of one question: give the number of a sample too")
    strips = attention_examples(store, site, drawn, pick_examples(store))
    return replace(strips, note=f"{PICKED}\n{strips.note}") if head is None else strips


def draw_reconstruction(store: Store | pd.DataFrame, layer: int = -1, seed: int = 0) -> Grid:
    errors = measure_reconstruction(store, seed)
    figure = reconstruction.reconstruction_curves(errors, layer)
    return with_verdicts(figure, _judge_reconstruction(errors))


def tabulate_reconstruction(store: Store | pd.DataFrame, layer: int = -1, seed: int = 0) -> Table:
    errors = measure_reconstruction(store, seed)
    verdicts = _judge_reconstruction(errors) if layer == -1 else ()
    return with_verdicts(reconstruction.reconstruction_table(errors, layer), verdicts)


def _judge_reconstruction(errors: pd.DataFrame) -> tuple[Verdict, ...]:
    """The verdicts of estimates on held-out questions, a third as many as were fitted to."""
    questions = errors[errors["unit"] == "question"]
    n_fitted = int(questions.groupby("model")["n"].max().min())
    return tuple(judge_cases(of_reconstruction(errors), "question", n_fitted // 3))


def tabulate_demonstration(seed: int = 0) -> Table:
    results = demonstrate(seed=seed)
    verdicts = judge_cases(of_demonstration(results), "exact", 1)
    table = binding.demonstration_table(results, measure_degrees(seed=seed))
    return with_verdicts(table, verdicts)


def draw_capture(store: Store, seed: int = 0) -> Grid:
    from tprpapers.schlag.hadamard.crosstalk import measure_unbinding  # imports torch

    variance = capture_variance(store, seed=seed)
    figure = hadamard.hadamard_against_tensor(variance, measure_unbinding(store, seed=seed))
    figure = replace(figure, note=f"{figure.note}\n{name_origin(store)}")
    return with_verdicts(figure, _judge(of_capture(variance), store))


def tabulate_capture(store: Store, seed: int = 0) -> Table:
    variance = capture_variance(store, seed=seed)
    table = hadamard.capture_table(variance)
    table = replace(table, caption=f"{table.caption}\n{name_origin(store)}")
    return with_verdicts(table, _judge(of_capture(variance), store))


def _judge(cases: Cases, store: Store) -> tuple[Verdict, ...]:
    """The verdicts of estimates on held-out questions, a quarter of the store's at least."""
    return tuple(judge_cases(cases, "question", store.samples // 4))


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
        files |= {BINDINGS.file: probed.to_csv(index=False)}
        files |= {"binding.json": origin_json({"weights": list(weights)})}
        files |= {"binding.md": binding.binding_table(probed).markdown()}
        files |= figure_files(binding.binding_lines(probed))
    return write_folder(out, files)


def load_studies(sources: Sequence[str | os.PathLike[str]]) -> Study:
    """The study in a folder, or the shipped one of that name.

    Raises:
        InputError: more than one is given, or it has no tables.
    """
    folder, *extra = sources
    if extra:
        raise InputError(f"one study is drawn at a time: given {len(extra) + 1}")
    return load_study(assets.find("studies", folder))


def draw_study(study: Study) -> Grid:
    """The study's differences from the Transformer that the verdicts compare with."""
    reference = baseline_of(study)
    return matched_study(study.curves, study.runs, compare_variants(study, reference), reference)


PICKED = "The head: of this layer the one whose denominators look most at their '/', in all questions with maps."
BINDING_INPUT = {
    "bindings": Input(
        "binding probes: give --ckpt with folders of `binding --out`",
        partial(load_tables, kind=BINDINGS),
        BINDINGS.find_finished,
    )
}
STUDY_INPUT = {
    "study": Input(
        "a study: give --ckpt with the folder of one",
        load_studies,
        lambda _folders: (),
        default=["matched-starts"],
    )
}
BOUND = ("encoder.*.self.role", "encoder.*.self.filler")

TABLE1 = Maker(table1)
FIG2 = Maker(partial(draw_roles, head=0, raw=True), ("encoder.*.self.role",), like="roles")
FIG3 = Maker(draw_attention, ("encoder.*.self.attention",), questions=True, like="attention")
FIG4 = Maker(lambda evaluations: draw_modules(evaluations, "interpolate"), like="accuracy")
FIG5 = Maker(lambda evaluations: draw_modules(evaluations, "extrapolate"), like="accuracy")
RECONSTRUCTION = Maker(draw_reconstruction, VALUES, inputs=RECONSTRUCTED, like="reconstruction")
RECONSTRUCTION_TABLE = Maker(
    tabulate_reconstruction, VALUES, inputs=RECONSTRUCTED, like="reconstruction-table"
)
DEMONSTRATION = Maker(tabulate_demonstration)
BINDING = Maker(lambda bindings: binding.binding_lines(bindings), inputs=BINDING_INPUT)
BINDING_TABLE = Maker(lambda bindings: binding.binding_table(bindings), inputs=BINDING_INPUT)
CAPTURE = Maker(draw_capture, BOUND)
CAPTURE_TABLE = Maker(tabulate_capture, BOUND)
STUDY = Maker(draw_study, inputs=STUDY_INPUT)
