"""The state that captioning models carry from word to word."""

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor

from tprprobe.errors import InputError

Weights = tuple[Tensor, ...]  # of torch's LSTM: input, recurrent, and the bias of either


@dataclass(frozen=True)
class State:
    """Hidden and cell states after some input, and the recurrence's weights, computed once."""

    h: Float[Tensor, "batch d_state"]
    c: Float[Tensor, "batch d_state"]
    weights: Weights

    def __getitem__(self, rows: Int[Tensor, " row"]) -> "State":
        return State(self.h[rows], self.c[rows], self.weights)

    def repeated(self, n: int) -> "State":
        """The state with n rows; rows that share one state (a beam's) follow each other."""
        times = n // len(self.h)
        if times == 1:
            return self
        h, c = (each.repeat_interleave(times, 0) for each in (self.h, self.c))
        return State(h, c, self.weights)


def check_features(source: Tensor, width: int) -> None:
    """Checks that these are feature vectors of that width."""
    if source.ndim != 2 or source.shape[1] != width or not source.is_floating_point():
        raise InputError(
            f"image features of shape {tuple(source.shape)}, {source.dtype}: this model reads "
            f"[batch, {width}] real numbers"
        )
