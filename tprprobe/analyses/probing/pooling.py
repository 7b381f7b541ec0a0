"""Pooling of spans: of every target one vector, from the states that are read for its span.

A span of one state is that state. Only spans of several are attended to, or averaged.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True)
class Spans:
    """A span of every target: its ``first`` state, and which ``many`` targets have several.

    ``states`` are all states of these, and ``owner`` says of which of them each is.
    """

    first: Int[Tensor, " target"]
    many: Int[Tensor, " several"]
    states: Int[Tensor, " _state"]
    owner: Int[Tensor, " _state"]

    @classmethod
    def of(cls, owner: Int[Tensor, " _state"], n_targets: int) -> "Spans":
        """The spans whose states stand one after another, each the state of the target ``owner``."""
        lengths = torch.bincount(owner, minlength=n_targets)
        several = lengths > 1
        states = torch.nonzero(several[owner])[:, 0]
        number = several.cumsum(0) - 1
        many = torch.nonzero(several)[:, 0]
        return cls(lengths.cumsum(0) - lengths, many, states, number[owner[states]])

    def sum(self, values: Float[Tensor, "probe _state ..."]) -> Float[Tensor, "probe several ..."]:
        """The sums over the states of every target that has several."""
        shape = (len(values), len(self.many), *values.shape[2:])
        return values.new_zeros(shape).index_add_(1, self.owner, values)

    def mean(
        self, x: Float[Tensor, "probe _all_states window"]
    ) -> Float[Tensor, "probe target window"]:
        """The mean of every target's states."""
        means = x.index_select(1, self.first)
        if len(self.many):
            lengths = torch.bincount(self.owner)[:, None]
            means[:, self.many] = self.sum(x.index_select(1, self.states)) / lengths
        return means

    def pool(
        self,
        x: Float[Tensor, "probe _all_states window"],
        score: Callable[[Tensor], Tensor],
    ) -> "Pooled":
        """The means of every target's states, weighted by the softmax of their scores."""
        vectors = x.index_select(1, self.first)
        states = x.index_select(1, self.states)
        if not len(self.many):
            return Pooled(vectors, states, states[..., 0])
        shares = self.softmax(score(states))
        vectors[:, self.many] = self.sum(shares[..., None] * states)
        return Pooled(vectors, states, shares)

    def softmax(self, scores: Float[Tensor, "probe _state"]) -> Float[Tensor, "probe _state"]:
        """The softmax of the states' scores within each target."""
        highest = scores.new_full((len(scores), len(self.many)), -torch.inf)
        index = self.owner.expand(len(scores), -1)
        highest = highest.scatter_reduce(1, index, scores, "amax")
        shares = torch.exp(scores - highest[:, self.owner])
        return shares / self.sum(shares)[:, self.owner]


@dataclass(frozen=True)
class Pooled:
    """The vectors of all targets, and the states and shares of those that have several."""

    vectors: Float[Tensor, "probe target window"]
    states: Float[Tensor, "probe _state window"]
    shares: Float[Tensor, "probe _state"]
