"""A model of transformers with its sites: called as its library calls it, read as one of ours, and, where
it was saved with a head, asked for what it writes or expects next (:class:`tprprobe.models.protocol.Language`).
"""

import inspect
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partialmethod
from typing import Any, cast

import torch
from jaxtyping import Int
from torch import Tensor, nn
from transformers import (
    Cache,
    DynamicCache,
    EncoderDecoderCache,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.modeling_outputs import BaseModelOutput

from tprprobe.errors import InputError
from tprprobe.models.huggingface.anatomy import Anatomy
from tprprobe.models.huggingface.memory import Memory, copied, find_cache
from tprprobe.models.huggingface.sentences import Encoding
from tprprobe.models.huggingface.taps import Taps
from tprprobe.models.huggingface.tokenizer import (
    COMMANDS,
    MASKED,
    SEQ2SEQ,
    has_two_stacks,
    is_mask,
    read_symbols,
    read_vocabulary,
)
from tprprobe.models.placement import input_device
from tprprobe.models.protocol import Language, require_head
from tprprobe.site.attachment import ENCODING, Attached, place_site
from tprprobe.site.hooks import find_sites
from tprprobe.site.site import FOREIGN, Site

DECODER_IDS = "decoder_input_ids"
TEXT, MASK, POSITIONS = "input_ids", "attention_mask", "position_ids"
Arguments = dict[str, Any]  # of a call of the model, by its library's names


class Pretrained(Attached, Language):
    """A model of transformers, ``head`` being causal, masked, seq2seq or None, which is called as

    ``model("a text")``, ``model(ids)``, ``model(ids, mask)`` or ``model(**tokenizer(text, return_tensors="pt"))``, and returns
    logits, or without a head states. Where no mask is given, it is of the ids that are no padding, which may
    stand on either side. A second tensor that is no mask is what a decoder of two stacks reads.
    """

    def __init__(
        self,
        module: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase | None,
        anatomy: Anatomy,
        head: str | None,
        encoding: Encoding | None = None,
    ):
        super().__init__(module, None)
        self.head, self.two_stacks = head, has_two_stacks(module)
        self.named = inspect.signature(module.forward).parameters
        self.taps = Taps(self, anatomy)
        self.cache = find_cache(module)
        self.texts = encoding
        if encoding is not None:
            place_site(self, ENCODING, Site("batch d_model"))
        self.read_by(tokenizer)

    def read_by(self, tokenizer: PreTrainedTokenizerBase | None) -> None:
        """Makes ids of texts by this tokenizer; without one, the model's configuration names the special symbols."""
        self.vocabulary = None
        if tokenizer is not None:
            self.vocabulary = read_vocabulary(tokenizer, self.module, self.head)
        self.config = read_symbols(self.module, self.vocabulary)

    @contextmanager
    def following(self, wrapper: object) -> Iterator[None]:
        """A block in which calls of the module itself, or of what holds it, also lead their tensors through the sites."""
        passes, callers = ExitStack(), list[nn.Module]()

        def begin(module: nn.Module, args: tuple, kwargs: dict[str, object]) -> None:
            if not self.taps.is_open:
                self._begin()
                callers.append(module)
                ids = {TEXT: args[0]} if args else {}
                passes.enter_context(self.taps.opened(self.module, _lengths(ids | kwargs)))

        def end(module: nn.Module, *_: object) -> None:
            if callers and callers[-1] is module:
                callers.clear()
                passes.close()

        modules = {self.module, wrapper} if isinstance(wrapper, nn.Module) else {self.module}
        with ExitStack() as hooks:
            for module in modules:
                hooks.callback(module.register_forward_pre_hook(begin, with_kwargs=True).remove)
                hooks.callback(module.register_forward_hook(end, always_call=True).remove)
            yield

    @property
    def default_sites(self) -> list[str]:
        ends = (".embedding", ".hidden")
        return [name for name in find_sites(self) if name.endswith(ends) or name == ENCODING]

    @property
    def device(self) -> torch.device:
        return input_device(self.module)

    @property
    def module(self) -> PreTrainedModel:
        return cast(PreTrainedModel, self.get_submodule(FOREIGN))

    def forward(self, *batch: Any, **kwargs: Any) -> Tensor:
        """Logits or states, for what transformers' own call takes; see the class."""
        names = (TEXT, MASK)
        if len(batch) == 2 and not is_mask(*batch, self.config.sos if self.two_stacks else None):
            names = (TEXT, DECODER_IDS)
        arguments = dict(zip(names, batch, strict=False)) | kwargs
        if TEXT in arguments:
            arguments[TEXT] = self.read(arguments[TEXT])
            arguments = self._arguments(arguments.pop(TEXT), arguments.pop(MASK, None)) | arguments
        if self.two_stacks and not any(name.startswith("decoder_") for name in arguments):
            arguments[DECODER_IDS] = torch.full_like(arguments[TEXT][:, :1], self.config.sos)
        takes_any = any(p.kind is p.VAR_KEYWORD for p in self.named.values())
        for name in (DECODER_IDS, "token_type_ids"):  # which it may not have
            if not (self.two_stacks or takes_any or name in self.named):
                arguments.pop(name, None)
        self._begin()
        return self._pass(self.module, arguments)

    def describe(self) -> dict[str, object]:
        """Sizes, head, tokenizer, and what can be asked of the model."""
        vocabulary, config = self.vocabulary, self.module.config.get_text_config()
        states = (name for name in self.taps.sites if name.endswith(".hidden"))
        depths = sorted(Counter(name.split(".")[0] for name in states).items(), reverse=True)
        return {
            "architecture": type(self.module).__name__,
            "layers": ", ".join(f"{stack} {n}" for stack, n in depths),
            "width": self.config.d_model,
            "heads": getattr(config, "num_attention_heads", "none"),
            "head": self.head or "none: it returns states",
            "tokenizer": f"{type(vocabulary.tokenizer).__name__}, {len(vocabulary.tokenizer)} symbols, "
            f"texts of {vocabulary.limit or 'any length'}",
            "commands": COMMANDS[self.head],
            **self.notes,
        }

    def run(
        self,
        source: Int[Tensor, "batch seq"],
        target: Int[Tensor, "batch target_seq"],
        for_sites: bool = False,
    ) -> Tensor | None:
        """One pass: logits of an encoder-decoder; else, or for sites alone, None, and it ends behind the last layer read."""
        self._begin()
        arguments = self._arguments(source)
        if self.two_stacks:
            arguments[DECODER_IDS] = target.clamp(min=0)
            if not for_sites:
                return self._pass(self.module, arguments)
        is_read = [site.is_read for site in self.taps.sites.values()]
        of_texts = self.texts is not None and bool(self.get_submodule(ENCODING).is_read)
        self._pass(self.module.base_model, arguments, is_whole=of_texts or not any(is_read))
        return None

    run_for_sites = partialmethod(run, for_sites=True)

    def encode(self, source: Int[Tensor, "batch seq"]) -> Memory:
        require_head(self, "a prediction")
        self._begin()
        arguments, mask = self._arguments(source), self._real(source)
        memory = Memory(arguments[TEXT], mask)
        if self.head == SEQ2SEQ:
            return replace(memory, states=self._pass(self.module.get_encoder(), arguments))
        if self.head == MASKED:
            return replace(memory, logits=self._at_masks(source, arguments))
        places = torch.arange(source.shape[1], device=source.device)
        last_positions = places.where(mask, 0).amax(1)
        cache = DynamicCache() if self.cache else None
        logits = self._logits(arguments, cache, last_positions.unique())
        columns = torch.searchsorted(last_positions.unique(), last_positions)
        logits = logits[torch.arange(len(columns)), columns][:, None]
        return replace(memory, logits=logits, cache=cache)

    def decode(
        self, target: Int[Tensor, "batch seq"], memory: Memory, cache: Memory | None = None
    ) -> tuple[Tensor, Memory]:
        require_head(self, "a prediction")
        if self.head == MASKED:
            return self._of_masks(target, memory, cache)
        if self.head == SEQ2SEQ:
            return self._written_by_decoder(target, memory, cache)
        if cache is not None:
            return self._continue(target, cache)
        copy = None if memory.cache is None else copied(memory.cache)
        before, target = replace(memory, cache=copy), target[:, 1:]
        if not target.shape[1]:
            return memory.logits, before
        logits, after = self._continue(target, before)
        return torch.cat([memory.logits, logits], 1), after

    def _continue(self, target: Tensor, before: Memory) -> tuple[Tensor, Memory]:
        """Logits behind every symbol of a continuation of a text, and the text with it."""
        n = target.shape[1]
        ids = torch.cat([before.ids, target.clamp(min=0)], 1)
        mask = torch.cat([before.mask, torch.ones_like(target).bool()], 1)
        after = replace(before, ids=ids, mask=mask, length=before.length + n)
        self._check_window(mask)
        if before.cache is None:
            self._begin()
            keep = torch.arange(ids.shape[1] - n, ids.shape[1], device=ids.device)
            return self._logits(self._masked(ids, mask), None, keep), after
        self.first = ids.shape[1] - n
        arguments = {TEXT: ids[:, -n:]}
        if not mask.all():
            arguments[MASK] = mask.long()
        if POSITIONS in self.named:
            places = (mask.long().cumsum(1) - 1).clamp(min=0)[:, -n:]
            room = self.vocabulary and self.vocabulary.room
            # padding behind a short answer to a long text may lie beyond the window
            inside = places.clamp(max=room - 1) if room else places
            arguments[POSITIONS] = torch.where(self._real(target), places, inside)
        return self._logits(arguments, before.cache), after

    def _written_by_decoder(
        self, target: Tensor, memory: Memory, cache: Memory | None
    ) -> tuple[Tensor, Memory]:
        before = cache or memory
        self.first, decoder_cache = before.length, before.cache
        if decoder_cache is None and self.cache:
            decoder_cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        elif decoder_cache is None and self.first:
            raise InputError(f"{self.name} cannot write: its decoder takes no keys and values")
        states = BaseModelOutput(last_hidden_state=memory.states)
        arguments = {"encoder_outputs": states, MASK: memory.mask.long()}
        arguments[DECODER_IDS] = target.clamp(min=0)
        after = replace(memory, cache=decoder_cache, length=self.first + target.shape[1])
        return self._logits(arguments, decoder_cache), after

    def _at_masks(self, source: Tensor, arguments: Arguments) -> Tensor:
        """The logits at the masks of every source, as many as the source with the most has."""
        mark = self.vocabulary.tokenizer.mask_token_id
        is_mask = source == mark
        if not is_mask.any(1).all():
            symbol = self.vocabulary.tokenizer.mask_token
            raise InputError(
                f"{self.name} fills masks, and a text has none: write {symbol} for a missing word"
            )
        logits = self._pass(self.module, arguments)
        order = torch.argsort((~is_mask).int(), dim=1, stable=True)[:, : int(is_mask.sum(1).max())]
        return logits.gather(1, order[..., None].expand(-1, -1, logits.shape[-1]))

    def _of_masks(
        self, target: Tensor, memory: Memory, cache: Memory | None
    ) -> tuple[Tensor, Memory]:
        begun, masks = (cache or memory).length, memory.logits.shape[1]
        end = begun + target.shape[1]
        if end > masks:
            text = f"a text with {masks} masks"
            raise InputError(f"{self.name}: {end} symbols for {text}: write one for each")
        return memory.logits[:, begun:end], replace(memory, length=end)

    def _begin(self) -> None:
        self.calls, self.first = self.calls + 1, 0

    def _arguments(self, ids: Tensor, mask: Tensor | None = None) -> Arguments:
        return self._masked(ids.clamp(min=0), self._real(ids) if mask is None else mask)

    def _masked(self, ids: Tensor, mask: Tensor) -> Arguments:
        """The arguments of a call: ids, their mask, and their positions where padding stands before them."""
        arguments: Arguments = {TEXT: ids}
        if not mask.all():
            arguments[MASK] = mask.long()
        places = mask.long().cumsum(1) - 1
        shifted = places != torch.arange(mask.shape[1], device=mask.device)
        takes = POSITIONS in self.named and not self.two_stacks
        if takes and (shifted & mask.bool()).any():
            arguments[POSITIONS] = places.clamp(min=0)
        return arguments

    def _real(self, ids: Tensor) -> Tensor:
        return ids != self.config.pad

    def _logits(
        self, arguments: Arguments, cache: Cache | None, columns: Tensor | None = None
    ) -> Tensor:
        """The logits of a pass with this cache; of some columns only, where the model can leave others out."""
        if cache is not None:
            arguments = {**arguments, self.cache: cache, "use_cache": True}
        if columns is None:
            return self._pass(self.module, arguments)
        if "logits_to_keep" in self.named:
            return self._pass(self.module, {**arguments, "logits_to_keep": columns})
        return self._pass(self.module, arguments)[:, columns]

    def _pass(self, module: nn.Module, arguments: Arguments, is_whole: bool = True) -> Any:
        """Logits or states of a module whose tensors pass the sites; if not whole, it ends behind the last layer read."""
        if "use_cache" in inspect.signature(module.forward).parameters:
            arguments = {"use_cache": False, **arguments}
        output = None
        with self.taps.opened(self.module, _lengths(arguments), is_whole):
            output = _first_of(module(**arguments))
        if self.texts is not None and self.get_submodule(ENCODING).is_read:
            self.get_submodule(ENCODING)(self.texts(output, arguments.get(MASK)))
        return output

    def _check_window(self, mask: Tensor) -> None:
        """A sliding window would count padding between a text and what is written behind it."""
        window = getattr(self.module.config.get_text_config(), "sliding_window", None)
        if window and mask.shape[1] > window and not mask.all():
            raise InputError(
                f"{self.name} sees the last {window} symbols only: give texts of one length at a time"
            )

    def room(self, source: Int[Tensor, "batch seq"]) -> Int[Tensor, " batch"] | None:
        room = self.vocabulary and self.vocabulary.room
        if room is None or self.head == MASKED:
            return None
        n_read = 0 if self.two_stacks else self._real(source).sum(1)
        return (room - n_read + torch.zeros_like(source[:, 0])).clamp(min=1)


def _lengths(arguments: Arguments) -> list[int]:
    """The numbers of ids of sources and of targets that a model is called with; many where it is called without."""
    ids = (arguments.get(name) for name in (TEXT, DECODER_IDS))
    return [tensor.shape[1] if isinstance(tensor, Tensor) else sys.maxsize for tensor in ids]


def _first_of(output: Any) -> Tensor:
    if isinstance(output, Tensor):
        return output
    logits = getattr(output, "logits", None)
    return output[0] if logits is None else logits
