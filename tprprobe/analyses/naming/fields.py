"""Fields of tokens, by which clusters are named and maps are colored: columns, exact labels, and gold structure in words."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.errors import unknown
from tprprobe.gold.labels import WORD, decode_cell
from tprprobe.store import Store
from tprprobe.store.token_texts import spell, visible

CLUSTER, OTHER, NONE = "cluster", "other", "–"
MAX_VALUES = 20  # values that have a color of their own
# A task before a label that says it: `place p0`.
REPEATED = re.compile(r"^(\w+?)\w* (?=\1\d+$)|^(\w+) (?=\2$)")
SAMPLE_COLUMNS = ("question", "answer", "prediction", "source", "target", "side", "sample", "id")


@dataclass(frozen=True)
class Field:
    """One or more gold columns whose values, clipped to least … most, become a text.

    `words` has the texts of values; others are put into `text`, a label without letters or digits behind its task (`pos=.`).
    """

    columns: tuple[str, ...]
    text: str = "{}"
    words: Mapping[Any, str] = field(default_factory=dict)
    least: int | None = None
    most: int | None = None

    def describe(self, gold: pd.DataFrame) -> pd.Series:
        """The texts of a gold table's rows, missing where any of its columns is."""
        values = gold.loc[:, list(self.columns)]
        if self.least is not None or self.most is not None:
            values = values.clip(self.least, self.most)
        number = values.groupby(list(self.columns), observed=True).ngroup().fillna(-1).astype(int)
        codes, first_rows = np.unique(number, return_index=True)
        rows = values.iloc[first_rows[codes >= 0]].itertuples(index=False, name=None)
        words = pd.Index([*map(self._word, rows)], dtype=object)
        return pd.Series(pd.Categorical.from_codes(number, words), gold.index)

    def _word(self, key: tuple) -> str:
        value = key[0] if len(key) == 1 else key
        text = self.words.get(value) or REPEATED.sub("", self.text.format(*key))
        is_sign = self.text == "{}" and not any(map(str.isalnum, text))
        return f"{self.columns[0]}={text}" if is_sign else text


def describe(gold: pd.DataFrame, fields: Mapping[str, Field]) -> pd.DataFrame:
    """The fields of a gold table in words, one column per field, one row per row; names begin with the first."""
    return pd.DataFrame({name: field.describe(gold) for name, field in fields.items()})


LABELS = {name: Field((name,)) for name in ("pos", "dep", "srl")}
LABELS |= {"nel": Field(("nel",), "in {}")}
OWN = (-1, 0)  # a span that is not written: the word itself
OTHER_LABELS = {*LABELS, "upos", "role", "place"}  # beside these, labels are a user's own


def list_exact(store: Store) -> dict[str, Field]:
    """The fields of the labels that the store's data tell, and of labels of one's own; what a tagger guessed is not among them."""
    columns = store.tokens.columns
    if WORD not in columns:  # without the words' numbers, cells name no words
        return {}
    counted_tasks = (name.partition(".")[2] for name in store.facts.counts)
    tasks = [*store.labels, *(name for name in counted_tasks if name not in OTHER_LABELS)]
    fields = LABELS | {name: Field((name,), f"{name} {{}}") for name in tasks if name not in LABELS}
    return {
        name: fields[name] for name in fields if name in columns and name not in store.facts.labels
    }


def read_labels(store: Store, side: str) -> pd.DataFrame:
    """The tokens of a side with a label per task, missing where a word has none.

    A dependent has the label of its relation, every word of an argument the label of its role (the first one
    listed, if there are several), and every word of an entity the label of that entity.
    """
    tokens = store.tokens.loc[store.tokens["side"] == side].reset_index(drop=True)
    return tokens.assign(**{name: label_words(tokens, name) for name in list_exact(store)})


def label_words(tokens: pd.DataFrame, task: str) -> pd.Series:
    """The label of every token of a side for one task, exact or guessed; missing where a word has none."""
    words = tokens[["sample", WORD]].set_axis(["sample", "word"], axis=1)
    is_last = (
        ~words.duplicated(keep="last") & (words["word"] >= 0) & tokens[task].notna()
    )  # tokens of words
    cells = words[is_last].assign(cell=tokens.loc[is_last, task].astype(str))
    targets = [
        (cell, *target) for cell in cells["cell"].unique() for target in decode_cell(cell, -1)
    ]
    spans = [span2 if task == "srl" and span2 else span1 or OWN for _, _, span1, span2 in targets]
    rows = [(*target[:2], *span) for target, span in zip(targets, spans, strict=True)]
    labels = cells.merge(pd.DataFrame(rows, columns=["cell", "label", "start", "stop"]), on="cell")
    is_own = labels["start"] == OWN[0]
    starts = labels["start"].where(~is_own, labels["word"])
    stops = labels["stop"].where(~is_own, labels["word"] + 1)
    labels = labels.loc[labels.index.repeat(stops - starts)]
    labels["word"] = starts[labels.index] + labels.groupby(level=0).cumcount()
    labels = labels[["sample", "word", "label"]].drop_duplicates(["sample", "word"])
    joined = words.merge(labels, "left", on=["sample", "word"])["label"]
    return joined.astype(object).where(joined.notna(), np.nan).set_axis(tokens.index)


def list_fields(tokens: pd.DataFrame, gold: pd.DataFrame | None) -> list[str]:
    """The columns of tokens that have several values, and those of their gold structure."""
    gold_fields = [] if gold is None else [f"gold {name}" for name in gold]
    hidden_columns = {*SAMPLE_COLUMNS, *(name.removeprefix("gold ") for name in gold_fields)}
    columns = [str(column) for column in tokens if column not in hidden_columns]
    return [*(column for column in columns if tokens[column].nunique() > 1), *gold_fields]


def read_field(tokens: pd.DataFrame, gold: pd.DataFrame | None, name: str) -> pd.Series:
    """The values of a field, one per token, as texts: the commonest by name, the others together."""
    if gold is not None and name.startswith("gold ") and name[5:] in gold:
        values = gold[name[5:]]
    elif name in tokens and name not in SAMPLE_COLUMNS:
        is_label = name in {*LABELS, "upos"} and WORD in tokens
        values = label_words(tokens, name) if is_label else tokens[name]
        if name == "token":
            values = values.map({token: spell(token) for token in values.unique()})
    else:
        raise unknown("field", name, [CLUSTER, *list_fields(tokens, gold)])
    return _group(values.reset_index(drop=True))


def _group(values: pd.Series) -> pd.Series:
    """Numbers in up to eight ranges of about as many values; texts, of which only the commonest keep their names."""
    if pd.api.types.is_numeric_dtype(values) and values.nunique() > MAX_VALUES:
        edges: list[float] = np.unique(np.nanquantile(values, np.linspace(0, 1, 9))).tolist()
        names = [f"{low:g}…{high:g}" for low, high in pairwise(edges)]
        ranges = pd.cut(values.astype(float), edges, labels=names, include_lowest=True)
        return ranges.astype(object).fillna(NONE)
    names = {value: visible(value) for value in values.dropna().unique()}
    texts = values.astype(object).map(names).astype(object).fillna(NONE)
    return texts.where(texts.isin(texts.value_counts().index[:MAX_VALUES]), OTHER)


def order_values(values: pd.Series) -> list[str]:
    """The values in the order in which they are given colors: numbers by size, texts by count."""
    ordered = values.value_counts().index.tolist()
    if all(value.isdigit() for value in ordered):
        return sorted(ordered, key=int)
    return sorted(ordered, key=lambda value: value in (OTHER, NONE))
