"""What every checkpoint of the film is asked: its states decomposed, surgery on them, and how many answers are right."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from studies.film.filmed_models import Filmed
from studies.pages.encodings_section import replacement_of
from studies.tpdn.substitutions import Decoder
from tprpapers.swaps.surgical_swaps import SURGERY, measure_surgeries, turn
from tprprobe.analyses.decomposition import decompose, fit_scheme
from tprprobe.data import load_data
from tprprobe.data.pairs import encode_pairs
from tprprobe.extraction import extract
from tprprobe.interventions.number_pairs import find_swaps
from tprprobe.interventions.surgeries import change_of
from tprprobe.lapses import Question
from tprprobe.models import load_model
from tprprobe.models.answers import exact_matches
from tprprobe.statistics import bootstrap_mean, wilson
from tprprobe.store import open_store

GRU = "gru"
OPERATED, SWAPPED, ANSWERED = 100, 60, 100  # sequences, questions with two numbers to exchange, answers


class Plan(NamedTuple):
    """Where a variant's states are decomposed, by which roles, at which rank, and of how many examples."""

    site: str
    roles: str
    rank: str
    fitted: int


PLANS = {GRU: Plan("encoding", "left*right", "9x6", 200)}
OF_TOKENS = Plan("encoder.0.hidden", "left", "6x4", 80)  # after the first attention


class Film:
    """The questions of one variant; its data are read once."""

    def __init__(self, variant: str):
        self.is_gru, self.plan = variant == GRU, PLANS.get(variant, OF_TOKENS)
        self.site, self.roles, self.rank, self.fitted = self.plan
        mix = Filmed(variant, 0).recipe.evaluate[0]
        split, seed = ("test", 0) if self.is_gru else (mix.split, 1)
        self.data = load_data(mix.data, split=split, n=self.fitted + 600, seed=seed)
        self._fits: dict[str, Any] = {}

    def write(self, model: Any, folder: Path) -> None:
        """The store of the examples that are fitted."""
        extract(model, self.data[: self.fitted], [self.site], folder, 0, control=False, resume=True)

    @property
    def questions(self) -> list[Question]:
        """Decomposition, surgery and answers."""
        return [
            Question("decompose", " ".join(map(str, self.plan)), True, self.decompose),
            Question("surgery", f"{OPERATED} {SWAPPED}", True, self.operate),
            Question("answers", f"{ANSWERED}", False, self.answer),
        ]

    def decompose(self, name: str, store: Path) -> pd.DataFrame:
        """The scores of the scheme, beside their controls."""
        fit = decompose(open_store(store), self.site, self.roles, rank=self.rank)
        self._fits = {name: fit}
        return fit.scores

    def operate(self, name: str, store: Path) -> pd.DataFrame:
        """How often (or how probably) the answer is the changed question's, after surgery and after its controls."""
        model: Any = load_model(name)
        fit = self._fits.get(name) or fit_scheme(
            open_store(store), self.site, self.roles, rank=self.rank
        )
        shares = self._replace(model, fit) if self.is_gru else self._exchange(model, fit)
        return pd.DataFrame(
            [{"control": name, **of.columns("answered"), "n": n} for name, (of, n) in shares.items()]
        )

    def _replace(self, model: Any, fit: Any) -> dict[str, Any]:
        """A digit replaced in the encodings of sequences that were not fitted, read by the decoder."""
        rng, sequences, vectors = np.random.default_rng(0), *self._encoded(model)
        known = {*map(str, fit.fit.pairs.roles)}
        drawn = [replacement_of(each, rng) for each in sequences]
        chosen = [i for i, (_, change) in enumerate(drawn) if change[0] in known]
        wanted, changes = zip(*(drawn[i] for i in chosen), strict=True)
        true = change_of(fit, replace=list(changes))
        ways = {"": true, "random direction": turn(true, rng)}
        ways["wrong roles"] = change_of(fit, replace=list(changes), elsewhere=True)
        decoder, n = Decoder(model, "copy"), len(chosen)
        return {
            way: (wilson(int(decoder(vectors[chosen] + by, list(wanted)).sum()), n), n)
            for way, by in ways.items()
        }

    def _encoded(self, model: Any) -> tuple[list[list[str]], np.ndarray]:
        asked = self.data[self.fitted : self.fitted + OPERATED]
        with TemporaryDirectory() as folder:
            store = extract(model, asked, [self.site], Path(folder) / "store", 0, control=False)
            return [each.source.split() for each in asked], store.read(self.site).astype(float)

    def _exchange(self, model: Any, fit: Any) -> dict[str, Any]:
        """The two numbers of an operation exchanged in the states of the last layer; the probability of the answer."""
        rows = measure_surgeries(model, self._swaps(), [fit])
        found = {}
        for at, of in rows.groupby("at"):
            chance = of["p_counterfactual"].to_numpy()
            way = "" if at == SURGERY else str(at).removeprefix(f"{SURGERY}, ")
            found[way] = (bootstrap_mean(chance, np.arange(len(of))), len(of))
        return found

    @cache  # noqa: B019 (one film a variant)
    def _swaps(self) -> pd.DataFrame:
        texts = [each.source for each in self.data[self.fitted :]]
        return find_swaps(texts)[:SWAPPED].reset_index(drop=True)

    def answer(self, name: str, _store: Path) -> pd.DataFrame:
        """The share of answers that are right."""
        model: Any = load_model(name)
        some = encode_pairs(self.data[self.fitted : self.fitted + ANSWERED], model.vocabulary)
        right = exact_matches(model, some)[0]
        return pd.DataFrame([wilson(int(right.sum()), len(right)).columns("exact_match")])
