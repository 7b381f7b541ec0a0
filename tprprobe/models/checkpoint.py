"""Checkpoint folders: saving a model with its vocabulary, card and recipe, and loading it by name."""

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import tomli_w
import torch
from huggingface_hub import ModelCard
from torch import nn

from tprprobe.files import hub
from tprprobe.data.vocabularies import (subwords, characters, words)
from tprprobe.errors import (InputError, unknown)
from tprprobe.models import (build, expand)
from tprprobe.data.vocabularies.subwords import (Subwords, load_subwords)
from tprprobe.data.vocabularies.characters import (Codec, Vocabulary)
from tprprobe.data.vocabularies.words import Words

UNTRAINED = "untrained:"
READERS: dict[str, Callable[[Path], Any]] = {  # by the file that a vocabulary is kept in
    characters.FILE: Vocabulary.load,
    subwords.FILE: load_subwords,
    words.FILE: Words.load,
}


def save_pretrained(
    model: nn.Module,
    folder: str | os.PathLike[str],
    card: str = "",
    recipe: dict[str, Any] | None = None,
    dtype: torch.dtype | None = None,
    extra: dict[str, str] | None = None,
) -> Path:
    """The folder that :func:`load_model` reads; ``dtype`` is the weights' precision on disk.

    Raises:
        InputError: the folder exists already.
    """
    state = {
        name: tensor.detach().cpu().to(dtype or tensor.dtype).contiguous()
        for name, tensor in model.state_dict().items()
    }
    files: dict[str, bytes | str] = {
        hub.CONFIG: json.dumps(describe_config(model), indent=1) + "\n",
        hub.WEIGHTS: safetensors.torch.save(state, metadata={"format": "pt"}),
        hub.CARD: card,
    }
    if recipe is not None:
        files[hub.RECIPE] = tomli_w.dumps(recipe)
    if (known := getattr(model, "vocabulary", None)) is not None:
        files |= known.files()
    return hub.write_folder(folder, files | (extra or {}))


def describe_config(model: nn.Module) -> dict[str, Any]:
    """``{"architecture": name, **options}``: what :func:`tprprobe.models.build` makes again."""
    config: Any = model.config
    return {"architecture": model.architecture, **dataclasses.asdict(config)}


def load_model(
    name: str | os.PathLike[str], device: str = "cpu", local_files_only: bool = False, seed: int = 0
) -> nn.Module:
    """The model in evaluation mode: a shipped name, a folder, a hub id, or ``untrained:NAME``.

    ``untrained:NAME`` is that checkpoint's randomly initialised twin (by ``seed``). The model has
    ``.name``, ``.folder``, ``.config`` and ``.vocabulary`` (None where it is not known).

    Raises:
        InputError: nothing of that name, or a folder whose files do not make a model.
    """
    place = find_device(device)
    untrained = str(name).startswith(UNTRAINED)
    text = str(name).removeprefix(UNTRAINED)
    folder = hub.locate("models", text, local_files_only)
    model: Any = build(read_config(folder), seed=seed)
    if not untrained:
        _load_weights(model, folder / hub.WEIGHTS)
    model.vocabulary = _vocabulary(folder, model.config)
    model.folder = folder
    model.name = (UNTRAINED if untrained else "") + (text if hub.is_id(text) else folder.name)
    return model.to(place).eval()


def find_device(name: str) -> torch.device:
    """The device of this name, if this machine has it.

    Raises:
        InputError: it has not.
    """
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"no device {name!r} here ({reason}): give cpu, or cuda on a GPU machine"
        ) from error


def default_data(model: Any, split: str | None = None) -> tuple[str, str | None]:
    """The data and split that the checkpoint's card names under ``tprprobe``.

    Raises:
        InputError: the card names none.
    """
    folder = getattr(model, "folder", None)
    named = _named_data(folder / hub.CARD) if folder else {}
    if "data" not in named:
        raise InputError(f"the card of {model.name} names no data: give --data")
    return named["data"], split or named.get("split")


def _named_data(card: Path) -> dict[str, Any]:
    """What a card says under ``tprprobe``; nothing where it has no front matter that can be read."""
    if not card.is_file():
        return {}
    try:
        front = ModelCard.load(card, ignore_metadata_errors=True).data.to_dict()
    except Exception:  # the hub's client lets the errors of its YAML parser through
        return {}
    named = front.get("tprprobe")
    return named if isinstance(named, dict) else {}


def untrained_twin(model: nn.Module, seed: int = 0) -> nn.Module:
    """A freshly initialised model of the same configuration and vocabulary: the control."""
    known: Any = model
    twin: Any = build(describe_config(model), seed=seed)
    for name, buffer in model.named_buffers():  # found in the data, not learned
        twin.get_buffer(name).copy_(buffer)
    twin.vocabulary, twin.name = known.vocabulary, f"{UNTRAINED}{getattr(model, 'name', 'model')}"
    return twin.to(next(model.parameters()).device).eval()


def read_config(folder: Path) -> dict[str, Any]:
    """The settings in a folder's config.json, checked by name."""
    config = hub.read_json(folder / hub.CONFIG)
    try:
        return expand(config)
    except InputError as error:
        raise InputError(f"{folder / hub.CONFIG}: {error}") from error


def _vocabulary(folder: Path, config: Any) -> Codec | None:
    for file, load in READERS.items():
        if (folder / file).is_file():
            known = load(folder)
            check_vocabulary(known, config, str(folder / file))
            return known
    return None


def check_vocabulary(known: Codec, config: Any, where: str) -> None:
    """Passes where a model's ids are those of the vocabulary.

    Raises:
        InputError: naming what differs.
    """
    size = config.vocab_size if isinstance(known, Subwords) else len(known)  # T5 rounds it up
    if size < len(known):
        raise InputError(f"{where} has {len(known)} sub-words, the model rows for {size}")
    wanted = {"vocab_size": size, "pad": known.pad, "sos": known.sos, "eos": known.eos}
    for name, value in wanted.items():
        if getattr(config, name) != value:
            raise InputError(f"{where} has {name} {value}, the model {getattr(config, name)}")


def _load_weights(model: nn.Module, path: Path) -> None:
    try:
        state = safetensors.torch.load_file(path)
    except FileNotFoundError as error:
        raise InputError(f"{path.parent} has no {path.name}") from error
    except safetensors.SafetensorError as error:
        raise InputError(f"{path} is damaged or no safetensors file: {error}") from error
    own = model.state_dict()
    for key in state:
        if key not in own:
            raise unknown(f"tensor in {path.name}", key, own)
    for key, tensor in own.items():
        if key not in state:
            raise InputError(f"{path} lacks the tensor {key!r} of this configuration")
        if state[key].shape != tensor.shape:
            raise InputError(
                f"{path}: {key} has shape {tuple(state[key].shape)}, "
                f"config.json asks for {tuple(tensor.shape)}"
            )
    model.load_state_dict(state)


def push_to_hub(folder: str | os.PathLike[str], repo_id: str, private: bool = False) -> str:
    """The address of the hub repository that now holds the checkpoint folder."""
    from huggingface_hub import HfApi

    read_config(Path(folder))
    api = HfApi()
    url = api.create_repo(repo_id, private=private, exist_ok=True)
    api.upload_folder(repo_id=repo_id, folder_path=str(folder))
    return str(url)
