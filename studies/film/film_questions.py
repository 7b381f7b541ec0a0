"""What every checkpoint of the film is asked: the five events, each beside its controls, and how many answers are right."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from studies.film.film_designs import PairDesign, States, gain
from studies.film.filmed_models import Filmed
from studies.pages.encodings_section import replacement_of
from studies.tpdn.substitutions import Decoder
from tprpapers.swaps.number_pairs import find_swaps
from tprpapers.swaps.surgical_swaps import turn
from tprprobe.data import load_data
from tprprobe.data.pairs import Pairs, encode_pairs, encode_texts
from tprprobe.evaluation.results import melt
from tprprobe.extraction.passes import read_block
from tprprobe.models import load_model
from tprprobe.models.answers import exact_matches
from tprprobe.site.hooks import intervene
from tprprobe.statistics import bootstrap_mean, wilson
from tprprobe.trajectory import Analysis

GRU, EVENTS = "gru", ("fillers", "places", "bindings", "systematic", "surgery")
SITES = {GRU: "encoding"}
OF_TOKENS = "encoder.0.hidden"  # after the first attention
RANKS = {GRU: (9, 6)}
N, LONGEST, TESTED, WITHHELD, OPERATED, ANSWERED = 2000, 30, 0.4, 0.08, 150, 150
SHUFFLES = ("shuffled roles", "shuffled fillers")


class Film:
    """The questions of one variant; data, labels and pair counts are made once for all its checkpoints."""

    def __init__(self, variant: str):
        self.is_gru, self.site = variant == GRU, SITES.get(variant, OF_TOKENS)
        mix = Filmed(variant, 0).recipe.evaluate[0]
        split, seed = ("test", 0) if self.is_gru else (mix.split, 1)
        self.data = load_data(mix.data, split=split, n=N, seed=seed)
        self.rank = RANKS.get(variant, (8, 6))
        self.designs: dict[str, PairDesign] = {}

    def begin(self, model: Any) -> None:
        """The pairs of examples and the designs; the first checkpoint's vocabulary serves all."""
        texts = [each for each in self.data if len(each.source) <= LONGEST]
        self.texts = [each.source for each in texts][: None if self.is_gru else 500]
        answers = [each.target for each in texts][: len(self.texts)]
        self.pairs = encode_texts(self.texts, answers, model.vocabulary)
        ends = self.pairs.source.offsets.numpy()
        ids, lengths = self.pairs.source.values.numpy(), np.diff(ends)
        sample = np.repeat(np.arange(len(lengths)), lengths)
        self.ids, filler = np.unique(ids, return_inverse=True)
        left = np.arange(len(ids)) - np.repeat(ends[:-1], lengths)
        role = left + lengths[sample] * (lengths[sample] - 1) // 2 if self.is_gru else left
        rng = np.random.default_rng(0)
        tested = rng.random(len(lengths)) < TESTED
        self.tested = np.flatnonzero(tested)
        unit = sample if self.is_gru else np.arange(len(ids))
        group = np.arange(len(lengths)) if self.is_gru else sample
        n_pairs = (filler.max() + 1) * (role.max() + 1)
        withheld = rng.random(n_pairs) < WITHHELD
        roles = role.max() + 1
        withheld &= (np.arange(n_pairs) % roles >= 6) | (
            not self.is_gru
        )  # of sequences of four or more
        order = np.lexsort((rng.random(len(ids)), sample))
        shuffled = {
            "": (filler, role),
            SHUFFLES[0]: (filler, role[order]),
            SHUFFLES[1]: (rng.permutation(filler), role),
        }
        self.designs = {
            name: PairDesign(f, r, unit, group, tested[group], withheld, self.rank)
            for name, (f, r) in shuffled.items()
        }
        if not self.is_gru:
            self.swaps = find_swaps([self.texts[i] for i in self.tested])[:OPERATED]
            of = self.swaps
            self.asked, self.other = (
                encode_texts(of[text].tolist(), of["predicted"].tolist(), model.vocabulary)
                for text in ("text", "counterfactual")
            )

    @property
    def analyses(self) -> list[Analysis]:
        """The events, and the answers."""
        return [Analysis("film", repr((self.site, self.rank, N)), None, self.answer)]

    @torch.no_grad()
    def answer(self, name: str, _store: Path) -> pd.DataFrame:
        """A row an event and control."""
        model: Any = load_model(name)
        if not self.designs:
            self.begin(model)
        block = read_block(model, self.pairs, [self.site], model.config.pad)
        states = block.rows[self.site].astype(float)
        fits = {control: design.fit(states) for control, design in self.designs.items()}
        rows = [*self._gains(fits), *self._surgery(model, states, fits[""]), self._right(model)]
        table = pd.DataFrame(rows, columns=["task", "control", "value", "value_low", "value_high"])
        return melt(table, {"task": "task", "control": "control"}, ["value"])

    def _gains(self, fits: dict[str, States]) -> Iterator[tuple[Any, ...]]:
        for control, fit in fits.items():
            design = self.designs[control]
            unseen = design.has_withheld
            for event, step, of in zip(
                EVENTS, (1, 2, 3, 3), (~unseen,) * 3 + (unseen,), strict=False
            ):
                yield event, control, *gain(design, fit, step, of)

    def _surgery(self, model: Any, states: np.ndarray, fit: States) -> Iterator[tuple[Any, ...]]:
        rng = np.random.default_rng(0)
        true, wrong, run = (self._replace if self.is_gru else self._exchange)(
            model, states, fit, rng
        )
        ways = {"": true, "random direction": turn(true, rng), "wrong roles": wrong}
        for control, change in ways.items():
            found = run(change)
            yield EVENTS[-1], control, found.value, found.low, found.high

    def _change(
        self, fit: States, old: np.ndarray, new: np.ndarray, role: np.ndarray
    ) -> np.ndarray:
        """What the fit adds to a state where fillers are replaced at roles."""
        n = self.designs[""].sizes[1]
        return fit.fillers[new] - fit.fillers[old] + fit.pairs[new * n + role] - fit.pairs[old * n + role]  # fmt: skip

    def _replace(self, model: Any, states: Any, fit: States, rng: Any) -> tuple[Any, ...]:
        """A digit replaced in the encoding of a tested sequence: which the decoder reads as it should be."""
        rows = [i for i in self.tested if len(self.texts[i]) > 3][:OPERATED]
        sequences = [self.texts[i].split() for i in rows]
        drawn = [replacement_of(each, rng) for each in sequences]
        n = [len(each) for each in sequences]
        place = [int(str(change[0]).split("*")[0]) for _, change in drawn]
        number = {
            symbol: i for i, symbol in enumerate(model.vocabulary.symbols[j] for j in self.ids)
        }
        old, new = (np.array([number[change[k]] for _, change in drawn]) for k in (1, 2))
        role = np.array([p + k * (k - 1) // 2 for p, k in zip(place, n, strict=True)])
        other = np.array([(p + 1) % k + k * (k - 1) // 2 for p, k in zip(place, n, strict=True)])
        decoder, wanted = Decoder(model, "copy"), [each for each, _ in drawn]

        def run(change: np.ndarray) -> Any:
            return wilson(int(decoder(states[rows] + change, wanted).sum()), len(rows))

        return self._change(fit, old, new, role), self._change(fit, old, new, other), run

    def _exchange(self, model: Any, _states: Any, fit: States, rng: Any) -> tuple[Any, ...]:
        """Two numbers of a tested question exchanged in its tokens' states: how probable its other answer is."""
        pad, every = model.config.pad, torch.arange(len(self.asked))
        source, target = self.asked.batch(every, pad)
        changed = self.other.batch(every, pad)[0]
        row, place = (each.numpy() for each in (source != changed).nonzero().T)
        old, new = (np.searchsorted(self.ids, x[row, place].numpy()) for x in (source, changed))
        moved = rng.permutation(self.designs[""].sizes[1])[place]

        def run(change: np.ndarray) -> Any:
            by = torch.zeros(*source.shape, change.shape[1])
            by[row, place] = torch.as_tensor(change, dtype=torch.float32)
            with intervene(model, {self.site: lambda x: x + by}):
                chance = model(source, target[:, :-1]).log_softmax(-1)
            of = chance.gather(-1, target[:, 1:, None])[..., 0] * (target[:, 1:] != pad)
            return bootstrap_mean(of.sum(1).exp().double().numpy(), np.arange(len(source)))

        return self._change(fit, old, new, place), self._change(fit, old, new, moved), run

    def _right(self, model: Any) -> tuple[Any, ...]:
        some: Pairs = encode_pairs(self.data[:ANSWERED], model.vocabulary)
        found = wilson(int(exact_matches(model, some)[0].sum()), ANSWERED)
        return "answers", "", found.value, found.low, found.high
