"""A GGUF file: where it lies, that it does not contradict itself, and that it is parsed once."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tprprobe.errors import InputError, check_extra
from tprprobe.files.file_errors import as_input_error
from tprprobe.models.huggingface.faults import list_names

if TYPE_CHECKING:
    import gguf

ENDING = ".gguf"
TOKENS = "tokenizer.ggml.tokens"
PER_TOKEN = ("tokenizer.ggml.token_type", "tokenizer.ggml.scores")


def find_gguf(path: str) -> Path | None:
    """The GGUF file that a path is, or that a folder without a config.json of its own holds."""
    place = Path(path)
    if place.suffix == ENDING:
        files = [place]
        if not place.is_file():
            raise InputError(f"no file {path!r}: give hf:FILE{ENDING} or a folder with one")
    else:
        files = [] if (place / "config.json").is_file() else sorted(place.glob(f"*{ENDING}"))
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise InputError(f"{path} has several {ENDING} files, give one: hf:{path}/FILE ({names})")
    if not files:
        return None
    check_extra("gguf", "huggingface", f"hf:{path}")
    return files[0]


@contextmanager
def read_once(file: Path | None) -> Iterator[dict[str, str]]:
    """A block in which a GGUF file is parsed once, not three and 400 times; yields notes on its types and unread layers."""
    if file is None:
        yield {}
        return
    import gguf

    class Reader(gguf.GGUFReader):
        """Its bytes are a plain array: a memory map of numpy is three times as slow to cut into pieces."""

        def _get(self, *args: Any, **kwargs: Any) -> np.ndarray:
            self.data = np.asarray(self.data)
            return super()._get(*args, **kwargs)

    before: Any = gguf.GGUFReader, gguf.get_tensor_name_map
    with as_input_error(f"{file} is damaged or no GGUF file"):
        reader, module = Reader(file), cast(Any, gguf)
        _check_places(file, reader)
        _check_tokens(file, reader)
    sizes = Counter()
    for tensor in reader.tensors:
        sizes[tensor.tensor_type.name] += int(tensor.n_elements)
    types = ", ".join(name for name, _ in sizes.most_common())
    module.GGUFReader, module.get_tensor_name_map = lambda *_, **__: reader, cache(before[1])
    try:
        yield {"weights": f"dequantized from {types} ({file.name})", **_left_over(reader)}
    finally:
        module.GGUFReader, module.get_tensor_name_map = before


def _check_places(file: Path, reader: "gguf.GGUFReader") -> None:
    """Checks that the tensors lie one behind another, as the format asks: else two share bytes, or one is of another type."""
    end = reader.data_offset
    for tensor in reader.tensors:
        if int(tensor.data_offset) != end:
            raise InputError(
                f"{file}: tensor {tensor.name} lies at byte {int(tensor.data_offset):,}, where the tensors before it end "
                f"at {end:,}: get the file again"
            )
        end += -(-int(tensor.n_bytes) // reader.alignment) * reader.alignment


def _check_tokens(file: Path, reader: "gguf.GGUFReader") -> None:
    if TOKENS in reader.fields:
        count = len(reader.fields[TOKENS].data)
        for name in PER_TOKEN:
            if name in reader.fields and len(reader.fields[name].data) != count:
                raise InputError(
                    f"{file}: {name} has {len(reader.fields[name].data)} entries for {count} tokens: get the file again"
                )
    if not any(name.endswith("_epsilon") for name in reader.fields):
        raise InputError(f"{file} names no epsilon of its norms: get the file again")


def _left_over(reader: "gguf.GGUFReader") -> dict[str, str]:
    count_fields = [field for name, field in reader.fields.items() if name.endswith(".block_count")]
    counts = [int(field.contents()) for field in count_fields]
    names = [tensor.name.split(".") for tensor in reader.tensors if tensor.name.startswith("blk.")]
    over = [".".join(name) for name in names if counts and int(name[1]) >= counts[0]]
    return {"unused weights": list_names(over)} if over else {}
