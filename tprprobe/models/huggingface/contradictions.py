"""What a folder of transformers, or a GGUF file, says twice, and differently; a GGUF file is parsed once.

Of files that were cut off or mixed, libraries load what is there and say nothing.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict
from unittest.mock import patch

import numpy as np
import safetensors
import torch
from torch import Tensor
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from tprprobe.errors import InputError, check_extra
from tprprobe.files.file_errors import as_input_error, check_zip
from tprprobe.files.jsonfiles import parse_json, read_json

if TYPE_CHECKING:
    import gguf

MAX_LISTED = 3  # tensors that an error names
INDEX = ".index.json"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")  # the first one is loaded
PADDED = 8  # an embedding may have more rows than symbols, up to a multiple of it
EMPTY = 0.1  # the share of weights in rows of zeros; padding and pruning leave fewer
AFFIXES = ("continuing_subword_prefix", "end_of_word_suffix")  # of symbols
UNREACHED = 0.1  # the share of symbols that no merge makes; reserved ones are fewer


class AddedToken(TypedDict):
    """A symbol in the list ``added_tokens`` of a tokenizer.json, which has more keys."""

    content: str
    id: int


class Slice(NamedTuple):
    """A tensor in a file, of which the header is read."""

    file: Path
    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def is_whole(self) -> bool:
        return self.dtype[0] in "IUB" and self.dtype not in ("BF16", "BFLOAT16")

    def read(self) -> Tensor:
        if self.file.suffix != ".safetensors":
            return torch.load(self.file, "cpu", weights_only=True)[self.name]
        with safetensors.safe_open(self.file, "pt") as opened:
            return opened.get_tensor(self.name)


def read_slices(folder: Path) -> list[Slice]:
    """The tensors of the files that are loaded: the single one, or those of an index. InputError where these contradict one another."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise InputError(f"{path} is no file, but a pipe or a device: remove it")
    for name in WEIGHTS:
        single, index = folder / name, folder / f"{name}{INDEX}"
        places = _read_index(index) if index.is_file() else {}
        files = {*places.values()} or ({name} if single.is_file() else set())
        if single.is_file() and name not in files:
            file_names = f"{folder} has {name} and {index.name}, which"
            raise InputError(f"{file_names} names other files: remove what is left over")
        slices = [entry for file in sorted(files) for entry in _slices_of(folder / file)]
        by_name: dict[str, Slice] = {}
        for entry in slices:
            earlier = by_name.setdefault(entry.name, entry)
            if earlier is not entry:
                file_names = f"{earlier.file.name} and {entry.file.name}"
                raise InputError(f"{folder} has {entry.name} twice, in {file_names}: get it again")
            if places.get(entry.name, entry.file.name) != entry.file.name:
                claimed = f"is in {places[entry.name]}, it is in {entry.file.name}"
                raise InputError(f"{index} says that {entry.name} {claimed}: get it again")
        if slices:
            return slices
    return []


def _read_index(index: Path) -> dict[str, str]:
    places = read_json(index).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise InputError(f"{index} has no weight_map from tensors to files: get it again")
    for file in {*map(str, places.values())}:
        if Path(file).name != file or not (index.parent / file).is_file():
            raise InputError(f"{index} names {file!r}, no file of this folder: get it again")
    return places


def _slices_of(file: Path) -> Iterator[Slice]:
    with as_input_error(f"{file} is damaged or no {file.suffix.strip('.')} file"):
        if file.suffix == ".safetensors":
            with safetensors.safe_open(file, "pt") as opened:
                for name in opened.keys():  # noqa: SIM118
                    tensor = opened.get_slice(name)
                    yield Slice(file, name, tensor.get_dtype(), tuple(tensor.get_shape()))
        else:
            check_zip(file, file.stat().st_size, file)
            for name, tensor in torch.load(file, "meta", weights_only=True).items():
                dtype = str(tensor.dtype).removeprefix("torch.").upper()
                yield Slice(file, name, dtype, tuple(tensor.shape))


def check_scales(path: str, slices: list[Slice], config: PreTrainedConfig) -> None:
    eights = [entry.name for entry in slices if entry.dtype.startswith(("F8", "FLOAT8"))]
    scaled = getattr(config, "quantization_config", None) or any("scale" in s.name for s in slices)
    if eights and not scaled:
        raise InputError(
            f"{path} has 8-bit weights without their scales: {eights[0]}: get it again"
        )


def check_ties(path: str, slices: list[Slice], module: PreTrainedModel) -> None:
    prefix, by_name = f"{module.base_model_prefix}.", {entry.name: entry for entry in slices}
    for names in module.get_expanded_tied_weights_keys().items():
        entries = [by_name.get(name) or by_name.get(name.removeprefix(prefix)) for name in names]
        source, copy = entries
        if source and copy and source != copy and not torch.equal(source.read(), copy.read()):
            raise InputError(
                f"{path} has two different tensors, {source.name} and {copy.name}, which config.json ties "
                "(tie_word_embeddings): correct it, or get the folder again"
            )


def check_weights(path: str, module: PreTrainedModel) -> None:
    """Checks by the lengths of rows that weights are finite, and that few lie in rows of zeros (interrupted downloads)."""
    total = empty = 0
    for name, weights in module.named_parameters():
        if weights.is_meta or not weights.is_floating_point():
            continue
        wide = torch.float32 if weights.dtype == torch.float16 else None
        lengths = torch.linalg.vector_norm(weights, dim=-1, dtype=wide)
        if not bool(lengths.isfinite().all()):
            raise InputError(f"{path} has weights that are no finite numbers: {name}: get it again")
        if weights.ndim > 1:
            total += weights.numel()
            empty += int((lengths == 0).sum()) * weights.shape[-1]
    if empty > EMPTY * total:
        raise InputError(
            f"{path}: {empty / total:.0%} of its weights are rows of zeros, as an interrupted download leaves "
            "them: get it again"
        )


def check_vocabulary_lines(tokenizer: PreTrainedTokenizerBase, rows: int) -> None:
    folder, n_symbols = Path(tokenizer.name_or_path), len(tokenizer)
    lines, is_read = folder / "vocab.txt", not (folder / "tokenizer.json").is_file()
    if is_read and lines.is_file() and n_symbols < rows and rows % PADDED:
        raise InputError(
            f"{lines} has {n_symbols:,} symbols, the model {rows:,}: a line is missing, get it again"
        )


def check_symbols(file: Path) -> None:
    """Checks that every symbol of a tokenizer has one id, and that its merges make its symbols, the same every time."""
    content = file.read_bytes() if file.is_file() else b""
    tokenizer = parse_json(content, f"the tokenizer {file} is damaged: it") if content else None
    if not isinstance(tokenizer, dict) or not isinstance(model := tokenizer.get("model"), dict):
        return
    vocab = model.get("vocab") or {}
    ids = vocab if isinstance(vocab, dict) else {symbol: i for i, (symbol, _) in enumerate(vocab)}
    _check_ids(file, ids, tokenizer.get("added_tokens") or ())
    if model.get("dropout"):
        raise InputError(
            f"{file} leaves out merges at random (dropout {model['dropout']}), so a text has other symbols every "
            "time: set its dropout to null"
        )
    if model.get("ignore_merges") or not model.get("merges"):
        return
    prefix, suffix = (model.get(name) or "" for name in AFFIXES)
    pairs = [m.split(" ") if isinstance(m, str) else m for m in model["merges"]]
    merged = {head + tail.removeprefix(prefix) for head, tail in pairs}
    added = {symbol["content"] for symbol in tokenizer.get("added_tokens", ())}
    symbols = [s for s in model["vocab"] if s not in added and not s.startswith("<0x")]
    symbols = [s for s in symbols if len(s.removeprefix(prefix).removesuffix(suffix)) > 1]
    lacking = [symbol for symbol in symbols if symbol not in merged]
    if len(lacking) > UNREACHED * len(symbols):
        raise InputError(
            f"{file}: its {len(pairs):,} merges do not make {len(lacking):,} of its {len(symbols):,} symbols, "
            f"such as {lacking[-1]!r}: get it again"
        )


def _check_ids(file: Path, ids: dict[str, int], added: Iterable[AddedToken]) -> None:
    for token in added:
        symbol, i = token["content"], token["id"]
        if ids.get(symbol, i) != i:
            raise InputError(f"{file}: {symbol!r} has the ids {ids[symbol]} and {i}: get it again")
    if len({*ids.values()}) < len(ids):
        (i, _), *_ = Counter(ids.values()).most_common(1)
        twice = [symbol for symbol, symbol_id in ids.items() if symbol_id == i]
        raise InputError(f"{file}: {twice[0]!r} and {twice[1]!r} have the id {i}: get it again")


def list_names(names: list[str]) -> str:
    ending = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return ", ".join(names[:MAX_LISTED]) + ending


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

    with as_input_error(f"{file} is damaged or no GGUF file"):
        reader = Reader(file)
        _check_places(file, reader)
        _check_tokens(file, reader)
    sizes = Counter()
    for tensor in reader.tensors:
        sizes[tensor.tensor_type.name] += int(tensor.n_elements)
    types = ", ".join(name for name, _ in sizes.most_common())
    names = cache(gguf.get_tensor_name_map)
    with patch.multiple(gguf, GGUFReader=lambda *_, **__: reader, get_tensor_name_map=names):
        yield {"weights": f"dequantized from {types} ({file.name})", **_left_over(reader)}


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
