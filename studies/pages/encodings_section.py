"""The authors' own encodings, decomposed by every scheme and read by their own decoder."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from studies.templates import table
from studies.tpdn.authors import TESTED, TRAIN, check_checkout, load_authors, read_encodings
from studies.tpdn.cells import PUBLISHED
from studies.tpdn.substitutions import FAMILY, SCHEMES, Decoder, pair_up
from tprprobe.analyses.decomposition import TPDecomposition
from tprprobe.statistics import Interval, bootstrap_mean, interval_text, wilson

BIDIRECTIONAL = "left*right"  # places from both ends
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
    return {
        "fitted": len(train[0]),
        "tested": len(tested[0]),
        "itself": _share(decoder(tested[1], tested[0])),
        "seconds": sum(scheme["seconds"] for scheme in schemes.values()),
        "schemes": table([_row(roles, scheme) for roles, scheme in schemes.items()]),
        "flags": {roles: scheme["flags"] for roles, scheme in schemes.items()},
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
