"""Weights in a GGUF file, which transformers dequantizes: the file of a path, and one reading of it for all."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, cast

from tprprobe.errors import InputError, check_extra

ENDING = ".gguf"


def find_gguf(path: str) -> Path | None:
    """The GGUF file that a path is, or that a folder without a config.json of its own holds."""
    here = Path(path)
    if here.suffix == ENDING:
        if not here.is_file():
            raise InputError(f"no file {path!r}: give hf:FILE{ENDING} or a folder with one")
        found = here
    elif here.is_dir() and not (here / "config.json").is_file():
        files = sorted(here.glob(f"*{ENDING}"))
        if len(files) > 1:
            listed = ", ".join(file.name for file in files)
            raise InputError(
                f"{path} has several {ENDING} files, give one: hf:{path}/FILE ({listed})"
            )
        if not files:
            return None
        (found,) = files
    else:
        return None
    check_extra("gguf", "huggingface", f"hf:{path}")
    return found


@contextmanager
def read_once(file: Path) -> Iterator[Any]:
    """A block in which the file's fields, and the names of tensors, are read once, not three and 400 times."""
    import gguf

    before: Any = gguf.GGUFReader, gguf.get_tensor_name_map
    reader, module = gguf.GGUFReader(file), cast(Any, gguf)
    module.GGUFReader, module.get_tensor_name_map = lambda *_, **__: reader, cache(before[1])
    try:
        yield reader
    finally:
        module.GGUFReader, module.get_tensor_name_map = before


def describe_weights(file: Path, reader: Any) -> str:
    """How the weights lie in the file: "dequantized from Q4_1, F32 (FILE)", the commonest type first."""
    sizes = Counter()
    for tensor in reader.tensors:
        sizes[tensor.tensor_type.name] += int(tensor.n_elements)
    return f"dequantized from {', '.join(name for name, _ in sizes.most_common())} ({file.name})"
