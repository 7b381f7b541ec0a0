"""Question b, behavior: is the subject's number bound at the verb, and where does it go by layer?

Texts end before the verb ("The key near the cabinets"). States are exchanged for those of the same text with
another number of the subject, or of the attractor; does the preferred verb turn?
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

import tprprobe as tp
from studies.real.clauses import draw_frame
from tprprobe.files.runs import Part
from tprprobe.statistics import bootstrap_mean

FRAME, SETS, N_FITTED = (
    "agreement",
    24,
    40,
)  # sets of words tested, and those that vectors come from
LAYERS = (0, 1, 3, 5, 8, 11, 14, 17, *range(20, 30))
NUMBERS, SUBJECT = ("singular", "plural"), 1  # the subject's position
VERBS = (" is", " are")
States = dict[str, Float[Tensor, "text seq d_model"]]


@dataclass(frozen=True, eq=False)
class Agreement:
    """Texts of sets of words, four a set: subject and attractor in either number, in one fixed order."""

    texts: list[str]
    ids: Tensor

    @cached_property
    def numbers(self) -> np.ndarray:
        """The number of subject and attractor of every text: 0 singular, 1 plural."""
        return np.array([*product((0, 1), repeat=2)] * (len(self.texts) // 4))

    @cached_property
    def sets(self) -> np.ndarray:
        """The set of words of every text."""
        return np.arange(len(self.texts)) // 4

    def flipped(self, role: int) -> np.ndarray:
        """Where the text stands that differs in the number of the subject (0) or attractor (1)."""
        return np.arange(len(self.texts)) ^ (2, 1)[role]

    def of_sets(self, sets: Sequence[int]) -> "Agreement":
        """The texts of some sets."""
        indices = np.flatnonzero(np.isin(self.sets, sets))
        return Agreement([self.texts[i] for i in indices], self.ids[indices])


def read_agreement(model: Any, seed: int, out: Path) -> Agreement:
    """Texts whose words are one token each for a model."""
    path = draw_frame(FRAME, seed, out, {"thing": 10, "preposition": 2})
    data = tp.load_data(f"pairs:{path},one_token", n=720, seed=seed)
    by_words: dict[tuple[str, ...], dict[tuple[str, str], str]] = {}
    for example in data.suited_to(model.vocabulary):
        number = {t.span1[0]: t.label for t in example.sentence.targets["number"]}
        words = example.sentence.words
        roles = {t.label: t.span1[0] for t in example.sentence.targets["role"]}
        places = (roles["subject"], roles["attractor"])
        key = tuple(w.removesuffix("s") if i in places else w for i, w in enumerate(words))
        by_words.setdefault(key, {})[number[places[0]], number[places[1]]] = example.source
    complete = [texts_of for texts_of in by_words.values() if len(texts_of) == 4]
    order = np.random.default_rng(seed).permutation(len(complete))
    texts, ids = [], []
    for i in order:
        four = [complete[i][key] for key in product(NUMBERS, repeat=2)]
        encoded = [model.vocabulary.encode(text) for text in four]
        if {len(ids_) for ids_ in encoded} == {5}:
            texts, ids = texts + four, ids + encoded
    n = 4 * (SETS + N_FITTED)
    return Agreement(texts[:n], torch.tensor(ids[:n]))


@torch.no_grad()
def read_states(model: Any, texts: Agreement, sites: Sequence[str]) -> States:
    """The states of all texts at sites."""
    with tp.capture(model, list(sites)) as acts:
        model(texts.ids)
    return {site: acts[site].detach().clone() for site in sites}


@torch.no_grad()
def prefer(model: Any, ids: Tensor, edits: dict[str, Callable[[Tensor], Tensor]]) -> np.ndarray:
    """log P(is) − log P(are) behind every text, while states are edited."""
    verbs = [model.vocabulary.encode(verb)[0] for verb in VERBS]
    with tp.intervene(model, edits):
        logs = model.predict(ids).clamp_min(1e-30).log()
    return (logs[:, verbs[0]] - logs[:, verbs[1]]).numpy()


def measure_layer(
    model: Any,
    tested: Agreement,
    states: Tensor,
    fit_texts: Agreement,
    known_states: Tensor,
    site: str,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """A row a text and edit of one layer: the preference before and after."""
    before = prefer(model, tested.ids, {})
    end = tested.ids.shape[1] - 1
    by_number = known_states[:, end]
    vectors = [_effect(by_number, fit_texts.numbers[:, role]) for role in (0, 1)]
    sign = 1 - 2 * torch.as_tensor(
        tested.numbers, dtype=torch.float32
    )  # to plural where it is singular
    subject, attractor = (torch.as_tensor(tested.flipped(role)) for role in (0, 1))
    noise = torch.randn(states.shape, generator=torch.Generator().manual_seed(seed))
    moves = {
        ("subject", "exchange"): (SUBJECT, states[subject, SUBJECT] - states[:, SUBJECT]),
        ("last", "exchange"): (end, states[subject, end] - states[:, end]),
        ("last", "attractor"): (end, states[attractor, end] - states[:, end]),
        ("last", "vector"): (end, sign[:, :1] * vectors[0]),
        ("last", "attractor's vector"): (end, sign[:, 1:] * vectors[1]),
    }
    for place, position in (("subject", SUBJECT), ("last", end)):
        length = moves[place, "exchange"][1].norm(dim=1, keepdim=True)
        direction = noise[:, position] / noise[:, position].norm(dim=1, keepdim=True)
        moves[place, "random"] = (position, direction * length)
    rows = []
    for (place, edit), (position, move) in moves.items():
        after = prefer(model, tested.ids, {site: partial(_moved, position=position, move=move)})
        table = pd.DataFrame({"set": tested.sets, "before": before, "after": after})
        table["subject"], table["attractor"] = tested.numbers.T
        rows.append(table.assign(place=place, edit=edit))
    return {"turns": pd.concat(rows, ignore_index=True)}


def _effect(states: Tensor, number: np.ndarray) -> Tensor:
    """Plural minus singular, the mean over texts in which all else is alike."""
    plural = torch.as_tensor(number == 1)
    return states[plural].mean(0) - states[~plural].mean(0)


def _moved(tensor: Tensor, position: int, move: Tensor) -> Tensor:
    edited = tensor.clone()
    edited[:, position] += move
    return edited


def measure_agreement(model: Any, seed: int, runs: Path) -> pd.DataFrame:
    """A row a layer, place and edit: the share of texts whose preferred verb turns, and by how much."""
    texts = read_agreement(model, seed, runs / "frames")
    tested, fit_texts = (texts.of_sets(range(*ends)) for ends in ((SETS,), (SETS, SETS + N_FITTED)))
    sites = [f"layers.{layer}.hidden" for layer in LAYERS]
    states, known_states = (read_states(model, texts_, sites) for texts_ in (tested, fit_texts))
    rows: list[dict[str, Any]] = []
    turns = pd.DataFrame()
    for layer, site in zip(LAYERS, sites, strict=True):
        make = partial(
            measure_layer, model, tested, states[site], fit_texts, known_states[site], site, seed
        )
        job = Part(runs / f"seed-{seed}" / f"agreement-{layer}", make)
        job.finish()
        turns = job.read("turns")
        for (place, edit), rows_ in turns.groupby(["place", "edit"], sort=False):
            turned = (np.sign(rows_["after"]) != np.sign(rows_["before"])).to_numpy(float)
            share = bootstrap_mean(turned, rows_["set"].to_numpy())
            toward = (rows_["after"] - rows_["before"]) * np.where(rows_["subject"] == 0, -1, 1)
            moved = bootstrap_mean(toward.to_numpy(), rows_["set"].to_numpy())
            columns = {"layer": layer, "place": place, "edit": edit, "seed": seed, "n": len(rows_)}
            rows.append(columns | share.columns("turned") | moved.columns("moved"))
    subject_turns = turns[(turns["place"] == "subject") & (turns["edit"] == "exchange")]
    right = (subject_turns["before"] > 0) == (subject_turns["subject"] == 0)
    for name, rows_ in {
        "attractor": subject_turns["subject"] != subject_turns["attractor"],
        "no attractor": subject_turns["subject"] == subject_turns["attractor"],
    }.items():
        share = bootstrap_mean(right[rows_].to_numpy(float), subject_turns["set"][rows_].to_numpy())
        rows.append(
            {"place": "none", "edit": name, "seed": seed, "n": int(rows_.sum())}
            | share.columns("turned")
        )
    return pd.DataFrame(rows)
