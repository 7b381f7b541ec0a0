"""Question b, states: does the period of a sentence bind words to places, at which layers, and is it learned?

Every layer's state at the period is decomposed; and where it is replaced by a fit, what does the model
expect next?
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float

import tprprobe as tp
from studies.real.clauses import Clauses, read_clauses
from tprprobe.analyses.decomposition import TPDecomposition
from tprprobe.files.runs import Part
from tprprobe.statistics import bootstrap_mean
from tprprobe.store import Store

FRAME, SITES, POOL = "clauses", "layers.*.hidden", "."
ITEMS, TESTED = 528, 24  # items (two texts each) fitted; others in which states are replaced
REPLACED = (0, 4, 8, 12, 16, 20, 24, 28, 29)
FITS = ("additive", "saturated")
Vectors = Float[np.ndarray, "sentence d_model"]


def choose_texts(clauses: Clauses, seed: int) -> tuple[Clauses, Clauses]:
    """Texts that are fitted and others that are tested, of other pairs of persons; exchanges stay together."""
    order = np.random.default_rng(seed).permutation(len(clauses) // 2)
    tested_persons = set(np.unique(clauses.persons)[::4].tolist())
    train, tested = [], []
    for item in order:
        chosen_items, limit = (
            (tested, TESTED) if clauses.persons[2 * item] in tested_persons else (train, ITEMS)
        )
        if len(chosen_items) < limit:
            chosen_items += [item]
    return clauses.of(train), clauses.of(tested)


def read_store(name: str, clauses: Clauses, out: Path) -> Store:
    """The states at the period at every layer, with those of the permuted twin."""
    return tp.extract(
        tp.load_model(name),
        clauses.data,
        SITES,
        out,
        twins=["permuted"],
        control_samples=len(clauses),
        pool=POOL,
        words="last",
        resume=True,
    )


def decompose_layer(store: Store, site: str, seed: int) -> dict[str, pd.DataFrame]:
    """The nested table of one layer: words, places, bindings, with gains and what of them is learned."""
    fit = tp.decompose(store, site, "place", seed=seed)
    return {"scores": fit.scores.assign(site=site, seed=seed)}


@torch.no_grad()
def replace_layer(
    model: Any, train: Clauses, tested: Clauses, states: Vectors, site: str, seed: int
) -> dict[str, pd.DataFrame]:
    """A row a text and edit: the divergence of the next token from the unedited model's."""
    ids = [torch.tensor(model.vocabulary.encode(text)) for text in tested.texts]
    length = torch.tensor([len(sequence) for sequence in ids])
    padded = torch.nn.utils.rnn.pad_sequence(ids, batch_first=True, padding_value=model.config.pad)
    rows = torch.arange(len(ids))
    with tp.capture(model, [site]) as acts:
        before = model.predict(padded).clamp_min(1e-30).log()
    states_here = acts[site][rows, length - 1]
    rng = np.random.default_rng(seed)
    encoded = {
        family: TPDecomposition(family=family, random_state=0)
        .fit(train.pairs("place"), states)
        .encode(tested.pairs("place"))
        for family in FITS
    }
    encoded["mean"] = np.broadcast_to(states.mean(0), encoded[FITS[0]].shape)
    far = np.linalg.norm(encoded["saturated"] - states_here.numpy(), axis=1, keepdims=True)
    noise = rng.normal(size=states_here.shape)
    encoded["random"] = states_here.numpy() + noise * far / np.linalg.norm(
        noise, axis=1, keepdims=True
    )
    encoded["itself"] = states_here.numpy()
    tables = []
    for name, vectors in encoded.items():
        replacement = torch.as_tensor(vectors, dtype=states_here.dtype)
        with tp.intervene(
            model, {site: partial(_put, rows=rows, positions=length - 1, vectors=replacement)}
        ):
            after = model.predict(padded).clamp_min(1e-30).log()
        divergence = (before.exp() * (before - after)).sum(1).numpy()
        is_same = (before.argmax(1) == after.argmax(1)).numpy()
        columns = {"edit": name, "set": tested.sets, "divergence": divergence, "same": is_same}
        tables.append(pd.DataFrame(columns))
    return {"replaced": pd.concat(tables, ignore_index=True)}


def _put(tensor: torch.Tensor, rows: Any, positions: Any, vectors: torch.Tensor) -> torch.Tensor:
    edited = tensor.clone()
    edited[rows, positions] = vectors
    return edited


def measure_period(name: str, seed: int, runs: Path) -> dict[str, pd.DataFrame]:
    """The nested tables of all layers, and behavior where the state at the period is replaced."""
    clauses = read_clauses(FRAME, seed, runs / "frames")
    train, tested = choose_texts(clauses, seed)
    folder = runs / f"seed-{seed}"
    store = read_store(name, train, folder / "store")
    sites = [site for site in store.sites if not site.endswith("embedding")]
    nested = []
    for site in sites:
        job = Part(folder / f"nested-{site}", partial(decompose_layer, store, site, seed))
        job.finish()
        nested.append(job.read("scores"))
    model, rows = tp.load_model(name), []
    for layer in REPLACED:
        site = sites[layer]
        make = partial(
            replace_layer, model, train, tested, store.read(site).astype(float), site, seed
        )
        job = Part(folder / f"replaced-{layer}", make)
        job.finish()
        replaced = job.read("replaced")
        rows += [
            _row(edit_rows, layer, str(edit), seed)
            for edit, edit_rows in replaced.groupby("edit", sort=False)
        ]
        wide = replaced.pivot_table(
            index=replaced.groupby("edit").cumcount(), columns="edit", values="divergence"
        )
        gap = (wide["saturated"] - wide["additive"]).to_numpy()
        value = bootstrap_mean(gap, replaced["set"].to_numpy()[: len(gap)])
        columns = {"layer": layer, "edit": "bindings − additive", "seed": seed, "n": len(gap)}
        rows.append(columns | value.columns("divergence"))
    return {"nested": pd.concat(nested, ignore_index=True), "replaced": pd.DataFrame(rows)}


def _row(rows: pd.DataFrame, layer: int, edit: str, seed: int) -> dict[str, Any]:
    columns = {
        "layer": layer,
        "edit": edit,
        "seed": seed,
        "n": len(rows),
        "same": rows["same"].mean(),
    }
    return columns | bootstrap_mean(rows["divergence"].to_numpy(), rows["set"].to_numpy()).columns(
        "divergence"
    )
