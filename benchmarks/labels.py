"""A Markdown table of how often automatic labels agree with gold ones.

    python benchmarks/labels.py [EWT] [--split test] [--pipeline FOLDER]

EWT is a folder with conllu/en_ewt-ud-SPLIT.conllu.gz, ner/en_ewt-ner-SPLIT.iob2.gz and
edges/srl.SPLIT.jsonl.gz (English Web Treebank: UD 2.16, UNER, PropBank on the same words); without it
a line says so. Rows: the
rules for semantic roles on gold parses; with a pipeline its own labels, and the rules on its parses.
A target is right where its spans and its label are; R- and C- arguments are left out, and for the
roles documents without any gold argument.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
from rich.console import Console

from studies.label_agreement import compare_labels
from tprpapers.jiang.argument_rules import RoleRules
from tprprobe.gold.annotations import add_labels, read_annotated
from tprprobe.gold.labellers import load_pipeline
from tprprobe.gold.labels import Labelled
from tprprobe.statistics import interval_text, read_interval

PREFIXES = {"srl": ("R-", "C-")}


def read_gold(folder: Path, split: str) -> list[Labelled]:
    """The sentences of a part of the treebank with all their labels."""
    sentences = read_annotated(folder / "conllu" / f"en_ewt-ud-{split}.conllu.gz")
    sentences = add_labels(sentences, folder / "ner" / f"en_ewt-ner-{split}.iob2.gz", "nel")
    return add_labels(sentences, folder / "edges" / f"srl.{split}.jsonl.gz", "srl")


def compare(
    labelled: Sequence[Labelled], gold: Sequence[Labelled], task: str, source: str
) -> dict[str, str]:
    """A row of the table."""
    if task == "srl":
        documents = {sentence.document for sentence in gold if sentence.targets["srl"]}
        indices = [i for i, sentence in enumerate(gold) if sentence.document in documents]
        labelled, gold = [labelled[i] for i in indices], [gold[i] for i in indices]
    row = compare_labels(labelled, gold, task, PREFIXES.get(task, ()))
    interval = interval_text(read_interval(row, "f1"))
    shares = {name: f"{row[name]:.3f}" for name in ("precision", "recall", "labels_right")}
    counts = {name: f"{row[name]:,}" for name in ("given", "gold", "documents")}
    return {"labels": task, "source": source, "F1": interval, **shares, **counts}


def rows(gold: Sequence[Labelled], pipeline: str | None) -> Iterator[dict[str, str]]:
    rules = RoleRules()
    yield compare(rules.label(gold), gold, "srl", "rules on gold parses (heuristic)")
    if pipeline:
        loaded = load_pipeline(pipeline)
        tagged = loaded.label(gold)
        for task in loaded.tasks:
            yield compare(tagged, gold, task, f"spacy:{loaded.name}")
        if {"pos", "dep"} <= {*loaded.tasks}:
            labelled = rules.label(tagged)
            yield compare(labelled, gold, "srl", f"rules on parses of spacy:{loaded.name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--split", default="test")
    parser.add_argument("--pipeline")
    arguments = parser.parse_args()
    if arguments.folder is None:
        Console(soft_wrap=True).print("Labels: not measured, give the folder of the treebank.")
        return
    table = pd.DataFrame(rows(read_gold(arguments.folder, arguments.split), arguments.pipeline))
    lines = [[*table.columns], ["---"] * len(table.columns), *table.to_numpy().tolist()]
    Console(soft_wrap=True).print("\n".join(f"| {' | '.join(line)} |" for line in lines))


if __name__ == "__main__":
    main()
