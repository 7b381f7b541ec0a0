"""A Markdown table: how fast `tprprobe.reconstruct` is beside a loop of scikit-learn Ridge fits.

    python benchmarks/reconstruction.py [--tokens 20000] [--layers 2] [--width 256] [--folder DIR]

Both cross-validate the same maps on one store in one run: of every layer each head, all heads together
and four random projections, with 11 penalties and five folds. `reconstruct` also fits its n-sweeps and
reference lines and has intervals; the loop does not. Times are of the process (CPU), so that other
processes matter less.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge

from tprprobe.analyses.reconstruction import reconstruct
from tprprobe.analyses.reconstruction.layers import find_layers, split_questions
from tprprobe.estimators.affine import FOLDS, STRENGTHS
from tprprobe.store import SiteSpec, Store, StoreWriter, open_store

HEADS, LENGTH = 8, 25


def write_store(path: Path, tokens: int, layers: int, width: int) -> Store:
    """Gaussian z with a spectrum of 1/i, and its projections as values, questions of 25 tokens."""
    rng = np.random.default_rng(0)
    vector = SiteSpec(("source", "d_model"), (width,))
    head = SiteSpec(("source", "head", "d_head"), (HEADS, width // HEADS))
    sites = {}
    for layer in range(layers):
        sites |= {f"encoder.{layer}.self.input": vector, f"encoder.{layer}.self.value": head}
    writer = StoreWriter.create(path, sites, {"model": "made"})
    maps = rng.normal(size=(layers, width, width)) / np.sqrt(width)
    for start in range(0, tokens, 5000):
        size = min(5000, tokens - start)
        rows = {}
        for layer in range(layers):
            z = rng.normal(size=(size, width)) / np.sqrt(np.arange(1, width + 1))
            values = (z @ maps[layer]).reshape(size, *head.shape)
            rows |= {f"encoder.{layer}.self.input": z, f"encoder.{layer}.self.value": values}
        place = np.arange(start, start + size)
        table = pd.DataFrame({"side": "source", "sample": place // LENGTH, "token": "x"})
        writer.append(rows, table.assign(position=place % LENGTH))
    writer.finish()
    return open_store(path)


def ridge_fits(store: Store) -> Iterator[float]:
    """The held-out error of every fit of the loop, one by one."""
    for layer in find_layers(store, None, "input", seed=0):
        folds = split_questions(store.tokens_of(layer.value_site), 0).folds
        vectors = np.concatenate([block for _, block in layer.blocks()])
        z = vectors[:, layer.target]
        for columns in (*layer.heads, layer.together, *layer.random):
            v = vectors[:, columns]
            for strength, fold in product(STRENGTHS, range(FOLDS)):
                train, test = (folds != fold) & (folds != FOLDS), folds == fold
                alpha = strength * np.square(v[train] - v[train].mean(0)).sum() / v.shape[1]
                fitted = Ridge(alpha).fit(v[train], z[train])
                yield float(np.square(fitted.predict(v[test]) - z[test]).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    for name, default in (("tokens", 20_000), ("layers", 2), ("width", 256)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        store = write_store(Path(folder) / "store", args.tokens, args.layers, args.width)
        start = time.process_time()
        table = reconstruct(store)
        ours = time.process_time() - start
        start = time.process_time()
        fits = len(list(ridge_fits(store)))
        loop = time.process_time() - start
    size = f"{args.tokens:,} tokens, {args.layers} layers, {HEADS} heads, d_model {args.width}"
    print(f"{size}; {len(table):,} results of `reconstruct`, {fits:,} fits in the loop\n")
    print("| | CPU seconds |\n|---|---:|")
    print(f"| `reconstruct`, all of it | {ours:.1f} |")
    print(f"| loop of scikit-learn `Ridge`, {1000 * loop / fits:.0f} ms a fit | {loop:.1f} |")
    print(f"\nThe loop takes {loop / ours:.1f} × as long.")


if __name__ == "__main__":
    main()
