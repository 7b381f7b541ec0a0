"""What a model must have: the contract between architectures and all that runs them.

A model is a torch module, and Python has no type for "a module that also has these": so architectures derive
from :class:`Model`. What is only read or passed on (a configuration, what an encoder leaves for the decoder)
is a protocol.
"""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.errors import InputError
from tprprobe.site.hooks import Attached


@runtime_checkable
class Config(Protocol):
    """Sizes and special ids that every configuration has."""

    @property
    def vocab_size(self) -> int: ...
    @property
    def d_model(self) -> int: ...
    @property
    def dropout(self) -> float: ...
    @property
    def pad(self) -> int: ...
    @property
    def sos(self) -> int: ...
    @property
    def eos(self) -> int: ...


@runtime_checkable
class CaptionConfig(Config, Protocol):
    """What a model of captions has besides: the widths of its words and of images' features."""

    @property
    def d_embedding(self) -> int: ...
    @property
    def d_features(self) -> int: ...


@runtime_checkable
class Carried(Protocol):
    """What a model keeps of samples: rows are picked as of a tensor."""

    def __getitem__(self, rows: Int[Tensor, " row"], /) -> Any: ...


K = TypeVar("K", bound=Config)
M = TypeVar("M", bound=Carried)  # what the encoder leaves for the decoder
C = TypeVar("C", bound=Carried)  # what decoding carries from one symbol to the next


class Model(nn.Module, ABC, Generic[K, M, C]):
    """A model of ours: the logits of target symbols, given a source.

    ``name`` is that of its checkpoint or else of its ``architecture``; ``vocabulary`` and ``folder`` are None
    where they are not known.
    """

    config: K
    architecture: str
    name: str
    vocabulary: Codec | None = None
    folder: Path | None = None
    n_heads: int = 0  # of an attention, where there is one
    pads_look_ahead: bool = (
        False  # whether a written pad reads what follows, which no cache can hold
    )

    @abstractmethod
    def encode(self, source: Shaped[Tensor, "batch ..."]) -> M:
        """What the decoder reads of the sources."""

    @abstractmethod
    def decode(
        self, target: Int[Tensor, "batch seq"], memory: M, cache: C | None = None
    ) -> tuple[Float[Tensor, "batch seq vocab"], C]:
        """Logits, and what they were computed from; with a cache, ``target`` continues what it holds."""

    def forward(
        self, source: Shaped[Tensor, "batch ..."], target: Int[Tensor, "batch target_seq"]
    ) -> Float[Tensor, "batch target_seq vocab"]:
        """Logits of the symbol after each one of ``target``, the decoder's input (start symbol first)."""
        return self.decode(target, self.encode(source))[0]


KC = TypeVar("KC", bound=CaptionConfig)


class CaptionModel(Model[KC, M, C]):
    """A model whose sources are feature vectors of images."""

    embedding: nn.Embedding

    @property
    def center(self) -> Tensor | None:
        """The buffer of what it subtracts from every vector, if anything."""
        return None


Readable = (
    Model | Attached
)  # what vectors can be read of: a model of ours, or a module with sites attached


def require_model(model: Readable, reason: str) -> Model:
    """The model, if it is one of ours.

    Raises:
        InputError: it is an attached module, which cannot be used here for this reason.
    """
    if isinstance(model, Model):
        return model
    raise InputError(f"{model.name} is an attached module, {reason}")


def require_vocabulary(model: Readable) -> Codec:
    """The vocabulary of a model.

    Raises:
        InputError: it is not known.
    """
    if model.vocabulary is None:
        raise InputError(
            f"{model.name}: this model's vocabulary is unknown: convert it again with --vocab FILE"
        )
    return model.vocabulary
