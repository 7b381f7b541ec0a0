"""The samples of an extraction divided into blocks, whose vectors are held at once."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from tprprobe.data.dataset import Dataset, Example
from tprprobe.data.pairs import encode_examples
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.store.layout import SAMPLE, SIDES, SiteSpec

BLOCK, BLOCK_BYTES = 4096, 256 * 2**20  # samples, and their vectors, that are held at once
LEAST = 512  # samples between places where every block ends
ASKED = 64  # examples whose symbols are counted to know how many characters one has


def stride_of(data: Dataset) -> int:
    """Samples from one place where a block ends in any case to the next: known without a text."""
    return min(BLOCK, max(LEAST, len(data) // 64))


@dataclass(frozen=True)
class Division:
    """The division of data whose vectors have these layouts; the first samples have attention maps, too."""

    data: Dataset
    vocabulary: Codec
    specs: Mapping[str, SiteSpec]
    attention_samples: int

    def split(self, samples: range, ends: Iterable[int]) -> Iterator[tuple[int, list[Example]]]:
        """The blocks of these samples, each with the number of its first sample.

        A block ends at every multiple of the stride, where maps or a pass end, and before its vectors
        exceed BLOCK_BYTES, whatever was done before: a resumed run makes the same batches, and so do
        processes whose ranges begin at a multiple of the stride.
        """
        cuts, stride = {self.attention_samples, *ends}, stride_of(self.data)
        first, held, size = samples.start, [], 0
        some = self.data[samples.start : samples.stop] if samples else ()
        for number, example in enumerate(some, first):
            added = self._bytes(example, maps=number < self.attention_samples)
            is_end = number in cuts or number % stride == 0
            if held and (is_end or size + added > BLOCK_BYTES):
                yield first, held
                first, held, size = number, [], 0
            held.append(example)
            size += added
        if held:
            yield first, held

    def _bytes(self, example: Example, maps: bool) -> float:
        """A rough size in bytes of an example's vectors, and of its maps."""
        tokens = {
            "source": len(example.source) * self._density[0] + 2,
            "target": len(example.target) * self._density[1] + 1,
            SAMPLE: 1,
        }
        size = sum(count * self._row_bytes[side] for side, count in tokens.items())
        pairs = [(query, key) for query in SIDES for key in SIDES] if maps else []
        return size + sum(tokens[q] * tokens[k] * self._row_bytes[f"{q}_{k}"] for q, k in pairs)

    @cached_property
    def _row_bytes(self) -> Counter[str]:
        """Bytes of a row of all sites with the same kind of rows."""
        sizes = Counter()
        for spec in self.specs.values():
            sizes[spec.rows] += spec.row_bytes
        return sizes

    @cached_property
    def _density(self) -> tuple[float, float]:
        """Symbols per character of the first sources and targets, if symbols are words or parts of them."""
        if not self.vocabulary.has_words or self.vocabulary.reads_images:
            return 1.0, 1.0
        some = list(self.data[:ASKED])
        pairs = encode_examples(some, self.vocabulary)
        sources = sum(len(each.source) for each in some)
        targets = sum(len(each.target) for each in some)
        return (
            pairs.source.lengths.sum().item() / max(1, sources),
            pairs.target.lengths.sum().item() / max(1, targets),
        )
