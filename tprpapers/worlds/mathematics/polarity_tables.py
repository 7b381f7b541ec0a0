"""Names of clusters of arithmetic, as tables and as a section of a report: polarity, predicted from clusters alone."""

from typing import Any

import pandas as pd

from tprpapers.worlds.mathematics.naming import Naming
from tprpapers.worlds.mathematics.naming_targets import BASELINE
from tprprobe.analyses.naming.name_counts import TRAINED, select_named
from tprprobe.figures.naming import tabulate_clusters
from tprprobe.figures.report.sections import Section
from tprprobe.figures.tables import Table
from tprprobe.statistics import Interval, interval_text

PREDICTED = {
    "accuracy": "all digits",
    "accuracy_discordant": "discordant",
    "accuracy_answered": "discordant, answered right",
}
SCORES = PREDICTED | {
    "polarity_given_place": "AMI given place",
    "polarity_given_surface": "AMI given surface",
}
WITHOUT = "a Transformer's (`--baseline STORE`)"  # in place of BASELINE
RULES = {"majority": "majority rule", "surface": "surface rule"}
KINDS = ["model", "vectors", "layer", "k"]
COUNTS = ["heads", "named", "tell polarity"]


def polarity_table(naming: Naming) -> Table:
    """The accuracy of clusters alone on numerators and denominators, held out: mean over heads (best head).

    A row a rule that needs no cluster, then a row a kind of vectors and layer.
    """
    rows = [_rule(naming, rule) for rule in RULES]
    groups: Any = naming.summary.groupby(KINDS, sort=False)
    for place, heads in groups:
        named_count = f"{heads['named'].sum():.0f} of {heads['clusters'].sum():.0f}"
        cells = (
            *map(str, place),
            str(len(heads)),
            named_count,
            f"{heads['with_polarity'].sum():.0f}",
        )
        scores = {name: _spread(heads[column]) for column, name in SCORES.items()}
        rows.append(dict(zip([*KINDS, *COUNTS], cells, strict=True)) | scores)
    title = "Numerator or denominator, predicted from clusters alone: held out, mean over heads (best head)"
    note = f"{_compare_controls(naming)}\n{_questions_note(naming)}"
    return Table(pd.DataFrame(rows).fillna("–"), title, note, (len(RULES),))


def _compare_controls(naming: Naming) -> str:
    """Whether clusters of the vectors that were asked for tell numerators better than every control does, as a sentence."""
    summary, column = naming.summary, "accuracy_discordant"
    digits = "digits that the symbols before them suggest wrongly (discordant)"
    if summary[column].isna().all():
        column, digits = "accuracy", "digits"
    scores: Any = summary[["model", "vectors", column]].dropna()
    means = scores.groupby(["model", "vectors"], sort=False)[column].mean()
    asked = (TRAINED, summary["vectors"].iloc[0])
    names = means.index.map("{0[1]} ({0[0]})".format)
    rivals = dict(zip(names, means, strict=True))
    value = rivals.pop(f"{asked[1]} ({asked[0]})")
    rivals |= {
        name: summary[column.replace("accuracy", rule)].iloc[0] for rule, name in RULES.items()
    }
    best = max(rivals, key=lambda name: rivals[name])
    verdict = "more" if value > rivals[best] else "no more"
    return (
        f"Clusters of {asked[1]} tell numerator or denominator of {value:.1%} of the {digits}, mean over heads: {verdict} than the best "
        f"other predictor, {best}, with {rivals[best]:.1%} (no test compares them)."
    )


def _rule(naming: Naming, rule: str) -> dict[str, str]:
    """The row of a rule's accuracy on the same digits."""
    summary = naming.summary.iloc[0]
    values = {name: summary[column.replace("accuracy", rule)] for column, name in PREDICTED.items()}
    cells = {name: "–" if pd.isna(value) else f"{value:.3f}" for name, value in values.items()}
    return dict.fromkeys([*KINDS, *COUNTS], "–") | {"vectors": RULES[rule]} | cells


def _spread(values: pd.Series) -> str:
    return "–" if values.isna().all() else f"{values.mean():.3f} ({values.max():.3f})"


def names_section(naming: Naming) -> Section:
    """The names of clusters, and whether clusters tell numerators better than the surface rule."""
    best = naming.heads.sort_values(["with_polarity", "coverage"]).iloc[-1]
    polarity = polarity_table(naming)
    keys = ["layer", "head", "k"]
    names = select_named(naming.clusters[(naming.clusters[keys] == best[keys]).all(axis=1)])
    title = f"Named clusters of {best['site']}, head {best['head']}"
    named = tabulate_clusters(names.sort_values("size", ascending=False), title).drop_empty()
    text = (
        f"{len(named.cells)} clusters of {best['site']}, head {best['head']} have a name: the shortest conjunction of exact facts about "
        "characters that explains the cluster, chosen on half of the questions and scored on the other.\n"
        "Numerator or denominator can be guessed without looking far: the rule 'denominator if right after /' is right on "
        f"{best['surface']:.1%} of these digits. Discordant digits have the opposite place in the whole fraction to the one in their "
        "own division. If projections of the same states tell the place as well as roles do, it is no property of roles."
    )
    folded = {
        "The named clusters, with held-out precision and recall": named,
        "Numerator or denominator, predicted from clusters alone: held out, mean over heads (best head)": polarity,
    }
    deeper = "tprprobe name STORE"
    lack = polarity.caption
    return Section("What do the clusters mean?", text, folded=folded, lack=lack, deeper=deeper)


def _questions_note(naming: Naming) -> str:
    """The numbers of questions and of right answers, and the missing controls, as a sentence."""
    lines = []
    for name, kind in (("questions", ""), ("discordant_questions", " with discordant numbers")):
        counts: Any = naming.facts[name]
        if counts["n"]:
            right = Interval(counts["exact_match"], *counts["exact_match_interval"])
            share = interval_text(right, ".1%")
            lines.append(f"{counts['n']} questions{kind}, {share} answered right")
    missing: Any = naming.facts["missing"]
    if missing:
        lines.append(
            f"Controls that this run does not have: {', '.join(missing).replace(BASELINE, WITHOUT)}"
        )
    return ".\n".join(lines) + "."
