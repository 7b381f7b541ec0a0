"""The result of a run of naming in words: heads, controls, and the names that tell polarity."""

from typing import Any

import pandas as pd

from tprprobe.analyses.naming.run import Naming
from tprprobe.analyses.naming.sources import TRAINED
from tprprobe.gold.expressions import POLARITIES

HEADINGS = {
    "named": "named",
    "with_polarity": "by polarity",
    "coverage": "coverage",
    "ami_polarity": "AMI polarity",
    "polarity_given_place": "given place",
    "polarity_given_surface": "and surface",
    "accuracy": "accuracy",
    "accuracy_discordant": "discordant",
}


def tell(naming: Naming) -> str:
    """Tables of the heads that are meant, of their mean beside the controls', and polarity's names."""
    summary, names = naming.summary, naming.names
    meant = summary["vectors"].iloc[0]
    heads = summary.loc[(summary["vectors"] == meant) & (summary["model"] == TRAINED)]
    named = names.loc[(names["vectors"] == meant) & (names["model"] == TRAINED)]
    facts = _facts(naming.facts, summary.iloc[0])
    return "\n\n".join([facts, _heads(heads), _controls(summary), _names(named)])


def as_dict(naming: Naming) -> dict[str, Any]:
    """Facts, summary and names in JSON types; what is missing is None."""
    tables = {"summary": naming.summary, "names": naming.names}
    return {"facts": naming.facts} | {name: _records(table) for name, table in tables.items()}


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    records: Any = table.astype(object).where(table.notna(), None).to_dict("records")
    return records


def _facts(facts: dict[str, Any], row: pd.Series) -> str:
    lines = [
        f"{each['n']} questions{of}, {each['exact_match']:.1%} answered right "
        f"[{each['exact_match_interval'][0]:.1%}, {each['exact_match_interval'][1]:.1%}]"
        for of, each in (
            ("", facts["questions"]),
            (" with discordant numbers", facts["discordant_questions"]),
        )
        if each["n"]
    ]
    rules = f"majority {row['majority']:.3f}, surface rule {row['surface']:.3f}"
    discordant = f"{row['majority_discordant']:.3f}, {row['surface_discordant']:.3f}"
    lines.append(f"polarity of digits by rules: {rules}; of discordant digits {discordant}")
    if facts["missing"]:
        lines.append(f"controls that are missing: {', '.join(facts['missing'])}")
    return "\n".join(lines)


def _heads(rows: pd.DataFrame) -> str:
    """One line per clustering of the clustered site's own vectors."""
    cells = rows.loc[:, ["site", "head", "k"]].copy()
    for name, heading in HEADINGS.items():
        cells[heading] = _short(rows[name])
    low, high = (_short(rows[f"accuracy_discordant_{end}"]) for end in ("low", "high"))
    cells["discordant"] += " [" + low + ", " + high + "]"
    return cells.to_string(index=False)


def _controls(summary: pd.DataFrame) -> str:
    """One line per kind of vectors and layer: the mean and the maximum over its heads."""
    groups: Any = summary.groupby(["model", "vectors", "layer", "k"], sort=False)
    cells = groups.agg(heads=("site", "size"))
    for name, heading in HEADINGS.items():
        mean, most = _short(groups[name].mean()), _short(groups[name].max())
        cells[heading] = mean + " (" + most + ")"
    return f"Mean over heads (and most):\n{cells.reset_index().to_string(index=False)}"


def _names(names: pd.DataFrame) -> str:
    """The clusters whose name has a polarity, best first."""
    with_polarity = names["name"].str.contains("|".join(POLARITIES))
    rows: Any = names.loc[with_polarity].sort_values(by="f05", ascending=False)
    if rows.empty:
        return "No cluster is named by polarity."
    columns = ["site", "head", "k", "cluster", "name", "precision", "recall", "f05"]
    return f"Clusters named by polarity:\n{rows[columns].round(2).to_string(index=False)}"


def _short(values: Any) -> pd.Series:
    """Counts as integers, shares with three digits."""
    whole = pd.api.types.is_integer_dtype(values.dtype)
    return values.map(lambda each: "–" if pd.isna(each) else f"{each}" if whole else f"{each:.3f}")
