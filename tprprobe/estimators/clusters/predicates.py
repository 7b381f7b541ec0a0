"""Predicates to name clusters by: conjunctions of what the fields of a table say of a token."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array

AND = " ∧ "
LONGEST, SUPPORT = 3, 0.002


@dataclass(frozen=True, eq=False)
class Lattice:
    """Predicates, no two of which hold for the same tokens; `sizes` are how many atoms they have.

    Tokens that no field tells apart are of one kind; `members` says for which kinds a predicate
    holds, `kinds` which kind every token is.
    """

    names: list[str]
    sizes: Int[np.ndarray, " predicate"]
    members: csr_array
    kinds: Int[np.ndarray, " token"]

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
    sizes = np.array([len(conjunction) for conjunction in conjunctions], int)
    return Lattice(names, sizes, csr_array(extensions, dtype=np.float32), of_token)


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
