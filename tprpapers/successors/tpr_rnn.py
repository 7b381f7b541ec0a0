"""TPR-RNN: a sentence a step writes, moves and links back associations of entities in a third-order tensor.

    s = Σ_i d_i ⊙ p_i                                                       (the paper's Eq. 5; words d, places p)
    e1, e2, r1, r2, r3 = five MLPs of s, tanh after both layers
    ŵ = F · (e1 ⊗ r1),   m̂ = F · (e1 ⊗ r2),   b̂ = F · (e2 ⊗ r3)               (Eqs. 9, 11, 13)
    F' = F + e1 ⊗ [r1 ⊗ (e2 − ŵ) + r2 ⊗ (ŵ − m̂)] + e2 ⊗ r3 ⊗ (e1 − b̂)          (Eqs. 4, 6, 10, 12, 14)
    i1 = LN(F · (n ⊗ l1)),   i2 = LN(F · (i1 ⊗ l2)),   i3 = LN(F · (i2 ⊗ l3))      (Eqs. 17–19)
    y  = Z (i1 + i2 + i3)                                                   (Eq. 20; n, l1, l2, l3: MLPs of the question)

LN has one gain and one bias a step. The role is (e1, r1, r2, r3), the filler e2, and the unbinding (n, l1, l2, l3).

A sentence here has ``sentence_length`` symbols, the last sentence of a source is the question, which is not written, and the
answer is one word: behind it stands the end symbol. Sites are passed at every symbol with the sentence up to it; only its
last symbol writes.

Source: Schlag & Schmidhuber 2018 (NeurIPS, arXiv:1811.12143); equations and their numbers as in the authors' code
(ischlag/TPR-RNN, tpr_rnn_graph.py), since only the abstract of the paper was at hand.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from tprpapers.successors.stepwise import (
    StepModel,
    StepState,
    accumulate,
    flat_outer,
    recall,
)
from tprprobe.errors import InputError

NEVER = -1e9  # the logit of what is not written


@dataclass(frozen=True)
class TPRRNNConfig:
    """Sizes: words have ``d_embedding``, hidden layers of the MLPs ``d_model``, entities and relations ``d_role``."""

    vocab_size: int = 14
    d_embedding: int = 40
    d_model: int = 50
    d_role: int = 8
    sentence_length: int = 2
    dropout = 0.0  # there is none
    pad: int = 1
    sos: int = 2
    eos: int = 3


@dataclass(frozen=True)
class SentenceState(StepState):
    """The memory, the sentence up to now, how many symbols were read, and how many the source has."""

    sentence: Float[Tensor, "batch d_embedding"]
    n_read: Int[Tensor, " batch"]
    length: Int[Tensor, " batch"]


class TPRRNN(StepModel[TPRRNNConfig, SentenceState]):
    """Sentences, a memory of third order, three reads."""

    config_class = TPRRNNConfig

    def __init__(self, config: TPRRNNConfig):
        super().__init__()
        self.config, d, length = config, config.d_role, config.sentence_length
        self.embedding = nn.Embedding(config.vocab_size, config.d_embedding)
        nn.init.uniform_(self.embedding.weight, -0.01, 0.01)
        self.places = nn.Parameter(torch.ones(length, config.d_embedding) / length)
        self.to_components = nn.ModuleList(perceptron(config) for _ in range(5))
        self.to_unbinding = nn.ModuleList(perceptron(config) for _ in range(4))
        self.gains, self.biases = nn.Parameter(torch.ones(3)), nn.Parameter(torch.zeros(3))
        self.output = nn.Linear(d, config.vocab_size, bias=False)
        self.add_sites(
            role=4 * d, filler=d, binding=d**3, unbinding=4 * d, tpr=d**3, hidden=config.d_embedding
        )

    def start(self, source: Int[Tensor, "batch seq"]) -> SentenceState:
        """The empty memory.

        Raises:
            InputError: A source is not made of whole sentences.
        """
        lengths = (source != self.config.pad).sum(1)
        if (lengths % self.config.sentence_length).any():
            raise InputError(
                f"a source of {int(lengths.max())} symbols: this model reads sentences of "
                f"{self.config.sentence_length}, the question last"
            )
        tpr = self.places.new_zeros(len(source), self.config.d_role**3)
        sentence = tpr.new_zeros(len(source), self.config.d_embedding)
        return SentenceState(tpr, sentence, torch.zeros_like(lengths), lengths)

    def read_symbols(
        self, ids: Int[Tensor, "batch seq"], state: SentenceState, sites: Any
    ) -> tuple[Float[Tensor, "batch seq d_embedding"], Float[Tensor, "batch seq d_tpr"], Any]:
        n_before, n_read, is_last = self._count(ids, state)
        sentences = self._sum_words(ids, n_before, state, sites)
        e1, e2, *relations = (network(sentences) for network in self.to_components)
        role, filler = sites.role(torch.cat([e1, *relations], -1)), sites.filler(e2)

        def change(step: int, memory: Tensor) -> Tensor:
            return is_last[:, step, None] * write(memory, role[:, step], filler[:, step])

        memories = accumulate(state.tpr, ids.shape[1], change, lambda memory: memory, sites)
        after = SentenceState(memories[:, -1], sentences[:, -1], n_read, state.length)
        return sentences, memories, after

    def _count(self, ids: Tensor, state: SentenceState) -> tuple[Tensor, Tensor, Tensor]:
        """How many symbols stand before every one, and in all, and which of them end a sentence that is written."""
        size = self.config.sentence_length
        is_counted = (ids != self.config.pad) | (state.n_read >= state.length)[:, None]
        n_after = state.n_read[:, None] + is_counted.cumsum(1)
        n_before = n_after - is_counted.long()
        is_last = (n_before % size == size - 1) & (n_before < state.length[:, None] - size)
        return n_before, n_after[:, -1], is_last & is_counted

    def _sum_words(
        self, ids: Tensor, n_before: Tensor, state: SentenceState, sites: Any
    ) -> Float[Tensor, "batch seq d_embedding"]:
        """The sentence up to every symbol; behind the source it remains the question."""
        place = n_before % self.config.sentence_length
        words, sentence, sentences = self.embedding(ids) * self.places[place], state.sentence, []
        is_source = n_before < state.length[:, None]
        for step in range(ids.shape[1]):
            is_first, word = place[:, step, None] == 0, words[:, step]
            longer = torch.where(is_first, word, sentence + word)
            sentence = sites.hidden(torch.where(is_source[:, step, None], longer, sentence))
            sentences.append(sentence)
        return torch.stack(sentences, 1)

    def answer(
        self, hidden: Tensor, memories: Tensor, state: SentenceState, sites: Any
    ) -> Float[Tensor, "batch seq vocab"]:
        unbinding = torch.cat([network(hidden) for network in self.to_unbinding], -1)
        vector, *relations = sites.unbinding(unbinding).split(self.config.d_role, -1)
        total = torch.zeros_like(vector)
        for relation, gain, bias in zip(relations, self.gains, self.biases, strict=True):
            read = recall(memories, flat_outer(vector, relation))
            vector = F.layer_norm(read, read.shape[-1:], eps=1e-7) * gain + bias
            total = total + vector
        special = torch.tensor([self.config.pad, self.config.sos, self.config.eos])
        logits = self.output(total).index_fill(-1, special.to(total.device), NEVER)
        ended = torch.full_like(logits, NEVER)
        ended[..., self.config.eos] = 0
        n_behind = torch.arange(hidden.shape[1]).to(hidden.device) - hidden.shape[1]
        is_start = state.n_read[:, None] + n_behind == state.length[:, None]
        return torch.where(is_start[..., None], logits, ended)


def perceptron(config: TPRRNNConfig) -> nn.Sequential:
    """tanh(W_2 tanh(W_1 s + b_1) + b_2), Xavier."""
    layers = nn.Linear(config.d_embedding, config.d_model), nn.Linear(config.d_model, config.d_role)
    for layer in layers:
        nn.init.xavier_uniform_(layer.weight)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(layers[0], nn.Tanh(), layers[1], nn.Tanh())


def write(
    memory: Float[Tensor, "batch d_tpr"],
    role: Float[Tensor, "batch four_d_role"],
    filler: Float[Tensor, "batch d_role"],
) -> Float[Tensor, "batch d_tpr"]:
    """The change that a sentence makes: it writes e2 to (e1, r1), moves what was there to r2, and links e2 back to e1."""
    e1, r1, r2, r3 = role.chunk(4, -1)
    recalled = recall(memory, flat_outer(e1, r1))
    moved = recall(memory, flat_outer(e1, r2))
    linked = recall(memory, flat_outer(filler, r3))
    of_e1 = flat_outer(r1, filler - recalled) + flat_outer(r2, recalled - moved)
    return flat_outer(e1, of_e1) + flat_outer(filler, flat_outer(r3, e1 - linked))
