"""Span-convolution probes with self-attentive pooling, many of one vector trained side by side by Adam.

Projection of every span's states by a span convolution, self-attentive pooling within the span, and a
classifier Linear, tanh, LayerNorm, dropout, Linear. Parameters are stacked along the axis ``probe``.
Source: Tenney et al. 2019; jiant, modules/edge_probing.py and modules/simple_modules.py.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count as count_up

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tprprobe.analyses.probing.document_counts import (
    NATS,
    Curves,
    Probe,
    Tested,
    count_probes,
    labels_of,
    list_tested,
    losses,
    sum_documents,
)
from tprprobe.analyses.probing.examples import Examples
from tprprobe.analyses.probing.inputs import Batch, Reader, Shape, Spans, chunks
from tprprobe.analyses.probing.settings import Schedule

DROPOUT, EPS = 0.3, 1e-5
BETAS, TINY = (0.9, 0.999), 1e-8  # of Adam
BLOCK = 1024  # targets of all probes whose hidden units stay in a core's cache
BLOCK_OF_GPU = 2**16

Weights = Mapping[str, Tensor]
Stacked = Float[Tensor, "probe parameter"]


def edge_logits(
    shape: Shape,
    weights: Weights,
    windows: Sequence[Float[Tensor, "_state window"]],
    spans: Sequence[Spans],
    dropout: Float[Tensor, "probe target hidden"] | None = None,
) -> Float[Tensor, "probe target label"]:
    """The logits of every label, from the states of all targets' spans (see :class:`Batch`).

    Projection and hidden layer are one map: Σ_t a_t (W x_t + b) = W Σ_t a_t x_t + b, as the shares a_t add up to one.
    """
    h, hidden = shape.hidden, weights["hidden_bias"][:, None]
    for span, (x, of) in enumerate(zip(windows, spans, strict=True)):
        project, bias, attend = (
            weights[f"{name}{span}_{kind}"]
            for name, kind in (("project", "weight"), ("project", "bias"), ("attend", "weight"))
        )
        into = weights["hidden_weight"][:, span * h : (span + 1) * h]
        query = (project @ attend[..., None]).squeeze(-1)
        hidden = hidden + bias[:, None] @ into + attend_states(x, of, query) @ (project @ into)
    hidden = nn.functional.layer_norm(hidden.tanh(), (h,), eps=EPS)
    hidden = hidden * weights["norm_weight"][:, None] + weights["norm_bias"][:, None]
    if dropout is not None:
        hidden = hidden * dropout
    return torch.baddbmm(weights["output_bias"][:, None], hidden, weights["output_weight"])


def attend_states(
    x: Float[Tensor, "_all_states window"], spans: Spans, query: Float[Tensor, "probe window"]
) -> Float[Tensor, "probe target window"]:
    """Σ_t softmax(query · x)_t x_t over the states of every target."""
    vectors = x[spans.first].expand(len(query), -1, -1)
    if not len(spans.many):
        return vectors
    states = x[spans.states]
    scores = query @ states.T
    owner = spans.owner.expand(len(query), -1)
    highest = scores.new_full((len(query), len(spans.many)), -torch.inf)
    highest = highest.scatter_reduce(1, owner, scores.detach(), "amax")
    powers = torch.exp(scores - highest.gather(1, owner))[..., None]
    shares = powers / spans.sum(powers)[:, spans.owner]
    return vectors.index_copy(1, spans.many, spans.sum(shares * states))


def draw_weights(shape: Shape, seed: int) -> Float[Tensor, " parameter"]:
    """torch's own initialization of Linear, Conv1d and LayerNorm, from a local generator."""
    generator = torch.Generator().manual_seed(seed)
    parts, fan_in = [], 1
    for name, size in shape.sizes().items():
        if name.startswith("norm"):
            parts.append(torch.full(size, float(name.endswith("weight"))))
            continue
        fan_in = size[0] if name.endswith("weight") else fan_in
        parts.append((2 * torch.rand(size, generator=generator) - 1) / fan_in**0.5)
    return torch.cat([part.flatten() for part in parts])


def draw_dropout(
    seed: int, step: int, n_targets: int, hidden: int, rate: float = DROPOUT
) -> Float[Tensor, "target hidden"]:
    """The dropout mask of a batch's hidden units, a function of seed and step alone."""
    state = int(np.random.SeedSequence([seed, step]).generate_state(1)[0])
    generator = torch.Generator().manual_seed(state)
    return (torch.rand(n_targets, hidden, generator=generator) >= rate).float() / (1 - rate)


def step_amsgrad(
    weights: Stacked,
    moments: Float[Tensor, "3 probe parameter"],
    grads: Stacked,
    rates: Float[Tensor, " probe"],
    steps: int,
    clip: float,
) -> None:
    """One step of Adam in place: every probe with its own rate, its gradient clipped to a norm."""
    shrink = (clip / (grads.norm(dim=1, keepdim=True) + 1e-6)).clamp(max=1)
    if (shrink < 1).any():
        grads = grads * shrink
    first, second, largest = moments
    first.lerp_(grads, 1 - BETAS[0])
    second.mul_(BETAS[1]).addcmul_(grads, grads, value=1 - BETAS[1])
    torch.maximum(largest, second, out=largest)
    rate = rates[:, None] / (1 - BETAS[0] ** steps)
    scale = largest.sqrt().mul_(1 / (rate * (1 - BETAS[1] ** steps) ** 0.5))
    weights.addcdiv_(first, scale.add_(TINY / rate), value=-1)


def fit_span_conv(probes: Sequence[Probe], reader: Reader, schedule: Schedule) -> list[Tested]:
    """Probes of one vector, each trained to its end on the first turn of their splits, and tested."""
    descent, splits = Descent(probes, reader, schedule), probes[0].splits
    descent.run()
    test = splits.tested.take(splits.turns[0].test)
    terms = descent.count(descent.best, np.arange(len(probes)), test)
    sums = np.stack([sum_documents(each, test) for each in terms])
    weights = descent.shape.split(descent.best)
    return list_tested(probes, sums, descent.curves, weights, descent.reader)


def _moments(reader: Reader, train: Examples) -> tuple[Tensor, Tensor]:
    """The mean and the deviation of the rows that examples read; 1 where they do not vary."""
    n, total, squares = 0, torch.zeros(()), torch.zeros(())
    for part in chunks(train.samples):
        rows = reader.rows(train.corpus, train.rows_read(train.within(part))).double()
        n, total, squares = n + len(rows), total + rows.sum(0), squares + (rows * rows).sum(0)
    mean = total / n
    deviation = (squares / n - mean**2).clamp(min=0).sqrt()
    flat = deviation < 1e-6 * mean.abs() + 1e-12
    return mean.float(), torch.where(flat, 1.0, deviation).float()


class Descent:
    """Probes in training: ``live`` go on, ``weights`` are theirs, ``best`` the best of all so far."""

    def __init__(self, probes: Sequence[Probe], reader: Reader, schedule: Schedule):
        examples, turn = probes[0].splits.examples, probes[0].splits.turns[0]
        self.train, self.dev = examples.take(turn.train), examples.take(turn.dev)
        if schedule.standardize:
            mean, scale = _moments(reader, self.train)
            reader = replace(reader, mean=mean, scale=scale)
        self.probes, self.shape = probes, probes[0].shape
        self.reader, self.schedule = reader, schedule
        n, device, shape = len(probes), reader.device, self.shape
        fresh = {seed: draw_weights(shape, seed) for seed in {probe.seed for probe in probes}}
        self.weights = torch.stack([fresh[probe.seed] for probe in probes]).to(device)
        self.best = self.weights.clone()
        self.moments = torch.zeros(3, *self.weights.shape, device=device)
        self.live = np.arange(n)
        self.rate = np.full(n, schedule.learning_rate)
        self.score = np.full(n, -np.inf)
        self.worse = np.zeros(n, int)
        self.learned = torch.zeros(n, device=device)  # sum of losses since the last validation
        self.steps = self.judged = 0
        self.curves: Curves = [[] for _ in probes]

    def run(self) -> None:
        """Trains every probe to its end, on the samples in an order that depends on the epoch only."""
        every = self.schedule.every
        for epoch in count_up():
            for part in chunks(self.train.corpus.training_samples, epoch):
                for batch in self.reader.batches(self.train, part, self.schedule.batch):
                    self._learn(batch)
                    if every is not None and self.steps % every == 0:
                        self._validate()
                    if not len(self.live):
                        return
            if every is None:
                self._validate()
            if not len(self.live):
                return

    @torch.no_grad()
    def count(
        self, weights: Stacked, which: Int[np.ndarray, " probe"], examples: Examples
    ) -> Float[np.ndarray, "probe target term"]:
        """The counts of what probes with these weights give examples."""
        parts = []
        for samples in chunks(examples.samples):
            for batch in self.reader.batches(examples, samples, self.schedule.batch):
                logits = [
                    self._logits(weights[rows], batch) for rows in self._groups(len(which), batch)
                ]
                some = [self.probes[i] for i in which]
                parts.append(count_probes(some, torch.cat(logits), examples, batch.chosen))
        return np.concatenate(parts, 1)

    def _logits(
        self, weights: Stacked, batch: Batch, dropout: Tensor | None = None
    ) -> Float[Tensor, "probe target label"]:
        return edge_logits(
            self.shape, self.shape.split(weights), batch.windows, batch.spans, dropout
        )

    def _groups(self, n: int, batch: Batch) -> Iterator[slice]:
        """Slices of n probes that are computed together."""
        block = BLOCK if self.reader.device.type == "cpu" else BLOCK_OF_GPU
        size = max(1, block // len(batch.chosen))
        for start in range(0, n, size):
            yield slice(start, start + size)

    def _learn(self, batch: Batch) -> None:
        """One step for every probe that is still trained."""
        some = [self.probes[i] for i in self.live.tolist()]
        n, device = len(batch.chosen), self.reader.device
        seeds = {probe.seed for probe in some}
        drawn = {s: draw_dropout(s, self.steps, n, self.shape.hidden).to(device) for s in seeds}
        marks = labels_of(some, self.train, batch.chosen, device)
        rates = torch.from_numpy(self.rate[self.live]).to(self.weights)
        self.steps += 1
        for rows in self._groups(len(some), batch):
            weights = self.weights[rows].detach().requires_grad_()
            dropout = torch.stack([drawn[probe.seed] for probe in some[rows]])
            logits = self._logits(weights, batch, dropout)
            loss = losses(logits, marks[rows], some[0].loss).mean(1)
            (grads,) = torch.autograd.grad(loss.sum(), weights)
            self.learned[self.live[rows]] += loss.detach()
            step_amsgrad(
                self.weights[rows], self.moments[:, rows], grads, rates[rows], self.steps,
                self.schedule.clip,
            )  # fmt: skip

    def _validate(self) -> None:
        """Validates every probe in training on the dev examples."""
        terms = self.count(self.weights, self.live, self.dev)
        hit, false, missed = terms.sum(1)[:, :3].T
        held_out = terms[..., NATS].sum(1) / len(self.dev)
        f1 = 2 * hit / np.maximum(1, 2 * hit + false + missed)
        learned = (self.learned[self.live] / (self.steps - self.judged)).tolist()
        for probe, *point in zip(self.live.tolist(), learned, held_out.tolist(), strict=True):
            self.curves[probe].append((self.steps, *point))
        self.learned.zero_()
        self.judged = self.steps
        self._judge(f1 if self.schedule.watch == "f1" else -held_out)

    def _judge(self, scores: Float[np.ndarray, " live"]) -> None:
        """Keeps the weights that are the best so far, halves learning rates and ends probes."""
        s, live = self.schedule, self.live
        least = 1e-4 * (np.abs(scores) if s.watch == "loss" else 1)
        better = scores > self.score[live] + least
        self.best[live[better]] = self.weights[np.flatnonzero(better)]
        self.score[live] = np.where(better, scores, self.score[live])
        self.worse[live] = np.where(better, 0, self.worse[live] + 1)
        decay = (self.worse[live] > 0) & (self.worse[live] % (s.patience + 1) == 0)
        self.rate[live] *= np.where(decay, 0.5, 1.0)
        stays: Bool[np.ndarray, " live"] = self.worse[live] < s.stop
        stays &= np.array([len(self.curves[probe]) < s.limit for probe in live])
        stays &= self.rate[live] >= s.smallest_rate
        if not stays.all():
            self.live, chosen = live[stays], np.flatnonzero(stays)
            self.weights, self.moments = self.weights[chosen], self.moments[:, chosen]
