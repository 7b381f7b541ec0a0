"""Fields of tokens, by which clusters are named and maps are colored: columns, exact labels, and gold structure in words."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.errors import unknown
from tprprobe.estimators.clusters.names import Lattice, build_lattice
from tprprobe.gold.labels import WORD, decode_cell
from tprprobe.store import Store
from tprprobe.store.token_texts import SPECIAL, sign, spell, visible

CLUSTER, OTHER, NONE = "cluster", "other", "–"
MAX_VALUES = 20  # values that have a color of their own
# A task before a label that says it: `place p0`.
REPEATED = re.compile(r"^(\w+?)\w* (?=\1\d+$)|^(\w+) (?=\2$)")
SAMPLE_COLUMNS = ("question", "answer", "prediction", "source", "target", "side", "sample", "id")


@dataclass(frozen=True)
class Field:
    """One or more gold columns whose values, clipped to lowest … highest, become a text.

    `words` has the texts of values; others are put into `text`, a label without letters or digits behind its task (`pos=.`).
    """

    columns: tuple[str, ...]
    text: str = "{}"
    words: Mapping[Any, str] = field(default_factory=dict)
    lowest: int | None = None
    highest: int | None = None

    def describe(self, gold: pd.DataFrame) -> pd.Series:
        """The texts of a gold table's rows, missing where any of its columns is."""
        values = gold.loc[:, list(self.columns)]
        if self.lowest is not None or self.highest is not None:
            values = values.clip(self.lowest, self.highest)
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
WORD_ITSELF = (-1, 0)  # a span that is not written: the word itself
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


def list_labels(store: Store) -> dict[str, Field]:
    """The fields of the labels of words that name clusters: of roles, exact ones, and what a tagger guessed."""
    guessed = [task for task in store.facts.labels if task != "upos" or "pos" not in store.tokens]
    further = {name: LABELS.get(name, Field((name,))) for name in ("role", *guessed)}
    columns = store.tokens.columns
    return list_exact(store) | {
        name: further[name] for name in further if name in columns and WORD in columns
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
    spans = [
        span2 if task == "srl" and span2 else span1 or WORD_ITSELF for _, _, span1, span2 in targets
    ]
    rows = [(*target[:2], *span) for target, span in zip(targets, spans, strict=True)]
    labels = cells.merge(pd.DataFrame(rows, columns=["cell", "label", "start", "stop"]), on="cell")
    is_own = labels["start"] == WORD_ITSELF[0]
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


MAX_PLACE, MAX_TOKENS = 20, 40  # places from an end, and most frequent tokens, that have a name
SIDES = ("left", "right")
MARK = {"mark": Field(("mark",))}  # a special token such as <eos> stands at no place
TEXTS = {"text": Field(("text",), "‘{}’")}


def read_places(tokens: pd.DataFrame) -> pd.DataFrame:
    """The special token, or the places from the left and from the right (from 1), of the tokens of a side; of words where these are numbered."""
    texts = tokens["token"].astype(str).reset_index(drop=True)
    samples = tokens["sample"].reset_index(drop=True)
    is_special = texts.str.fullmatch(SPECIAL)
    if WORD in tokens and tokens[WORD].max() >= 0:
        words = tokens[WORD].reset_index(drop=True).astype("Int64")
        n_left = words.where(words >= 0) + 1
    else:
        n_left = (~is_special).astype("Int64").groupby(samples).cumsum().where(~is_special)
    right = n_left.groupby(samples).transform("max") - n_left + 1
    places = {side: n.where(n <= MAX_PLACE) for side, n in zip(SIDES, (n_left, right), strict=True)}
    return pd.DataFrame({"mark": texts.where(is_special & n_left.isna()), **places})


def build_places(tokens: pd.DataFrame) -> Lattice:
    """Predicates of places."""
    return build_lattice(describe(read_places(tokens), MARK | _list_fields(tokens)))


def _list_fields(tokens: pd.DataFrame) -> dict[str, Field]:
    """The places from both sides: of words, where some have several tokens, else of tokens."""
    has_pieces = WORD in tokens and tokens[tokens[WORD] >= 0].duplicated(["sample", WORD]).any()
    unit = "word" if has_pieces else "place"
    return {side: Field((side,), f"{unit} {{}} from the {side}") for side in SIDES}


def build_tokens_at_places(tokens: pd.DataFrame) -> Lattice:
    """Predicates of places, of the most frequent tokens, and of both."""
    places = read_places(tokens)
    texts = tokens["token"].astype(object).map(sign).reset_index(drop=True)
    texts = texts.mask(places["mark"].notna())
    frequent = texts.where(texts.isin(texts.value_counts().index[:MAX_TOKENS]))
    fields = MARK | _list_fields(tokens) | TEXTS
    return build_lattice(describe(places.assign(text=frequent), fields))


def count_places(names: "pd.Series[str]") -> int:
    """How many names say where a token stands."""
    return int(names.astype(str).str.contains(r"\b(?:place|word) \d+ from the ").sum())


def compare_places(n_places: int, of_baselines: Mapping[str, int]) -> str:
    """How many names say where a token stands, in a model and its baseline models; empty if none does."""
    if not n_places and not any(of_baselines.values()):
        return ""
    baselines = "".join(
        f", {n or 'none'} of the baseline model’s ({model})" for model, n in of_baselines.items()
    )
    return f"{n_places or 'None'} of the names {'says' if n_places == 1 else 'say'} where a token stands{baselines}."
