"""A store of captions whose states are TPRs of the words to come, bound to known roles."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from planted.captions import UNBINDING

from tprprobe.store import SiteSpec, Store, StoreWriter, open_store

D, BOUND, WORDS = 7, 4, 4  # d, roles, words of a caption


@dataclass(frozen=True)
class PlantedStates:
    """The store, its roles (not orthogonal), and the role of the word that each row unbinds."""

    store: Store
    roles: np.ndarray
    role_of_word: np.ndarray
    shape: tuple[int, int] = (D, D)


def plant_states(path: Path, samples: int = 120, noise: float = 0.02) -> PlantedStates:
    """u_t is the dual of its word's role, with a weight for each of d chunks; every word of a caption
    has another role, in any order."""
    rng = np.random.default_rng(0)
    roles = rng.normal(size=(BOUND, D)) + 1  # leaning to one side
    duals, weights = np.linalg.pinv(roles).T, 1 + rng.random(D)
    sites = {
        UNBINDING: SiteSpec(("target", "d_model"), (D * D,)),
        "sentence.tpr": SiteSpec(("target", "d_filler", "d_role"), (D, D)),
    }
    writer = StoreWriter.create(path, sites, {"model": "planted", "data": "made"})
    role_of_word = []
    for sample in range(samples):
        order = rng.permutation(BOUND)
        fillers = rng.normal(size=(BOUND, D))
        tokens = ["<sos>", *(f"word{role}" for role in order)]
        table = pd.DataFrame({"token": tokens, "pos": ["", *["NN"] * WORDS]}).assign(
            side="target", sample=sample, position=range(WORDS + 1)
        )
        states = [
            sum((np.outer(fillers[role], roles[role]) for role in order[start:]), np.zeros((D, D)))
            for start in range(WORDS + 1)
        ]
        vectors = [np.outer(weights, duals[role]).ravel() for role in order]
        vectors.append(np.zeros(D * D))  # the end
        vectors = np.stack(vectors) + noise * rng.normal(size=(WORDS + 1, D * D))
        writer.append({UNBINDING: vectors, "sentence.tpr": np.stack(states)}, table)
        role_of_word += [*order, -1]
    writer.finish()
    return PlantedStates(open_store(path), roles, np.array(role_of_word))
