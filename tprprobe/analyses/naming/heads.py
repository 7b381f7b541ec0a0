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
    """The name of every cluster of a head's vectors: one row per cluster, scored on held-out
    questions.

    cluster, name   the shortest conjunction of gold predicates that explains it (`digit ∧ ones ∧
                    denominator`; of labelled words `NN ∧ nsubj ∧ ARG0`), `unnamed` where none holds
    candidate       the conjunction that was best on the half of the questions it was chosen on; the
                    rest is measured on the other half
    size, coverage  its tokens, and their share of all
    precision       P(predicate | cluster), with 95 % bootstrap intervals over questions: _low, _high;
                    the same for recall P(cluster | predicate), f05, lift and npmi
    q_value         p_value corrected for all pairs of a cluster and one of the ``predicates``
    A name needs a precision of 0.7, a lift above 1 and q of at most 1 %. ``tprprobe name`` does the
    same for all heads at once, beside its controls.
    Source: schlag §5.1, where clusters are named by eye.

    Raises:
        InputError: the clusters are of another store, the store has neither labels nor questions of
            arithmetic on that side, or fewer than four samples.
    """
    gold = read_structure(store, store.side(roles.site))
    if len(roles.labels) != len(gold.tokens):
        raise InputError(
            f"clusters of {len(roles.labels)} tokens, but {store.path} has {len(gold.tokens)}: "
            "give the store that they were found in"
        )
    return name_clusters(roles.labels, gold.lattice, gold.questions, seed)
