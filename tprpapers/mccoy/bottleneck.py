"""Models whose decoder sees one vector of the source: the encoding, which is their site.

Encoders and decoders are GRUs in one direction, in both, or over a tree (McCoy et al. 2019), multilayer perceptrons,
or Transformers; any encoder goes with any decoder. Answers are as long as their questions: the decoder is told
how many symbols to write, and a tree decoder the tree of the source. It never reads what it wrote.
Source: McCoy et al. 2019 (arXiv:1812.08718), Sec. 2 and App. A; code tommccoy1/tpdn.
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from tprpapers.mccoy.flat_coders import (
    PerceptronDecoder,
    PerceptronEncoder,
    TransformerDecoder,
    TransformerEncoder,
)
from tprpapers.mccoy.gru_coders import (
    BidirectionalDecoder,
    BidirectionalEncoder,
    ForwardDecoder,
    ForwardEncoder,
)
from tprpapers.mccoy.tree_coders import TreeDecoder, TreeEncoder, join_order
from tprprobe.errors import InputError
from tprprobe.models.protocol import Model
from tprprobe.site.site import per_sample

NEVER = -1e9  # the logit of what is not written
CODERS: dict[str, tuple[type[nn.Module], type[nn.Module]]] = {
    "uni": (ForwardEncoder, ForwardDecoder),
    "bi": (BidirectionalEncoder, BidirectionalDecoder),
    "tree": (TreeEncoder, TreeDecoder),
    "mlp": (PerceptronEncoder, PerceptronDecoder),
    "transformer": (TransformerEncoder, TransformerDecoder),
}
Coder = Literal["uni", "bi", "tree", "mlp", "transformer"]


@dataclass(frozen=True)
class BottleneckConfig:
    """Kinds and sizes; ``max_length`` is the longest source of an ``mlp`` or a ``transformer``, which has
    ``n_layers`` on each side.
    """

    encoder: Coder = "uni"
    decoder: Coder = "uni"
    vocab_size: int = 14
    d_embedding: int = 10
    d_model: int = 60
    d_ff: int = 240
    n_heads: int = 4
    n_layers: int = 2
    max_length: int = 6
    dropout = 0.0  # there is none
    pad: int = 1
    sos: int = 2
    eos: int = 3


@dataclass
class Encoding:
    """The memory of sources: a vector, the number of symbols, and how a tree joins them."""

    vector: Float[Tensor, "batch d_model"]
    lengths: Int[Tensor, " batch"]
    joins: Int[Tensor, "batch join"]

    def __getitem__(self, rows: Tensor) -> "Encoding":
        return Encoding(self.vector[rows], self.lengths[rows], self.joins[rows])


@dataclass
class Answer:
    """The logits of an answer's symbols, all computed at once, and how many of them were read."""

    logits: Float[Tensor, "batch seq vocab"]
    length: int = 0

    def __getitem__(self, rows: Tensor) -> "Answer":
        return Answer(self.logits[rows], self.length)


class Bottleneck(Model[BottleneckConfig, Encoding, Answer]):
    """Source, one vector, answer."""

    config_class = BottleneckConfig

    def __init__(self, config: BottleneckConfig):
        super().__init__()
        if config.d_model % 2 or config.d_model % config.n_heads:
            raise InputError(
                f"d_model = {config.d_model}: give an even multiple of the {config.n_heads} heads"
            )
        self.config = config
        self.encoder: Any = CODERS[config.encoder][0](config)
        self.encoding = per_sample(config.d_model)
        self.decoder: Any = CODERS[config.decoder][1](config)

    def encode(self, source: Int[Tensor, "batch seq"]) -> Encoding:
        """The vectors of sources.

        Raises:
            InputError: a source is longer than the encoder or decoder can hold.
        """
        c = self.config
        if {c.encoder, c.decoder} & {"mlp", "transformer"} and source.shape[1] > c.max_length:
            raise InputError(
                f"a source of {source.shape[1]} symbols; this model has max_length {c.max_length}"
            )
        lengths = (source != c.pad).sum(1)
        by_tree = "tree" in (c.encoder, c.decoder)
        joins = join_order(source, lengths) if by_tree else source[:, :0]
        return Encoding(self.encoding(self.encoder(source, lengths, joins)), lengths, joins)

    def decode(
        self, target: Int[Tensor, "batch seq"], memory: Encoding, cache: Answer | None = None
    ) -> tuple[Float[Tensor, "batch seq vocab"], Answer]:
        """Logits of the symbols behind ``target``, of which only the number counts.

        Raises:
            InputError: the targets are longer than their sources.
        """
        if cache is None:
            longest = int(memory.lengths.max())
            if target.shape[1] > longest + 1:
                raise InputError(
                    f"answers of {target.shape[1] - 1} symbols to questions of at most {longest}: the answers "
                    f"of this model are as long as its questions"
                )
            rows = torch.arange(len(target), device=target.device)  # several may share a memory
            cache = Answer(self._spell(memory[rows // (len(target) // len(memory.vector))]))
        end = cache.length + target.shape[1]
        places = torch.arange(cache.length, end, device=target.device)
        logits = cache.logits[:, places.clamp(max=cache.logits.shape[1] - 1)]
        return logits, Answer(cache.logits, end)

    def _spell(self, memory: Encoding) -> Float[Tensor, "batch seq vocab"]:
        """The logits of all symbols of the answers, and of the end symbol behind them."""
        c, longest = self.config, int(memory.lengths.max())
        logits = self.decoder(memory.vector, memory.lengths, memory.joins)
        special = torch.zeros(c.vocab_size, dtype=torch.bool, device=logits.device)
        special[[c.pad, c.sos, c.eos]] = True
        ended = torch.full_like(special, NEVER, dtype=logits.dtype)
        ended[c.eos] = 0
        inside = torch.arange(longest + 1, device=logits.device) < memory.lengths[:, None]
        symbols = F.pad(logits.masked_fill(special, NEVER), (0, 0, 0, 1))
        return torch.where(inside[..., None], symbols, ended)
