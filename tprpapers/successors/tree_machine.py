"""Differentiable Tree Machine: an agent takes trees apart and puts them together in a memory of TPRs.

    T = Σ_x f_x ⊗ r_x over the nodes x of a tree;   r_x fixed and orthonormal
    car(T) = T D_0,  cdr(T) = T D_1,  cons(T_0, T_1, s) = T_0 D_0ᵀ + T_1 D_1ᵀ + s ⊗ r_root;   D_c = Σ_x r_{cx} ⊗ r_x
    M_l = w_1 car(Σ_i a_i M_i) + w_2 cdr(Σ_i b_i M_i) + w_3 cons(Σ_i c_i M_i, Σ_i d_i M_i, s)        (l = 1 … L, i < l)

M_0 is the source. The agent has a Transformer layer for every step, which reads a token of the operation, one of the root and one
of every M_i (an affine map of it, added when M_i is made). From its outputs come w (a softmax over operations), s, and a, b, c, d
(softmaxes over i). The symbols of the answer are those of M_L's nodes, level by level.

A source is a function, the root of T, and the tree that it is used on, the left child, level by level. The sites ``filler``,
``role``, ``binding`` and ``tpr`` are passed for all symbols of the source; ``machine.L.tpr`` is M_{L+1} of a sample.

Source: Soulos, Hu, McCurdy, Chen, Fernandez, Smolensky & Gao 2023 (ICML, arXiv:2306.00751). Only the abstract was at hand; the equations
are written from what is known of the paper, so details of the agent may differ.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tprpapers.successors.stepwise import StepSites, StepState
from tprprobe.errors import InputError
from tprprobe.models.protocol import Model
from tprprobe.site.site import per_sample

N_OPERATIONS, N_ARGUMENTS = 3, 4  # car, cdr, cons; cons has two


@dataclass(frozen=True)
class TreeMachineConfig:
    """Sizes: trees of ``n_levels``, with the function as the root; the machine's ``n_steps``; the agent's ``d_model``, ``n_heads``
    and ``d_ff``.
    """

    vocab_size: int = 14
    d_filler: int = 24
    n_levels: int = 5
    n_steps: int = 3
    d_model: int = 32
    n_heads: int = 4
    d_ff: int = 64
    dropout: float = 0.0
    pad: int = 1
    sos: int = 2
    eos: int = 3


@dataclass(frozen=True)
class ReadState(StepState):
    """The last tree M_L, and how many of its nodes were read."""

    n_read: Int[Tensor, " batch"]


class StepTree(nn.Module):
    """The sites of a step of the machine: the tree that it makes, and the weights of the operations."""

    def __init__(self, d_tpr: int):
        super().__init__()
        self.tpr, self.operation = per_sample(d_tpr), per_sample(N_OPERATIONS)


class TreeMachine(Model[TreeMachineConfig, ReadState, ReadState]):
    """Steps of car, cdr and cons, mixed by an agent."""

    config_class = TreeMachineConfig
    role_vectors: Tensor
    child_maps: Tensor

    def __init__(self, config: TreeMachineConfig):
        super().__init__()
        self.config, d = config, config.d_model
        n_nodes = 2**config.n_levels - 1
        self.d_tpr = config.d_filler * n_nodes
        self.embedding = nn.Embedding(config.vocab_size, config.d_filler)
        nn.init.normal_(self.embedding.weight, std=config.d_filler**-0.5)
        self.register_buffer("role_vectors", torch.empty(n_nodes, n_nodes))
        nn.init.orthogonal_(self.role_vectors)
        self.register_buffer("child_maps", torch.stack([self.child_map(c) for c in (0, 1)]), False)
        self.first_tokens = nn.Parameter(torch.randn(2, d) * d**-0.5)  # operation, root
        self.to_token = nn.Linear(self.d_tpr, d)
        self.agent = nn.ModuleList(
            nn.TransformerEncoderLayer(
                d, config.n_heads, config.d_ff, config.dropout, batch_first=True, norm_first=True
            )
            for _ in range(config.n_steps)
        )
        self.to_operation = nn.Linear(d, N_OPERATIONS)
        self.to_root = nn.Linear(d, config.d_filler)
        self.to_arguments = nn.Linear(d, N_ARGUMENTS)
        self.scale, self.bias = (
            nn.Parameter(torch.ones(())),
            nn.Parameter(torch.zeros(config.vocab_size)),
        )
        widths = {
            "role": n_nodes,
            "filler": config.d_filler,
            "binding": self.d_tpr,
            "tpr": self.d_tpr,
        }
        self.encoder = nn.ModuleList([StepSites(widths)])
        self.machine = nn.ModuleList(StepTree(self.d_tpr) for _ in range(config.n_steps))
        self.decoder = nn.ModuleList([StepSites({"unbinding": n_nodes, "filler": config.d_filler})])

    def child_map(self, child: int) -> Float[Tensor, "role role"]:
        """D_c: the roles of a child's nodes become those of nodes from the root on."""
        n_inner = len(self.role_vectors) // 2
        depth = torch.tensor([(node + 1).bit_length() - 1 for node in range(n_inner)])
        below = torch.arange(n_inner) + (1 + child) * 2**depth
        return self.role_vectors[below].T @ self.role_vectors[:n_inner]

    def encode(self, source: Int[Tensor, "batch seq"]) -> ReadState:
        """The tree after the last step."""
        sites: Any = self.encoder[0]
        places = torch.arange(source.shape[1])
        depth = torch.tensor([max(place, 1).bit_length() - 1 for place in places.tolist()])
        nodes = torch.where(places > 0, places - 1 + 2**depth, 0)  # in the left child
        if int(nodes.max()) >= len(self.role_vectors):
            raise InputError(
                f"a source of {source.shape[1]} symbols: this model reads a function and {len(self.role_vectors) // 2} nodes"
            )
        is_symbol = (source != self.config.pad)[..., None]
        filler = sites.filler(self.embedding(source) * is_symbol)
        role = sites.role(self.role_vectors[nodes].expand(len(source), -1, -1))
        binding = sites.binding((filler[..., None] * role[..., None, :]).flatten(-2))
        tree = sites.tpr(binding.cumsum(1))[:, -1]
        return ReadState(
            self.run_machine(tree), torch.zeros(len(source), dtype=torch.long, device=source.device)
        )

    def run_machine(self, tree: Float[Tensor, "batch d_tpr"]) -> Float[Tensor, "batch d_tpr"]:
        tokens, trees = self.first_tokens.expand(len(tree), -1, -1), tree[:, None]
        for layer, step in zip(self.agent, self.machine, strict=True):
            sites: Any = step
            tokens = layer(torch.cat([tokens, self.to_token(tree)[:, None]], 1))
            weights = sites.operation(self.to_operation(tokens[:, 0]).softmax(-1))
            choices = self.to_arguments(tokens[:, 2:]).softmax(1)  # [batch, tree, argument]
            arguments = (choices.mT @ trees).unflatten(-1, (self.config.d_filler, -1))
            tree = sites.tpr(self.operate(arguments, self.to_root(tokens[:, 1]), weights))
            trees = torch.cat([trees, tree[:, None]], 1)
        return tree

    def operate(
        self,
        arguments: Float[Tensor, "batch argument d_filler role"],
        root: Float[Tensor, "batch d_filler"],
        weights: Float[Tensor, "batch operation"],
    ) -> Float[Tensor, "batch d_tpr"]:
        """The mixture of car, cdr and cons."""
        left, right = self.child_maps
        car, cdr, first, second = arguments.unbind(1)
        cons = first @ left.T + second @ right.T + root[..., None] * self.role_vectors[0]
        results = torch.stack([car @ left, cdr @ right, cons], 1)
        return (weights[..., None, None] * results).sum(1).flatten(1)

    def decode(
        self, target: Int[Tensor, "batch seq"], memory: ReadState, cache: ReadState | None = None
    ) -> tuple[Float[Tensor, "batch seq vocab"], ReadState]:
        """Logits of the next nodes' symbols, which no symbol that was written changes."""
        sites: Any = self.decoder[0]
        rows = torch.arange(len(target), device=target.device)
        state = cache if cache is not None else memory[rows // (len(target) // len(memory.tpr))]
        steps = torch.arange(target.shape[1], device=target.device)
        nodes = (state.n_read[:, None] + steps).clamp(max=len(self.role_vectors) - 1)
        unbinding = sites.unbinding(self.role_vectors[nodes])
        filler = sites.filler(unbinding @ state.tpr.unflatten(-1, (self.config.d_filler, -1)).mT)
        logits = self.scale * filler @ self.embedding.weight.T + self.bias
        return logits, ReadState(state.tpr, state.n_read + target.shape[1])
