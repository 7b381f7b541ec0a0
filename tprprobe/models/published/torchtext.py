"""Vocabularies pickled by torchtext 0.3.1, read without torchtext and without running the pickle.

Only the classes such a file names are known here, as empty stand-ins; any other name is refused.
"""

import io
import pickle
from typing import Any

from tprprobe.data.vocabularies.characters import Vocabulary
from tprprobe.errors import InputError
from tprprobe.models.published.pickles import pickles_in

LEGACY_MAGIC = 0x1950A86A20F9469CFC6C  # first object of a file that torch.save wrote before 1.6


class Record:
    """The stand-in of a pickled object: its attributes and nothing else."""


class PickledTable(dict[Any, Any]):
    """The stand-in of a Counter or a defaultdict; its factory of missing entries is ignored."""

    def __init__(self, *values: Any):
        super().__init__(*(value for value in values if isinstance(value, dict)))


STAND_INS = {
    ("torchtext.vocab", "Vocab"): Record,
    ("torchtext.vocab", "_default_unk_index"): None,
    ("collections", "Counter"): PickledTable,
    ("collections", "defaultdict"): PickledTable,
    ("collections", "OrderedDict"): PickledTable,
}


class Reader(pickle.Unpickler):
    """Builds stand-ins and plain containers; a pickle that names anything else is refused.

    Every reader has classes of its own, so that what a pickle does to a class ends with it.
    """

    def __init__(self, stream: io.BytesIO):
        super().__init__(stream)
        self.known = {name: c and type(c.__name__, (c,), {}) for name, c in STAND_INS.items()}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.known:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return self.known[module, name]

    def persistent_load(self, _pid: Any) -> Any:
        raise pickle.UnpicklingError("it holds tensors")


def read_vocabulary(content: bytes, name: str) -> Vocabulary:
    """The symbols (``itos``) of a pickled vocabulary, in the order of their ids."""
    try:
        symbols = getattr(_unpickle(content), "itos", None)
    except Exception as error:  # a damaged or hostile pickle can raise whatever it likes
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(
            f"{name} is no vocabulary pickled by torchtext 0.3.1 ({reason}), nor named like a "
            "tokenizer.json or a SentencePiece spiece.model"
        ) from error
    if not isinstance(symbols, list) or not all(isinstance(s, str) for s in symbols):
        raise InputError(f"{name} is no vocabulary pickled by torchtext 0.3.1: no list itos")
    return Vocabulary(tuple(symbols))


def _unpickle(content: bytes) -> Any:
    streams = pickles_in(content)
    first = Reader(next(streams)).load()
    if first != LEGACY_MAGIC:
        return first
    for _header in ("protocol", "system"):
        Reader(next(streams)).load()
    return Reader(next(streams)).load()
