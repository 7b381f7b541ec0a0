"""Names of the clusters of one head's vectors, from the gold structure of a store's questions."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from jaxtyping import Int, Shaped

from tprprobe.analyses.clustering import Clusters
from tprprobe.analyses.naming.fields import ARITHMETIC, describe
from tprprobe.analyses.naming.lattice import Lattice, build_lattice
from tprprobe.analyses.naming.names import name_clusters
from tprprobe.analyses.naming.word_labels import list_exact, read_labels
from tprprobe.errors import InputError
from tprprobe.gold import join
from tprprobe.store import Store
from tprprobe.store.groups import group_tokens
from tprprobe.store.reader import takes_paths


@dataclass(frozen=True, eq=False)
class Gold:
    """The gold structure of a store's source tokens: as columns, in words, and as predicates."""

    tokens: pd.DataFrame
    described: pd.DataFrame
    lattice: Lattice

    @cached_property
    def questions(self) -> Int[np.ndarray, " token"]:
        """The number of every token's question or document."""
        return group_tokens(self.tokens)

    @property
    def characters(self) -> Shaped[np.ndarray, " token"]:
        """The symbol of every token, as a number."""
        return pd.factorize(self.tokens["token"])[0]


def read_gold(store: Store) -> Gold:
    """The gold structure of the source tokens of a store of arithmetic questions."""
    tokens = store.tokens
    joined = join(tokens.loc[tokens["side"] == "source"].reset_index(drop=True))
    described = describe(joined, ARITHMETIC)
    return Gold(joined, described, build_lattice(described))


def read_structure(store: Store, side: str) -> Gold:
    """The exact labels of the tokens of a side; where the store has none, what :func:`read_gold` finds."""
    if fields := list_exact(store):
        tokens = read_labels(store, side)
        described = describe(tokens, fields)
        return Gold(tokens, described, build_lattice(described))
    if side != "source":
        raise InputError(
            f"{store.path} has no labels of its target tokens: give a site of the source"
        )
    return read_gold(store)


@takes_paths
def name_roles(store: Store, roles: Clusters, seed: int = 0) -> pd.DataFrame:
    """The names of a head's clusters, chosen on half of the questions and scored on the other half.

    A name is the shortest conjunction of gold predicates that explains a cluster (`digit ∧ ones ∧ denominator`; of labelled
    words `NN ∧ nsubj ∧ ARG0`). It needs a precision of 0.7, a lift above 1 and q of at most 1 %; else the cluster is `unnamed`.
    ``tprprobe name`` names the clusters of all heads, beside controls.

    Args:
        store: The store.
        roles: Clusters of a site of it.
        seed: Seed of the halves and of bootstrap intervals.

    Returns:
        One row per cluster; see [columns](columns.md#names).

    Raises:
        InputError: The clusters are of another store, the store has neither labels nor questions of arithmetic on that
            side, or fewer than four samples.

    Source: schlag Sec. 5.1, where clusters are named by eye.

    Examples:
        >>> tp.name_roles(store, roles)[["cluster", "name", "precision", "recall"]].shape
        (8, 4)
    """
    gold = read_structure(store, store.side(roles.site))
    if len(roles.labels) != len(gold.tokens):
        raise InputError(
            f"clusters of {len(roles.labels)} tokens, but {store.path} has {len(gold.tokens)}: "
            "give the store that they were found in"
        )
    return name_clusters(roles.labels, gold.lattice, gold.questions, seed)
