"""Protocols of models: what an architecture must have to be trained, run and read.

A model is a torch module, and Python has no type for "a module that also has these": so architectures derive
from :class:`Model`. What is only read or passed on (a configuration, what an encoder leaves for the decoder)
is a protocol.
"""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.errors import InputError
from tprprobe.site.attachment import Attached
from tprprobe.site.site import device_of


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
    """A configuration of a captioning model, with the widths of its words and of images' features."""

    @property
    def d_embedding(self) -> int: ...
    @property
    def d_features(self) -> int: ...


@runtime_checkable
class Carried(Protocol):
    """The state that a model keeps of samples; its rows are picked as a tensor's."""

    def __getitem__(self, rows: Int[Tensor, " row"], /) -> Any: ...


K = TypeVar("K", bound=Config)
M = TypeVar("M", bound=Carried)  # what the encoder leaves for the decoder
C = TypeVar("C", bound=Carried)  # what decoding carries from one symbol to the next


class Model(nn.Module, ABC, Generic[K, M, C]):
    """The protocol of our models: the logits of target symbols, given a source.

    ``name`` is that of its checkpoint or else of its ``architecture``; ``vocabulary`` and ``folder`` are None
    where they are not known.
    """

    config_class: ClassVar[type]
    config: K
    architecture: str
    name: str
    vocabulary: Codec | None = None
    folder: Path | None = None
    n_heads: int = 0  # of an attention, where there is one
    pads_look_ahead: bool = (
        False  # whether a written pad reads what follows, which no cache can hold
    )

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return device_of(self)

    @abstractmethod
    def encode(self, source: Shaped[Tensor, "batch ..."]) -> M:
        """The memory of the sources, which the decoder reads; its class has a static ``join`` of parts."""

    @abstractmethod
    def decode(
        self, target: Int[Tensor, "batch seq"], memory: M, cache: C | None = None
    ) -> tuple[Float[Tensor, "batch seq vocab"], C]:
        """Logits and the vectors they were computed from; with a cache, ``target`` continues what
        it holds.
        """

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
        """The buffer that is subtracted from every feature vector; None if there is none."""
        return None


Readable = (
    Model | Attached
)  # what vectors can be read of: a model of ours, or a module with sites attached


def require_model(model: Readable, reason: str) -> Model:
    """The model, checked to be one of ours.

    Raises:
        InputError: it is an attached module, which cannot be used here for this reason.
    """
    if isinstance(model, Model):
        return model
    raise InputError(f"{model.name} is an attached module, {reason}")


def require_vocabulary(model: Readable) -> Codec:
    """The model's vocabulary.

    Raises:
        InputError: it is not known.
    """
    if model.vocabulary is None:
        raise InputError(
            f"{model.name}: this model's vocabulary is unknown: convert it again with --vocab FILE"
        )
    return model.vocabulary
