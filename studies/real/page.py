"""The pages on real models, from the committed tables."""

from pathlib import Path
from typing import Any

import pandas as pd

from studies.real.drawings import SCHEMES, read_result
from studies.real.outcome_table import tabulate_outcomes
from studies.real.outcomes import RESULTS, judge
from studies.real.predictions import load_predictions
from studies.templates import fill, table
from tprprobe.errors import InputError
from tprprobe.files.writing import write_file
from tprprobe.statistics import interval_text, read_interval

PAGES = {"real.md.j2": Path("docs/real.md"), "predictions.md.j2": Path("docs/real-predictions.md")}
NAMES = {"minilm": "all-MiniLM-L6-v2", "smollm2": "SmolLM2-135M-Instruct"}
VERBS = {
    "holds": "hold",
    "fails": "fail",
    "undecided": "are undecided",
    "not measured": "were not measured",
}
ESTIMATES = ("sentence", "language-model", "spelling", "layer")
CLAUSES = 3_168  # sentences of the six clauses


def write_pages() -> list[Path]:
    """The page, that of the predictions, and the table of outcomes beside the others."""
    estimates, outcomes = read_outcomes()
    outcomes.to_csv(RESULTS / "outcomes.csv", index=False)
    return [
        write_file(path, fill_page(template, estimates, outcomes))
        for template, path in PAGES.items()
    ]


def read_outcomes() -> tuple[pd.DataFrame, pd.DataFrame]:
    """The estimates of all questions that were measured, and the outcomes of the predictions by them."""
    estimates = pd.concat(read_result(f"{name}-estimates") for name in ESTIMATES)
    return estimates, judge(estimates).fillna("")


def fill_page(template: str, estimates: pd.DataFrame, outcomes: pd.DataFrame) -> str:
    """The text of one of the pages."""
    counts = outcomes["outcome"].value_counts()
    return fill(
        Path(__file__).parent,
        template,
        predictions=len(load_predictions()),
        counts=_listed([f"{n} {VERBS[str(name)]}" for name, n in counts.items()], ""),
        outcomes=table(tabulate_outcomes(outcomes, estimates)),
        a=_sentences(),
        b=_language_model(),
        c=_spelling(),
        d=_layers(),
    )


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


def _sentences() -> dict[str, Any]:
    rows = read_result("sentence-vectors")
    final_site = max(s for s in rows["site"].unique() if s.endswith(".hidden"))
    clauses = rows[rows["site"] == final_site]

    def pick(measure: str, seed: int = 0, twin: str = "") -> str:
        return _pick(clauses, measure=measure, seed=seed, twin=twin)

    swap, passive = (f"{m}, active and passive" for m in ("own_exchange_first", "before_exchange"))
    return {
        "n": f"{CLAUSES:,}",
        "words": pick("R² words"),
        "share": pick("share of exchange"),
        "place": pick("cosine place"),
        "role": pick("cosine role"),
        "twin": pick("cosine place", twin="permuted-0"),
        "swap_first": pick(swap),
        "swap_second": pick(swap, seed=1),
        "swap_twin": pick(swap, twin="permuted-0"),
        "passive": pick(passive),
        "passive_second": pick(passive, seed=1),
    }


def _spelling() -> dict[str, Any]:
    fits, surgery, twins = (read_result(f"spelling-{n}") for n in ("fits", "surgery", "twins"))
    choice = {"family": "saturated", "control": "", "seed": 0}
    preserved = pd.DataFrame(
        [
            {
                "roles of the letters": f"{label} (`{roles}`)",
                "preserved": _pick(fits, "kept", roles=roles, **choice),
            }
            for roles, label in SCHEMES.items()
            if (fits["roles"] == roles).any()
        ]
    )
    operated = {"edit": "exchange", "seed": 0}
    untrained = twins[twins["twin"] == "untrained"]
    return {
        "n": f"{int(fits['n'].iloc[0]):,}",
        "table": table(preserved),
        "untrained": f"R² {untrained['r2_twin'].mean():.3f}",
        "trained": f"{untrained['r2'].mean():.3f}",
        "surgery": _pick(surgery, "exact", roles="wickel", **operated),
        "surgery_best": _best_surgery(surgery),
        "random": _pick(surgery, "exact", roles="wickel", edit="random", seed=0),
        "search": _searched(read_result("spelling-search")),
    }


SEARCHED = "left+after"  # what the search names: fitted and judged like the other schemes


def _searched(schemes: pd.DataFrame) -> str:
    """What the search names, in words.

    Raises:
        InputError: it names another scheme than the study fits; the study's list of schemes has to change.
    """
    schemes_named = schemes.loc[schemes["is_found"], "roles"].unique().tolist()
    if schemes_named != [SEARCHED]:
        raise InputError(
            f"the search names {', '.join(schemes_named)}: fit these roles, not {SEARCHED}"
        )
    return f"`{SEARCHED}`: every letter is bound to its place from the left and, in a second binding, to the letter after it"


def _language_model() -> dict[str, Any]:
    gains, turns = read_result("period-gains"), read_result("agreement")
    gains, turns = gains[gains["seed"] == 0], turns[turns["seed"] == 0]
    rows: Any = gains.loc
    best = rows[gains["learned"].idxmax()]
    by_layer = {
        key: turns_of.set_index("layer")["turned"]
        for key, turns_of in turns.groupby(["place", "edit"])
    }
    subject, at_end = by_layer["subject", "exchange"], by_layer["last", "exchange"]
    leaves = subject[subject > 0.5].index.max()
    moving = [leaves, leaves + 1, leaves + 2]
    shares = pd.DataFrame(
        {
            "replaced after layer": [f"{layer:.0f}" for layer in moving],
            "at the subject": [f"{share:.2f}" for share in subject[moving]],
            "at the last token": [f"{share:.2f}" for share in at_end[moving]],
        }
    )
    return {
        "best": str(best["site"]).split(".")[1],
        "learned": interval_text(read_interval(best, "learned"), "+.3f"),
        "right": _pick(turns, "turned", place="none", edit="attractor"),
        "n_right": f"{turns.loc[turns['place'].eq('none'), 'n'].iloc[0]:.0f}",
        "attractor": f"{by_layer['last', 'attractor'].max():.2f}",
        "leaves": f"{leaves:.0f}",
        "table": table(shares),
        "random": f"{turns.loc[turns['edit'] == 'random', 'turned'].max():.2f}",
    }


def _listed(values: Any, form: str) -> str:
    """Values in a row: 1, 2 and 3."""
    *leading, final = (format(value, form) for value in values)
    return f"{', '.join(leading)} and {final}"


def _layers() -> dict[str, Any]:
    rows = read_result("layer-knowledge")
    rows = rows[rows["seed"] == 0]
    lines, gains = [], []
    for model, model_rows in rows.groupby("model", sort=False):
        centers = model_rows[model_rows["layer"].isna()].set_index("task")["f1"]
        best = (
            model_rows[model_rows["layer"].notna()]
            .sort_values("added")
            .groupby("task", sort=False)
            .tail(1)
        )
        gains += best["added"].tolist()
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
        "adds": f"{min(gains):.3f} to {max(gains):.3f}",
        "heads": _heads(),
    }


def _heads() -> str:
    """The best head of every model for three relations, beside the best fixed offset."""
    rows = read_result("relation-heads")
    rows = rows[(rows["seed"] == 0) & (rows["start"] == "dependent")]
    head_rows = [
        {
            "model": NAMES[str(row["model"])],
            "relation": f"`{row['relation']}`",
            "head": f"layer {row['layer']:.0f}, head {row['head']:.0f}",
            "best head is right": interval_text(read_interval(row)),
            "best offset is right": interval_text(read_interval(row, "by_offset")),
        }
        for _, row in rows[rows["relation"].isin(RELATIONS)].iterrows()
    ]
    return table(pd.DataFrame(head_rows))


RELATIONS = ("obj", "nsubj", "case")
