"""Data divided into blocks, whose vectors are held at once, and among processes, which write whole blocks.

Every process makes the batches that a single one would make, so the joined store is that of a single process.
Its parts lie beside the store until it is complete.
"""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

from tprprobe.data.dataset import Dataset, Example
from tprprobe.data.pairs import encode_examples
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.files.processes import Ranks
from tprprobe.store.layout import MANIFEST, SAMPLE, SIDES, TWINS, SiteSpec
from tprprobe.store.parts import concatenate

BLOCK, BLOCK_BYTES = 4096, 256 * 2**20  # samples, and their vectors, that are held at once
MIN_BLOCK = 512  # samples between places where every block ends
N_MEASURED = 64  # examples whose symbols are counted to know how many characters one has


def stride_of(data: Dataset) -> int:
    """Samples from one place where a block ends in any case to the next: known without a text."""
    return min(BLOCK, max(MIN_BLOCK, len(data) // 64))


def split_blocks(
    data: Dataset,
    samples: range,
    size_of: Callable[[Example, bool], float],
    attention_samples: int,
    ends: Iterable[int],
) -> Iterator[tuple[int, list[Example]]]:
    """The blocks of these samples. They end at multiples of the stride, and so that a resumed run makes the same batches."""
    cuts, stride = {attention_samples, *ends}, stride_of(data)
    pending, size = [], 0
    examples = data[samples.start : samples.stop] if samples else ()
    for number, example in enumerate(examples, samples.start):
        size_of_example = size_of(example, number < attention_samples)
        is_end = number in cuts or number % stride == 0 or size + size_of_example > BLOCK_BYTES
        if pending and is_end:
            yield number - len(pending), pending
            pending, size = [], 0
        pending.append(example)
        size += size_of_example
    if pending:
        yield samples.stop - len(pending), pending


def block_sizes(
    data: Dataset, vocabulary: Codec, specs: Mapping[str, SiteSpec]
) -> Callable[[Example, bool], float]:
    """A rough size in bytes of an example's vectors at sites of these layouts, and (True) of its maps."""
    of_source, of_target = _density(data, vocabulary)
    row_bytes = Counter()
    for spec in specs.values():
        row_bytes[spec.rows] += spec.row_bytes

    def size_of(example: Example, maps: bool) -> float:
        tokens = {
            "source": len(example.source) * of_source + 2,
            "target": len(example.target) * of_target + 1,
            SAMPLE: 1,
        }
        size = sum(count * row_bytes[side] for side, count in tokens.items())
        pairs = product(SIDES, SIDES) if maps else ()
        return size + sum(tokens[q] * tokens[k] * row_bytes[f"{q}_{k}"] for q, k in pairs)

    return size_of


def _density(data: Dataset, vocabulary: Codec) -> tuple[float, float]:
    """Symbols per character of the first sources and targets, if symbols are words or parts of them."""
    if not vocabulary.has_words or vocabulary.reads_images:
        return 1.0, 1.0
    examples = list(data[:N_MEASURED])
    pairs = encode_examples(examples, vocabulary)
    sources = sum(len(example.source) for example in examples)
    targets = sum(len(example.target) for example in examples)
    return (
        pairs.source.lengths.sum().item() / max(1, sources),
        pairs.target.lengths.sum().item() / max(1, targets),
    )


def cut_ranges(firsts: Sequence[int], samples: int, count: int) -> list[range]:
    """The range of samples of every process, as equal as blocks with these first samples allow."""
    shares = [samples * rank / count for rank in range(count)]
    starts = [next((start for start in firsts if start >= share), samples) for share in shares]
    return [range(start, end) for start, end in zip(starts, [*starts[1:], samples], strict=True)]


def part_of(out: Path, name: str) -> Path:
    """The folder of a process's part of a store, RANK-of-COUNT, or of what is made of all parts."""
    return out.with_name(f".{out.name}.parts") / name


def join_ranges(out: Path, ranges: Sequence[range], ranks: Ranks) -> None:
    """Waits for the parts of all processes; the first joins these to the store, which is there whole or not at all."""
    if ranks.rank:
        return ranks.wait((out / MANIFEST).exists)
    folders = [part_of(out, f"{rank}-of-{ranks.count}") for rank in range(ranks.count)]
    stores = [folder for folder, rank_range in zip(folders, ranges, strict=True) if rank_range]
    ranks.wait(lambda: all((store / MANIFEST).exists() for store in stores))
    joined = part_of(out, "joined")
    concatenate(stores, joined, resume=True)
    for kind in TWINS:
        twins = [store / kind for store in stores if (store / kind).exists()]
        if twins and not (joined / kind).exists():
            concatenate(twins, part_of(out, kind), resume=True)
            os.replace(part_of(out, kind), joined / kind)
    os.replace(joined, out)
    return shutil.rmtree(joined.parent)
