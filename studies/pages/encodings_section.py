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
from studies.tpdn.authors import TESTED, TRAIN, check_checkout, load_authors, read_encodings
from studies.tpdn.cells import PUBLISHED
from studies.tpdn.substitutions import FAMILY, SCHEMES, SITE, Decoder, pair_up
from tprprobe.analyses.decomposition import Decomposition, TPDecomposition, decompose
from tprprobe.interventions.surgeries import change_of
from tprprobe.statistics import Interval, bootstrap_mean, interval_text, read_interval, wilson
from tprprobe.store.dumps import import_store

BIDIRECTIONAL, LONG = (
    "left*right",
    3,
)  # bidirectional roles; the shortest sequences that are operated on
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
    train, tested = read_encodings(folder / TRAIN), read_encodings(folder / TESTED)
    schemes = {roles: _fit(roles, train, tested, decoder) for roles in SCHEMES}
    with TemporaryDirectory() as scratch:
        store = import_store(folder / TRAIN, Path(scratch) / "store")
        fits = {
            family: decompose(store, SITE, BIDIRECTIONAL, family=family, withheld=0.0)
            for family in (FAMILY, FACTORED)
        }
        withheld = decompose(store, SITE, BIDIRECTIONAL, decoder=decoder)
    surgery = [_operate(family, fit, tested, decoder) for family, fit in fits.items()]
    return {
        "fitted": len(train[0]),
        "tested": len(tested[0]),
        "itself": _share(decoder(tested[1], tested[0])),
        "seconds": sum(scheme["seconds"] for scheme in schemes.values()),
        "schemes": table([_row(roles, scheme) for roles, scheme in schemes.items()]),
        "flags": {roles: scheme["flags"] for roles, scheme in schemes.items()},
        "withheld": _withheld(withheld.scores),
        "surgery": table([row for rows in surgery for row in rows]),
    }


def _fit(
    roles: str,
    train: tuple[Sequences, np.ndarray],
    tested: tuple[Sequences, np.ndarray],
    decoder: Flags,
) -> dict[str, Any]:
    """A scheme's saturated fit: processor time, errors and which test sequences come back; the errors of
    roles shuffled within sequences.
    """
    pairs, test_pairs = (pair_up(roles, encodings[0]) for encodings in (train, tested))
    start = time.process_time()
    fit = TPDecomposition(family=FAMILY, random_state=0).fit(pairs, train[1])
    seconds = time.process_time() - start
    rng = np.random.default_rng(0)
    mixed = TPDecomposition(family=FAMILY, random_state=0).fit(_shuffled(pairs, rng), train[1])
    vectors, spread = fit.encode(test_pairs), float(np.mean((tested[1] - train[1].mean(0)) ** 2))
    error = float(np.mean((tested[1] - vectors) ** 2))
    shuffled = float(np.mean((tested[1] - mixed.encode(_shuffled(test_pairs, rng))) ** 2))
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
        [
            (f, pair_list[i][1])
            for (f, _), i in zip(pair_list, rng.permutation(len(pair_list)), strict=True)
        ]
        for pair_list in pairs
    ]


def _share(flags: np.ndarray) -> str:
    return interval_text(wilson(int(flags.sum()), len(flags)))


def _row(roles: str, scheme: Mapping[str, Any]) -> dict[str, str]:
    published = pd.read_csv(PUBLISHED)
    cell = published.query("encoder == 'uni' and decoder == 'uni' and task == 'copy'")
    printed = cell.set_index("roles")["published"][roles]
    return {
        "roles": f"`{roles}`",
        "number": str(scheme["roles"]),
        "seconds": f"{scheme['seconds']:.2f}",
        "MSE": f"{scheme['error']:.4f}",
        "R²": f"{scheme['r2']:.3f}",
        "R², roles shuffled": f"{scheme['shuffled']:.3f}",
        "substitution": _share(scheme["flags"]),
        "published": f"{printed:.2f}",
    }


def differ(flags: Mapping[str, np.ndarray], scheme: str, reference: str) -> Interval:
    """The substitution of one scheme minus that of another, on the same sequences."""
    difference = flags[scheme].astype(float) - flags[reference].astype(float)
    return bootstrap_mean(difference, np.arange(len(difference)))


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
    long = [i for i, sequence in enumerate(tested[0]) if len(sequence) >= LONG]
    sequences, vectors = [tested[0][i] for i in long], tested[1][long]
    replaced = [replacement_of(sequence, rng) for sequence in sequences]
    exchanged = [_exchange(sequence, rng) for sequence in sequences]
    rows = []
    for kind, changed in (("replace", replaced), ("exchange", exchanged)):
        expected, changes = (
            [change_pair[0] for change_pair in changed],
            [change_pair[1] for change_pair in changed],
        )
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
            | {
                name: _share(decoder(vectors + change_vectors, expected))
                for name, change_vectors in shares.items()
            }
        )
    return rows


def _role(sequence: Sequence[str], place: int) -> str:
    return f"{place}*{len(sequence) - 1 - place}"


def replacement_of(sequence: list[str], rng: np.random.Generator) -> tuple[list[str], tuple]:
    """A sequence with another digit somewhere, and the change as surgery takes it."""
    place = int(rng.integers(len(sequence)))
    digit = str((int(sequence[place]) + int(rng.integers(1, 10))) % 10)
    expected = [*sequence[:place], digit, *sequence[place + 1 :]]
    return expected, (_role(sequence, place), sequence[place], digit)


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
    first_place, second_place = differing[int(rng.integers(len(differing)))]
    expected = list(sequence)
    expected[first_place], expected[second_place] = sequence[second_place], sequence[first_place]
    places = (_role(sequence, first_place), _role(sequence, second_place))
    return expected, (sequence[first_place], places[0], sequence[second_place], places[1])
