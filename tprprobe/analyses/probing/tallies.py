"""Tallies: right and wrong labels of probes by document, from which intervals and tests are made."""

from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tprprobe.analyses.probing.batches import Chunk, read_batch
from tprprobe.analyses.probing.labelled_splits import Examples, Order
from tprprobe.analyses.probing.probes import Probes
from tprprobe.analyses.probing.settings import Loss
from tprprobe.analyses.probing.stacks import Stack, losses

TERMS = ("hit", "false", "missed", "right", "n", "nats")
ALL = "all"


@dataclass(eq=False)
class Tally:
    """Sums of TERMS [probe, subset, document, term] that grow chunk by chunk.

    Probes are the stack's ``probes`` with the weights of ``module``. Subsets begin with all targets
    and follow the targets' own (without ``by_document``: all targets, one document).
    """

    stack: Stack
    module: Probes
    probes: Int[np.ndarray, " probe"]
    examples: Examples
    by_document: bool = True
    sums: Float[np.ndarray, "probe subset document term"] = field(init=False)

    def __post_init__(self):
        subsets = self.examples.targets.subsets() if self.by_document else {}
        n = len(self.examples.corpus.names) if self.by_document else 1
        self.subsets = {ALL: np.ones(len(self.examples), bool), **subsets}
        self.sums = np.zeros((len(self.probes), len(self.subsets), n, len(TERMS)))
        task, inventory = self.stack.probes[0].task, self.examples.targets.inventory
        self.scored = torch.tensor([task.is_scored(label) for label in inventory])

    @classmethod
    def to_test(cls, stack: Stack, test: Examples) -> "Tally":
        """A tally of a stack's best weights on test targets; of a codelength only the sum is needed."""
        by_document = stack.probes[0].portion is None
        return cls(stack, stack.best, np.arange(len(stack.probes)), test, by_document)

    @torch.no_grad()
    def add(self, chunk: Chunk, samples: Order) -> None:
        """Count the targets of some samples, whose vectors the chunk holds."""
        vectors, stack = self.stack.read(chunk), self.stack
        for chosen in self.examples.batches(samples, stack.schedule.batch):
            batch = read_batch(self.examples, chosen, chunk, vectors)
            groups = stack.groups(self.probes, batch.n)
            logits = [self.module.part(rows)(batch.windows(at), batch.spans) for rows, at in groups]
            self.count(torch.cat(logits), chosen)

    def count(
        self,
        logits: Float[Tensor, "probe target label"],
        chosen: np.ndarray,
        which: slice | np.ndarray = slice(None),
    ) -> None:
        """Count what the probes, or ``which`` of them, give some targets."""
        stack, probes = self.stack, self.probes[which]
        marks = stack.marks(self.examples, chosen, probes)
        unseen = stack.unseen(self.examples, chosen, probes)
        terms = count(logits, marks, unseen, self.scored.to(logits.device), stack.loss)
        document = self.examples.corpus.document[self.examples.targets.sample[chosen]]
        places, row = np.unique(
            document if self.by_document else np.zeros(len(chosen), int), return_inverse=True
        )
        cells = np.ix_(np.arange(len(self.probes))[which], places)
        by_target, rows = terms.double().transpose(0, 1).cpu(), torch.from_numpy(row)
        for subset, within in enumerate(self.subsets.values()):
            inside = torch.from_numpy(np.flatnonzero(within[chosen]))
            sums = by_target.new_zeros(len(places), *by_target.shape[1:])
            sums.index_add_(0, rows[inside], by_target[inside])
            self.sums[:, subset][cells] += sums.transpose(0, 1).numpy()


def count(
    logits: Float[Tensor, "probe target label"],
    marks: Float[Tensor, "probe target label"],
    unseen: Int[Tensor, "probe target"],
    scored: Bool[Tensor, " label"],
    loss: Loss,
) -> Float[Tensor, "probe target term"]:
    """The counts TERMS of every target.

    A label is given where its logit is at least 0, of a softmax the highest one is; ``right`` are
    targets whose highest label is one of theirs. Source: jiant, AllenNLP's F1Measure.
    """
    highest = logits.argmax(-1, keepdim=True)
    gold = marks > 0
    counted = gold & scored
    wanted, is_gold = counted.sum(-1), gold.gather(-1, highest).squeeze(-1)
    if loss == "softmax":
        hit = counted.gather(-1, highest).squeeze(-1).long()
        false = scored[highest.squeeze(-1)] & ~is_gold
    else:
        given = logits >= 0
        hit = (given & counted).sum(-1)
        false = (given & ~gold & scored).sum(-1)
    missed = wanted - hit + unseen
    asked = (wanted > 0) | (unseen > 0)
    right = is_gold & (wanted > 0)
    nats = losses(logits, marks, loss)
    return torch.stack([hit, false, missed, right, asked, nats], -1)
