"""Examples of named clusters: tokens in their surroundings."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from tprprobe.analyses.naming.names import read_structure
from tprprobe.analyses.naming.run import LABELS
from tprprobe.files.tables import read_table
from tprprobe.store import Store
from tprprobe.store.token_texts import sign

ROLES, EXAMPLES, AROUND = 3, 3, 7  # roles, examples of each, characters beside an example's token


def list_examples(
    store: Store, names_table: pd.DataFrame, folders: Sequence[Path]
) -> Iterator[tuple[pd.Series, tuple[str, ...]]]:
    """The strongest of some named clusters, each name once, with examples of its tokens: those names that more than the symbol
    tells come first, then those of the highest F0.5.
    """
    best, gold = names_table.drop_duplicates("name"), read_structure(store, "source")
    texts = gold.tokens["token"].astype(str).to_numpy()
    listed = [name for name in best["name"] if name in gold.lattice.names]
    holds = {name: gold.lattice.extension(name) for name in listed}
    beyond = {name for name, extension in holds.items() if _is_beyond_symbols(texts, extension)}
    order = best["name"].map(lambda name: name not in beyond).sort_values(kind="stable")
    files = [folder / LABELS for folder in folders]
    tables = [read_table(file, {}, "name again") for file in files if file.is_file()]
    for _, row in best.loc[order.index].head(ROLES).iterrows():
        column = f"{row['site']} {row['head']} {row['k']}"
        labels = next((table[column].to_numpy() for table in tables if column in table), None)
        inside = np.zeros(len(texts), bool)
        if labels is not None and row["name"] in holds:
            inside = (labels == row["cluster"]) & holds[row["name"]]
        yield row, tuple(_examples(gold.tokens, inside))


def _is_beyond_symbols(texts: np.ndarray, holds: np.ndarray) -> bool:
    """True if a predicate holds for some tokens of a symbol and not for others."""
    share = pd.Series(holds).groupby(texts).mean()
    return bool(((share > 0) & (share < 1)).any())


def _examples(tokens: pd.DataFrame, inside: np.ndarray) -> Iterator[str]:
    """The surroundings of the first such token of some samples, the token in ⟨⟩."""
    first_tokens = tokens[inside].drop_duplicates("sample").head(EXAMPLES)
    for row, sample in zip(first_tokens.index, first_tokens["sample"], strict=True):
        near = tokens.loc[max(row - AROUND, 0) : row + AROUND]
        signs = near.loc[near["sample"] == sample, "token"].map(sign)
        signs = signs.str.replace("␣", " ").where(signs.index != row, f"⟨{signs[row]}⟩")
        yield "".join(signs)
