"""An extraction: the model's store and those of its twins, written together, block by block."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import torch

from tprprobe.console import progress, size_text, stderr
from tprprobe.data.batching import Ragged
from tprprobe.data.dataset import Dataset, Example
from tprprobe.data.pairs import Pairs, encode_answers, encode_examples, encode_sources
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.extraction.alignment import align_words, as_category, token_table
from tprprobe.extraction.division import block_sizes, split_blocks
from tprprobe.extraction.passes import (
    Block,
    compare_padded,
    decoder_inputs,
    known_spec,
    read_block,
    spec_of,
)
from tprprobe.extraction.pooling import Pooling
from tprprobe.gold.labellers import Labeller
from tprprobe.models.answers import continue_sources, exact_matches, write_answers
from tprprobe.models.architectures import describe_origin, find_folder
from tprprobe.models.loading import find_arguments, load_again
from tprprobe.models.protocol import Language, Readable, require_head
from tprprobe.site.hooks import find_sites
from tprprobe.site.patterns import ATTENTION, side_of
from tprprobe.store import SiteSpec, StoreWriter
from tprprobe.store.dtypes import BFLOAT16
from tprprobe.store.layout import SAMPLE, SIDES

N_SEARCHED = 1000  # texts whose lengths and symbols tell those of all
UNKNOWN = 0.1  # the share of unknown tokens above which it is said

Target = Literal["reference", "generated"]
# a block with the model of a control, which may be the examined one, its weights permuted
Control = Callable[[], AbstractContextManager[Readable]]


class Pass(NamedTuple):
    """The model that reads (None: the examined one), where its vectors go, and how many samples it reads."""

    control: Control | None
    writer: StoreWriter
    end: int


class Prepared(NamedTuple):
    """What all passes over a block of samples share."""

    pairs: Pairs
    table: pd.DataFrame
    stored: pd.DataFrame  # the token table as it is stored
    counts: Mapping[str, int]
    block: Block | None  # the examined model's vectors, where its answers needed them


@dataclass(frozen=True)
class Extraction:
    model: Readable
    vocabulary: Codec
    data: Dataset
    names: list[str]
    attention_samples: int
    target: Target
    labellers: tuple[Labeller, ...] = ()
    storage: tuple[str | None, str | None] = (None, None)  # type and compression on disk
    pooling: Pooling = field(default_factory=Pooling)
    limits: Mapping[str, Any] = field(default_factory=dict)  # of texts, as they were asked for
    prepared: dict[int, "Prepared"] = field(default_factory=dict)  # blocks that controls read, too

    def __getstate__(self) -> dict[str, Any]:
        """What another process is sent: of a model that is as it was loaded, the arguments that load it."""
        state = {name: vars(self)[name] for name in self.__dataclass_fields__}
        return state | {"model": find_arguments(self.model) or self.model, "prepared": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if isinstance(state["model"], tuple):
            state["model"] = load_again(*state["model"])
        vars(self).update(state)

    def extract(
        self,
        out: Path,
        samples: range,
        controls: Mapping[str, Control],
        n_control: int,
        resume: bool,
    ) -> None:
        """Writes the store of these samples, and in it those of controls on the first ``n_control`` of all."""
        if not samples:
            return
        main = Pass(None, self._open(self.model, out, len(self.data), resume), len(self.data))
        passes, ends = list[Pass](), (n_control, len(self.data)) if controls else (len(self.data),)
        for kind, control in controls.items() if samples.start < n_control else ():
            with control() as model:
                writer = self._open(model, out / kind, n_control, resume, is_control=True)
                if self._is_asked or self.target == "generated":
                    passes.append(Pass(control, writer, n_control))
                else:  # one pass after another, so that weights are permuted once
                    permuted = Pass(partial(nullcontext, model), writer, n_control)
                    self.write([permuted], samples, ends)
        self.write([*passes, main], samples, ends)

    def _open(
        self, model: Readable, out: Path, samples: int, resume: bool, is_control: bool = False
    ) -> StoreWriter:
        self._test_padding(model)
        settings = self._settings(model, samples, is_control)
        return StoreWriter.create(out, self.stored_specs, settings, resume)

    def _test_padding(self, model: Readable) -> None:
        """Whether an attached module reads padding, by the shortest and the longest of the first texts."""
        if isinstance(model, Language) or model.needs_equal_lengths:
            return
        lengths = self.sample.source.lengths + self.sample.target.lengths
        ends = [int(lengths.argmin()), int(lengths.argmax())]
        if lengths[ends[0]] == lengths[ends[1]]:  # as of all texts, or others follow
            model.needs_equal_lengths = len(self.sample) < len(self.data)
        else:
            pairs = self._encode([self.data[i] for i in ends])
            compare_padded(model, pairs, self.names, self.vocabulary.pad, ends)

    def write(self, passes: Sequence[Pass], samples: range, ends: Sequence[int]) -> None:
        """Extracts what the stores lack of these samples and finishes them, the last one, which has most samples, last.

        Blocks end where any store of the extraction does, since passes share what is prepared for a block.
        """
        main = passes[-1].writer
        sizes = block_sizes(self.data, self.vocabulary, self.specs)
        numbers = range(samples.start, min(samples.stop, passes[-1].end))
        lacking = numbers[main.samples_done :]
        blocks = split_blocks(self.data, lacking, sizes, self.attention_samples, ends)
        with progress(is_shown=samples.start == 0) as bars:
            n_done = main.samples_done
            bar = bars.add_task(f"{main.path}", total=len(numbers), completed=n_done, note="")
            for start, examples in blocks:
                self._write_block(passes, start, examples, start - samples.start)
                bars.advance(bar, len(examples))
        for _, writer, _ in passes:
            writer.finish()

    def _write_block(
        self, passes: Sequence[Pass], start: int, examples: Sequence[Example], place: int
    ) -> None:
        """Writes a block, whose first sample has that place in the stores, where they lack it."""
        maps, numbers = start < self.attention_samples, range(start, len(self.data))
        names = [name for name in self.names if maps or not name.endswith(ATTENTION)]
        shared = self.prepared.pop(start, None) or self._prepare(start, examples, names)
        batch = shared.pairs, names, self.vocabulary.pad, self.limits.get("batch_tokens")
        for control, writer, end in passes:
            if writer.samples_done <= place and start < end:
                with control() if control else nullcontext(self.model) as model:
                    block = None if control else shared.block
                    block = block or read_block(model, *batch, numbers=numbers)
                block.check(shared.pairs, start)
                rows = self.pooling.rows(block.rows, self.specs, shared.table)
                writer.append(rows, shared.stored, block.maps, shared.counts)
        if passes[-1].control:
            self.prepared[start] = shared

    def _prepare(self, start: int, examples: Sequence[Example], names: list[str]) -> Prepared:
        pairs, block, answers = self._encode(examples), None, None
        n_cut = {f"{side}.texts_cut": n for side, n in zip(SIDES, pairs.cut, strict=True)}
        n_read = pairs.source.lengths.tolist()
        if self._continues:
            n_new = self.limits["max_new_tokens"]
            pairs = continue_sources(require_head(self.model, "a text"), pairs, n_new)
        elif self.target == "generated":
            correct, _ = exact_matches(require_head(self.model, "an answer"), pairs)
            answers = correct, write_answers(self.model, pairs, correct)
            pairs = Pairs(pairs.source, Ragged.from_lists(answers[1]))
        if self._is_asked or (self.target == "generated" and not self._continues):
            size = self.limits.get("batch_tokens")
            block = read_block(self.model, pairs, names, self.vocabulary.pad, size, True)
            answers = answers or self._answers(examples, pairs, block.correct)
        columns = self._columns(examples, answers)
        words, counts = self._words(examples, pairs, answers[1] if answers else [])
        if self._continues:
            lengths = zip(pairs.source.lengths.tolist(), n_read, strict=True)
            is_written = [np.arange(n) >= start for n, start in lengths]
            words["source"] = words["source"].assign(written=np.concatenate(is_written))
        table = token_table(examples, pairs, columns, start, self.vocabulary, words)
        counts = {**counts, **n_cut}
        if not any(side_of(name) == "target" for name in find_sites(self.model)):
            table = table[table["side"] == "source"].reset_index(drop=True)  # it reads no targets
            counts = {name: n for name, n in counts.items() if not name.startswith("target")}
        stored_table = self.pooling.table(table, self.vocabulary)
        return Prepared(pairs, table, stored_table, counts, block)

    def _encode(self, examples: Sequence[Example]) -> Pairs:
        """The ids of samples; a model that has no decoder reads no target."""
        if self.vocabulary.reads_images or self.vocabulary.target_frame[1]:
            return encode_examples(examples, self.vocabulary)
        sources = encode_sources([example.source for example in examples], self.vocabulary)
        starts = Ragged.from_lists([[self.vocabulary.sos]] * len(examples))
        return Pairs(sources.ragged(), starts, (sources.cut, 0))

    @cached_property
    def _has_targets(self) -> bool:
        return self.data.has_targets

    @property
    def _is_asked(self) -> bool:
        """Whether the model writes answers: it predicts symbols, but not only at masks, and the data have targets."""
        writes = isinstance(self.model, Language) and getattr(self.model, "head", "own")
        return bool(writes) and writes != "masked" and self._has_targets

    @property
    def _continues(self) -> bool:
        """Whether the model reads what it wrote behind the text."""
        return self.target == "generated" and not self.vocabulary.target_frame[1]

    def _answers(
        self, examples: Sequence[Example], pairs: Pairs, correct: Any
    ) -> tuple[Any, list[list[int]]] | None:
        if not self._is_asked:
            return None
        if not self.vocabulary.target_frame[1]:
            pairs = encode_answers(examples, self.vocabulary)
            correct, _ = exact_matches(require_head(self.model, "an answer"), pairs)
        return correct, write_answers(self.model, pairs, correct)

    def _columns(
        self, examples: Sequence[Example], answers: tuple[Any, list[list[int]]] | None
    ) -> dict[str, Any]:
        columns: dict[str, Any] = {}
        if answers or self._has_targets:
            columns["answer"] = as_category([example.target for example in examples])
        if answers:
            correct, answer_ids = answers
            predictions = [self.vocabulary.decode(ids).strip() for ids in answer_ids]
            columns["prediction"] = as_category(predictions)
            columns["correct"] = np.asarray(correct, bool)
        return columns

    def _words(
        self, examples: Sequence[Example], pairs: Pairs, answer_ids: Sequence[Sequence[int]]
    ) -> tuple[dict[str, pd.DataFrame], Mapping[str, int]]:
        if not self.vocabulary.has_words:
            return {}, {}
        decoder_ids = answer_ids if self.target == "generated" and not self._continues else None
        of_data = dict.fromkeys(self.data.tasks)
        of_labellers = (task for labeller in self.labellers for task in labeller.tasks)
        tasks = [*of_data, *(task for task in of_labellers if task not in of_data)]
        return align_words(examples, pairs, self.vocabulary, tasks, decoder_ids, self.labellers)

    @property
    def stored_specs(self) -> dict[str, SiteSpec]:
        pooled = {name: self.pooling.kept_as(spec) for name, spec in self.specs.items()}
        return {name: spec.kept_as(*self.storage) for name, spec in pooled.items()}

    @cached_property
    def specs(self) -> dict[str, SiteSpec]:
        """Axes and shapes of the sites: as these say, or where one does not from a pass over the first example."""
        sites = find_sites(self.model)
        specs = {name: known_spec(name, sites[name]) for name in self.names}
        if all(specs.values()):
            return {name: spec for name, spec in specs.items() if spec}
        first_pair = self._encode([self.data[0]])
        block = read_block(self.model, first_pair, self.names, self.vocabulary.pad)
        return {name: spec_of(name, sites[name], block) for name in self.names}

    @cached_property
    def sample(self) -> Pairs:
        return self._encode(list(self.data[:N_SEARCHED]))

    def sizes(self, samples: int) -> dict[str, tuple[int, int]]:
        """Rows and bytes of every site on so many samples, by shapes and the first samples' symbols; a word has a row a symbol."""
        targets = decoder_inputs(self.sample).diff()
        lengths = {"source": self.sample.source.lengths, "target": targets}
        if self._continues:
            lengths["source"] = lengths["source"] + self.limits["max_new_tokens"]
        lengths[SAMPLE] = torch.ones_like(lengths["target"])
        sizes = {}
        for name, spec in self.stored_specs.items():
            n_read = min(samples, self.attention_samples) if spec.is_attention else samples
            counts = torch.stack([lengths[side] for side in spec.rows.split("_")]).prod(0)[:n_read]
            rows = round(counts.double().mean().item() * n_read) if n_read else 0
            size = rows * spec.row_bytes
            sizes[name] = rows, size // 2 if spec.dtype == BFLOAT16 else size
        return sizes

    def describe(self, samples: Sequence[int]) -> str:
        """A line: dtype, sites, and the size of the stores on so many samples, those of controls among them."""
        size = sum(size for count in samples for _, size in self.sizes(count).values())
        weights = next(self.model.parameters(), None)
        dtype = "" if weights is None else f" ({weights.dtype})".replace("torch.", "")
        sites = f"{len(self.names)} sites of {samples[0]:,} samples"
        has_decoder = any(side_of(name) == "target" for name in self.names)
        copies = has_decoder and self.target == "reference" and not self._has_targets
        notes = "; no targets: the decoder reads the texts themselves" if copies else ""
        if self.attention_samples < samples[0] and any(n.endswith(ATTENTION) for n in self.names):
            notes += f"; attention maps: of the first {self.attention_samples:,} samples (extract --attention-samples)"
        return f"{self.model.name}{dtype}: {sites}, about {size_text(size)}{notes}"

    @cached_property
    def _origin(self) -> dict[str, Any]:
        return describe_origin(self.model)

    def _origin_of(self, model: Readable, is_control: bool) -> dict[str, Any]:
        """What is known of a model; weights of a control that are the model's in another order are not read for it."""
        origin, digest = self._origin, self._origin["sha256"]
        if not is_control:
            return origin
        if model is self.model:
            sha256 = hashlib.sha256(f"{model.name} {digest}".encode()).hexdigest()
            return origin | {"name": model.name, "sha256": sha256, "twin_of": digest}
        return describe_origin(model) | {"twin_of": digest}

    def _settings(self, model: Readable, samples: int, is_control: bool) -> dict[str, Any]:
        return {
            "model": self._origin_of(model, is_control) | getattr(model, "notes", {}),
            "model_folder": find_folder(model),
            "data": self.data.origin | {"n": samples},
            "target": self.target,
            "labels": {k: v for labeller in self.labellers for k, v in labeller.describe().items()},
            "attention_samples": min(self.attention_samples, samples),
            **self.pooling.settings(),
            **self.limits,
            "reading": self.data.report,
            "tprprobe": version("tprprobe"),
            **self._unknown,
        }

    @cached_property
    def _unknown(self) -> dict[str, Any]:
        """The share of unknown symbols in the first texts, where it is large; a line says so, too."""
        unknown = getattr(self.vocabulary, "unk", None)
        if unknown is None or self.vocabulary.reads_images:
            return {}
        share = (self.sample.source.ids == unknown).double().mean().item()
        if share <= UNKNOWN:
            return {}
        stderr.print(
            f"{share:.1%} of the tokens are unknown to {self.model.name} (first {len(self.sample)} texts): is it a "
            "model of this language?"
        )
        return {"unknown_tokens": {"share": share, "texts": len(self.sample)}}
