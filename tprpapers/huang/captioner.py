"""Vinyals' captioning network, huang's baseline: an LSTM that sees the image first, then the words."""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tprpapers.architectures.tpgn import State, check_features
from tprprobe.models.protocol import CaptionModel
from tprprobe.site.site import per_position


@dataclass(frozen=True)
class CaptionerConfig:
    """Vinyals' 512 units; words of 240 dimensions leave it slightly smaller than the TPGN.

    huang says that it has slightly fewer parameters, and prints no sizes. ``dropout`` is of the
    embedded words and of the LSTM's output.
    """

    vocab_size: int = 8791
    d_model: int = 512
    d_embedding: int = 240
    d_features: int = 2048
    embedding: Literal["trained", "fixed"] = "trained"
    dropout: float = 0.0
    pad: int = 1
    sos: int = 2
    eos: int = 3


class CaptionerWordSites(nn.Module):
    """The site of the LSTM's output at every word."""

    def __init__(self, d_model: int):
        super().__init__()
        self.hidden = per_position(d_model)


class Captioner(CaptionModel[CaptionerConfig, State, State]):
    """x_{−1} = W_i v, x_t = W_e S_t, p_{t+1} = softmax(W_x LSTM(x_t)).

    Source: Vinyals et al. 2015, Eqs. 10-12.
    """

    config_class = CaptionerConfig

    lstm: Any

    def __init__(self, config: CaptionerConfig):
        super().__init__()
        self.config = config
        self.image = nn.Linear(config.d_features, config.d_embedding)
        self.embedding = nn.Embedding(config.vocab_size, config.d_embedding)
        nn.init.normal_(self.embedding.weight, std=config.d_embedding**-0.5)
        self.embedding.weight.requires_grad_(config.embedding == "trained")
        self.lstm = nn.LSTM(config.d_embedding, config.d_model, batch_first=True)
        self.output = nn.Linear(config.d_model, config.vocab_size)
        self.word = CaptionerWordSites(config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        for matrix in (self.image.weight, self.output.weight):
            nn.init.xavier_uniform_(matrix)
        for bias in (self.image.bias, self.output.bias, self.lstm.bias_ih_l0, self.lstm.bias_hh_l0):
            nn.init.zeros_(bias)
        with torch.no_grad():  # what the cells keep, as in the TPGN
            self.lstm.bias_ih_l0[config.d_model : 2 * config.d_model] = 1

    def begin(self, features: Tensor, is_first: bool) -> None:
        """Checks the features of a stage of training."""
        check_features(features[:1], self.config.d_features)

    def encode(self, source: Float[Tensor, "batch d_features"]) -> State:
        """The state after the image."""
        check_features(source, self.config.d_features)
        _, (h, c) = self.lstm(self.image(source.to(self.image.weight.dtype))[:, None])
        return State(h[0], c[0], ())

    def decode(
        self, target: Int[Tensor, "batch seq"], memory: State, cache: State | None = None
    ) -> tuple[Float[Tensor, "batch seq vocab"], State]:
        """Logits and the state after ``target``; with a cache, ``target`` continues from it."""
        state = cache or memory.repeated(len(target))
        words = self.dropout(self.embedding(target))
        out, (h, c) = self.lstm(words, (state.h[None], state.c[None]))
        return self.output(self.dropout(self.word.hidden(out))), State(h[0], c[0], ())
