"""How discrete the roles of a trained TPT-d are, and what it does when they are made one-hot."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pandas as pd
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from tprprobe.analyses.dictionary.discreteness import measure_roles, pool_roles
from tprprobe.data.pairs import Pairs
from tprprobe.extraction.passes import read_block
from tprprobe.site.hooks import find_sites, intervene

WEIGHTS = "*.role_weights"


def has_dictionary(model: Any) -> bool:
    """Whether a model chooses its roles from a dictionary."""
    return any(name.endswith("role_weights") for name in find_sites(model))


def discreteness(model: Any, pairs: Pairs) -> pd.DataFrame:
    """One row a kind of sub-layer and one for all: peaks and entropy of teacher-forced passes.

    Columns: sublayer, n_distributions, above_98, above_90, entropy (bits), used_roles and
    n_roles (means over layers and heads).
    """
    sites = [name for name in find_sites(model) if name.endswith("role_weights")]
    heads = measure_roles(read_block(model, pairs, sites, model.config.pad).rows)
    rows = pd.concat([pool_roles(heads, ["sublayer"]), pool_roles(heads).assign(sublayer="all")])
    used = heads.groupby("sublayer")[["used_roles", "n_roles"]].mean()
    used.loc["all"] = heads[["used_roles", "n_roles"]].mean()
    return rows.merge(used.reset_index(), on="sublayer")


def one_hot(weights: Float[Tensor, "batch seq head n_roles"]) -> Float[Tensor, "_ _ _ _"]:
    """1 for the strongest role, 0 for the others."""
    return F.one_hot(weights.argmax(-1), weights.shape[-1]).to(weights.dtype)


@contextmanager
def snapped(model: Any) -> Iterator[Any]:
    """The model, all of whose role distributions are one-hot while this is open."""
    with intervene(model, {WEIGHTS: one_hot}):
        yield model
