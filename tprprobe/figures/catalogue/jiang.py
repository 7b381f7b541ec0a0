"""jiang's discrete roles: how peaked, what making them one-hot costs, and what each stands for."""

from typing import Any

import numpy as np
import pandas as pd
import torch

from tprprobe.analyses.dictionary.discreteness import SUFFIX, measure_roles
from tprprobe.analyses.dictionary.role_names import name_dictionary
from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.data import load_data
from tprprobe.data.pairs import encode_texts
from tprprobe.errors import InputError
from tprprobe.figures.discreteness import dictionary_table, role_peaks
from tprprobe.figures.style import Drawing
from tprprobe.figures.tables import Table
from tprprobe.models import load_model
from tprprobe.models.checkpoint import default_data
from tprprobe.models.protocol import Model, require_model, require_vocabulary
from tprprobe.site.hooks import intervene
from tprprobe.site.patterns import layer_of
from tprprobe.statistics import bounds, divide, replicate_totals
from tprprobe.store import Store

DOCUMENTS = 100  # on which roles are made one-hot


def draw_discreteness(store: Store) -> Drawing:
    """The figure of a store with role weights; with the cost of one-hot roles where its model is here."""
    sites = _weights(store)
    weights = {site: store.read(site) for site in sites}
    heads = measure_roles(weights)
    names = dict(zip(heads["site"], heads["sublayer"], strict=True))
    peaks = {
        str(name): np.concatenate([weights[s].max(-1).ravel() for s in sites if names[s] == name])
        for name in dict.fromkeys(names.values())
    }
    return role_peaks(heads, peaks, _find_cost(store))


def _find_cost(store: Store) -> pd.DataFrame | None:
    about: Any = store.manifest.get("model")
    try:
        loaded = require_model(load_model(about["name"]), "whose roles are not ours to edit")
        data, split = default_data(loaded)
        examples = load_data(data, split=split, n=DOCUMENTS)
    except (InputError, TypeError, KeyError):
        return None
    return measure_snapping(loaded, [(each.source, each.target) for each in examples])


@torch.no_grad()
def measure_snapping(model: Model, texts: list[tuple[str, str]]) -> pd.DataFrame:
    """Loss (nats a sub-word) and next-sub-word accuracy, as trained and with all roles one-hot.

    Columns: score, as_trained, one_hot, low and high of their difference (95 %, over texts).
    """
    sums = [_measure(model, texts)]
    with intervene(model, {f"*{SUFFIX}": _one_hot}):
        sums.append(_measure(model, texts))
    joined = np.concatenate(sums, axis=1)
    totals = np.concatenate([joined.sum(0)[None], replicate_totals(joined)])
    rows = []
    for column, score in ((0, "loss"), (1, "accuracy")):
        before, after = (divide(totals[:, column + k], totals[:, 2 + k]) for k in (0, 3))
        low, high = bounds((after - before)[1:], len(joined))
        values = {"as_trained": before[0], "one_hot": after[0], "low": low, "high": high}
        rows.append({"score": score, **values})
    return pd.DataFrame(rows)


def _one_hot(weights: torch.Tensor) -> torch.Tensor:
    shape = weights.shape[-1]
    return torch.nn.functional.one_hot(weights.argmax(-1), shape).to(weights.dtype)


def _measure(model: Model, texts: list[tuple[str, str]]) -> np.ndarray:
    """Of every text nats, sub-words that are the likeliest, and sub-words."""
    pad = model.config.pad
    rows = []
    for start in range(0, len(texts), 32):
        some = texts[start : start + 32]
        pairs = encode_texts([a for a, _ in some], [b for _, b in some], require_vocabulary(model))
        source, target = pairs.batch(torch.arange(len(some)), pad)
        logits, gold = model(source, target[:, :-1]), target[:, 1:]
        known = gold != pad
        nats = torch.nn.functional.cross_entropy(logits.mT, gold, reduction="none") * known
        right = (logits.argmax(-1) == gold) & known
        rows.append(torch.stack([nats.sum(1), right.sum(1), known.sum(1)], dim=1))
    return torch.cat(rows).double().numpy()


def tabulate_dictionary(store: Store, layer: int = -1) -> Table:
    """The named roles of a layer: of the decoder's cross-attention, or of what a store has instead."""
    sites = _weights(store)
    sites = [site for site in sites if ".cross." in site] or sites
    layers = sorted({layer_of(site) or 0 for site in sites})
    if not -len(layers) <= layer < len(layers):
        raise InputError(f"layer {layer} of {len(layers)} layers with role weights")
    site = next(each for each in sites if layer_of(each) == layers[layer])
    names = name_dictionary(store, site)
    known = names[names["name"] != UNNAMED].sort_values(
        ["head", "coverage"], ascending=[True, False]
    )
    title = f"What the roles of {site.removesuffix(SUFFIX)} stand for: {len(known)} of {len(names)} named"
    return dictionary_table(known, title)


def _weights(store: Store) -> list[str]:
    sites = [site for site in store.sites if site.endswith(SUFFIX)]
    if not sites:
        raise InputError(
            f"{store.path} has no role weights: extract them from a model with a dictionary of roles "
            f"(`--sites '*{SUFFIX}'`)"
        )
    return sites
