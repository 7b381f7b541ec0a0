"""Published checkpoints into our folder layout, by the plug-ins that know their files."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tprprobe import plugins
from tprprobe.errors import InputError
from tprprobe.files.file_errors import as_input_error
from tprprobe.files.hub import is_foreign
from tprprobe.files.jsonfiles import parse_json
from tprprobe.files.writing import refuse_existing
from tprprobe.models.checkpoint import save_pretrained
from tprprobe.models.protocol import Model

Source = str | os.PathLike[str]
Config = Mapping[str, object] | Source | None


class Converted(NamedTuple):
    """What a plug-in of ``tprprobe.converters`` makes of a published checkpoint.

    Attributes:
        model: A model of ours with the weights, and with the vocabulary if that is known.
        card: The text of the folder's model card, in Markdown.
    """

    model: Model
    card: str


def convert(
    source: Source, out: Source, config: Config = None, vocab: Source | None = None
) -> Path:
    """The checkpoint folder made of a checkpoint that the authors published.

    Args:
        source: The file, ``ARCHIVE.tar.gz:MEMBER``, or a folder with one.
        out: The new folder.
        config: What the file does not hold, as a dictionary, JSON, or a file of it: ``n_heads`` of the mathematics
            models, or the whole configuration JSON of jiang's code; default: nothing.
        vocab: A torchtext pickle, a ``tokenizer.json`` or a SentencePiece model (also a member of an archive), or a
            folder with one of the latter; default: what lies beside the source. Without a vocabulary the
            model takes ids but no text.

    Returns:
        The path of the folder.

    Raises:
        InputError: The file, the configuration or the vocabulary does not fit; nothing is written.

    Examples:
        >>> tp.convert("tp-transformer_1.7M.pt", "models/tpt-1.7M", config={"n_heads": 8})
        Traceback (most recent call last):
        tprprobe.errors.InputError: no file or folder 'tp-transformer_1.7M.pt'
    """
    refuse_existing(out)
    settings = read_config(config)
    try:
        model, card = _ask(source, settings, vocab)
    except InputError as error:
        name, message = os.path.basename(source), str(error)
        if is_foreign(Path(source)):
            message = f"{message}; a model of transformers needs none of this: hf:{source}"
        raise InputError(message if name in str(error) else f"{name}: {message}") from error
    return save_pretrained(model, out, card=card)


def _ask(source: Source, settings: dict[str, object], vocab: Source | None) -> Converted:
    """What the first plug-in that knows the file makes of it; else the reason of the first."""
    refusal = None
    for converter in plugins.load_all("converters").values():
        try:
            return converter(source, settings, vocab)
        except InputError as error:
            refusal = refusal or error
    raise refusal or InputError("no package that is installed converts checkpoints")


def read_config(config: Config) -> dict[str, object]:
    if config is None or isinstance(config, Mapping):
        return dict(config or {})
    text = os.fspath(config)
    is_text = text.lstrip().startswith("{")
    with as_input_error(f"config {text!r} is no JSON object or file of one"):
        settings = parse_json(text if is_text else Path(text).read_bytes(), f"config {text!r}")
    if not isinstance(settings, dict):
        raise InputError(f"config {text!r} is no JSON object")
    return settings
