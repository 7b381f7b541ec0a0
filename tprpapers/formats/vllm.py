"""Hidden states as vLLM writes them: a folder with one ``.safetensors`` file a request.

A file holds ``hidden_states`` [token, layer, d_model] and ``token_ids`` [token]. Source: vLLM's
``ExampleHiddenStatesConnector`` (method ``extract_hidden_states``), whose layers are the
``eagle_aux_hidden_state_layer_ids`` that it was given, in their order.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from tprpapers.formats.samples import LayeredDump, Sample, natural, read_pieces
from tprpapers.formats.tensors import Tensor, read_tensors
from tprprobe.errors import InputError
from tprprobe.store.dumps.dump import Format

STATES, IDS = "hidden_states", "token_ids"
ENDING, PACKED = ".safetensors", ".zst"
LARGEST = 2**31 - 1  # id of a token


class Requests(LayeredDump):
    """The requests of a folder, in the order of the numbers in their names."""

    def __init__(self, path: Path, tokenizer: Path | None, layers: Sequence[int] | None):
        if not path.is_dir():
            raise InputError(
                f"{path} is a file; vLLM's hidden states are a folder of {ENDING} files"
            )
        packed = next(path.glob(f"*{ENDING}{PACKED}"), None)
        if packed is not None:
            raise InputError(f"{packed} is compressed: unpack it first (zstd -d --rm {path}/*.zst)")
        self.files = sorted(path.glob(f"*{ENDING}"), key=natural)
        self.symbols = read_pieces(tokenizer)
        super().__init__(path, layers)

    @staticmethod
    def reads(path: Path) -> bool:
        return path.is_dir() and any(any(path.glob(f"*{ENDING}{end}")) for end in ("", PACKED))

    def samples(self) -> Iterator[Sample]:
        for file in self.files:
            arrays = read_tensors(file)
            if lacking := {STATES, IDS} - arrays.keys():
                raise InputError(
                    f"{file} has no {' and no '.join(sorted(lacking))}: vLLM writes {STATES} "
                    f"[token, layer, d_model] and {IDS} [token] a request"
                )
            states, ids = arrays[STATES], arrays[IDS].data
            if ids.ndim != 1 or ids.dtype.kind != "i" or len(states.shape) != 3:
                raise InputError(
                    f"{file}: {STATES} has shape {states.shape} and {IDS} {ids.shape}; they are "
                    "[token, layer, d_model] and [token], whole numbers"
                )
            numbers = ids.tolist()
            if not 0 <= min(numbers, default=0) <= max(numbers, default=0) <= LARGEST:
                raise InputError(f"{file}: {IDS} holds numbers that are no ids of tokens")
            facts = str(file), self.symbols(numbers), numbers
            tokens, layers, width = states.shape
            shape, reader = (layers, tokens, width), partial(_read, states)
            yield Sample(*facts, shape, states.kind, reader, {"request": file.stem})


def _read(states: Tensor) -> np.ndarray:
    return states[:].swapaxes(0, 1)


FORMAT = Format(
    "vLLM's hidden states, a folder of .safetensors",
    Requests.reads,
    Requests,
    frozenset({"tokens", "layers"}),
)
