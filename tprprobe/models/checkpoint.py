"""Checkpoint folders: saving a model with its vocabulary, card and recipe, and loading it by name."""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import tomli_w
import torch

from tprprobe.data.vocabularies import subwords
from tprprobe.data.vocabularies.characters import SymbolTable, Vocabulary
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.data.vocabularies.subwords import load_subwords
from tprprobe.errors import InputError, unknown
from tprprobe.files import hub
from tprprobe.files.checksums import extend
from tprprobe.files.file_errors import as_input_error
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.settings import read_toml
from tprprobe.files.writing import write_folder
from tprprobe.models.answers import CAPTIONS, find_scores
from tprprobe.models.architectures import build, bytes_of, expand, sketched
from tprprobe.models.protocol import CaptionModel, Model, Readable

TYPED, SEQ2SEQ = {"model_type": "tprprobe"}, "TPRForSeq2SeqLM"  # of tprpapers' auto classes
UNTRAINED, TRANSFORMERS = "untrained:", "hf:"  # how names begin
SUM = "crc32c"  # of the weights, in the metadata of their file
FOREIGN_KEYS = ("model_type", "architectures", "transformers_version", "dtype")
READERS: dict[str, Callable[[Path], Codec]] = {  # by the file that a vocabulary is kept in
    Vocabulary.file: Vocabulary.load,
    subwords.FILE: load_subwords,
    "words.json": lambda folder: find_scores(CAPTIONS).codec.load(folder),
    SymbolTable.file: SymbolTable.load,
}


def save_pretrained(
    model: Model,
    folder: str | os.PathLike[str],
    card: str = "",
    recipe: dict[str, object] | None = None,
    dtype: torch.dtype | None = None,
    extra: dict[str, str] | None = None,
) -> Path:
    """The folder to which a model is written, for :func:`load_model` and transformers' Auto classes to read.

    Args:
        model: A model of ours.
        folder: The new folder.
        card: The text of the model card, in Markdown.
        recipe: The settings that the model was trained with, kept as ``recipe.toml``; default: none.
        dtype: The precision of the weights on disk; default: that of the model.
        extra: Further text files by their names; default: none.

    Returns:
        The path of the folder.

    Raises:
        InputError: The folder exists already, or cannot be written.

    Examples:
        >>> tp.save_pretrained(model, "copy").name
        'copy'
    """
    files = checkpoint_files(model, dtype) | {hub.CARD: card}
    if recipe is not None:
        files[hub.RECIPE] = tomli_w.dumps(recipe)
    return write_folder(folder, files | (extra or {}))


def checkpoint_files(model: Model, dtype: torch.dtype | None = None) -> dict[str, bytes | str]:
    state = {name: tensor.detach().cpu() for name, tensor in model.state_dict().items()}
    state = {name: t.to(dtype or t.dtype).contiguous() for name, t in state.items()}
    auto = {} if isinstance(model, CaptionModel) else {"architectures": [SEQ2SEQ]}
    # which transformers' Auto classes go by
    config = json.dumps(TYPED | auto | model.describe(), indent=1) + "\n"
    files: dict[str, bytes | str] = {hub.CONFIG: config, hub.WEIGHTS: _weights(state)}
    return files | (model.vocabulary.files() if model.vocabulary is not None else {})


def read_checkpoint(
    name: str | os.PathLike[str], local_files_only: bool = False, seed: int | None = None
) -> Model:
    """The model of a shipped name, folder or hub id, in evaluation mode; with a seed, randomly initialized."""
    text = str(name)
    folder = hub.locate("models", text, local_files_only)
    if hub.is_foreign(folder):
        raise InputError(f"{text} is a model of transformers: say {TRANSFORMERS}{text}")
    config, weights = read_config(folder), folder / hub.WEIGHTS
    if seed is None or weights.is_file():
        _check_weights(config, weights)
    model = build(config, seed=seed or 0)
    if seed is None:
        _load_weights(model, weights)
    model.vocabulary = _read_vocabulary(folder, model)
    model.folder = folder
    run = folder.resolve().parent if folder.name == hub.OF_RUN else folder
    model.name = ("" if seed is None else UNTRAINED) + (text if hub.is_id(text) else run.name)
    return model.eval()


def default_data(model: Readable, split: str | None = None) -> tuple[str, str | None]:
    folder = model.folder
    settings = (_named_data(folder / hub.CARD) or trained_data(folder)) if folder else {}
    if "data" not in settings:
        raise InputError(f"the card of {model.name} names no data: give --data")
    return settings["data"], split or settings.get("split")


def trained_data(folder: Path) -> dict[str, Any]:
    """The data on whose split train a model in a folder was trained, the split to test it on, and the seed of this division; else nothing."""
    if not (folder / hub.RECIPE).is_file():
        return {}
    mix = read_toml(folder / hub.RECIPE)["stages"][0]["mix"][0]
    if mix.get("split") != "train":
        return {}
    return {"data": mix["data"], "split": "test", "seed": mix.get("seed", 0)}


def _named_data(card: Path) -> dict[str, str]:
    if not card.is_file() or not card.stat().st_size:
        return {}
    import yaml
    from huggingface_hub import ModelCard  # which takes a while to import

    try:
        front = ModelCard.load(card, ignore_metadata_errors=True).data.to_dict()
    except (yaml.YAMLError, ValueError, TypeError):  # it is no YAML, no text, no table
        return {}
    settings = front.get("tprprobe")
    return settings if isinstance(settings, dict) else {}


def untrained_twin(model: Model, seed: int = 0) -> Model:
    twin = build(model.describe(), seed=seed)
    for name, buffer in model.named_buffers():  # found in the data, not learned
        twin.get_buffer(name).copy_(buffer)
    twin.vocabulary, twin.name = model.vocabulary, f"{UNTRAINED}{model.name}"
    return twin.to(model.device).eval()


def read_config(folder: Path) -> dict[str, object]:
    if folder.is_dir() and not (folder / hub.CONFIG).is_file():
        raise InputError(f"{folder} has no {hub.CONFIG}; {hub.OWN_MODULE}")
    config = read_json(folder / hub.CONFIG)
    if config.get("model_type") == TYPED["model_type"]:
        config = {key: value for key, value in config.items() if key not in FOREIGN_KEYS}
    try:
        return expand(config)
    except InputError as error:
        raise InputError(f"{folder / hub.CONFIG}: {error}") from error


def _read_vocabulary(folder: Path, model: Model) -> Codec | None:
    for file, load in READERS.items():
        if (folder / file).is_file():
            vocabulary = load(folder)
            check_vocabulary(vocabulary, model.config, str(folder / file))
            return vocabulary
    return None


def check_vocabulary(vocabulary: Codec, config: Any, where: str) -> None:
    size = config.vocab_size if vocabulary.has_spare_rows else len(vocabulary)
    if size < len(vocabulary):
        raise InputError(f"{where} has {len(vocabulary)} sub-words, the model rows for {size}")
    special_ids = {name: getattr(vocabulary, name) for name in ("pad", "sos", "eos")}
    expected = {"vocab_size": size, **special_ids}
    for name, value in expected.items():
        if getattr(config, name) != value:
            raise InputError(f"{where} has {name} {value}, the model {getattr(config, name)}")


def _weights(state: dict[str, torch.Tensor]) -> bytes:
    """The file of weights; safetensors writes its metadata in any order, here it is always the same."""
    metadata = {"format": "pt", SUM: _sum(state)}
    reordered = dict(reversed(metadata.items()))
    order, expected = (json.dumps(m, separators=(",", ":")).encode() for m in (reordered, metadata))
    return safetensors.torch.save(state, metadata=metadata).replace(order, expected, 1)


def _sum(state: Mapping[str, torch.Tensor]) -> str:
    """The checksum (CRC-32C) of tensors, their names, types and shapes; files that a library wrote anew have none."""
    checksum = 0
    for name, tensor in sorted(state.items()):
        header = f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode()
        checksum = extend(extend(checksum, header), bytes_of(tensor))
    return f"{checksum:08x}"


def _check_weights(config: dict[str, object], path: Path) -> None:
    if not path.is_file():
        raise InputError(f"{path.parent} has no {path.name}")
    with _undamaged(path), safetensors.safe_open(path, "pt") as opened:
        file_shapes = {key: tuple(opened.get_slice(key).get_shape()) for key in opened.keys()}  # noqa: SIM118
    with sketched():
        state = build(config).state_dict()
        model_shapes = {key: tuple(tensor.shape) for key, tensor in state.items()}
    for key in file_shapes:
        if key not in model_shapes:
            raise unknown(f"tensor in {path.name}", key, model_shapes)
    for key, shape in model_shapes.items():
        if key not in file_shapes:
            raise InputError(f"{path} lacks the tensor {key!r} of this configuration")
        if file_shapes[key] != shape:
            raise InputError(
                f"{path}: {key} has shape {file_shapes[key]}, config.json asks for {shape}"
            )


def _undamaged(path: Path) -> AbstractContextManager[None]:
    return as_input_error(f"{path} is damaged or no safetensors file")


def _load_weights(model: Model, path: Path) -> None:
    with _undamaged(path):
        state = safetensors.torch.load_file(path)
        with safetensors.safe_open(path, "pt") as opened:
            checksum = (opened.metadata() or {}).get(SUM)
    if checksum not in (None, _sum(state)):
        raise InputError(
            f"{path} is damaged, its weights are not those that were written: get it again"
        )
    model.load_state_dict(state)
