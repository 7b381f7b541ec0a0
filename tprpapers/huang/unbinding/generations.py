"""The words that a network wrote, with the row of the vector that unbound each, and their tags."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int, Shaped

from tprpapers.huang.unbinding.categories import categorize
from tprprobe.errors import InputError
from tprprobe.gold.labellers import Pipeline
from tprprobe.gold.labels import Labelled
from tprprobe.store import Store

SITE = "word.unbinding"
GOLD = "of the data (exact)"


@dataclass(frozen=True, eq=False)
class GeneratedWords:
    """Words and their unbinding vectors: ``table`` has a row per word.

    row       of the site's vectors: the word before was read there, this one came out
    sample, group (the image or document), position (the first word has 1), word, pos, previous,
    previous_pos, previous_kind, and what :func:`categorize` finds
    learned   whether the image is of the half that clusters are interpreted on; all that is counted
              is counted on the other half
    ``tagger`` says whose tags these are; ``untagged`` words are left out.
    """

    store: Store
    site: str
    table: pd.DataFrame
    tagger: str
    untagged: int

    @property
    def held_out(self) -> pd.DataFrame:
        """The words of images that no cluster was interpreted on."""
        return self.table.loc[~self.table["learned"]]


def read_words(
    store: Store, site: str = SITE, tagger: Pipeline | None = None, seed: int = 0
) -> GeneratedWords:
    """The words of a store of captions (or other texts) that a site's vectors stand before.

    Tags are the store's own column ``pos``; a store that has none needs a ``tagger``.

    Raises:
        InputError: no such site, or one of source tokens; no tags and no tagger; too few images.
    """
    site = store.select(site)[0]
    if store.side(site) != "target":
        raise InputError(f"{site} holds source tokens: give a site of the words that are written")
    tokens = store.tokens_of(site)
    sample = tokens["sample"].to_numpy()
    rows = np.flatnonzero(sample[:-1] == sample[1:])
    text = tokens["token"].astype(str).to_numpy()
    tags, name = _tags(tokens, rows, text, tagger, store)
    group = tokens["document"] if "document" in tokens else tokens["sample"]
    groups = pd.factorize(group)[0][rows]
    table = pd.DataFrame(
        {
            "row": rows,
            "sample": sample[rows],
            "group": groups,
            "position": tokens["position"].to_numpy()[rows] + 1,
            "word": text[rows + 1],
            "pos": tags,
            "previous": text[rows],
        }
    )
    columns = categorize(table["word"].to_numpy(), tags)
    table = pd.concat([table, columns], axis=1)
    is_initial = table["position"].to_numpy() == 1
    for name_, column in (("previous_pos", "pos"), ("previous_kind", "kind")):
        table[name_] = table[column].shift(fill_value="").where(~is_initial, "start")
    table["learned"] = _half(groups, seed)
    is_tagged = table["pos"] != ""
    if not is_tagged.any():
        raise InputError(f"{store.path} has no word with a tag: give a tagger")
    return GeneratedWords(
        store, site, table.loc[is_tagged].reset_index(drop=True), name, int((~is_tagged).sum())
    )


def _half(groups: Int[np.ndarray, " word"], seed: int) -> Bool[np.ndarray, " word"]:
    n = int(groups.max(initial=-1)) + 1
    if n < 4:
        raise InputError(f"{n} images or documents: give 4 or more to interpret clusters by")
    return np.random.default_rng(seed).permuted(np.arange(n) < n // 2)[groups]


def _tags(
    tokens: pd.DataFrame,
    rows: Int[np.ndarray, " word"],
    text: Shaped[np.ndarray, " token"],
    tagger: Pipeline | None,
    store: Store,
) -> tuple[Shaped[np.ndarray, " word"], str]:
    """The tag of every written word, and the name of its tagger."""
    if tagger is not None:
        measured = tagger.describe()["pos"]["agreement"]
        share = "accuracy unknown" if measured is None else f"{measured:.1%} right on gold text"
        return tag_words(text[rows + 1], tokens["sample"].to_numpy()[rows], tagger), (
            f"the tagger {tagger.name} ({share})"
        )
    if "pos" not in tokens or not (tokens["pos"].astype(str) != "").any():
        raise InputError(
            f"the words of {store.path} have no tags: give --tagger FOLDER (a spaCy pipeline)"
        )
    return tokens["pos"].astype(str).to_numpy()[rows + 1], _describe_tagger(store)


def _describe_tagger(store: Store) -> str:
    """The name of the tagger of a store's words: the data, or the labeller at extraction."""
    labels = store.facts.labels.get("pos")
    if labels is None:
        return GOLD
    agreement = labels.get("agreement")
    accuracy = "accuracy unknown" if agreement is None else f"{agreement:.1%} right on gold text"
    return f"{labels.get('source')} ({accuracy})"


def tag_words(
    words: Shaped[np.ndarray, " word"], samples: Int[np.ndarray, " word"], tagger: Pipeline
) -> Shaped[np.ndarray, " word"]:
    """The tag of every word of texts by a pipeline; an empty one of an unknown word."""
    boundaries = np.flatnonzero(np.diff(samples)) + 1
    texts = [tuple(map(str, text)) for text in np.split(words, boundaries)]
    sentences = [Labelled(str(i), "", text, " ".join(text)) for i, text in enumerate(texts)]
    tags: list[str] = []
    for sentence in tagger.label(sentences):
        tag_by_position = {target.span1[0]: target.label for target in sentence.targets["pos"]}
        tags += [tag_by_position.get(i, "") for i in range(len(sentence.words))]
    return np.where(np.char.startswith(words.astype(str), "<"), "", tags)
