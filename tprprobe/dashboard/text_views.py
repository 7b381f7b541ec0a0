"""A text that is asked, token by token: which tokens its answer depends on, and what changes beside another text."""

import numpy as np
import pandas as pd

from tprprobe.dashboard.changes import describe_other, write_share
from tprprobe.dashboard.statements import top
from tprprobe.dashboard.view import View
from tprprobe.figures.labels import site_label
from tprprobe.figures.scenes import Squares
from tprprobe.interventions.prompts import find_most_changed, name_measure
from tprprobe.interventions.salience import INTEGRATED, REPLACED
from tprprobe.interventions.salience import salience as salience
from tprprobe.interventions.text_comparison import TextComparison
from tprprobe.interventions.text_comparison import compare_texts as compare_texts
from tprprobe.store.token_texts import sign, visible

WRITTEN = 24  # tokens or heads of a row whose numbers are written


def show_salience(table: pd.DataFrame, reference: str = "") -> View:
    """A row a measure, a column a token; every row is divided by its largest value. ``reference``: of a model without a head, the other text."""
    numbers = table.drop(columns=["position", "token"]).T
    values = numbers.to_numpy(float)
    scaled = values / np.maximum(np.abs(values).max(1, keepdims=True), 1e-12)
    told = np.char.replace(np.char.mod("%+.3g", values), "-", "−")
    digits = np.clip(1 - np.floor(np.log10(np.abs(values).max(1) + 1e-12)), 1, 4).astype(int)
    pairs = zip(digits, values, strict=True)
    brief = np.array([[f"{x:z.{n}f}".replace("-", "−") for x in row] for n, row in pairs])
    texts = brief if len(table) <= WRITTEN else None
    score = f"cosine with ‘{visible(reference, 60)}’" if reference else "answer’s log-probability"
    note = f"Red: adds to the {score}; blue: takes from it. Darkest: the largest of its row."
    rows, columns = [*map(str, numbers.index)], _number(table["token"])
    scene = Squares(scaled, rows, columns, ("", "token"), texts, told, True)
    return View("Which tokens count", table, scene, note)


def summarize_salience(table: pd.DataFrame) -> str:
    """The token without which most is lost, and whether gradients agree with that."""
    ranked = table[table[REPLACED] > 0].nlargest(3, REPLACED)
    listed = ", ".join(f"‘{sign(token).strip()}’" for token in ranked["token"])
    claim = f"Most is lost without {listed}" if listed else "Nothing is lost without any token"
    agreement = table[INTEGRATED].corr(table[REPLACED], "spearman")
    verdict = f" Rank correlation with integrated gradients: {agreement:.2f} (Spearman)."
    return f"{claim} (one token replaced by random ones).{verdict * bool(agreement == agreement)}"


def summarize_texts(texts: TextComparison) -> str:
    """What is said of either text, and where their states and heads differ most."""
    sentences = []
    if len(texts.outputs):
        column, _ = name_measure(texts.outputs)
        names = ["text", "against"]
        values = texts.outputs.set_index(column)[names]
        firsts = zip(values.idxmax(), [write_share(p) for p in values.max()], strict=True)
        first, of_edited = (f"‘{word}’ ({share})" for word, share in firsts)
        text = f"{column.capitalize()} {first}, of the edited text {of_edited}"
        if (other := find_most_changed(texts.outputs, *names)) is not None:
            shares = (write_share(other[name]) for name in names)
            text += describe_other(other[column], *shares)
        sentences += [f"{text}."]
    row = top(texts.states, "distance")
    where = f"at {site_label(row['site'])}, token ‘{sign(row['token']).strip()}’"
    sentences += [f"States differ most {where} (1 − cosine {row['distance']:.2f})."]
    if len(texts.heads):
        row = top(texts.heads, "distance")
        where, share = site_label(row["site"], row["head"]), f"{100 * row['distance']:.0f} %"
        sentences += [f"Attention differs most in {where}: {share} of its weight."]
    return " ".join(sentences)


def show_text_states(texts: TextComparison) -> View:
    """How far apart the two texts' states are: a row a site, a column a token."""
    table, title = texts.states, "How far apart the states of the two texts are"
    first = table[table["site"] == table["site"].iloc[0]]
    pairs = zip(first["token"], first["other_token"], strict=True)
    names = [sign(a) if a == b else f"{sign(a)} → {sign(b)}" for a, b in pairs]
    scene = _square(table, "position", _number(names), "token", "1 − cosine")
    return View(title, table, scene, "Of aligned tokens: 0 is the same direction.")


def show_text_heads(texts: TextComparison) -> View:
    """How differently heads look at the two texts: a row a layer, a column a head."""
    names = [*map(str, range(texts.heads["head"].max() + 1))]
    scene = _square(texts.heads, "head", names, "head", "share of attention moved")
    note = "Mean over queries, over both texts’ tokens."
    return View("How differently heads look at the two texts", texts.heads, scene, note)


def _square(table: pd.DataFrame, column: str, names: list[str], axis: str, bar: str) -> Squares:
    """Distances by site and another column, darker the larger, up to 1."""
    wide = table.pivot(index="site", columns=column, values="distance")
    values = wide.reindex(table["site"].unique()).to_numpy(float)
    rows, told = [*map(site_label, table["site"].unique())], np.char.mod("%.2f", values)
    texts = told if len(names) <= WRITTEN else None
    return Squares(np.minimum(values, 1), rows, names, ("", axis), texts, told, bar=bar)


def _number(tokens) -> list[str]:
    """Tokens as they are shown, told apart where they repeat."""
    return [f"{i} {sign(token)}" for i, token in enumerate(tokens)]
