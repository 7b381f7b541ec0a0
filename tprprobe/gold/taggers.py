"""A spaCy pipeline trained on annotated files, in one command.

python -m tprprobe.gold.taggers --train FILE.conllu --dev FILE.conllu --out FOLDER
    [--train-labels nel=FILE.iob2 --dev-labels nel=FILE.iob2] [--steps N]
"""

import logging
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from tprprobe.files.writing import refuse_existing, whole
from tprprobe.gold.annotations import add_labels, read_annotated
from tprprobe.gold.labellers import ROOT, import_spacy, make_doc
from tprprobe.gold.labels import Labelled, Target

CONFIG = Path(__file__).with_name("pipeline.cfg")
BEST = "model-best"
ATTRIBUTES = ["TAG", "POS", "DEP", "HEAD", "ENT_IOB", "ENT_TYPE", "SPACY"]


def train_pipeline(
    train: Sequence[Labelled], dev: Sequence[Labelled], out: Path, steps: int | None = None
) -> Path:
    """The folder of the pipeline that was best on ``dev``, trained by pipeline.cfg.

    Its components are those that the training sentences have labels for.
    """
    spacy = import_spacy()
    from spacy.cli.init_config import fill_config
    from spacy.cli.train import train as run
    from spacy.tokens import DocBin

    refuse_existing(out)
    logging.getLogger("spacy").setLevel(logging.WARNING)
    with tempfile.TemporaryDirectory() as scratch:
        overrides: dict[str, str | int] = {}
        vocab = spacy.blank("en").vocab
        for name, sentences in {"train": train, "dev": dev}.items():
            overrides[f"paths.{name}"] = f"{scratch}/{name}.spacy"
            docs = [annotate(make_doc(vocab, sentence), sentence) for sentence in sentences]
            DocBin(docs=docs, attrs=ATTRIBUTES).to_disk(f"{scratch}/{name}.spacy")
        if steps is not None:
            overrides["training.max_steps"] = steps
            overrides["training.eval_frequency"] = max(1, steps // 4)
        filled = Path(scratch) / "config.cfg"
        fill_config(filled, CONFIG, silent=True)
        run(filled, Path(scratch) / "out", overrides=overrides)
        with whole(out) as partial:
            spacy.load(Path(scratch) / "out" / BEST).to_disk(partial)
    return out


def annotate(doc: Any, sentence: Labelled) -> Any:
    from spacy.tokens import Span

    for task, name in (("pos", "tag_"), ("upos", "pos_")):
        labels = {target.span1[0]: target.label for target in sentence.targets.get(task, ())}
        for i, token in enumerate(doc):
            setattr(token, name, labels.get(i, ""))
    for target in sentence.targets.get("dep", ()):
        assert target.span2 is not None
        token = doc[target.span1[0]]
        token.head = doc[target.span2[0]]
        token.dep_ = ROOT if target.label == "root" else target.label
    entities: Sequence[Target] = sentence.targets.get("nel", ())
    doc.set_ents([Span(doc, *target.span1, label=target.label) for target in entities])
    return doc


def read_sentences(path: Path, labels: Sequence[str] = ()) -> list[Labelled]:
    """The sentences of an annotated file, with the labels of other files of the same (TASK=FILE)."""
    sentences = read_annotated(path)
    for label in labels:
        task, _, file = label.partition("=")
        sentences = add_labels(sentences, file, task)
    return sentences


def main(
    train: Annotated[Path, typer.Option(help="Annotated sentences (CoNLL-U).")],
    dev: Annotated[Path, typer.Option(help="Others, to choose the best of the run.")],
    out: Annotated[Path, typer.Option(help="The folder of the pipeline.")],
    train_labels: Annotated[list[str] | None, typer.Option(help="TASK=FILE of train.")] = None,
    dev_labels: Annotated[list[str] | None, typer.Option(help="TASK=FILE of dev.")] = None,
    steps: Annotated[int | None, typer.Option(help="Steps of training.")] = None,
) -> None:
    """Train a small tagger, parser and entity recognizer."""
    train_sentences = read_sentences(train, train_labels or ())
    held_out = read_sentences(dev, dev_labels or ())
    typer.echo(f"written: {train_pipeline(train_sentences, held_out, out, steps)}")


if __name__ == "__main__":
    typer.run(main)
