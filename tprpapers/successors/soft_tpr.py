"""Soft TPR Autoencoder: an encoder writes something near a TPR; what is decoded is the TPR that is nearest.

    Z = E(x), a matrix of fillers × roles (the soft TPR);   f̃_i = Z r_i,   r_1 … r_N fixed and orthonormal
    f_i = the entry of a dictionary of fillers that is nearest to f̃_i;   ψ = Σ_i f_i ⊗ r_i;   x̂ = D(ψ)
    loss = L(x, x̂) + ‖f_i − sg(f̃_i)‖² + ½ ‖sg(f_i) − f̃_i‖²                              (sg: no gradient)
         + λ CE(softmax_i ‖f_i − f'_i‖, k) + λ' (L(x', D(ψ_k)) + L(x, D(ψ'_k)))

The second line is the weak supervision: x' differs from x in factor k alone, and ψ_k is ψ with the binding of one role, that of the
largest ‖f_i − f'_i‖, taken from ψ'. Gradients go through the dictionary straight to f̃.

Factors here are the symbols of a sequence at its places; role i is meant for place i. E is an LSTM and an affine map, D an MLP that
writes all symbols at once. The sites ``tpr`` (Z), ``unbinding``, ``filler`` (f), ``role`` and ``binding`` are passed at every symbol,
as if the source ended there; the decoder's ``tpr`` is ψ.

Source: Sun, Pagnucco & Song 2024 (NeurIPS, arXiv:2412.04671), whose data are images. Only abstracts and a changed copy of the authors'
code (vidurayashan/soft_tpr, in which bindings are permutations) were at hand, from which the losses are taken; its role to be
exchanged is drawn (Gumbel softmax), here it is the largest.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from tprpapers.successors.stepwise import StepSites, StepState
from tprprobe.errors import InputError
from tprprobe.models.protocol import Model


@dataclass(frozen=True)
class SoftTPRConfig:
    """Sizes: ``d_model`` of the LSTM and of D's hidden layer; ``n_roles``, the longest source; ``n_fillers`` of the dictionary.
    ``supervision`` and ``exchange`` are λ and λ'.
    """

    vocab_size: int = 14
    d_embedding: int = 32
    d_model: int = 64
    d_role: int = 8
    d_filler: int = 16
    n_roles: int = 6
    n_fillers: int = 32
    supervision: float = 1.0
    exchange: float = 1.0
    pad: int = 1
    sos: int = 2
    eos: int = 3
    dropout = 0.0  # there is none


@dataclass(frozen=True)
class WrittenState(StepState):
    """The TPR ψ, and how many symbols were written."""

    n_written: Int[Tensor, " batch"]


class AddedLoss(torch.autograd.Function):
    """Passes vectors on, and adds a loss to what is trained."""

    @staticmethod
    def forward(_ctx: Any, vectors: Tensor, _loss: Tensor) -> Tensor:
        return vectors.view_as(vectors)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        return gradients[0], gradients[0].new_ones(())


class SoftTPR(Model[SoftTPRConfig, WrittenState, WrittenState]):
    """An autoencoder whose code is quantized to a TPR."""

    config_class = SoftTPRConfig
    role_vectors: Tensor

    def __init__(self, config: SoftTPRConfig):
        super().__init__()
        if config.n_roles > config.d_role:
            raise InputError(
                f"n_roles={config.n_roles} are not orthonormal in {config.d_role} dimensions: give a d_role of "
                f"{config.n_roles} or more"
            )
        self.config, width = config, config.d_filler * config.d_role
        self.embedding = nn.Embedding(config.vocab_size, config.d_embedding)
        self.lstm = nn.LSTM(config.d_embedding, config.d_model, batch_first=True)
        self.to_tpr = nn.Linear(config.d_model, width)
        self.register_buffer("role_vectors", torch.empty(config.n_roles, config.d_role))
        nn.init.orthogonal_(self.role_vectors)
        self.fillers = nn.Embedding(config.n_fillers, config.d_filler)
        nn.init.orthogonal_(self.fillers.weight)
        self.to_hidden = nn.Linear(width, config.d_model)
        self.output = nn.Linear(config.d_model, (config.n_roles + 1) * config.vocab_size)
        d_roles, d_fillers = self.role_vectors.numel(), config.n_roles * config.d_filler
        self.encoder = nn.ModuleList(
            [
                StepSites(
                    {"role": d_roles, "filler": d_fillers, "unbinding": d_roles}
                    | {"binding": config.n_roles * width, "tpr": width, "hidden": config.d_model}
                )
            ]
        )
        self.decoder = nn.ModuleList([StepSites({"tpr": width, "hidden": config.d_model})])

    def encode(self, source: Int[Tensor, "batch seq"]) -> WrittenState:
        """The TPR of every source."""
        lengths = (source != self.config.pad).sum(1)
        if int(lengths.max()) > self.config.n_roles:
            raise InputError(
                f"a source of {int(lengths.max())} symbols: this model has roles for {self.config.n_roles}"
            )
        soft, fillers, bindings = self.bind(source)
        if self.training:
            loss = self.quantization_loss(soft) + self.pair_loss(source, fillers, bindings)
            bindings = AddedLoss.apply(bindings, loss)
        return WrittenState(bindings.sum(1), torch.zeros_like(lengths))

    def bind(
        self, source: Int[Tensor, "batch seq"]
    ) -> tuple[
        Float[Tensor, "batch role d_filler"],
        Float[Tensor, "batch role d_filler"],
        Float[Tensor, "batch role d_tpr"],
    ]:
        """Soft fillers, fillers and bindings after every source's end."""
        sites: Any = self.encoder[0]
        n_roles, d_role = self.role_vectors.shape
        hidden = sites.hidden(self.lstm(self.embedding(source))[0])
        roles = self.role_vectors.flatten().expand(*source.shape, -1)
        tpr = sites.tpr(self.to_tpr(hidden)).unflatten(-1, (-1, d_role))
        soft = sites.unbinding(roles).unflatten(-1, (n_roles, -1)) @ tpr.mT
        fillers = soft + (self.quantize(soft) - soft).detach()
        fillers = sites.filler(fillers.flatten(-2)).unflatten(-1, (n_roles, -1))
        roles = sites.role(roles).unflatten(-1, (n_roles, -1))
        bindings = sites.binding((fillers[..., None] * roles[..., None, :]).flatten(-3))
        last = ((source != self.config.pad).sum(1) - 1).clamp(min=0)
        rows = torch.arange(len(source), device=source.device)
        ends = soft, fillers, bindings.unflatten(-1, (n_roles, -1))
        soft, fillers, bindings = (vectors[rows, last] for vectors in ends)
        return soft, fillers, bindings

    def quantize(self, soft: Float[Tensor, "*batch d_filler"]) -> Float[Tensor, "*batch d_filler"]:
        """The nearest fillers of the dictionary."""
        return self.fillers(
            torch.cdist(soft.flatten(0, -2), self.fillers.weight).argmin(-1)
        ).view_as(soft)

    def quantization_loss(self, soft: Tensor) -> Float[Tensor, ""]:
        nearest = self.quantize(soft.detach())
        commitment = F.mse_loss(soft, nearest.detach(), reduction="none").sum(-1)
        return (
            F.mse_loss(nearest, soft.detach(), reduction="none").sum(-1) + commitment / 2
        ).mean()

    def pair_loss(
        self, source: Int[Tensor, "batch seq"], fillers: Tensor, bindings: Tensor
    ) -> Float[Tensor, ""]:
        """The weak supervision: another source of every one differs from it at one place."""
        config, rows = self.config, torch.arange(len(source), device=source.device)
        lengths = (source != config.pad).sum(1)
        place = (torch.rand(len(source), device=source.device) * lengths).long()
        pair = source.clone()
        pair[rows, place] = source[rows.roll(1), place]
        differs = (pair[rows, place] != source[rows, place]) & (pair[rows, place] != config.pad)
        if not differs.any():
            return bindings.new_zeros(())
        source, pair, place = source[differs], pair[differs], place[differs]
        fillers, bindings = fillers[differs], bindings[differs]
        _, fillers_of_pair, bindings_of_pair = self.bind(pair)
        distances = (fillers - fillers_of_pair).norm(dim=-1)
        is_exchanged = F.one_hot(distances.argmax(-1), config.n_roles)[..., None].bool()
        loss = config.supervision * F.cross_entropy(distances, place)
        for kept, other, written in (
            (bindings, bindings_of_pair, pair),
            (bindings_of_pair, bindings, source),
        ):
            mixed = torch.where(is_exchanged, other, kept).sum(1)
            logits = self.write(mixed[:, None].expand(-1, config.n_roles + 1, -1))
            loss = loss + config.exchange * F.cross_entropy(
                logits.flatten(0, 1), self.to_answer(written).flatten(), ignore_index=config.pad
            )
        return loss

    def to_answer(self, source: Int[Tensor, "batch seq"]) -> Int[Tensor, "batch place"]:
        """What is to be written of a source: its symbols, and the end symbol."""
        pad, eos = self.config.pad, self.config.eos
        answer = F.pad(source, (0, self.config.n_roles + 1 - source.shape[1]), value=pad)
        return answer.scatter(1, (source != pad).sum(1, keepdim=True), eos)

    def write(self, tpr: Float[Tensor, "batch place d_tpr"]) -> Float[Tensor, "batch place vocab"]:
        """The logits at all places, of a TPR at every one."""
        sites: Any = self.decoder[0]
        hidden = sites.hidden(F.relu(self.to_hidden(sites.tpr(tpr))))
        logits = self.output(hidden).unflatten(-1, (-1, self.config.vocab_size))
        return logits.diagonal(dim1=1, dim2=2).mT

    def decode(
        self,
        target: Int[Tensor, "batch seq"],
        memory: WrittenState,
        cache: WrittenState | None = None,
    ) -> tuple[Float[Tensor, "batch seq vocab"], WrittenState]:
        """Logits of the next symbols, which no symbol that was written changes."""
        rows = torch.arange(len(target), device=target.device)
        state = cache if cache is not None else memory[rows // (len(target) // len(memory.tpr))]
        n_places = self.config.n_roles + 1
        logits = self.write(state.tpr[:, None].expand(-1, n_places, -1))
        steps = torch.arange(target.shape[1], device=target.device)
        places = (state.n_written[:, None] + steps).clamp(max=n_places - 1)
        after = WrittenState(state.tpr, state.n_written + target.shape[1])
        return logits.gather(1, places[..., None].expand(-1, -1, logits.shape[-1])), after
