"""Probes of real text: gold labels of the English Web Treebank, and titles labelled by a tagger.

    python -m studies.pages.treebank EWT [--titles FOLDER --pipeline FOLDER] [--model NAME]…

EWT is a folder with conllu/en_ewt-ud-dev.conllu.gz, ner/en_ewt-ner-dev.iob2.gz and
edges/srl.dev.jsonl.gz; --titles a folder of documents and titles. What is found stays in
runs/results/probing, and is part of the page on probing from then on.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from studies.pages.probing_runs import ROWS, keep_probes, keep_store
from studies.templates import fill, table
from tprprobe.data import load_data
from tprprobe.data.annotated.sentencesets import AnnotatedFile, Source, join_labels, set_source
from tprprobe.data.dataset import Dataset
from tprprobe.figures.catalogue.loaders import load_probes
from tprprobe.gold.labellers import Labeller, find_labellers
from tprprobe.models import load_model
from tprprobe.statistics import interval_text, read_interval
from tprprobe.store import open_store

MODELS = ("t5-arxiv-titles", "tpt-c-arxiv-titles", "tpt-d-arxiv-titles")
N, SEED = 1000, 0  # sentences
SOURCES: tuple[Source, ...] = ("same", "document", "empty")
WRITTEN = ("decoder.*.role", "decoder.*.filler", "decoder.*.tpr", "decoder.*.hidden")
READ = ("encoder.*.role", "encoder.*.filler", "encoder.*.tpr", "encoder.*.hidden")
CONTROLS = ("untrained", "previous")
EWT, TITLES = "ewt", "titles"


def read_treebank(folder: Path, n: int = N, split: str = "dev") -> AnnotatedFile:
    """n sentences of documents in random order, with all their labels; unread behind them, the others."""
    data: Any = load_data(str(folder / "conllu" / f"en_ewt-ud-{split}.conllu.gz"))
    files = {
        "nel": str(folder / "ner" / f"en_ewt-ner-{split}.iob2.gz"),
        "srl": str(folder / "edges" / f"srl.{split}.jsonl.gz"),
    }
    sentences = join_labels(data, files).sentences
    documents = list(dict.fromkeys(sentence.document for sentence in sentences))
    place = dict(
        zip(documents, np.random.default_rng(SEED).permutation(len(documents)), strict=True)
    )
    ordered = tuple(sorted(sentences, key=lambda sentence: place[sentence.document]))
    return replace(data, sentences=ordered, rows=range(min(n, len(ordered))))


def probe_treebank(data: AnnotatedFile, name: str, runs: Path) -> None:
    """The probes of a model: its decoder with every source, its encoder."""
    for source in SOURCES:
        sites: Sequence[str] = [*WRITTEN, *READ] if source == "same" else WRITTEN
        _probe(set_source(data, source), name, sites, runs / f"{name}.{EWT}-{source}")


def probe_titles(folder: Path, pipeline: str, name: str, runs: Path, n: int = N) -> None:
    """The probes of a model's decoder on titles, whose labels a tagger and rules give."""
    labellers = find_labellers({"pos,dep,nel": f"spacy:{pipeline}", "srl": "rules"})
    data = load_data(str(folder), split="dev", n=n)
    _probe(data, name, WRITTEN, runs / f"{name}.{TITLES}", labellers)


def _probe(
    data: Dataset, name: str, sites: Sequence[str], folder: Path, labellers: Sequence[Labeller] = ()
) -> None:
    store = keep_store(partial(load_model, name), data, sites, store_of(folder), labellers)
    keep_probes(store, folder, sites, controls=CONTROLS, probe="linear")


def store_of(run: Path) -> Path:
    """The store whose vectors the probes of a run read."""
    return run.with_name(f"{run.name}.store")


# ---- the page ---------------------------------------------------------------------------------------


def tell_treebank(folder: Path) -> str:
    """The sections of the page on the runs in the folder."""
    runs = sorted(each.parent for each in folder.glob(f"*.{EWT}-*/{ROWS}"))
    titles = sorted(each.parent for each in folder.glob(f"*.{TITLES}/{ROWS}"))
    gold = [row for run in runs for row in _rows(run, run.name.rpartition("-")[2])]
    silver = [row for run in titles for row in _rows(run, "abstract")]
    return fill(
        Path(__file__).parent,
        "treebank.md.j2",
        sentences=open_store(store_of(runs[0])).samples if runs else 0,
        twins=_tell_twins(runs),
        gold=table(gold),
        titles=table([_ceiling(titles[0]), *silver]) if titles else "",
    )


def _tell_twins(runs: Sequence[Path]) -> str:
    """The number of scores above those of the untrained twin."""
    told: dict[str, list[str]] = {}
    for run in runs:
        rows = load_probes([run])
        keys = ["side", "site", "task"]
        wide = rows.pivot_table(index=keys, columns="control", values="accuracy")
        for side, part in wide.dropna(subset=["real", "untrained"]).groupby("side"):
            above = int((part["real"] > part["untrained"]).sum())
            stack = "decoders" if side == "target" else "encoders"
            told.setdefault(f"{stack} ({run.name.rpartition('-')[2]})", []).append(
                f"{above} of {len(part)} in {rows['model'].iloc[0]}"
            )
    parts = [f"{stack}: {', '.join(found)}" for stack, found in told.items()]
    return "; ".join(parts)


def _ceiling(run: Path) -> dict[str, str]:
    """The agreement of a run's labellers with gold labels, as far as it was measured."""
    labels = open_store(store_of(run)).manifest["labels"]
    measured = {task: each["agreement"] for task, each in labels.items()}
    shown = {task: f"{100 * value:.1f}" for task, value in measured.items() if value is not None}
    return {"model": "–", "source": "treebank", "site": "tagger against gold"} | shown


def _rows(run: Path, source: str) -> Iterator[dict[str, str]]:
    rows = load_probes([run])
    keys = ["side", "site", "task", "control"]
    keyed: Any = rows.drop_duplicates(keys).set_index(keys).sort_index()
    tasks = list(dict.fromkeys(rows["task"]))
    real = rows[rows["control"] == "real"].drop_duplicates(["side", "site"])
    for place in real[["side", "site"]].itertuples(index=False):
        side, site = str(place.side), str(place.site)
        row = {"model": str(rows["model"].iloc[0]), "source": source, "site": site}
        for task in tasks:
            row[task] = _cell(keyed, side, site, task)
        yield row
    for side in dict.fromkeys(real["side"]):
        for control, where in (("previous", "previous word"), ("majority", "")):
            known = {t: (side, where, t, control) for t in tasks}
            shown = {t: _percent(keyed.loc[key]) for t, key in known.items() if key in keyed.index}
            stack = "decoder" if side == "target" else "encoder"
            name = {"previous": "previous word", "majority": "commonest label"}[control]
            yield {"model": "–", "source": source, "site": f"{name} ({stack})"} | shown


def _cell(keyed: Any, side: str, site: str, task: str) -> str:
    key = (side, site, task, "real")
    if key not in keyed.index:
        return "–"
    row, twin = keyed.loc[key], (side, site, task, "untrained")
    beside = f", twin {_percent(keyed.loc[twin])}" if twin in keyed.index else ""
    return interval_text(read_interval(row, "accuracy"), ".1f", 100) + beside


def _percent(row: Any) -> str:
    return f"{100 * row['accuracy']:.1f}"


def main(
    treebank: Annotated[Path, typer.Argument(help="The folder of the treebank.")],
    titles: Annotated[Path | None, typer.Option(help="A folder of documents and titles.")] = None,
    pipeline: Annotated[str | None, typer.Option(help="A spaCy pipeline for the titles.")] = None,
    model: Annotated[list[str] | None, typer.Option(help="Checkpoints; by default three.")] = None,
    runs: Annotated[Path, typer.Option(help="What is kept.")] = Path("runs/results"),
    n: Annotated[int, typer.Option("-n", help="Sentences.")] = N,
) -> None:
    """Probe models of real text for gold labels, and for a tagger's labels of their own domain."""
    data = read_treebank(treebank, n)
    for name in model or MODELS:
        probe_treebank(data, name, runs / "probing")
        if titles and pipeline:
            probe_titles(titles, pipeline, name, runs / "probing", n)


if __name__ == "__main__":
    typer.run(main)
