"""An extraction: the model's store and those of its twins, written together, block by block."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch

from tprprobe.console import note, progress, stderr
from tprprobe.data import as_data
from tprprobe.data.batching import Ragged
from tprprobe.data.dataset import Dataset, Example
from tprprobe.data.pairs import Pairs, encode_answers, encode_examples, encode_sources
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.data.vocabularies.strangers import ACCEPTED, read_codec
from tprprobe.errors import InputError
from tprprobe.extraction.alignment import align_words, as_category, token_table
from tprprobe.extraction.contexts import Contexts
from tprprobe.extraction.division import (
    block_sizes,
    cut_ranges,
    join_ranges,
    part_of,
    split_blocks,
    stride_of,
)
from tprprobe.extraction.passes import known_spec, read_block, spec_of
from tprprobe.extraction.pooling import Pooling
from tprprobe.files.locks import alone
from tprprobe.files.processes import Ranks
from tprprobe.files.writing import refuse_existing
from tprprobe.gold.labellers import Labeller
from tprprobe.gold.labels import report_counts
from tprprobe.models.answers import exact_matches, write_answers
from tprprobe.models.loading import find_twins, load_model
from tprprobe.models.origins import describe_origin
from tprprobe.models.protocol import Language, Readable, require_head, require_vocabulary
from tprprobe.site.adapters import Adaptable
from tprprobe.site.attachment import Attached
from tprprobe.site.hooks import find_sites
from tprprobe.site.patterns import ATTENTION, select
from tprprobe.store import SiteSpec, Store, StoreWriter, open_store
from tprprobe.store.dtypes import check_storage
from tprprobe.store.layout import SIDES, TWIN_OF, twins_in
from tprprobe.store.manifests import COUNTS, check_same, describe, is_finished, read_complete
from tprprobe.store.repairs import repair as repair_store

CONTROL_SAMPLES = 1000
UNKNOWN = 0.1  # the share of unknown tokens above which it is said

Target = Literal["reference", "generated"]


def extract(
    model: Readable | torch.nn.Module | Adaptable,
    data: Dataset | str | os.PathLike[str] | Iterable[str],
    sites: str | Iterable[str] | None = None,
    out: str | os.PathLike[str] = "runs/store",
    attention_samples: int = 128,
    target: Target = "reference",
    control: bool = True,
    resume: bool = False,
    vocabulary: Any = None,
    labellers: Sequence[Labeller] = (),
    control_samples: int = CONTROL_SAMPLES,
    store_dtype: str = "float32",
    compress: str | None = None,
    repair: bool = False,
    twins: Sequence[str] | None = None,
    pool: str | None = None,
    words: str | None = None,
    max_tokens: int | None = None,
    pack: bool = False,
) -> Store:
    """The store of a model's vectors on a data set, written as the model runs.

    ``OUT/KIND`` gets the vectors of the model's twins, which read the same symbols and have the same token table.

    Args:
        model: Any model that :func:`load_model` takes or returns, or a module of :func:`attach`.
        data: The examples, or what :func:`load_data` makes data of: a name, a file, a folder, a list of texts.
        sites: Sites to write, as patterns: 'encoder.*.role', 'decoder.-1.*'; default: all.
        out: The folder of the store.
        attention_samples: How many samples get attention maps, from the first on.
        target: The decoder's input: the reference (teacher forcing), or what the model itself writes (generated).
        control: Whether twins are read.
        resume: Resume an interrupted run; the store is identical to that of an uninterrupted one.
        vocabulary: What makes ids of texts, for an attached module, which has nothing of its own: a tokenizer of
            transformers, a ``tokenizers.Tokenizer``, a function from a text to its ids, or the ids of all examples.
        labellers: What labels the words of sources and targets, generated ones too.
        control_samples: How many samples a twin reads, from the first on.
        store_dtype: The type of the store's numbers: float32, float16 or bfloat16.
        compress: The store's compression: none, lz4 (bfloat16's default) or zstd.
        repair: Make the damaged files of a complete store again, the same to the byte (see `inspect --verify`).
        twins: Controls: permuted, untrained, rescaled (several times), or none; default: untrained for our models,
            permuted for others (:func:`tprprobe.models.find_twins`).
        pool: One vector for every sample: mean (over all tokens, start and end symbols among them), first, last (of the
            last token that belongs to a word), or that of the last token that reads as a mark, such as '.'. Attention
            maps are left out.
        words: One row for every word instead of sub-words: the mean or the last one. Attention maps are left out; with
            ``pool`` the token table lists words.
        max_tokens: The most symbols of a text that the model reads, those around it included; default: its window.
            Longer texts are cut, and a line says how many.
        pack: Longer texts are not cut but divided at blanks: each part is a sample, a text the document of its parts.

    Returns:
        The complete store.

    Raises:
        InputError: No such site, text that cannot be encoded, an existing store, one that another extraction is writing,
            or a full disk.

    Examples:
        >>> small = tp.extract(model, data[:2], "encoder.-1.hidden", out="runs/small", control=False)
        >>> small.summary[["site", "axes"]].values.tolist()
        [['encoder.2.hidden', 'source × d_model']]
    """
    if not isinstance(model, Language | Attached):  # in memory, of another library
        model, vocabulary = load_model(model, vocabulary), None
    check_storage(store_dtype, compress)
    data = as_data(data)
    if not len(data):
        raise InputError(f"{data.name} has no examples here: give at least one")
    if control_samples < 1:
        raise InputError(
            "control samples are 1 or more: without a twin, control=False (--no-control)"
        )
    if twins and not control:
        raise InputError(f"twins {', '.join(twins)} without a control: give one or the other")
    if target == "generated":
        writer = require_vocabulary(require_head(model, "target='generated'"))
        if not writer.target_frame[1]:  # it writes a continuation of the text
            raise InputError(
                f"{model.name} has no decoder that reads what it writes: target='reference' (--target)"
            )
    vocabulary = _vocabulary(model, vocabulary, data)
    if max_tokens is not None:
        vocabulary = vocabulary.limited(max_tokens)
    data = data.suited_to(vocabulary)
    data = Contexts.of(data, vocabulary) if pack else data
    pooling = Pooling(pool, words)
    pooling.check(vocabulary)
    names = pooling.sites(select(sites or "*", list(find_sites(model))))
    run = Extraction(
        model.eval(),
        vocabulary,
        data,
        names,
        attention_samples,
        target,
        tuple(labellers),
        (store_dtype, compress),
        pooling,
        limits={k: v for k, v in (("max_tokens", max_tokens), ("pack", pack)) if v},
    )
    others = find_twins(model, twins) if control else {}
    few = min(len(data), control_samples)
    out, ranks = Path(out), Ranks.of()
    if repair:
        return _repair(run, others, few, out)
    if ranks.count == 1 or is_finished(out):
        with alone(out):
            run.extract(out, range(len(data)), others, few, resume)
    else:
        refuse_existing(out)
        ranges = cut_ranges(range(0, len(data), stride_of(data)), len(data), ranks.count)
        part = part_of(out, f"{ranks.rank}-of-{ranks.count}")
        with alone(part):
            run.extract(part, ranges[ranks.rank], others, few, resume)
        join_ranges(out, ranges, ranks)
    store = open_store(out)
    counts = store.manifest.get(COUNTS, {})
    for side in SIDES if not ranks.rank else ():
        if any(name.startswith(side) for name in counts):
            note(report_counts(counts, side))
    return store


def _vocabulary(model: Readable, vocabulary: Any, data: Dataset) -> Codec:
    if vocabulary is None:
        if isinstance(model, Language) or model.vocabulary is not None:
            return require_vocabulary(model)
        raise InputError(f"{model.name} has no vocabulary: give vocabulary=, {ACCEPTED}")
    tables = [len(each.weight) for each in model.modules() if isinstance(each, torch.nn.Embedding)]
    return read_codec(vocabulary, data, max(tables, default=2**16))


def _repair(run: "Extraction", twins: Mapping[str, Readable], few: int, out: Path) -> Store:
    def make(part: Path, own: range, kinds: Sequence[str]) -> None:
        run.extract(part, own, {kind: twins[kind] for kind in kinds}, few, resume=True)

    with alone(out):
        run.check(run.model, out, len(run.data))
        for kind, path in twins_in(out).items():
            if kind not in twins:
                raise InputError(
                    f"{out} has a control: repair it without --no-control, with --twin {kind}"
                )
            run.check(twins[kind], path, few)
        count = repair_store(out, stride_of(run.data), make)
    stderr.print(f"made again: {count} damaged files")
    return open_store(out)


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

    def check(self, model: Readable, out: Path, samples: int) -> None:
        wanted = describe(self._kept, self._settings(model, samples))
        check_same(out, read_complete(out), wanted)

    def write(self, passes: Sequence[Pass], samples: range) -> None:
        """Extracts what the stores lack of these samples and finishes them, the last one last.

        The last pass is of all samples; what those before it lack, it lacks too.
        """
        _, main, _ = passes[-1]
        sizes = block_sizes(self.data, self.vocabulary, self.specs)
        lacking, ends = samples[main.samples_done :], [end for _, _, end in passes]
        blocks = split_blocks(self.data, lacking, sizes, self.attention_samples, ends)
        with progress(shown=samples.start == 0) as bars:
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
        twin = {} if model is self.model else {TWIN_OF: self._origin["sha256"]}
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
