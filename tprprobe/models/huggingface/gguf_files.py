"""Weights in a GGUF file, which transformers dequantizes: the file of a path, and one reading of it for all."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, cast

from tprprobe.errors import InputError, check_extra
from tprprobe.files.file_errors import as_input_error
from tprprobe.models.huggingface.faults import listed

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
def read_once(file: Path | None) -> Iterator[dict[str, str]]:
    """A block in which the file's fields, and the names of tensors, are read once, not three and 400 times.

    It yields notes on how the weights lie in the file, "dequantized from Q4_1, F32 (FILE)", the commonest
    type first, and on layers that its fields do not count; without a file nothing.
    """
    if file is None:
        yield {}
        return
    import gguf

    before: Any = gguf.GGUFReader, gguf.get_tensor_name_map
    with as_input_error(f"{file} is damaged or no GGUF file"):
        reader, module = gguf.GGUFReader(file), cast(Any, gguf)
    sizes = Counter()
    for tensor in reader.tensors:
        sizes[tensor.tensor_type.name] += int(tensor.n_elements)
    types = ", ".join(name for name, _ in sizes.most_common())
    module.GGUFReader, module.get_tensor_name_map = lambda *_, **__: reader, cache(before[1])
    try:
        yield {"weights": f"dequantized from {types} ({file.name})", **_left_over(reader)}
    finally:
        module.GGUFReader, module.get_tensor_name_map = before


def _left_over(reader: Any) -> dict[str, str]:
    """A note on the tensors of layers beyond the number that the file's fields name."""
    known = [
        int(field.contents())
        for name, field in reader.fields.items()
        if name.endswith(".block_count")
    ]
    names = [each.name.split(".") for each in reader.tensors if each.name.startswith("blk.")]
    over = [".".join(name) for name in names if known and int(name[1]) >= known[0]]
    return {"unused weights": listed(over)} if over else {}
