"""The Tensor Product Generation Network: each word is unbound from a matrix that holds the plan.

S and U of the paper are two LSTMs that read each other's last state. Side by side, with the state
h = [vec Ŝ; p] and zeros and repetitions in their weights, they are one LSTM of d² + d units, so
the loop over time is torch's own. Everything after it (u_t, f_t, the words) is batched over time.
Source: huang §4.
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from tprprobe.errors import InputError
from tprprobe.models.protocol import CaptionModel
from tprprobe.site.site import Site, per_position

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
    if source.ndim != 2 or source.shape[1] != width or not source.is_floating_point():
        raise InputError(
            f"image features of shape {tuple(source.shape)}, {source.dtype}: this model reads "
            f"[batch, {width}] real numbers"
        )


@dataclass(frozen=True)
class TPGNConfig:
    """The paper's sizes; ``d_model`` is d, the width of p_t and the side of Ŝ_t.

    What the paper leaves open or contradicts is an option:

    - ``output``: W_x is ``free``, or ``tied`` to W_e (Eq. 19), which is possible only where words
      are embedded in d² dimensions.
    - ``embedding``: W_e is ``trained``, or ``fixed`` (as in Algorithm 1) to what it is given.
    - ``cells``: c_{1,0} is ``zeros``, or like Ŝ_0 a linear map of the ``features``.
    - ``biases``: they are "included throughout the model" but in none of the equations.

    ``dropout`` is of the embedded words and of f_t; the paper has none.
    """

    vocab_size: int = 8791
    d_model: int = 25
    d_embedding: int = 25
    d_features: int = 2048
    output: Literal["free", "tied"] = "free"
    embedding: Literal["trained", "fixed"] = "trained"
    cells: Literal["zeros", "features"] = "zeros"
    biases: bool = True
    dropout: float = 0.0
    pad: int = 1
    sos: int = 2
    eos: int = 3

    def __post_init__(self):
        if self.output == "tied" and self.d_embedding != self.d_model**2:
            raise InputError(
                f"output = 'tied' with d_embedding {self.d_embedding}: f_t has d² = "
                f"{self.d_model**2} dimensions, so W_x = W_eᵀ needs d_embedding {self.d_model**2}"
            )


GATES = 4  # in the order of torch's LSTM: î, f̂, g, ô
FORGET = 1
CACHE_LINE = 16  # floats
SUMMED_AT_ONCE = 4096  # vectors


class Gates(nn.Module):
    """The weights of the four gates of S (``units`` d²) or of U (``units`` d), stacked."""

    bias: Any

    def __init__(self, units: int, sentence: Float[Tensor, "gate ..."], config: TPGNConfig):
        super().__init__()
        self.from_input = nn.Parameter(_matrices(units, config.d_embedding))  # D
        self.from_word = nn.Parameter(_matrices(units, config.d_model))  # W_1; U_2
        self.from_sentence = nn.Parameter(sentence)  # U_1; w_2
        self.register_parameter("bias", _bias(units) if config.biases else None)


class SentenceSites(nn.Module):
    """The sentence LSTM S, whose gates read p_{t−1}, x_{t−1} and all of Ŝ_{t−1} (Eqs. 3-8)."""

    def __init__(self, config: TPGNConfig):
        super().__init__()
        d = config.d_model
        self.gates = Gates(d * d, _matrices(d * d, d * d), config)
        self.initial = nn.Linear(config.d_features, d * d, bias=config.biases)  # C_s
        self.tpr = Site("batch seq d_filler d_role", d)

    def recurrent(self) -> Float[Tensor, "gate unit state"]:
        """The matrix [U_1  W_1] that multiplies [vec Ŝ; p]."""
        return torch.cat([self.gates.from_sentence, self.gates.from_word], 2)


class TPGNWordSites(nn.Module):
    """The word LSTM U, whose gates read a linear map of Ŝ_{t−1}'s rows (Eqs. 10-15); u_t = tanh(W_u p_t)."""

    def __init__(self, config: TPGNConfig):
        super().__init__()
        d = config.d_model
        self.gates = Gates(d, _matrices(1, d)[:, 0], config)
        self.unbind = nn.Linear(d, d * d, bias=config.biases)  # W_u
        self.hidden, self.unbinding, self.filler = map(per_position, (d, d * d, d * d))

    def recurrent(self) -> Float[Tensor, "gate unit state"]:
        """The matrix [I ⊗ w_2ᵀ  U_2], as Ŝ w_2 = (I ⊗ w_2ᵀ) vec Ŝ."""
        w = self.gates.from_sentence
        rows = torch.einsum("ik,gj->gikj", torch.eye(w.shape[1]).to(w), w).flatten(2)
        return torch.cat([rows, self.gates.from_word], 2)


class TPGN(CaptionModel[TPGNConfig, State, State]):
    """Captions from image features; sites ``sentence.tpr`` and ``word.hidden/unbinding/filler``.

    The sites are on the way from the recurrence to the words: an edit changes what is read from
    Ŝ_t and p_t, not how they go on.
    """

    config_class = TPGNConfig

    mean: Tensor
    output: Tensor | None
    output_bias: Tensor | None

    def __init__(self, config: TPGNConfig):
        super().__init__()
        self.config, d = config, config.d_model
        self.register_buffer("mean", torch.zeros(config.d_features))  # v̄
        self.embedding = nn.Embedding(config.vocab_size, config.d_embedding)  # W_e
        nn.init.normal_(self.embedding.weight, std=config.d_embedding**-0.5)
        self.embedding.weight.requires_grad_(config.embedding == "trained")
        self.sentence, self.word = SentenceSites(config), TPGNWordSites(config)
        self.cells = None
        if config.cells == "features":
            self.cells = nn.Linear(config.d_features, d * d, bias=config.biases)
        free, (vocab, fillers) = config.output == "free", (config.vocab_size, d * d)
        weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(vocab, fillers)))
        self.register_parameter("output", weight if free else None)  # W_x
        bias = nn.Parameter(torch.zeros(vocab)) if config.biases else None
        self.register_parameter("output_bias", bias)
        self.dropout = nn.Dropout(config.dropout)
        for linear in filter(None, (self.sentence.initial, self.word.unbind, self.cells)):
            nn.init.xavier_uniform_(linear.weight)
            if linear.bias is not None:
                nn.init.zeros_(linear.bias)

    @torch.no_grad()
    def begin(self, features: Float[Tensor, "image d_features"], is_first: bool) -> None:
        """Sets v̄ to the mean of the first stage's features (Eq. 9)."""
        check_features(features[:1], self.config.d_features)
        if is_first:
            sums = [some.double().sum(0) for some in features.split(SUMMED_AT_ONCE)]
            self.mean.copy_(sum(sums[1:], sums[0]) / len(features))

    def encode(self, source: Float[Tensor, "batch d_features"]) -> State:
        """The state before the first word: Ŝ_0 = C_s (v − v̄) and p_0 = 0 (Eq. 9)."""
        check_features(source, self.config.d_features)
        centered = source.to(self.mean.dtype) - self.mean
        plan = self.sentence.initial(centered)
        zeros = plan.new_zeros(len(plan), self.config.d_model)
        cells = torch.zeros_like(plan) if self.cells is None else self.cells(centered)
        return State(torch.cat([plan, zeros], 1), torch.cat([cells, zeros], 1), self._weights())

    def decode(
        self, target: Int[Tensor, "batch seq"], memory: State, cache: State | None = None
    ) -> tuple[Float[Tensor, "batch seq vocab"], State]:
        """Logits and the state after ``target``; with a cache, ``target`` continues from it."""
        state = cache or memory.repeated(len(target))
        words = self.dropout(self.embedding(target))
        hx = [state.h[None], state.c[None]]
        out, h, c = torch.lstm(words, hx, state.weights, True, 1, 0.0, self.training, False, True)
        filler = self.unbound(out)
        weight = self.embedding.weight if self.output is None else self.output
        logits = aligned_linear(self.dropout(filler), weight, self.output_bias)
        return logits, State(h[0], c[0], state.weights)

    def unbound(self, out: Float[Tensor, "batch seq state"]) -> Float[Tensor, "batch seq d_filler"]:
        """f_t = S_t u_t, where S_t has d copies of Ŝ_t on its diagonal: Ŝ_t times each d of u_t."""
        d = self.config.d_model
        tpr = self.sentence.tpr(out[..., : d * d].unflatten(-1, (d, d)))
        hidden = self.word.hidden(out[..., d * d :])
        unbinding = self.word.unbinding(torch.tanh(self.word.unbind(hidden)))
        chunks = unbinding.unflatten(-1, (d, d))
        return self.word.filler((chunks @ tpr.mT).flatten(-2))

    def _weights(self) -> Weights:
        """The weights of the one LSTM: the gates of S and of U in turn, gate by gate."""
        parts = self.sentence, self.word
        recurrent = torch.cat([part.recurrent() for part in parts], 1).flatten(0, 1)
        words = -torch.cat([part.gates.from_input for part in parts], 1).flatten(0, 1)
        zeros = recurrent.new_zeros(len(recurrent))
        bias = zeros
        if self.config.biases:
            bias = torch.cat([part.gates.bias for part in parts], 1).flatten()
        return words, recurrent, bias, zeros


def aligned_linear(
    x: Float[Tensor, "*batch width"], weight: Float[Tensor, "out width"], bias: Tensor | None
) -> Float[Tensor, "*batch out"]:
    """x Wᵀ + b; in training zeros behind x and W make widths whole cache lines (625 → 640)."""
    short = -x.shape[-1] % CACHE_LINE
    if short and torch.is_grad_enabled():
        x, weight = F.pad(x, (0, short)), F.pad(weight, (0, short))
    return F.linear(x, weight, bias)


def _matrices(rows: int, columns: int) -> Float[Tensor, "gate {rows} {columns}"]:
    weights = torch.empty(GATES, rows, columns)
    for gate in weights:
        nn.init.xavier_uniform_(gate)
    return weights


def _bias(units: int) -> nn.Parameter:
    bias = torch.zeros(GATES, units)
    bias[FORGET] = 1
    return nn.Parameter(bias)
