"""Labels of an annotated file for the words of a store that is already there."""

import os
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pandas as pd

from tprprobe.console import note
from tprprobe.errors import InputError
from tprprobe.evaluation.splits import DOCUMENT, QUESTION
from tprprobe.gold.annotations import note_documents, read_annotated
from tprprobe.gold.labels import LAST_WORD, PLAIN, WITHOUT_TOKEN, WORD, Labelled, encode_shared
from tprprobe.store import Store
from tprprobe.store.own_labels import save_labels
from tprprobe.store.reader import takes_paths

SIDE, MISSING = "source", f"words{WITHOUT_TOKEN}"


@takes_paths
def add_file_labels(store: Store, task: str, file: str | os.PathLike[str]) -> Store:
    """The store with the labels of a file of the same sentences, of words or of pairs, saved in it; nothing is extracted again.

    Args:
        store: A store whose texts are in the file, and have the same words there.
        task: The name of the labels.
        file: JSON lines, a column file or a treebank; sentences that the store lacks are passed over.

    Returns:
        The store, whose column ``task`` is also on disk.

    Raises:
        InputError: No sentence of the file is in the store, one has other words there, or the store's data have other labels of that name.
    """
    sentences = defaultdict[str, list[Labelled]](list)
    for sentence in read_annotated(file, task):
        sentences[_without_blanks(sentence.text)].append(sentence)
    tokens, documents, n_several = store.tokens, list[tuple[Labelled, str]](), 0
    if not {WORD, QUESTION} <= {*tokens}:
        raise InputError(f"the token table of {store.path} has no words of texts, to be labeled")
    cells, source = np.full(len(tokens), "", object), np.flatnonzero(tokens["side"] == SIDE)
    samples = tokens.iloc[source].groupby("sample", observed=True).indices
    for sample, rows in samples.items():
        words = tokens.iloc[source[rows]]
        firsts = words[WORD].tolist()
        lasts = words.get(LAST_WORD, words[WORD]).tolist()
        if matches := sentences.get(_without_blanks(str(words[QUESTION].iloc[0]))):
            _check_words(store, words, matches[0], f"{file}: sentence", sample)
            repeated = (target for match in matches for target in match.targets.get(task, ()))
            targets = dict.fromkeys(repeated)  # a sentence may come twice, or a line a target
            labels_of_spans = Counter(target[1:] for target in targets)
            n_several += sum(n > 1 for n in labels_of_spans.values()) * (len(matches) > 1)
            ranges = [*zip(firsts, lasts, strict=True)]
            cell_of_range = encode_shared(targets, len(matches[0].words), {*ranges})
            cells[source[rows]] = [cell_of_range[word_range] for word_range in ranges]
            name = words.get(DOCUMENT, words["sample"]).iloc[0]
            documents.append((matches[0], str(name)))
    if not (cells != "").any():
        text = next(iter(sentences.values()))[0].text
        raise InputError(
            f"{file}: no sentence with labels of {task} is a text of {store.path}; the first: {text[:40]!r}, there {tokens[QUESTION].iloc[0][:40]!r}"
        )
    if task in tokens:
        if (tokens[task].astype(object).fillna("")[tokens["side"] == SIDE] == cells[source]).all():
            return store
        if task not in store.labels or f"{SIDE}.{task}" in store.facts.counts:
            raise InputError(
                f"{file}: {store.path} already has another {task} from its data: give these labels another name (--labels NAME=FILE)"
            )
        note(f"{task}: these labels replace others of that name")
    note(
        f"{store.path}: labels of {task} for {len(documents):,} of {store.samples:,} samples: {file}"
    )
    note_documents(file, documents)
    if n_several:
        note(
            f"{file}: {n_several:,} words or spans have several labels, as their sentences stand there several times; all are kept"
        )
    texts = {_without_blanks(str(text)) for text in tokens[QUESTION].unique()}
    if missing := [s[0].text for text, s in sentences.items() if text not in texts]:
        n_missing = f"{len(missing):,} of {len(sentences):,} sentences are no text of the store"
        note(f"{file}: {n_missing}, the first: {missing[0]:.60}")
    table = tokens.assign(**{task: cells})
    save_labels(store.path, table, task)
    return replace(store, table=table, labels=(*store.labels, task))


def _check_words(
    store: Store, tokens: pd.DataFrame, sentence: Labelled, place: str, sample: object
) -> None:
    """Checks that a sample has as many words as its sentence, or fewer where some have no token."""
    is_whole = not any(store.facts.counts.get(f"{SIDE}.{name}") for name in ("texts_cut", MISSING))
    n_words = int(tokens.get(LAST_WORD, tokens[WORD]).max()) + 1
    if n_words > len(sentence.words) or (is_whole and n_words < len(sentence.words)):
        # the words of the store, where nobody annotated its text
        plain = PLAIN.findall(str(tokens[QUESTION].iloc[0]))
        pairs = zip(sentence.words, plain, strict=False) if len(plain) == n_words else ()
        differing = next((f" (first {a!r} and {b!r})" for a, b in pairs if a != b), "")
        raise InputError(
            f"{place} {sentence.name} has {len(sentence.words)} words, sample {sample} of {store.path} {n_words}{differing}: extract from "
            "this file (give it as --data), so that its words count"
        )


def _without_blanks(text: str) -> str:
    return "".join(text.split())
