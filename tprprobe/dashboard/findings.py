"""Names of clusters beside their controls: what clusters alone tell, and clusters of words with a name."""

from functools import partial
from pathlib import Path

import pandas as pd

from tprprobe.analyses.naming import load_names, load_word_names
from tprprobe.analyses.naming.vector_sets import TRAINED
from tprprobe.analyses.naming.word_names import count_names
from tprprobe.dashboard.headlines import percent, place, top
from tprprobe.dashboard.plots import plot_dots
from tprprobe.dashboard.sentence import Statement
from tprprobe.dashboard.view import View
from tprprobe.errors import InputError
from tprprobe.figures.dots import interval_dots
from tprprobe.figures.naming import polarity_table, words_table


def show_dots(
    rows: pd.DataFrame, title: str, label: str, dark: bool = False, note: str = ""
) -> View:
    """Values with intervals, a line per name, a color and symbol per group."""
    return View(
        title, partial(interval_dots, rows, title, label), rows, note, plot_dots(rows, label, dark)
    )


def show_decoding(folder: Path, dark: bool = False, every: bool = False) -> View:
    """The accuracy of clusters alone on numerators and denominators, held out, beside every
    control; of every head, or of the best of each kind.
    """
    naming = load_names(folder)
    rows = naming.decoding[naming.decoding["subset"] == "all"]
    if rows.empty:
        raise InputError(f"no numerators and denominators in {folder}")
    own = rows[rows["predictor"] == "clusters"]
    if not every:
        own = own.loc[own.groupby(["model", "vectors"], sort=False)["accuracy"].idxmax()]
    rules = rows[rows["predictor"] != "clusters"].drop_duplicates("predictor")
    heads = own["head"].map(lambda head: "" if pd.isna(head) else f", head {head}")
    names = pd.concat([own["vectors"] + heads, "rule: " + rules["predictor"]])
    table = pd.DataFrame(
        {
            "name": names,
            "group": pd.concat([own["model"], rules["predictor"].map(lambda _: "rule")]),
        }
    )
    both = pd.concat([own, rules])
    table = table.assign(
        value=both["accuracy"], low=both["accuracy_low"], high=both["accuracy_high"]
    )
    title = f"Numerator or denominator, told by clusters alone ({int(rows['n'].max())} digits, held out)"
    return show_dots(table, title, "accuracy", dark, polarity_table(naming).caption)


def tell_decoding(table: pd.DataFrame) -> Statement:
    """The trained model's roles beside the best of all other vectors and the best rule, from :func:`show_decoding`."""
    is_rule = table["group"] == "rule"
    is_role = (table["group"] == TRAINED) & table["name"].str.startswith("role")
    own, rest = table[is_role], table[~is_role & ~is_rule]
    best = top(own if len(own) else rest, "value")
    beside = [
        top(each, "value") for each in (rest if len(own) else own, table[is_rule]) if len(each)
    ]
    told = "; ".join(f"{row['name']} ({row['group']}) {percent(row)}" for row in beside)
    text = f"Numerator or denominator? Clusters of {best['name']} alone tell {percent(best)} of the digits"
    return Statement(f"{text}. Beside them: {told}." if told else f"{text}.")


def show_word_names(folder: Path, dark: bool = False) -> View:
    """The share of words in clusters that have a name, head by head, beside the untrained twin."""
    named = load_word_names(folder)
    counts = count_names(named)
    names = [place(site, head) for site, head in zip(counts["site"], counts["head"], strict=True)]
    rows = pd.DataFrame({"name": names, "group": counts["model"], "value": counts["tokens"]})
    rows = rows.assign(
        low=rows["value"], high=rows["value"], named=counts["named"], clusters=counts["clusters"]
    )
    title = "Words in clusters that exact labels name"
    return show_dots(rows, title, "share of words", dark, words_table(named).caption)


def tell_words(rows: pd.DataFrame) -> Statement:
    """How many clusters of words have a name, model by model, from the data of :func:`show_word_names`."""
    told = [
        f"{model} {part['named'].sum()} of {part['clusters'].sum()} (the best head’s cover {100 * part['value'].max():.0f} % of the words)"
        for model, part in rows.groupby("group", sort=False)
    ]
    return Statement(f"Clusters of words that exact labels name, held out: {'; '.join(told)}.")


def tabulate_word_names(folder: Path) -> pd.DataFrame:
    """The named clusters of words of a run, with their precision and recall."""
    return words_table(load_word_names(folder)).cells
