"""The demo: a trained TP-Transformer answers fresh questions, and a report shows its roles."""

import shutil
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from tprpapers.schlag.binding_drawings import demonstration_table
from tprpapers.schlag.binding_problem import demonstrate, measure_degrees
from tprpapers.schlag.reconstruction_drawings import reconstruction_table
from tprpapers.worlds.mathematics.polarity_tables import names_section
from tprprobe import figures
from tprprobe.analyses.clustering import cluster, find_heads, save_clusters
from tprprobe.analyses.naming import name_all
from tprprobe.analyses.reconstruction import reconstruct
from tprprobe.console import stderr, track
from tprprobe.data import load_data
from tprprobe.errors import InputError
from tprprobe.extraction import extract
from tprprobe.figures import catalogue
from tprprobe.figures.dots import render
from tprprobe.figures.reconstruction import reconstruction_scene
from tprprobe.figures.report.page import write_report
from tprprobe.figures.report.sections import Section, clusters_section
from tprprobe.models import load_model
from tprprobe.models.answers import exact_match
from tprprobe.store import Store

CHECKPOINT = "tpt-c-arithmetic"
DATA, SPLIT, N, SEED = "mathematics:arithmetic__mixed", "small-test", 128, 1
ROLES, HEAD, K = "encoder.-1.self.role", 0, 20
SITES = [
    "encoder.*.self.role",
    "encoder.*.self.value",
    "encoder.*.self.attention",
    "encoder.*.hidden",
    *(f"encoder.-1.self.{vectors}" for vectors in ("input", "query", "key", "filler")),
]
FIG2, FIG3 = "schlag-fig2", "schlag-fig3"
CAPTIONS = {
    FIG2: f"schlag Fig 2: head {HEAD}, raw vectors as in the paper.",
    "role-clusters-standardized": "The same with every dimension standardized.",
    FIG3: "schlag Fig 3: what numbers attend to.",
}
N_PRINTED = 4  # right and wrong answers that are printed, of each
MARK = ".tprprobe-demo"  # a folder with this file is an earlier demo's, and replaced


def run_demo(out: Path) -> Path:
    """The report of a fresh run in ``out``, which replaces that of an earlier demo.

    Raises:
        InputError: ``out`` holds something else.
    """
    model = load_model(CHECKPOINT)
    _clear(out)
    data = load_data(DATA, split=SPLIT, n=N, seed=SEED)
    store = extract(model, data, SITES, out / "store", attention_samples=N)
    answered = store.tokens.query("side == 'target' and position == 0")
    lead = _lead(answered)
    samples = pd.concat([_pick_answers(answered, True), _pick_answers(answered, False)])
    stderr.print(samples.to_string(index=False), markup=False, highlight=False)
    stderr.print(lead)
    places = find_heads(store, ROLES)
    heads = [cluster(store, *place, k=K) for place in track(places, "clustering", len(places))]
    save_clusters(heads, out / "clusters", store)
    naming = name_all(
        store, ROLES, K, out=out / "names", progress=lambda all_: track(all_, "naming", len(all_))
    )
    drawings: dict[str, Figure] = {
        FIG2: catalogue.draw(FIG2, store=store, head=HEAD, k=K),
        "role-clusters-standardized": figures.role_clusters(store, heads[HEAD], gold=True),
        FIG3: catalogue.draw(FIG3, store=store),
    }
    for name, figure in drawings.items():
        figures.save(figure, out / f"{name}.pdf")
    fig3 = {CAPTIONS[FIG3]: drawings.pop(FIG3)}
    sections = [
        Section(
            "How well does it answer?",
            f"{lead} Their text was never trained on. The card of the checkpoint has its exact match on every module and split.",
            folded={f"{N_PRINTED} right and {N_PRINTED} wrong answers": samples},
            deeper=f"tprprobe eval --ckpt {CHECKPOINT} --data {DATA} --split {SPLIT}",
        ),
        clusters_section(heads, {CAPTIONS[name]: figure for name, figure in drawings.items()}),
        names_section(naming),
        Section(
            "What do its heads look at?",
            "Do the digits of a denominator look at the '/' that divides by them? The head that does so "
            "most, in three kinds of question that were picked by rule.",
            fig3,
            deeper=f"tprprobe app {out}    # page Attention",
        ),
        _reconstruction_section(store),
        binding_section(),
    ]
    about = f"{CHECKPOINT} read {N} fresh questions ({DATA}). In brackets: 95 % intervals over questions."
    return write_report(out, "Roles of a trained TP-Transformer", about, sections)


def _lead(answered: pd.DataFrame) -> str:
    accuracy = exact_match(answered)
    low, high = accuracy["exact_match_interval"]
    return (
        f"{CHECKPOINT} answered {accuracy['exact_match']:.1%} of {N} held-out questions right "
        f"(95 % interval {low:.1%} to {high:.1%})."
    )


def _clear(out: Path) -> None:
    if out.exists() and any(out.iterdir()) and not (out / MARK).is_file():
        raise InputError(f"{out} is not empty and no earlier demo: give another --out")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    (out / MARK).touch()


def _pick_answers(answered: pd.DataFrame, correct: bool) -> pd.DataFrame:
    """The first answers that are right, or that are wrong."""
    rows = answered[answered["correct"].astype(bool) == correct].head(N_PRINTED)
    table = pd.DataFrame(rows[["question", "answer", "prediction"]])
    return table.assign(correct="right" if correct else "wrong")


def _reconstruction_section(store: Store) -> Section:
    """The share of a state that one head's value vector keeps, held out, beside controls."""
    results = reconstruct(store, -1)
    table = reconstruction_table(results, -1)
    text = "One head’s value vector rebuilds the state that it was made of by an affine map, beside random projections of that width."
    figure = {table.caption: render(reconstruction_scene(results).pictures[0])}
    return Section(
        "What does a head’s value keep of the state?",
        text,
        figure,
        folded={table.title: table},
        deeper=f"tprprobe reconstruct {store.path}",
    )


def binding_section() -> Section:
    """The binding problem, shown exactly."""
    table = demonstration_table(demonstrate(), measure_degrees())
    text = (
        "Two layers of attention: a attends to b and c to d, or a to d and c to b; then e attends to a and "
        "c. Does e's state tell the two apart? With standard attention and equal weights it cannot; roles "
        f"of a and c that differ tell them apart.\n{table.caption}"
    )
    heading = "Can attention alone bind?"
    return Section(heading, text, folded={table.title: table}, deeper="tprprobe binding")
