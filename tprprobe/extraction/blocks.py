"""Extraction: arguments checked, a store written, by one process, several, or Dask's workers.

Parts depend on the data alone, so the store is byte for byte that of a single process, whoever computes them.
"""

import os
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from tprprobe.console import note, progress
from tprprobe.data import as_data
from tprprobe.data.dataset import Dataset
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.data.vocabularies.strangers import ACCEPTED, read_codec
from tprprobe.errors import InputError
from tprprobe.extraction.contexts import Contexts
from tprprobe.extraction.division import cut_ranges, join_ranges, part_of, stride_of
from tprprobe.extraction.extractions import Control, Extraction, Target
from tprprobe.extraction.pooling import Pooling
from tprprobe.files.processes import Ranks
from tprprobe.files.writing import alone, refuse_existing
from tprprobe.gold.labellers import Labeller
from tprprobe.gold.labels import report_counts
from tprprobe.models.loading import find_controls, load_model
from tprprobe.models.protocol import Language, Readable, require_head, require_vocabulary
from tprprobe.site.adapters import Adaptable
from tprprobe.site.attachment import Attached
from tprprobe.site.hooks import find_sites
from tprprobe.site.patterns import select
from tprprobe.store import Store, open_store
from tprprobe.store.dask_workers import each_part, find_client
from tprprobe.store.dtypes import check_storage
from tprprobe.store.layout import SIDES
from tprprobe.store.manifests import is_finished

ATTENTION_SAMPLES, NEW_TOKENS = 128, 32


def extract(
    model: Readable | torch.nn.Module | Adaptable,
    data: Dataset | str | os.PathLike[str] | Iterable[str],
    sites: str | Iterable[str] | None = None,
    out: str | os.PathLike[str] = "runs/store",
    attention_samples: int = ATTENTION_SAMPLES,
    target: Target = "reference",
    control: bool = True,
    resume: bool = False,
    vocabulary: Any = None,
    labellers: Sequence[Labeller] = (),
    control_samples: int | None = None,
    store_dtype: str = "float32",
    compress: str | None = None,
    twins: Sequence[str] | None = None,
    pool: str | None = None,
    words: str | None = None,
    max_tokens: int | None = None,
    pack: bool = False,
    batch_tokens: int | None = None,
    max_new_tokens: int = NEW_TOKENS,
) -> Store:
    """The store of a model's vectors on a data set, written as the model runs.

    ``OUT/KIND`` gets the vectors of the model's twins, which read the same symbols and have the same token table.

    Args:
        model: Any model that :func:`load_model` takes or returns, or a module of :func:`attach`.
        data: The examples, or what :func:`load_data` makes data of: a name, a file, a folder, a list of texts.
        sites: Sites to write, as patterns: 'encoder.*.role', 'decoder.-1.*'; default: all, of a model of transformers
            the states: '*.embedding' and '*.hidden'.
        out: The folder of the store.
        attention_samples: How many samples get attention maps, if ``sites`` name them ('*.attention'), from the first on.
        target: The decoder's input: the reference (teacher forcing), or what the model itself writes (generated). A causal
            model writes after its text: these tokens are ``written`` in the token table.
        control: Whether twins are read.
        resume: Resume an interrupted run; the store is identical to that of an uninterrupted one.
        vocabulary: What makes ids of texts, for an attached module, which has nothing of its own: a tokenizer of
            transformers, a ``tokenizers.Tokenizer``, a function from a text to its ids, functions with the decoder's start id
            ``(text_to_ids, id_to_piece, 2)``, or the ids of all examples.
        labellers: What labels the words of sources and targets, generated ones too.
        control_samples: How many samples a twin reads, from the first on; default: all.
        store_dtype: The type of the store's numbers: float32, float16 or bfloat16.
        compress: The store's compression: none, lz4 (bfloat16's default) or zstd.
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
        batch_tokens: The most symbols of a batch, padding included; default: batches of 64 samples. A model on disk is read
            once for every batch.
        max_new_tokens: The most symbols that a causal model writes after a text (``target="generated"``).

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
    run = plan(
        model, data, sites, vocabulary, attention_samples, target, labellers, store_dtype, compress,
        pool, words, max_tokens, pack, batch_tokens, max_new_tokens,
    )  # fmt: skip
    controls = plan_controls(run, control, twins, control_samples)
    n_control = min(len(run.data), control_samples or len(run.data))
    out, ranks = Path(out), Ranks.of()
    if not (ranks.rank or is_finished(out)):
        described = run.describe([len(run.data), *(n_control for _ in controls)])
        note(", ".join([described, *(f"{kind} twin" for kind in controls)]) + f": {out}")
    if find_client() and not is_finished(out) and len(run.data) > stride_of(run.data):
        extract_parts(run, out, list(controls), n_control, resume)
    elif ranks.count == 1 or is_finished(out):
        with alone(out):
            run.extract(out, range(len(run.data)), controls, n_control, resume)
    else:
        refuse_existing(out)
        starts = range(0, len(run.data), stride_of(run.data))
        ranges = cut_ranges(starts, len(run.data), ranks.count)
        share = part_of(out, f"{ranks.rank}-of-{ranks.count}")
        with alone(share):
            run.extract(share, ranges[ranks.rank], controls, n_control, resume)
        join_ranges(out, ranges, ranks)
    store = open_store(out)
    counts = store.facts.counts
    for side in SIDES if not ranks.rank else ():
        if any(name.startswith(side) for name in counts):
            note(report_counts(counts, side))
    return store


def plan(
    model: Any,
    data: Any,
    sites: str | Iterable[str] | None,
    vocabulary: Any = None,
    attention_samples: int = ATTENTION_SAMPLES,
    target: Target = "reference",
    labellers: Sequence[Labeller] = (),
    store_dtype: str = "float32",
    compress: str | None = None,
    pool: str | None = None,
    words: str | None = None,
    max_tokens: int | None = None,
    pack: bool = False,
    batch_tokens: int | None = None,
    max_new_tokens: int = NEW_TOKENS,
) -> Extraction:
    if not isinstance(model, Language | Attached):  # in memory, of another library
        model, vocabulary = load_model(model, vocabulary), None
    check_storage(store_dtype, compress)
    data = as_data(data)
    if not len(data):
        raise InputError(f"{data.name} has no examples here: give at least one")
    if target == "generated":
        writer = require_head(model, "target='generated'")
        if getattr(writer, "head", "own") == "masked":
            raise InputError(f"{model.name} fills masks and writes nothing: target='reference'")
    if max_new_tokens < 1:
        raise InputError(f"max_new_tokens {max_new_tokens}: a model writes 1 or more")
    vocabulary = find_vocabulary(model, vocabulary, data)
    if max_tokens is not None:
        vocabulary = vocabulary.limited(max_tokens)
    if batch_tokens is not None and batch_tokens < 1:
        raise InputError(f"batch_tokens {batch_tokens}: a batch has 1 or more")
    data = data.suited_to(vocabulary)
    data = Contexts.of(data, vocabulary) if pack else data
    pooling = Pooling(pool, words)
    pooling.check(vocabulary)
    patterns = sites or getattr(model, "default_sites", "*")
    names = pooling.sites(select(patterns, list(find_sites(model))))
    limits = {"max_tokens": max_tokens, "pack": pack, "batch_tokens": batch_tokens}
    limits = {name: limit for name, limit in limits.items() if limit}
    if target == "generated" and not vocabulary.target_frame[1]:
        limits["max_new_tokens"] = max_new_tokens
    storage = (store_dtype, compress)
    return Extraction(
        model.eval(), vocabulary, data, names, attention_samples, target, tuple(labellers), storage,
        pooling, limits,
    )  # fmt: skip


def plan_controls(
    run: Extraction, control: bool, twins: Sequence[str] | None, samples: int | None
) -> dict[str, Control]:
    if samples is not None and samples < 1:
        raise InputError(
            "control samples are 1 or more: without a twin, control=False (--no-control)"
        )
    if twins and not control:
        raise InputError(f"twins {', '.join(twins)} without a control: give one or the other")
    return find_controls(run.model, twins) if control else {}


def find_vocabulary(model: Readable, vocabulary: Any, data: Dataset) -> Codec:
    if vocabulary is None:
        if isinstance(model, Language) or model.vocabulary is not None:
            return require_vocabulary(model)
        raise InputError(
            f"{model.name} has no vocabulary: give vocabulary= (examine: tokenizer=), {ACCEPTED}"
        )
    embeddings = (m for m in model.modules() if isinstance(m, torch.nn.Embedding))
    tables = [len(module.weight) for module in embeddings]
    return read_codec(vocabulary, data, max(tables, default=2**16))


MAX_PARTS = 64


def write_part(
    run: Extraction,
    out: Path,
    ranges: Sequence[range],
    twins: Sequence[str],
    n_control: int,
    number: int,
) -> int:
    """Writes a part, or the rest of one whose worker was lost: the number of its samples. Twins read the first ``n_control`` of all."""
    samples, share = ranges[number], part_of(out, f"{number}-of-{len(ranges)}")
    controls = find_controls(run.model, twins) if samples.start < n_control and twins else {}
    if not is_finished(share):
        with alone(share):
            run.extract(share, samples, controls, n_control, resume=share.exists())
    return len(samples)


def extract_parts(
    run: Extraction, out: Path, twins: Sequence[str], n_control: int, resume: bool
) -> None:
    """Writes the store by the workers of this process's Dask client, which reach its folder by the same path."""
    refuse_existing(out)
    if (folder := part_of(out, "joined").parent).exists() and not resume:
        raise InputError(f"{folder} has parts of an earlier run: go on with --resume, or remove it")
    out.parent.mkdir(parents=True, exist_ok=True)
    starts = range(0, len(run.data), stride_of(run.data))
    ranges = cut_ranges(starts, len(run.data), min(MAX_PARTS, len(starts)))
    write = partial(write_part, run, out.absolute(), ranges, twins, n_control)
    with progress() as bars:
        bar = bars.add_task(f"{out}", total=len(run.data), note="")
        for n_samples in each_part(write, range(len(ranges))):
            bars.advance(bar, n_samples)
    join_ranges(out, ranges, Ranks(0, len(ranges)))
