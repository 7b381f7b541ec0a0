"""Names of clusters: the shortest predicate (conjunction of what the fields of a table say of a token) that explains each.

For a predicate ℓ and a cluster k:

    precision  P(ℓ|k)      recall  P(k|ℓ)      f05  1.25 P R / (0.25 P + R)
    coverage   P(k)        lift    P(ℓ|k) / P(ℓ)      npmi  ln lift / −ln P(ℓ, k)
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array, vstack

from tprprobe.statistics import divide

PRECISION, LIFT = 0.7, 1.5  # of a name, at least: what holds for most tokens describes no cluster
TIE = 0.01  # in f05: the shorter predicate wins, then the one whose fields come first
AND = " ∧ "
LONGEST, SUPPORT = 3, 0.002
Tokens = Int[np.ndarray, " token"]  # the kind, cluster or group of every token


@dataclass(frozen=True, eq=False)
class Lattice:
    """Predicates of tokens.

    Tokens that no field tells apart are of one kind; `members` says for which kinds a predicate
    holds, `kinds` which kind every token is.
    """

    names: list[str]
    members: csr_array
    kinds: Tokens

    def extension(self, name: str) -> Bool[np.ndarray, " token"]:
        """The tokens for which the predicate of this name holds."""
        return self.members[[self.names.index(name)]].toarray()[0][self.kinds] > 0


def build_lattice(
    described: pd.DataFrame, longest: int = LONGEST, support: float = SUPPORT
) -> Lattice:
    """All conjunctions of up to `longest` fields' values that hold for that share of the tokens.

    Of those that hold for the same tokens the shortest stays. What its tokens have in common in the
    first field stands in front of a name and counts for nothing: `digit ∧ ones`.
    """
    codes = np.stack([described[name].cat.codes for name in described], 1)
    of_token = described.groupby(list(described), observed=True, dropna=False).ngroup().to_numpy()
    kinds = codes[np.unique(of_token, return_index=True)[1]]
    counts = np.bincount(of_token).astype(np.float32)
    values = [  # an atom: the number of its field, its word, and the kinds that it holds for
        (field, str(word), kinds[:, field] == code)
        for field, name in enumerate(described)
        for code, word in enumerate(described[name].cat.categories)
    ]
    fields, words, holds = zip(*values, strict=True)
    enough = support * len(described)
    conjunctions = _conjoin(np.array(fields), np.array(holds), counts, longest, enough)
    extensions = np.array(list(conjunctions.values())).reshape(-1, len(kinds))
    heads = [""] if described.empty else list(described.iloc[:, 0].cat.categories)
    names = [
        AND.join(
            [*_head(kinds[holds, 0], heads, fields[atoms[0]]), *(words[atom] for atom in atoms)]
        )
        for atoms, holds in zip(conjunctions, extensions, strict=True)
    ]
    return Lattice(names, csr_array(extensions, dtype=np.float32), of_token)


def join_lattices(lattice: Lattice, second: Lattice) -> Lattice:
    """The predicates of both, those of the first one in front: where two explain a cluster equally well, these win."""
    kinds = np.stack([lattice.kinds, second.kinds], 1)
    pairs, kind_of_token = np.unique(kinds, axis=0, return_inverse=True)
    members = [item.members[:, pairs[:, i]] for i, item in enumerate((lattice, second))]
    names = [*lattice.names, *second.names]
    return Lattice(names, csr_array(vstack(members)), kind_of_token.ravel())


def _conjoin(
    fields: Int[np.ndarray, " atom"],
    holds: Bool[np.ndarray, "atom kind"],
    counts: Float[np.ndarray, " kind"],
    longest: int,
    enough: float,
) -> dict[tuple[int, ...], Bool[np.ndarray, " kind"]]:
    """Conjunctions of atoms of rising fields, shorter ones first, each with its own extension."""
    known_extensions: set[bytes] = set()
    conjunctions: dict[tuple[int, ...], np.ndarray] = {}
    level: dict[tuple[int, ...], np.ndarray] = {(): np.ones(len(counts), bool)}
    for _ in range(longest):
        extensions = np.array(list(level.values())).reshape(-1, len(counts))
        supports = (extensions * counts) @ holds.T.astype(np.float32)
        last_fields = np.array([fields[atoms[-1]] if atoms else -1 for atoms in level])
        longer: dict[tuple[int, ...], np.ndarray] = {}
        parents = list(level)
        for parent, atom in np.argwhere((supports >= enough) & (fields > last_fields[:, None])):
            extension = extensions[parent] & holds[atom]
            key = np.packbits(extension).tobytes()
            if key not in known_extensions:
                known_extensions.add(key)
                longer[*parents[parent], int(atom)] = extension
        conjunctions |= longer
        level = longer
    return conjunctions


def _head(codes: Int[np.ndarray, " kind"], heads: list[str], first_field: int) -> list[str]:
    """The first field's value if all kinds share it and no atom says it already."""
    shared = codes[0] >= 0 and (codes == codes[0]).all()
    return [heads[codes[0]]] if shared and first_field > 0 else []


def choose_names(
    lattice: Lattice, kinds: Tokens, labels: Tokens, n_clusters: int
) -> tuple[Int[np.ndarray, " cluster"], Float[np.ndarray, " cluster"]]:
    """The strongest predicate of every cluster on tokens of these kinds, and its precision there: the first whose F0.5 ties with
    the best one's of enough precision and lift, or, if none has these, of all that are more frequent in the cluster; −1 for none.
    """
    n_kinds = int(lattice.kinds.max()) + 1
    cells = np.bincount(kinds * n_clusters + labels, minlength=n_kinds * n_clusters)
    counts = cells.reshape(n_kinds, n_clusters).astype(np.float32)
    joint = (lattice.members @ counts).astype(float)
    clustered = counts.sum(0, dtype=float, keepdims=True)
    described = joint.sum(1, keepdims=True)
    measures = measure_names(joint, clustered, described, clustered.sum(1, keepdims=True))
    is_eligible = (measures["precision"] >= PRECISION) & (measures["lift"] >= LIFT)
    is_eligible |= ~is_eligible.any(0) & (measures["lift"] > 1)
    f05 = np.where(is_eligible, measures["f05"], -1.0)
    best = f05.max(0, initial=-1.0)
    predicate_ids = np.where(best < 0, -1, np.argmax(f05 >= best - TIE, axis=0))
    precision = np.vstack([measures["precision"], np.zeros(n_clusters)])
    return predicate_ids, precision[predicate_ids, np.arange(n_clusters)]


def count_by_group(
    holds: Bool[np.ndarray, "cluster token"], labels: Tokens, groups: Tokens
) -> Float[np.ndarray, "count group cluster"]:
    """The tokens of every group in cluster and predicate together, in each alone, and all, of every cluster and its own predicate."""
    n, n_groups = len(holds), int(groups.max()) + 1
    cell, shape = groups * n + labels, (n_groups, n)
    described = np.stack([np.bincount(groups, row, n_groups) for row in holds], 1)
    joint = np.bincount(cell, holds[labels, np.arange(len(labels))], n_groups * n).reshape(shape)
    clustered = np.bincount(cell, minlength=n_groups * n).reshape(shape).astype(float)
    tokens = np.broadcast_to(np.bincount(groups).astype(float)[:, None], shape)
    return np.stack([joint, clustered, described, tokens])


def measure_names(
    *sums: Float[np.ndarray, "_row _column"],
) -> dict[str, Float[np.ndarray, "row column"]]:
    """Precision, recall, F0.5, lift and NPMI of the four counts, summed."""
    joint, clustered, described, tokens = np.broadcast_arrays(*sums)
    precision, recall = divide(joint, clustered), divide(joint, described)
    lift = divide(precision, divide(described, tokens))
    with np.errstate(divide="ignore", invalid="ignore"):  # never together
        npmi = divide(np.log(lift), -np.log(joint / tokens))
    return {
        "precision": precision,
        "recall": recall,
        "f05": divide(1.25 * precision * recall, 0.25 * precision + recall),
        "lift": lift,
        "npmi": npmi,
    }
