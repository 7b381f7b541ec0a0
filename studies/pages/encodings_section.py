"""The authors' own encodings: schemes, withheld pairs and surgery, with their own decoder."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from studies.templates import table
from studies.tpdn.authors import FITTED, TESTED, check_checkout, load_authors, read_encodings
from studies.tpdn.cells import PUBLISHED
from studies.tpdn.substitutions import FAMILY, SCHEMES, SITE, Decoder, pair_up
from tprprobe.analyses.decomposition import Decomposition, TPDecomposition, decompose
from tprprobe.interventions.surgeries import change_of
from tprprobe.statistics import Interval, bootstrap_mean, interval_text, read_interval, wilson
from tprprobe.store.dumps import import_store

BOTH, LONG = "left*right", 3  # bidirectional roles; the shortest sequences that are operated on
FACTORED = "factored"
Sequences = list[list[str]]
Flags = Callable[[np.ndarray, Sequences], np.ndarray]


def summarize_encodings(folder: Path) -> dict[str, Any]:
    """The tables of the section, the evidence of claims, and the numbers of its sentences.

    Raises:
        InputError: the folder is no checkout of the authors' code.
    """
    check_checkout(folder)
    decoder = Decoder(load_authors(folder), "copy")
    fitted, tested = read_encodings(folder / FITTED), read_encodings(folder / TESTED)
    schemes = {roles: _fit(roles, fitted, tested, decoder) for roles in SCHEMES}
    with TemporaryDirectory() as kept:
        store = import_store(folder / FITTED, Path(kept) / "store")
        fits = {
            family: decompose(store, SITE, BOTH, family=family, withheld=0.0)
            for family in (FAMILY, FACTORED)
        }
        withheld = decompose(store, SITE, BOTH, decoder=decoder)
    surgery = [_operate(family, fit, tested, decoder) for family, fit in fits.items()]
    return {
        "fitted": len(fitted[0]),
        "tested": len(tested[0]),
        "itself": _share(decoder(tested[1], tested[0])),
        "seconds": sum(each["seconds"] for each in schemes.values()),
        "schemes": table([_row(roles, found) for roles, found in schemes.items()]),
        "flags": {roles: found["flags"] for roles, found in schemes.items()},
        "withheld": _withheld(withheld.scores),
        "surgery": table([row for rows in surgery for row in rows]),
    }


def _fit(
    roles: str,
    fitted: tuple[Sequences, np.ndarray],
    tested: tuple[Sequences, np.ndarray],
    decoder: Flags,
) -> dict[str, Any]:
    """A scheme's saturated fit: processor time, errors and which test sequences come back; the errors of
    roles shuffled within sequences.
    """
    pairs, asked = (pair_up(roles, each[0]) for each in (fitted, tested))
    start = time.process_time()
    fit = TPDecomposition(family=FAMILY, random_state=0).fit(pairs, fitted[1])
    seconds = time.process_time() - start
    rng = np.random.default_rng(0)
    mixed = TPDecomposition(family=FAMILY, random_state=0).fit(_shuffled(pairs, rng), fitted[1])
    vectors, spread = fit.encode(asked), float(np.mean((tested[1] - fitted[1].mean(0)) ** 2))
    error = float(np.mean((tested[1] - vectors) ** 2))
    shuffled = float(np.mean((tested[1] - mixed.encode(_shuffled(asked, rng))) ** 2))
    return {
        "roles": len(fit.role_names_),
        "seconds": seconds,
        "error": error,
        "r2": 1 - error / spread,
        "shuffled": 1 - shuffled / spread,
        "flags": decoder(vectors, tested[0]),
    }


def _shuffled(pairs: Sequence[list[tuple[str, str]]], rng: np.random.Generator) -> list[Any]:
    """The pairs with the roles of every sequence permuted."""
    return [
        [(f, each[i][1]) for (f, _), i in zip(each, rng.permutation(len(each)), strict=True)]
        for each in pairs
    ]


def _share(flags: np.ndarray) -> str:
    return interval_text(wilson(int(flags.sum()), len(flags)))


def _row(roles: str, found: Mapping[str, Any]) -> dict[str, str]:
    known = pd.read_csv(PUBLISHED)
    cell = known.query("encoder == 'uni' and decoder == 'uni' and task == 'copy'")
    printed = cell.set_index("roles")["published"][roles]
    return {
        "roles": f"`{roles}`",
        "number": str(found["roles"]),
        "seconds": f"{found['seconds']:.2f}",
        "MSE": f"{found['error']:.4f}",
        "R²": f"{found['r2']:.3f}",
        "R², roles shuffled": f"{found['shuffled']:.3f}",
        "substitution": _share(found["flags"]),
        "published": f"{printed:.2f}",
    }


def differ(flags: Mapping[str, np.ndarray], one: str, other: str) -> Interval:
    """The substitution of one scheme minus that of another, on the same sequences."""
    by = flags[one].astype(float) - flags[other].astype(float)
    return bootstrap_mean(by, np.arange(len(by)))


def _withheld(scores: pd.DataFrame) -> str:
    rows = scores[scores["control"] == ""]
    return table(
        [
            {
                "family": row["family"],
                "rank": row["rank_withheld"] or "–",
                "substitution": interval_text(read_interval(row, "substitution")),
                "with a withheld pair": interval_text(read_interval(row, "substitution_withheld")),
                "n": f"{row['n_withheld']:,}",
            }
            for row in rows.to_dict("records")
        ]
    )


# ---- surgery ----------------------------------------------------------------------------------------


def _operate(
    family: str, fit: Decomposition, tested: tuple[Sequences, np.ndarray], decoder: Flags
) -> list[dict[str, str]]:
    """The share of test encodings that are read back as the changed sequence, by kind of change."""
    rng = np.random.default_rng(0)
    long = [i for i, each in enumerate(tested[0]) if len(each) >= LONG]
    sequences, vectors = [tested[0][i] for i in long], tested[1][long]
    replaced = [replacement_of(each, rng) for each in sequences]
    exchanged = [_exchange(each, rng) for each in sequences]
    rows = []
    for kind, drawn in (("replace", replaced), ("exchange", exchanged)):
        wanted, changes = [each[0] for each in drawn], [each[1] for each in drawn]
        change = partial(change_of, fit, **{kind: changes})
        true = change()
        noise = rng.normal(size=true.shape)
        noise *= (
            np.linalg.norm(true, axis=1, keepdims=True) / np.linalg.norm(noise, axis=1)[:, None]
        )
        shares = {
            "done": true,
            "random direction": noise,
            "another role": change(elsewhere=True),
        }
        rows.append(
            {"family": family, "change": f"{kind}d", "n": f"{len(long):,}"}
            | {name: _share(decoder(vectors + by, wanted)) for name, by in shares.items()}
        )
    return rows


def _role(sequence: Sequence[str], place: int) -> str:
    return f"{place}*{len(sequence) - 1 - place}"


def replacement_of(sequence: list[str], rng: np.random.Generator) -> tuple[list[str], tuple]:
    """A sequence with another digit somewhere, and the change as surgery takes it."""
    place = int(rng.integers(len(sequence)))
    new = str((int(sequence[place]) + int(rng.integers(1, 10))) % 10)
    wanted = [*sequence[:place], new, *sequence[place + 1 :]]
    return wanted, (_role(sequence, place), sequence[place], new)


def _exchange(sequence: list[str], rng: np.random.Generator) -> tuple[list[str], tuple | None]:
    """A sequence with two digits exchanged, and the change; none where all digits are equal."""
    differing = [
        (i, j)
        for i in range(len(sequence))
        for j in range(i + 1, len(sequence))
        if sequence[i] != sequence[j]
    ]
    if not differing:
        return sequence, None
    one, other = differing[int(rng.integers(len(differing)))]
    wanted = list(sequence)
    wanted[one], wanted[other] = sequence[other], sequence[one]
    places = (_role(sequence, one), _role(sequence, other))
    return wanted, (sequence[one], places[0], sequence[other], places[1])
