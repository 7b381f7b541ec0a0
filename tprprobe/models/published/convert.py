"""Published checkpoints into our folder layout, by the plug-in that knows their tensors."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from tprprobe import plugins
from tprprobe.console import note
from tprprobe.data.vocabularies import subwords
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.data.vocabularies.subwords import load_subwords, read_subwords
from tprprobe.errors import InputError
from tprprobe.files.file_errors import as_input_error
from tprprobe.files.hub import is_foreign
from tprprobe.files.jsonfiles import parse_json
from tprprobe.files.writing import refuse_existing
from tprprobe.models.checkpoint import check_vocabulary, save_pretrained
from tprprobe.models.protocol import Model
from tprprobe.models.published.containers import PublishedFile, read_bytes, read_checkpoint
from tprprobe.models.published.pickles import read_vocabulary

TOKENIZERS = (".json", ".model")
Config = Mapping[str, Any] | str | os.PathLike[str] | None


class Rebuilt(NamedTuple):
    """What a plug-in of ``tprprobe.converters`` makes of a published file.

    Attributes:
        model: A model of ours with the weights.
        names: The name in the file of each of its tensors.
        passed_over: The names of tensors that the model does not need.
        remark: What the user should know, such as a setting that was guessed; default: nothing.
    """

    model: Model
    names: dict[str, str]
    passed_over: Sequence[str]
    remark: str = ""


def convert(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    config: Config = None,
    vocab: str | os.PathLike[str] | None = None,
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
    given = read_config(config)
    try:
        file = read_checkpoint(source)
        rebuilt = _rebuild(file, given)
    except InputError as error:
        name = os.path.basename(source)
        other = (
            f"; a model of transformers needs none of this: hf:{source}"
            if is_foreign(Path(source))
            else ""
        )
        raise InputError(f"{'' if name in str(error) else f'{name}: '}{error}{other}") from error
    if rebuilt.remark:
        note(f"{file.name}: {rebuilt.remark}")
    model = rebuilt.model
    if (known := vocab or _beside(Path(source))) is not None:
        model.vocabulary = _vocabulary(known, model.config)
    return save_pretrained(model, out, card=provenance_card(file, rebuilt))


def read_config(config: Config) -> dict[str, Any]:
    if config is None or isinstance(config, Mapping):
        return dict(config or {})
    text = os.fspath(config)
    given = text.lstrip().startswith("{")
    with as_input_error(f"config {text!r} is no JSON object or file of one"):
        read = parse_json(text if given else Path(text).read_bytes(), f"config {text!r}")
    if not isinstance(read, dict):
        raise InputError(f"config {text!r} is no JSON object")
    return read


def _rebuild(file: PublishedFile, given: dict[str, Any]) -> Rebuilt:
    """The model that a plug-in makes of the file, the first that knows its tensors."""
    for converter in plugins.load_all("converters").values():
        if (rebuilt := converter(file, given)) is not None:
            return rebuilt
    some = ", ".join(sorted(file.state)[:3]) or "none"
    known = " nor ".join(plugin.title for plugin in plugins.find("converters").values())
    raise InputError(f"neither {known} has such tensors ({some}, …)")


def _vocabulary(vocab: str | os.PathLike[str], config: Any) -> Codec:
    path = Path(vocab)
    if path.is_dir():
        path = _beside(path) or path / subwords.FILE
    if path.is_file() and path.suffix in TOKENIZERS:
        known, name = load_subwords(path), path.name
    else:
        content, name, _ = read_bytes(path)
        read = read_subwords if name.endswith(TOKENIZERS) else read_vocabulary
        known = read(content, name)
    check_vocabulary(known, config, name)
    return known


def _beside(folder: Path) -> Path | None:
    files = (folder / name for name in (subwords.FILE, "spiece.model"))
    return next((file for file in files if file.is_file()), None)


def provenance_card(file: PublishedFile, rebuilt: Rebuilt) -> str:
    """README.md of the folder: source, sha256, settings, the mapping of names, what was left."""
    model = rebuilt.model
    settings = model.describe()
    vocabulary = f"{len(model.vocabulary)} symbols" if model.vocabulary else "unknown"
    sections = {
        "Settings": f"```json\n{json.dumps(settings, indent=1)}\n```",
        "Mapping of tensors": _table(rebuilt.names),
        "Passed over": "\n".join(
            f"- `{key}`" for key in sorted(set(map(_any_layer, rebuilt.passed_over)))
        ),
        "Also in the file": "\n".join(
            f"- {key}: {_plain(value)}" for key, value in sorted(file.facts.items())
        ),
    }
    head = {
        "library_name": "tprprobe",
        "architecture": settings["architecture"],
        "vocabulary": vocabulary,
        "source": file.name,
        "source_sha256": file.sha256,
    }
    front = "\n".join(f"{key}: {json.dumps(value)}" for key, value in head.items())
    text = f"Converted from `{file.name}` (sha256 `{file.sha256}`)."
    if not model.vocabulary:
        text += " Its vocabulary is unknown: the model takes ids; text is refused."
    body = "".join(f"\n## {title}\n\n{part}\n" for title, part in sections.items() if part)
    return f"---\n{front}\n---\n\n# A published checkpoint, converted\n\n{text}\n{body}"


def _table(mapping: dict[str, str]) -> str:
    rows = {_any_layer(key): _any_layer(own) for own, key in mapping.items()}
    lines = [f"| `{key}` | `{own}` |" for key, own in rows.items()]
    return "\n".join(["| in the file | here |", "|---|---|", *lines])


def _any_layer(name: str) -> str:
    return re.sub(r"((?:encoder|decoder)\.(?:layers\.|block\.)?)\d+\.", r"\1{l}.", name)


def _plain(value: Any) -> str:
    return json.dumps(value.item() if isinstance(value, Tensor) else value, default=str)
