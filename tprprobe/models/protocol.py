"""Protocols of models: what an architecture must have to be trained, run and read.

What is passed on (the encoder's memory, what decoding carries) has rows that are picked as a tensor's.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, cast

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from tprprobe.data.pairs import encode_sources
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.errors import InputError
from tprprobe.files.notebook import as_html
from tprprobe.models.decoding.generation import SequenceModel, generate
from tprprobe.site.attachment import Attached
from tprprobe.site.hooks import sites
from tprprobe.site.site import device_of

K = TypeVar("K")  # a configuration: vocab_size, d_model, dropout, the ids pad, sos and eos, …
M = TypeVar("M")  # what the encoder leaves for the decoder
C = TypeVar("C")  # what decoding carries from one symbol to the next


class Language(SequenceModel):
    """A model that predicts symbols, of ours or of transformers: it reads a source and gives the logits of what follows.

    Sources are padded with ``config.pad``, on either side; a target begins with a start symbol.

    Attributes:
        config: Its configuration.
        name: Its name.
        vocabulary: What makes ids of texts; None if it is unknown.
        folder: Where it lies on disk; None if nowhere.
        loaded_by: The arguments of :func:`load_model` that gave it, and marks of its weights then; None of a model in memory.
        run: The forward pass of a source and a target.
        pads_look_ahead: Whether a pad that is written reads what follows, so that no cache can be used.

    Examples:
        >>> source = torch.tensor([model.vocabulary.encode("What is 2 + 3?")])
        >>> model.predict(source).shape
        torch.Size([1, 73])
    """

    vocabulary: Codec | None = None
    folder: Path | None = None
    loaded_by: tuple[tuple[object, ...], object] | None = None
    run: Callable[..., object]  # its logits of a source and a target, as of an attached module

    def _repr_html_(self) -> str:
        n_weights = sum(weights.numel() for weights in self.parameters())
        return as_html(f"{self.name}: {n_weights:,} parameters", sites(self))

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return device_of(self)

    def read(self, source: Shaped[Tensor, "batch ..."] | str | Sequence[str]) -> Tensor:
        """The ids of texts, with the symbols around them; what is no text stays as it is.

        Args:
            source: A text, texts, or ids.

        Returns:
            Ids [batch, seq], padded behind with ``config.pad``.

        Raises:
            InputError: No text, or the model has no vocabulary.
        """
        if isinstance(source, Tensor):
            return source
        texts = [source] if isinstance(source, str) else list(source)
        if not texts:
            raise InputError("no text: give one or more")
        ids = encode_sources(texts, require_vocabulary(self)).ragged()
        return ids.padded(torch.arange(len(texts)), self.config.pad).to(self.device)

    @torch.no_grad()
    def predict(
        self,
        source: Shaped[Tensor, "batch ..."] | str | Sequence[str],
        written: Int[Tensor, "batch target_seq"] | None = None,
    ) -> Float[Tensor, "batch vocab"]:
        """The distribution of the next symbol (of a model that fills masks: at the first mask).

        Args:
            source: A text, texts, or ids padded with ``config.pad``.
            written: What was written behind the source so far, of one length in all rows, without a start symbol;
                default: nothing but what a decoder's text begins with (a language, a forced symbol).

        Returns:
            Probabilities, in float32.
        """
        source = self.read(source)
        begun = torch.tensor([self.vocabulary.begun if self.vocabulary else ()], dtype=torch.long)
        begun = begun.to(source.device).expand(len(source), -1)
        return self._after(source, begun if written is None else written)[:, -1].softmax(-1)

    @torch.no_grad()
    def score(
        self, source: Shaped[Tensor, "batch ..."], target: Int[Tensor, "batch target_seq"]
    ) -> Float[Tensor, " batch"]:
        """The log-probability of a continuation (of a model that fills masks: of its symbols at the masks).

        Args:
            source: Ids, padded with ``config.pad``.
            target: The continuation's ids without a start symbol, padded with ``config.pad``; an end symbol counts where it
                is there.

        Returns:
            Log-probabilities in nats.
        """
        logs = self._after(source, target[:, :-1]).log_softmax(-1)
        logs = logs.gather(-1, target.clamp(min=0)[..., None])[..., 0]
        return logs.masked_fill(target == self.config.pad, 0.0).sum(1)

    def _after(self, source: Tensor, continuation: Tensor) -> Tensor:
        start = torch.full((len(source), 1), self.config.sos, device=source.device)
        return self.decode(torch.cat([start, continuation], 1), self.encode(source))[0].float()

    def generate(
        self,
        source: Shaped[Tensor, "batch ..."] | str | Sequence[str],
        max_length: int = 32,
        **options: Any,
    ) -> Any:
        """What the model writes behind sources: greedily, by a beam, or drawn with a seed.

        Args:
            source: A text, texts, or ids padded with ``config.pad``.
            max_length: The most symbols that are written.
            **options: ``beam``, ``min_length``, ``no_repeat``, ``length_penalty``, ``early_stopping``, ``seed`` and
                ``temperature``, with the meaning of Hugging Face's ``generate``.

        Returns:
            The text that is written, of several texts a list; of ids the ids after the start symbol, up to and with
            the end symbol, then pads [batch, out].
        """
        ids = generate(self, self.read(source), max_length, **options)
        if isinstance(source, Tensor):
            return ids
        texts = [require_vocabulary(self).decode(row.tolist()) for row in ids]
        return texts[0] if isinstance(source, str) else texts


class Model(Language, Generic[K, M, C]):
    """The protocol of our models: the logits of target symbols, given a source."""

    config_class: ClassVar[type]
    config: K
    architecture: str
    n_heads: int = 0  # of an attention, where there is one
    shares_memory = True

    def describe(self) -> dict[str, object]:
        """``{"architecture": name, **options}``: what :func:`tprprobe.models.build` makes again."""
        return {"architecture": self.architecture, **asdict(cast(Any, self.config))}

    def forward(
        self, source: Shaped[Tensor, "batch ..."], target: Int[Tensor, "batch target_seq"]
    ) -> Float[Tensor, "batch target_seq vocab"]:
        """Logits of the symbol after each one of ``target``, the decoder's input (start symbol first)."""
        if not (isinstance(source, Tensor) and isinstance(target, Tensor)):
            raise InputError(f"{self.name} is called with ids: model(model.read(texts), targets)")
        return self.decode(target, self.encode(source))[0]

    run = forward


class CaptionModel(Model[K, M, C]):
    """A model whose sources are feature vectors of images."""

    embedding: nn.Embedding

    @abstractmethod
    def begin(self, features: Float[Tensor, "image d_features"], is_first: bool) -> None:
        """Checks the features that a stage of training gives, and takes of the first stage's what it needs."""


Readable = Language | Attached  # what vectors are read of: a model, or a module with sites attached


def require_model(model: Readable, reason: str) -> Model:
    if isinstance(model, Model):
        return model
    raise InputError(f"{model.name} is an attached module, {reason}")


def require_head(model: Readable, purpose: str) -> Language:
    if isinstance(model, Language) and getattr(model, "head", "own"):
        return model
    is_language = isinstance(model, Language)
    kind = "has no head that predicts symbols" if is_language else "is an attached module"
    raise InputError(
        f"{model.name} {kind}, and {purpose} needs a model that predicts symbols: give a model of "
        "tprprobe, or hf: with a causal, masked or sequence-to-sequence model"
    )


def require_vocabulary(model: Readable) -> Codec:
    if model.vocabulary is None:
        raise InputError(
            f"{model.name}: its vocabulary is unknown: convert it again with --vocab FILE"
        )
    return model.vocabulary
