"""TP-N2F: binds words to roles while it reads a text, and unbinds the relations and arguments of a program.

    h^F_t, h^R_t = LSTM_F(x_t; T_{t-1}), LSTM_R(x_t; T_{t-1});   f_t = F softmax(W_F h^F_t),   r_t = R softmax(W_R h^R_t)
    T_t = f_t ⊗ r_t;   c_0 = A Σ_t T_t + a,   H_0 = tanh(c_0)
    h_k = LSTM(relation_{k-1}, arguments_{k-1}; H_{k-1});   H_k = tanh(W [Σ_t α_t K_t; h_k]),   α = softmax_t(K_t · W_α h_k),   K_t = B T_t + b
    P_i = H_k p_i;   u = U Σ_i P_i;   relation_k from u,   argument i from P_i u

H_k is a tensor (argument ⊗ relation ⊗ position): p_i unbinds a position, and u, which stands for the relation, its argument. A program is
written as the symbols of its tuples, one behind another; all symbols of a tuple come from one H_k.

The encoder's sites are passed at every word (``tpr`` is the sum so far, ``hidden`` both LSTMs side by side), the decoder's at every
symbol: ``hidden`` (h_k), ``tpr`` (H_k) and ``unbinding`` (u).

Source: Chen, Huang, Palangi, Smolensky, Forbus & Gao 2020 (ICML, arXiv:1910.02339), of which only parts were at hand. Details as in the
code of its authors (ckzbullbullet/TP-N2F, no license: read, nothing taken): with the same random weights, the logits of three
tuples differ from those of that code by less than 1e-15 in float64. Relations and arguments share one vocabulary here, and F
and R have no bias.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tprpapers.successors.stepwise import StepSites, StepState, flat_outer
from tprprobe.models.protocol import Model

N_PLACES = 3  # of a tuple: a relation and two arguments


@dataclass(frozen=True)
class TPN2FConfig:
    """Sizes of the encoder's fillers and roles, with the entries of their dictionaries, and of the decoder's tensor."""

    vocab_size: int = 14
    d_embedding: int = 32
    d_filler: int = 8
    d_role: int = 6
    n_filler_entries: int = 48
    n_role_entries: int = 16
    d_relation: int = 4
    d_argument: int = 8
    d_position: int = 2
    d_tuple: int = 16
    dropout: float = 0.0
    pad: int = 1
    sos: int = 2
    eos: int = 3


@dataclass(frozen=True)
class TupleState(StepState):
    """What the decoder knows: the words' keys K, the LSTM's cell, H_k (``tpr``), the last three symbols, and their number."""

    keys: Float[Tensor, "batch seq d_tpr"]
    is_word: Tensor
    c: Float[Tensor, "batch d_tpr"]
    h: Float[Tensor, "batch d_tpr"]
    written: Int[Tensor, "batch place"]
    n_written: Int[Tensor, " batch"]


class TPN2F(Model[TPN2FConfig, TupleState, TupleState]):
    """An encoder that binds, and a decoder that unbinds."""

    config_class = TPN2FConfig

    def __init__(self, config: TPN2FConfig):
        super().__init__()
        self.config, d_binding = config, config.d_filler * config.d_role
        d_tuple_tpr = config.d_argument * config.d_relation * config.d_position
        self.embedding = nn.Embedding(config.vocab_size, config.d_embedding)
        self.tuple_embedding = nn.Embedding(config.vocab_size, config.d_tuple)
        self.filler_lstm = nn.LSTMCell(config.d_embedding, d_binding)
        self.role_lstm = nn.LSTMCell(config.d_embedding, d_binding)
        self.to_filler_scores = nn.Linear(d_binding, config.n_filler_entries)
        self.to_role_scores = nn.Linear(d_binding, config.n_role_entries)
        self.fillers = nn.Linear(config.n_filler_entries, config.d_filler, bias=False)
        self.roles = nn.Linear(config.n_role_entries, config.d_role, bias=False)
        self.to_start = nn.Linear(d_binding, d_tuple_tpr)
        self.to_keys = nn.Linear(d_binding, d_tuple_tpr)
        self.tuple_lstm = nn.LSTMCell(N_PLACES * config.d_tuple, d_tuple_tpr)
        self.to_query = nn.Linear(d_tuple_tpr, d_tuple_tpr, bias=False)
        self.to_tuple = nn.Linear(2 * d_tuple_tpr, d_tuple_tpr, bias=False)
        self.position_vectors = nn.Parameter(torch.rand(config.d_position, N_PLACES - 1))
        self.to_unbinding = nn.Linear(config.d_argument * config.d_relation, config.d_relation)
        self.relation_output = nn.Linear(config.d_relation, config.vocab_size)
        self.argument_output = nn.Linear(config.d_argument, config.vocab_size)
        read = {"role": config.d_role, "filler": config.d_filler, "hidden": 2 * d_binding}
        self.encoder = nn.ModuleList([StepSites(read | {"binding": d_binding, "tpr": d_binding})])
        written = {"hidden": d_tuple_tpr, "tpr": d_tuple_tpr, "unbinding": config.d_relation}
        self.decoder = nn.ModuleList([StepSites(written)])

    def encode(self, source: Int[Tensor, "batch seq"]) -> TupleState:
        """The bindings of all words, and the decoder's first state."""
        is_word = source != self.config.pad
        bindings, tpr = self.bind(self.embedding(source), is_word)
        c = self.to_start(tpr)
        sos = source.new_full((len(source), N_PLACES), self.config.sos)
        n_written = source.new_zeros(len(source))
        return TupleState(c.tanh(), self.to_keys(bindings), is_word, c, c.tanh(), sos, n_written)

    def bind(
        self, words: Float[Tensor, "batch seq d_embedding"], is_word: Tensor
    ) -> tuple[Float[Tensor, "batch seq d_binding"], Float[Tensor, "batch d_binding"]]:
        """T_t of every word, and their sum."""
        sites: Any = self.encoder[0]
        binding = words.new_zeros(len(words), self.config.d_filler * self.config.d_role)
        filler_cell, role_cell, tpr, bindings = binding, binding, binding, list[Tensor]()
        for step in range(words.shape[1]):
            h_filler, filler_cell = self.filler_lstm(words[:, step], (binding, filler_cell))
            h_role, role_cell = self.role_lstm(words[:, step], (binding, role_cell))
            h_filler, h_role = sites.hidden(torch.cat([h_filler, h_role], -1)).chunk(2, -1)
            filler = sites.filler(self.fillers(self.to_filler_scores(h_filler).softmax(-1)))
            role = sites.role(self.roles(self.to_role_scores(h_role).softmax(-1)))
            binding = sites.binding(flat_outer(filler, role))
            tpr = sites.tpr(tpr + binding * is_word[:, step, None])
            bindings.append(binding)
        return torch.stack(bindings, 1), tpr

    def decode(
        self, target: Int[Tensor, "batch seq"], memory: TupleState, cache: TupleState | None = None
    ) -> tuple[Float[Tensor, "batch seq vocab"], TupleState]:
        """Logits of the next symbols; a tuple is computed when the one before it is whole."""
        rows = torch.arange(len(target), device=target.device)
        state = cache if cache is not None else memory[rows // (len(target) // len(memory.tpr))]
        tpr, h, c, written = state.tpr, state.h, state.c, state.written
        first, logits, sites = int(state.n_written[0]), list[Tensor](), self.decoder[0]
        for step, symbols in enumerate(target.unbind(1), first):
            written = torch.cat([written[:, 1:], symbols[:, None]], 1)
            if step % N_PLACES == 0:
                inputs = self.tuple_embedding(written).flatten(1)
                h, c = self.tuple_lstm(inputs, (tpr, c))
            tpr, symbol_logits = self.unbind(h, state, step % N_PLACES, sites)
            logits.append(symbol_logits)
        n_written = state.n_written + target.shape[1]
        after = TupleState(tpr, state.keys, state.is_word, c, h, written, n_written)
        return torch.stack(logits, 1), after

    def unbind(
        self, h: Float[Tensor, "batch d_tpr"], state: TupleState, place: int, sites: Any
    ) -> tuple[Float[Tensor, "batch d_tpr"], Float[Tensor, "batch vocab"]]:
        """H_k, and the logits of a place of its tuple."""
        config, h = self.config, sites.hidden(h)
        scores = (state.keys @ self.to_query(h)[..., None])[..., 0]
        shares = scores.masked_fill(~state.is_word, -torch.inf).softmax(-1)
        read = (shares[:, None] @ state.keys)[:, 0]
        tpr = sites.tpr(self.to_tuple(torch.cat([read, h], -1)).tanh())
        axes = (config.d_argument, config.d_relation, config.d_position)
        arguments = (
            tpr.unflatten(-1, axes) @ self.position_vectors
        )  # [batch, argument, relation, place]
        unbinding = sites.unbinding(self.to_unbinding(arguments.sum(-1).flatten(1)))
        if place == 0:
            return tpr, self.relation_output(unbinding)
        argument = (arguments[..., place - 1] @ unbinding[..., None])[..., 0]
        return tpr, self.argument_output(argument)
