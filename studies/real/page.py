"""The page on real models, from the committed tables; a question that has no table is left out."""

from pathlib import Path
from typing import Any

import pandas as pd

from studies.real.drawings import SCHEMES, read_result
from studies.real.leads import compare_leads
from studies.real.outcomes import RESULTS, judge
from studies.real.predictions import load_predictions
from studies.templates import fill, table
from tprprobe.errors import InputError
from tprprobe.files.writing import write_file
from tprprobe.statistics import interval_text, read_interval

PAGE = Path("docs/real.md")
NAMES = {"minilm": "all-MiniLM-L6-v2", "smollm2": "SmolLM2-135M-Instruct"}
VERBS = {
    "holds": "hold",
    "fails": "fail",
    "undecided": "are undecided",
    "not measured": "were not measured",
}
ESTIMATES = ("sentence", "language-model", "spelling", "layer")
CLAUSES = 3_168  # sentences of the six clauses


def write_page(path: Path = PAGE) -> Path:
    """The page."""
    found = [read_result(f"{name}-estimates") for name in ESTIMATES if _has(f"{name}-estimates")]
    outcomes = judge(pd.concat(found)).fillna("")
    outcomes.to_csv(RESULTS / "outcomes.csv", index=False)
    counted = outcomes["outcome"].value_counts()
    facts = {
        "a": _sentences() if _has("sentence-vectors") else None,
        "b": _language_model() if _has("period-gains") else None,
        "c": _spelling() if _has("spelling-fits") else None,
        "d": _layers() if _has("layer-knowledge") else None,
    }
    text = fill(
        Path(__file__).parent,
        "real.md.j2",
        predictions=len(load_predictions()),
        counts=_listed([f"{n} {VERBS[str(name)]}" for name, n in counted.items()], ""),
        outcomes=table(_shown(outcomes, pd.concat(found))),
        leads=table(compare_leads()),
        **facts,
    )
    return write_file(path, text)


def _has(name: str) -> bool:
    return (RESULTS / f"{name}.csv").is_file()


def _shown(outcomes: pd.DataFrame, estimates: pd.DataFrame) -> pd.DataFrame:
    """Outcomes with the number that decided."""
    first = estimates[estimates["seed"] == estimates.groupby("prediction")["seed"].transform("min")]
    texts = {name: _number(of) for name, of in first.groupby("prediction")}
    measured = outcomes["prediction"].map(texts).fillna("")
    shown = {
        "prediction": "“" + outcomes["says"] + "”",
        "measured": measured,
        "outcome": outcomes["outcome"],
    }
    return pd.DataFrame({**shown, "again": outcomes["again"]})


def _number(of: pd.DataFrame) -> str:
    """The interval of one case; of several the least and the most."""
    if len(of) == 1:
        return interval_text(read_interval(of.iloc[0]))
    rows: Any = of.loc
    ends = [rows[of["value"].idxmin()], rows[of["value"].idxmax()]]
    return " to ".join(f"{interval_text(read_interval(row))} ({row['case']})" for row in ends)


def _best_surgery(surgery: pd.DataFrame) -> str:
    """The roles by which an exchange of letters says the other word most often, and how often."""
    rows = surgery[(surgery["edit"] == "exchange") & (surgery["seed"] == 0)]
    best = str(rows["roles"].iloc[int(rows["exact"].argmax())])
    return f"`{best}` ({_pick(surgery, 'exact', roles=best, edit='exchange', seed=0)})"


def _pick(rows: pd.DataFrame, name: str = "value", form: str = ".3f", **where: Any) -> str:
    """``value [low, high]`` of the one row where columns have these values; a dash if there is none."""
    for column, value in where.items():
        rows = rows[rows[column].fillna("") == value]
    return interval_text(read_interval(rows.iloc[0], name), form) if len(rows) else "–"


def _negated(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the other sign."""
    signs = {"value": "value", "value_low": "value_high", "value_high": "value_low"}
    return rows.assign(**{name: -rows[of] for name, of in signs.items()})


def _sentences() -> dict[str, Any]:
    rows = read_result("sentence-vectors")
    last = max(s for s in rows["site"].unique() if s.endswith(".hidden"))
    at: dict[str, Any] = {"frame": "clauses", "site": last, "seed": 0}
    own: dict[str, Any] = {**at, "twin": ""}
    passive = "active and passive"
    return {
        "n": f"{CLAUSES:,}",
        "words": _pick(rows, measure="R² words", **own),
        "share": _pick(rows, measure="share of exchange", **own),
        "place": _pick(rows, measure="cosine place", **own),
        "role": _pick(rows, measure="cosine role", **own),
        "shuffled": _pick(rows, measure="cosine shuffled", **own),
        "twin": _pick(rows, measure="cosine place", twin="permuted-0", **at),
        "gap": _pick(_negated(rows), measure="role − place", **own),
        "swap_first": _pick(rows, measure=f"own_exchange_first, {passive}", **own),
        "swap_second": _pick(rows, measure=f"own_exchange_first, {passive}", **{**own, "seed": 1}),
        "swap_twin": _pick(
            rows, measure=f"own_exchange_first, {passive}", **{**own, "twin": "permuted-0"}
        ),
        "passive": _pick(rows, measure=f"before_exchange, {passive}", **own),
        "passive_second": _pick(rows, measure=f"before_exchange, {passive}", **{**own, "seed": 1}),
        "paraphrase": _pick(rows, measure="before_exchange", **own),
        "sure": "A second set of words gives the same outcomes of all predictions that were repeated, but other shares in searches. All sentences are short, with two or three persons and one verb.",
    }


def _spelling() -> dict[str, Any]:
    fits, surgery, twins = (read_result(f"spelling-{n}") for n in ("fits", "surgery", "twins"))
    of = {"family": "saturated", "control": "", "seed": 0}
    kept = pd.DataFrame(
        [
            {
                "roles of the letters": f"{label} (`{roles}`)",
                "preserved": _pick(fits, "kept", roles=roles, **of),
            }
            for roles, label in SCHEMES.items()
            if (fits["roles"] == roles).any()
        ]
    )
    operated = {"edit": "exchange", "seed": 0}
    untrained = twins[twins["twin"] == "untrained"]
    return {
        "n": f"{int(fits['n'].iloc[0]):,}",
        "table": table(kept),
        "untrained": f"R² {untrained['r2_twin'].mean():.3f}",
        "trained": f"{untrained['r2'].mean():.3f}",
        "surgery": _pick(surgery, "exact", roles="wickel", **operated),
        "surgery_best": _best_surgery(surgery),
        "random": _pick(surgery, "exact", roles="wickel", edit="random", seed=0),
        "search": _searched(read_result("spelling-search")),
        "search_kept": _compare_searched(fits),
        "regular": _pick(read_result("spelling-estimates"), prediction="c-regular", seed=0),
        "sure": "Two splits of the lemmas give the same order of the schemes, but for both ends and syllables, which lie close together. There are many more pairs of neighbors than places, and more free vectors may explain part of their lead.",
    }


SEARCHED = "left+after"  # what the search names: fitted and judged like the other schemes


def _searched(schemes: pd.DataFrame) -> str:
    """What the search names, in words.

    Raises:
        InputError: it names another scheme than the study fits; the study's list of schemes has to change.
    """
    named = schemes.loc[schemes["is_found"], "roles"].unique().tolist()
    if named != [SEARCHED]:
        raise InputError(f"the search names {', '.join(named)}: fit these roles, not {SEARCHED}")
    return f"a sum of two bindings for every letter, `{SEARCHED}`: to its place from the left, and to the letter after it"


def _compare_searched(fits: pd.DataFrame) -> str:
    """Whether the roles that the search names preserve the most pronunciations, and which others do."""
    rows = fits[(fits["control"].fillna("") == "") & (fits["seed"] == 0)]
    rows = rows[rows["family"] == "saturated"].sort_values("kept", ascending=False)
    place = rows["roles"].tolist().index(SEARCHED)
    best = f"`{rows['roles'].iloc[0]}` ({_pick(rows.head(1), 'kept')})"
    own = _pick(rows, "kept", roles=SEARCHED)
    return (
        f"these roles are the best of all ({own})."
        if place == 0
        else f"{best} is better ({own} for the roles of the search)."
    )


def _language_model() -> dict[str, Any]:
    gains, turns = read_result("period-gains"), read_result("agreement")
    gains, turns = gains[gains["seed"] == 0], turns[turns["seed"] == 0]
    rows: Any = gains.loc
    best = rows[gains["learnt"].idxmax()]
    by_layer = {
        key: of.set_index("layer")["turned"] for key, of in turns.groupby(["place", "edit"])
    }
    subject, last = by_layer["subject", "exchange"], by_layer["last", "exchange"]
    leaves = subject[subject > 0.5].index.max()
    moving = [leaves, leaves + 1, leaves + 2]
    shown = pd.DataFrame(
        {
            "replaced after layer": [f"{layer:.0f}" for layer in moving],
            "at the subject": [f"{share:.2f}" for share in subject[moving]],
            "at the last token": [f"{share:.2f}" for share in last[moving]],
        }
    )
    return {
        "best": _number_of(best),
        "gain": interval_text(read_interval(best, "gain"), "+.3f"),
        "learnt": interval_text(read_interval(best, "learnt"), "+.3f"),
        "right": _pick(turns, "turned", place="none", edit="attractor"),
        "attractor": f"{by_layer['last', 'attractor'].max():.2f}",
        "leaves": f"{leaves:.0f}",
        "table": table(shown),
        "sure": SURE_B.format(random=turns.loc[turns["edit"] == "random", "turned"].max()),
    }


def _listed(values: Any, form: str) -> str:
    """Values in a row: 1, 2 and 3."""
    *most, last = (format(value, form) for value in values)
    return f"{', '.join(most)} and {last}"


def _number_of(row: pd.Series) -> str:
    return str(row["site"]).split(".")[1]


SURE_B = (
    "The change between layers is far larger than the intervals, and random directions change at most {random:.2f} of the verbs at any layer. We did not measure agreement in the twin. "
    "A second draw of 24 sets of words gives the same outcomes. All texts follow one pattern, and the weights of the one model come from a 4-bit file."
)


def _layers() -> dict[str, Any]:
    rows = read_result("layer-knowledge")
    rows = rows[rows["seed"] == 0]
    lines, most = [], []
    for model, of in rows.groupby("model", sort=False):
        centers = of[of["layer"].isna()].set_index("task")["f1"]
        best = of[of["layer"].notna()].sort_values("added").groupby("task", sort=False).tail(1)
        most += best["added"].tolist()
        lines += [
            {
                "model": NAMES[str(model)],
                "task": str(row["task"]).upper(),
                "best layer adds": interval_text(read_interval(row, "added"), "+.3f"),
                "best layer": f"{row['layer']:.0f}",
                "expected layer": f"{centers[row['task']]:.1f}",
            }
            for _, row in best.sort_values("task").iterrows()
        ]
    return {
        "table": table(pd.DataFrame(lines)),
        "adds": f"{min(most):.2f} to {max(most):.2f}",
        "heads": _heads(),
        "sure": "A second seed of the probes gives the same outcomes with two exceptions: it rejects the published order in the language model, and leaves undecided whether semantic roles gain more than parts of speech. The probes are linear, and all words are of one part of one treebank. An expected layer depends on the probe.",
    }


def _heads() -> str:
    """The best head of every model for three relations, beside the best fixed offset."""
    rows = read_result("relation-heads")
    rows = rows[(rows["seed"] == 0) & (rows["start"] == "dependent")]
    shown = [
        {
            "model": NAMES[str(row["model"])],
            "relation": f"`{row['relation']}`",
            "head": f"layer {row['layer']:.0f}, head {row['head']:.0f}",
            "the head finds": interval_text(read_interval(row)),
            "the best fixed offset": interval_text(read_interval(row, "by_offset")),
        }
        for _, row in rows[rows["relation"].isin(RELATIONS)].iterrows()
    ]
    return table(pd.DataFrame(shown))


RELATIONS = ("obj", "nsubj", "amod", "det", "case")
