"""Text files of TPDN: a line a sequence, its symbols, a tab, its encoding's numbers.

``1 9 8 9 9<TAB>0.4485542 0.3318653 …``, gzipped or not. The one site is ``encoding``, with one
vector a sample. Source: McCoy et al. 2019 (arXiv:1812.08718), code tommccoy1/tpdn.
"""

import re
import warnings
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from tprpapers.formats.samples import sequence_table
from tprprobe.errors import InputError
from tprprobe.files.lines import read_lines
from tprprobe.store.dumps.dump import BLOCK_BYTES, Block, Dump, vector_spec
from tprprobe.store.dumps.transfer import Format
from tprprobe.store.layout import SAMPLE

SITE = "encoding"
LINE = re.compile(r"\S+(?: \S+)*\t *[-+\d.]\S*(?: +\S+)* *")
LINE_FORMAT = (
    "a line is the symbols of a sequence, a tab, and its vector's numbers, with blanks between"
)

Line = tuple[int, list[str], str]  # number, symbols, the text of the vector


class SequenceVectors(Dump):
    """The encodings of a TPDN text file."""

    def __init__(self, path: Path):
        self.path = path
        line = next(self._lines(), None)
        if line is None:
            raise InputError(f"{path} has no lines: {LINE_FORMAT}")
        self.width = len(line[2].split())
        self.specs = {SITE: vector_spec(SITE, SAMPLE, (self.width,), "float32", path)}

    @staticmethod
    def reads(path: Path) -> bool:
        """True if the first line of the file is of this format."""
        try:
            line = next(read_lines(path), (0, ""))[1] if path.is_file() else ""
        except InputError:
            return False
        return bool(LINE.fullmatch(line))

    def blocks(self, first: int) -> Iterator[Block]:
        size = max(1, BLOCK_BYTES // (16 * self.width))  # a number and its text
        ids: dict[str, int] = {}
        lines = self._lines()
        for _, symbols, _text in islice(lines, first):
            _number(symbols, ids)
        while block := list(islice(lines, size)):
            sequences = [symbols for _, symbols, _ in block]
            numbers = [_number(symbols, ids) for symbols in sequences]
            table = sequence_table(sequences, numbers, first)
            yield Block({SITE: self._vectors(block)}, table)
            first += len(block)

    def _lines(self) -> Iterator[Line]:
        for number, line in read_lines(self.path):
            symbols, tab, vector = line.partition("\t")
            if not line.strip():
                continue
            if not tab or not symbols.split():
                raise InputError(f"{self.path}, line {number}: {line[:40]!r}… : {LINE_FORMAT}")
            yield number, symbols.split(), vector

    def _vectors(self, block: Sequence[Line]) -> Float32[np.ndarray, "sample d_model"]:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # text that is no number
            try:
                values = np.fromstring(" ".join(text for _, _, text in block), np.float32, sep=" ")
                return values.reshape(len(block), self.width)
            except (ValueError, DeprecationWarning):
                pass
        return np.stack([self._vector(number, text) for number, _, text in block])

    def _vector(self, number: int, text: str) -> Float32[np.ndarray, " d_model"]:
        """The vector of one line, where a block was not read at one stroke."""
        try:
            vector = np.array(text.split(), np.float32)
        except ValueError as error:
            raise InputError(f"{self.path}, line {number}: {error}: {LINE_FORMAT}") from error
        if len(vector) != self.width:
            raise InputError(
                f"{self.path}, line {number} has a vector of {len(vector)} numbers, the first line "
                f"one of {self.width}"
            )
        return vector


def _number(symbols: Sequence[str], ids: dict[str, int]) -> list[int]:
    """The ids of symbols, by first appearance in the file."""
    return [ids.setdefault(symbol, len(ids)) for symbol in symbols]


FORMAT = Format(
    "TPDN's text files",
    SequenceVectors.reads,
    lambda path, _tokens, _layers: SequenceVectors(path),
    frozenset(),
)
