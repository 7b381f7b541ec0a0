"""Activations as NeuroX writes them: HDF5 or JSON, a sentence [layer, word, neuron].

HDF5: a data set a sentence, named by its number, and ``sentence_to_index``, a JSON text that maps
every sentence (words with blanks between) to its number. JSON: a line a sentence, ``features``: for
every word its ``token`` and ``layers`` with ``values``. Source: ``neurox.data.writer`` of NeuroX; ELMo's
and bert-extract's HDF5 files are the same.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tprpapers.formats.hdf5 import get_array, open_hdf5
from tprpapers.formats.samples import LayeredDump, Sample
from tprprobe.errors import InputError
from tprprobe.files.file_errors import as_input_error, check_claim
from tprprobe.files.jsonfiles import parse_json
from tprprobe.store.dumps.dump import Format

INDEX = "sentence_to_index"
OCCURRENCE = re.compile(r" \(Occurrence \d+\)$")  # behind a sentence that NeuroX met before
LAYER = re.compile(r"-layer(\d+)$")  # of a file with one layer
LONGEST = 2**30  # characters of a line


class Sentences(LayeredDump):
    """The sentences of a file of NeuroX, HDF5 or JSON as its name ends."""

    def __init__(self, path: Path, _tokens: object, layers: Sequence[int] | None):
        if not self.reads(path):
            raise InputError(f"{path} is no .hdf5 or .json file of NeuroX")
        layer = LAYER.search(path.stem)
        super().__init__(path, [int(layer[1])] if layer and layers is None else layers)

    @staticmethod
    def reads(path: Path) -> bool:
        """Whether the file's name is one of NeuroX's."""
        return path.is_file() and path.suffix in (".hdf5", ".h5", ".json")

    def samples(self) -> Iterator[Sample]:
        with as_input_error(f"{self.path} cannot be read as NeuroX's"):
            yield from self._lines() if self.path.suffix == ".json" else self._datasets()

    def _datasets(self) -> Iterator[Sample]:
        file = open_hdf5(self.path, INDEX)  # open as long as a sample may be read
        if INDEX not in file:
            raise InputError(f"{self.path} has no {INDEX}: NeuroX writes the sentences there")
        stored: Any = get_array(file, INDEX)
        index: dict[str, str] = parse_json(stored[0], INDEX)
        for sentence, number in sorted(index.items(), key=lambda pair: int(pair[1])):
            values: Any = get_array(file, number)
            claimed = f"{self.path}, sentence {number} of shape {values.shape}"
            check_claim(values.nbytes, values.id.get_storage_size(), claimed)
            words = OCCURRENCE.sub("", sentence).split(" ")
            where, kind = f"{self.path}, sentence {number}", values.dtype.newbyteorder("=").name
            yield Sample(where, words, None, values.shape, kind, partial(values.__getitem__, ()))

    def _lines(self) -> Iterator[Sample]:
        with open(self.path, encoding="utf-8") as stream:
            for number, line in enumerate(iter(partial(stream.readline, LONGEST), ""), 1):
                if line.strip():
                    yield _sentence(line, f"{self.path}, line {number}")


def _sentence(line: str, where: str) -> Sample:
    features = parse_json(line, where)["features"]
    values = [[layer["values"] for layer in word["layers"]] for word in features]
    try:
        array = np.array(values, np.float32)
    except ValueError as error:
        raise InputError(f"{where}: words with other layers or widths than others") from error
    if array.ndim != 3:
        raise InputError(f"{where}: a sentence has words, each with layers of values")
    array = array.transpose(1, 0, 2)
    words = [str(word["token"]) for word in features]
    return Sample(where, words, None, array.shape, "float32", lambda: array)


FORMAT = Format("NeuroX's .hdf5 or .json", Sentences.reads, Sentences, frozenset({"layers"}))
