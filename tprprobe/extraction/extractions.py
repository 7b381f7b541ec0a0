"""An extraction: the model's store and those of its twins, written together, block by block."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from tprprobe.console import progress, stderr
from tprprobe.data.batching import Ragged
from tprprobe.data.dataset import Dataset, Example
from tprprobe.data.pairs import Pairs, encode_answers, encode_examples, encode_sources
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.extraction.alignment import align_words, as_category, token_table
from tprprobe.extraction.division import (
    block_sizes,
    split_blocks,
)
from tprprobe.extraction.passes import known_spec, read_block, spec_of
from tprprobe.extraction.pooling import Pooling
from tprprobe.gold.labellers import Labeller
from tprprobe.models.answers import exact_matches, write_answers
from tprprobe.models.origins import describe_origin
from tprprobe.models.protocol import Language, Readable, require_head
from tprprobe.site.hooks import find_sites
from tprprobe.site.patterns import ATTENTION
from tprprobe.store import SiteSpec, StoreWriter
from tprprobe.store.layout import SIDES

CONTROL_SAMPLES = 1000
UNKNOWN = 0.1  # the share of unknown tokens above which it is said

Target = Literal["reference", "generated"]


Pass = tuple[
    Readable, StoreWriter, int
]  # a model, where its vectors go, and how many samples it is given


@dataclass(frozen=True)
class Extraction:
    """The settings of an extraction, and its passes; ``model`` answers the questions."""

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

    def extract(
        self, out: Path, samples: range, twins: Mapping[str, Readable], few: int, resume: bool
    ) -> None:
        """Writes the store of these samples, and in it those of twins on the first ``few`` of all."""
        if not samples:
            return
        passes = [self._open(self.model, out, len(self.data), resume)]
        for kind, twin in twins.items() if samples.start < few else ():
            passes.insert(0, self._open(twin.eval(), out / kind, few, resume))
        self.write(passes, samples)

    def _open(self, model: Readable, out: Path, samples: int, resume: bool) -> Pass:
        settings = self._settings(model, samples)
        return model, StoreWriter.create(out, self._kept, settings, resume), samples

    def write(self, passes: Sequence[Pass], samples: range) -> None:
        """Extracts what the stores lack of these samples and finishes them, the last one last.

        The last pass is of all samples; what those before it lack, it lacks too.
        """
        _, main, _ = passes[-1]
        sizes = block_sizes(self.data, self.vocabulary, self.specs)
        lacking, ends = samples[main.samples_done :], [end for _, _, end in passes]
        blocks = split_blocks(self.data, lacking, sizes, self.attention_samples, ends)
        with progress(is_shown=samples.start == 0) as bars:
            done = main.samples_done
            bar = bars.add_task(f"{main.path}", total=len(samples), completed=done, note="")
            for first, some in blocks:
                self._write_block(passes, first, some, first - samples.start)
                bars.advance(bar, len(some))
        for _, writer, _ in passes:
            writer.finish()

    def _write_block(
        self, passes: Sequence[Pass], first: int, some: Sequence[Example], place: int
    ) -> None:
        """Writes a block, whose first sample has that place in the stores, where they lack it."""
        maps, pad = first < self.attention_samples, self.vocabulary.pad
        names = [name for name in self.names if maps or not name.endswith(ATTENTION)]
        pairs = self._encode(some)
        cut = {f"{side}.texts_cut": n for side, n in zip(SIDES, pairs.cut, strict=True)}
        if self.target == "generated":
            correct, _ = exact_matches(require_head(self.model, "an answer"), pairs)
            written = write_answers(self.model, pairs, correct)
            pairs = Pairs(pairs.source, Ragged.from_lists(written))
            answers, block = (correct, written), read_block(self.model, pairs, names, pad)
        else:
            block = read_block(self.model, pairs, names, pad)
            answers = self._answers(some, pairs, block.correct)
        columns = self._columns(some, answers)
        words, counts = self._words(some, pairs, answers[1] if answers else [])
        table = token_table(some, pairs, columns, first, self.vocabulary, words)
        kept = self.pooling.table(table, self.vocabulary)
        for model, writer, end in passes:
            if writer.samples_done <= place and first < end:
                found = block if model is self.model else read_block(model, pairs, names, pad)
                found.check(pairs, first)
                rows = self.pooling.rows(found.rows, self.specs, table)
                writer.append(rows, kept, found.maps, {**counts, **cut})

    def _encode(self, some: Sequence[Example]) -> Pairs:
        """The ids of samples; a model that has no decoder reads no target."""
        if self.vocabulary.reads_images or self.vocabulary.target_frame[1]:
            return encode_examples(some, self.vocabulary)
        sources = encode_sources([example.source for example in some], self.vocabulary)
        starts = Ragged.from_lists([[self.vocabulary.sos]] * len(some))
        return Pairs(sources.ragged(), starts, (sources.cut, 0))

    @cached_property
    def _has_targets(self) -> bool:
        return self.data.has_targets

    @property
    def _is_asked(self) -> bool:
        """Whether the model writes answers: it predicts symbols, but not only at masks, and the data have targets."""
        writes = isinstance(self.model, Language) and getattr(self.model, "head", "own")
        return bool(writes) and writes != "masked" and self._has_targets

    def _answers(
        self, some: Sequence[Example], pairs: Pairs, correct: Any
    ) -> tuple[Any, list[list[int]]] | None:
        """Which answers are right, and what the model writes; None where it is not asked. The pass for the sites does
        not ask a model that goes on with the text.
        """
        if not self._is_asked:
            return None
        if not self.vocabulary.target_frame[1]:
            pairs = encode_answers(some, self.vocabulary)
            correct, _ = exact_matches(require_head(self.model, "an answer"), pairs)
        return correct, write_answers(self.model, pairs, correct)

    def _columns(
        self, some: Sequence[Example], answers: tuple[Any, list[list[int]]] | None
    ) -> dict[str, Any]:
        """The columns of samples that have targets, and of those that were asked."""
        columns: dict[str, Any] = {}
        if answers or self._has_targets:
            columns["answer"] = as_category([example.target for example in some])
        if answers:
            correct, written = answers
            predictions = [self.vocabulary.decode(ids).strip() for ids in written]
            columns |= {
                "prediction": as_category(predictions),
                "correct": np.asarray(correct, bool),
            }
        return columns

    def _words(
        self, some: Sequence[Example], pairs: Pairs, written: Sequence[Sequence[int]]
    ) -> tuple[dict[str, pd.DataFrame], Mapping[str, int]]:
        if not self.vocabulary.has_words:
            return {}, {}
        own = written if self.target == "generated" else None
        of_data = dict.fromkeys(self.data.tasks)
        tasks = [*of_data, *(t for each in self.labellers for t in each.tasks if t not in of_data)]
        return align_words(some, pairs, self.vocabulary, tasks, own, self.labellers)

    @property
    def _kept(self) -> dict[str, SiteSpec]:
        """The sites as they lie on disk."""
        pooled = {name: self.pooling.kept_as(spec) for name, spec in self.specs.items()}
        return {name: spec.kept_as(*self.storage) for name, spec in pooled.items()}

    @cached_property
    def specs(self) -> dict[str, SiteSpec]:
        """Axes and shapes of the sites: as these say, or where one does not from a pass over the first example."""
        sites = find_sites(self.model)
        known = {name: known_spec(name, sites[name]) for name in self.names}
        if all(known.values()):
            return {name: spec for name, spec in known.items() if spec}
        block = read_block(
            self.model, self._encode([self.data[0]]), self.names, self.vocabulary.pad
        )
        return {name: spec_of(name, sites[name], block) for name in self.names}

    @cached_property
    def _origin(self) -> dict[str, Any]:
        return describe_origin(self.model)

    def _settings(self, model: Readable, samples: int) -> dict[str, Any]:
        twin = {} if model is self.model else {"twin_of": self._origin["sha256"]}
        about = self._origin if model is self.model else describe_origin(model)
        return {
            "model": about | twin | getattr(model, "notes", {}),
            "data": self.data.origin | {"n": samples},
            "target": self.target,
            "labels": {k: v for each in self.labellers for k, v in each.describe().items()},
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
        some = list(self.data[:CONTROL_SAMPLES])
        ids = self._encode(some).source.ids
        share = (ids == unknown).double().mean().item()
        if share <= UNKNOWN:
            return {}
        stderr.print(
            f"{share:.1%} of the tokens are unknown to {self.model.name} (first {len(some)} texts): is it a "
            "model of this language?"
        )
        return {"unknown_tokens": {"share": share, "texts": len(some)}}
