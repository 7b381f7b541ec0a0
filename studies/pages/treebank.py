"""Probes of real text: gold labels of the English Web Treebank, and titles labelled by a tagger.

    python -m studies.pages.treebank EWT MODEL … [--split dev] [-n N] [--titles FOLDER --pipeline FOLDER]

EWT is a folder with conllu/en_ewt-ud-train.conllu.gz, ner/en_ewt-ner-train.iob2.gz and
edges/srl.train.jsonl.gz (or of another split); --titles a folder of documents and titles. MODEL is a
checkpoint that `tprprobe train studies/titles/t5.toml` made, or another; its folder is its name. What is found
stays in runs/results/probing, and is part of the page on probing from then on.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from studies.pages.paired_runs import compare_runs
from studies.pages.probing_runs import ROWS, keep_probes, keep_store
from studies.templates import fill, table
from tprprobe.data import load_data
from tprprobe.data.annotated.sentencesets import AnnotatedFile, Source, join_labels, set_source
from tprprobe.data.dataset import Dataset
from tprprobe.figures.catalogue.loaders import load_probes
from tprprobe.gold.labellers import Labeller, find_labellers
from tprprobe.models import load_model
from tprprobe.statistics import Interval, interval_text, read_interval
from tprprobe.store import open_store
from tprprobe.training.loop import MODEL

TITLED, SEED = 1000, 0  # titles
SOURCES: tuple[Source, ...] = ("same", "document", "empty")
MOST = 8192  # targets that a probe learns from
WRITTEN = ("decoder.*.role", "decoder.*.filler", "decoder.*.tpr", "decoder.*.hidden")
READ = ("encoder.*.role", "encoder.*.filler", "encoder.*.tpr", "encoder.*.hidden")
CONTROLS = ("untrained", "previous")
EWT, TITLES = "ewt", "titles"
LEVEL, TOLD = 0.05, {1: "above", -1: "below", 0: "undecided"}
STACKS = {"source": "encoder", "target": "decoder"}


def read_treebank(folder: Path, split: str = "train", n: int | None = None) -> AnnotatedFile:
    """All sentences of a split, or n, of documents in random order, with their labels; unread behind
    them, the others."""
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
    return replace(data, sentences=ordered, rows=range(len(ordered))[:n])


def probe_treebank(data: AnnotatedFile, source: Source, name: str, runs: Path) -> None:
    """The probes of a model's decoder with a source, and of an encoder that reads the sentence."""
    sites: Sequence[str] = [*WRITTEN, *READ] if source == "same" else WRITTEN
    _probe(set_source(data, source), name, sites, runs / f"{_named(name)}.{EWT}-{source}")


def probe_titles(folder: Path, pipeline: str, name: str, runs: Path, n: int = TITLED) -> None:
    """The probes of a model's decoder on titles, whose labels a tagger and rules give."""
    labellers = find_labellers({"pos,dep,nel": f"spacy:{pipeline}", "srl": "rules"})
    data = load_data(str(folder), split="dev", n=n)
    _probe(data, name, WRITTEN, runs / f"{_named(name)}.{TITLES}", labellers)


def _named(checkpoint: str) -> str:
    """The name of a checkpoint: that of its run where it lies in one."""
    path = Path(checkpoint)
    return path.parent.name if path.name == MODEL else path.name


def _probe(
    data: Dataset, name: str, sites: Sequence[str], folder: Path, labellers: Sequence[Labeller] = ()
) -> None:
    store = keep_store(partial(load_model, name), data, sites, store_of(folder), labellers)
    keep_probes(store, folder, sites, controls=CONTROLS, estimator="linear", most=MOST)


def store_of(run: Path) -> Path:
    """The store whose vectors the probes of a run read."""
    return run.with_name(f"{run.name}.store")


# ---- the page ---------------------------------------------------------------------------------------


def summarize_treebank(folder: Path) -> str:
    """The sections of the page on the runs in the folder."""
    runs = sorted(each.parent for each in folder.glob(f"*.{EWT}-*/{ROWS}"))
    titles = sorted(each.parent for each in folder.glob(f"*.{TITLES}/{ROWS}"))
    gold = [row for run in runs for row in _rows(run, _source(run))]
    silver = [row for run in titles for row in _rows(run, "abstract")]
    store = open_store(store_of(runs[0])) if runs else None
    beside = [(run, _beside_twin(run)) for run in runs]
    return fill(
        Path(__file__).parent,
        "treebank.md.j2",
        sentences=store.samples if store else 0,
        file=Path(str(store.facts.data.name)).name if store else "",
        most=MOST,
        gold=table(gold),
        counts=table([row for run, found in beside for row in _count(run, found)]),
        differences=table([row for run, found in beside for row in _differences(run, found)]),
        titles=table([_ceiling(titles[0]), *silver]) if titles else "",
    )


def _source(run: Path) -> str:
    """What the encoder read in a run."""
    return run.name.rpartition("-")[2]


def _beside_twin(run: Path) -> pd.DataFrame:
    """The F1 of a run's vectors minus that of the untrained twin's, paired by document.

    The corrected test says ``above``, ``below`` or ``undecided``; the rows stand as in the run.
    """
    found = compare_runs(run, run, controls=("real", "untrained"))
    signs = np.where(found["p_holm"] < LEVEL, np.sign(found["difference"]), 0)
    order = {site: place for place, site in enumerate(load_probes([run])["site"].unique())}
    found["told"] = [TOLD[int(sign)] for sign in signs]
    return found.sort_values("site", key=lambda sites: sites.map(order), kind="stable")


def _count(run: Path, found: pd.DataFrame) -> Iterator[dict[str, str]]:
    """How many vectors of a stack are above their twins, and below."""
    for (side, task), part in found.groupby(["side", "task"]):
        counts = part["told"].value_counts()
        yield {
            "model": _model(run),
            "source": _source(run),
            "stack": STACKS[str(side)],
            "task": str(task),
            "vectors": str(len(part)),
            **{told: str(counts.get(told, 0)) for told in (TOLD[1], TOLD[-1], TOLD[0])},
            "mean difference": f"{100 * part['difference'].mean():+.1f}",
        }


def _differences(run: Path, found: pd.DataFrame) -> Iterator[dict[str, str]]:
    for (side, site), part in found.groupby(["side", "site"], sort=False):
        del side  # a site has one
        row = {"model": _model(run), "source": _source(run), "site": str(site)}
        for each in part.to_dict("records"):
            mark = "" if each["told"] == TOLD[0] else "*"
            interval = Interval(each["difference"], each["low"], each["high"])
            row[str(each["task"])] = interval_text(interval, "+.1f", 100) + mark
        yield row


def _model(run: Path) -> str:
    return str(load_probes([run])["model"].iloc[0])


def _ceiling(run: Path) -> dict[str, str]:
    """The agreement of a run's labellers with gold labels, as far as it was measured."""
    labels = open_store(store_of(run)).facts.labels
    measured = {task: each["agreement"] for task, each in labels.items()}
    shown = {task: f"{100 * value:.1f}" for task, value in measured.items() if value is not None}
    return {"model": "–", "source": "treebank", "site": "tagger against gold"} | shown


def _rows(run: Path, source: str) -> Iterator[dict[str, str]]:
    """A row per vector, and one per baseline: F1 beside the twin's, and accuracy where it is another."""
    rows = load_probes([run])
    keys = ["side", "site", "task", "control"]
    keyed: Any = rows.drop_duplicates(keys).set_index(keys).sort_index()
    real = rows[rows["control"] == "real"]
    tasks = list(dict.fromkeys(rows["task"]))
    apart = [t for t in tasks if not _agree(real[real["task"] == t])]
    for side, site in real[["side", "site"]].drop_duplicates().itertuples(index=False):
        row = {"model": str(rows["model"].iloc[0]), "source": source, "site": str(site)}
        for task in tasks:
            row[task] = _cell(keyed, (side, site, task), "f1")
        yield row | {f"{t}, accuracy": _cell(keyed, (side, site, t), "accuracy") for t in apart}
    for side in dict.fromkeys(real["side"]):
        for control, where in (("previous", "previous word"), ("majority", "")):
            known = {t: (side, where, t, control) for t in tasks}
            known = {t: keyed.loc[key] for t, key in known.items() if key in keyed.index}
            shown = {t: f"{100 * row['f1']:.1f}" for t, row in known.items()}
            shown |= {
                f"{t}, accuracy": f"{100 * known[t]['accuracy']:.1f}" for t in apart if t in known
            }
            name = {"previous": "previous word", "majority": "commonest label"}[control]
            yield {"model": "–", "source": source, "site": f"{name} ({STACKS[side]})"} | shown


def _agree(rows: pd.DataFrame) -> bool:
    """True where F1 and accuracy are the same: every target has one label, which is given and counts."""
    return bool(np.allclose(rows["f1"], rows["accuracy"], atol=5e-4))


def _cell(keyed: Any, place: tuple[str, str, str], measure: str) -> str:
    """A measure with its interval, and behind it the twin's."""
    if (*place, "real") not in keyed.index:
        return "–"
    text = interval_text(read_interval(keyed.loc[*place, "real"], measure), ".1f", 100)
    if (*place, "untrained") not in keyed.index:
        return text
    return f"{text}, twin {100 * keyed.loc[*place, 'untrained'][measure]:.1f}"


def main(
    treebank: Annotated[Path, typer.Argument(help="The folder of the treebank.")],
    models: Annotated[list[str], typer.Argument(help="Checkpoints.")],
    split: Annotated[str, typer.Option(help="Which part of it.")] = "train",
    n: Annotated[int | None, typer.Option("-n", help="Sentences of it; all by default.")] = None,
    titles: Annotated[Path | None, typer.Option(help="A folder of documents and titles.")] = None,
    pipeline: Annotated[str | None, typer.Option(help="A spaCy pipeline for the titles.")] = None,
    source: Annotated[list[str] | None, typer.Option(help="What encoders read: same, …")] = None,
    runs: Annotated[Path, typer.Option(help="What is kept.")] = Path("runs/results"),
) -> None:
    """Probe models of real text for gold labels, and for a tagger's labels of their own domain."""
    data = read_treebank(treebank, split, n)
    for given in SOURCES:
        for name in models if given in (source or SOURCES[:1]) else ():
            probe_treebank(data, given, name, runs / "probing")
    if titles and pipeline:
        for name in models:
            probe_titles(titles, pipeline, name, runs / "probing")


if __name__ == "__main__":
    typer.run(main)
