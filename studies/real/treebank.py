"""The English Web Treebank: sentences with universal dependencies, named entities and semantic roles."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tprprobe.data import load_data
from tprprobe.data.annotated.sentencesets import AnnotatedFile, join_labels

SEED = 0  # of the order of documents


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
