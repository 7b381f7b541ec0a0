"""The authors' checkpoints as models of ours, with a card that says what became of every tensor."""

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from tprpapers.jiang import t5_files
from tprpapers.published.containers import PublishedFile, read_bytes, read_checkpoint
from tprpapers.published.pickles import read_vocabulary
from tprpapers.published.weights import Rebuilt
from tprpapers.schlag import transformer_files
from tprprobe.console import note
from tprprobe.data.vocabularies import subwords
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.data.vocabularies.subwords import load_subwords, read_subwords
from tprprobe.errors import InputError
from tprprobe.models.checkpoint import check_vocabulary
from tprprobe.models.convert import Converted

TOKENIZERS = (".json", ".model")
FAMILIES: dict[str, Callable[[PublishedFile, Mapping[str, Any]], Rebuilt | None]] = {
    "a TP-Transformer": transformer_files.rebuild,
    "a T5": t5_files.rebuild,
}
Source = str | os.PathLike[str]


def convert(source: Source, options: Mapping[str, Any], vocab: Source | None) -> Converted:
    """The model of a published file, with its vocabulary, and its card."""
    file = read_checkpoint(source)
    rebuilt = _rebuild(file, options)
    if rebuilt.remark:
        note(f"{file.name}: {rebuilt.remark}")
    if (vocabulary_file := vocab or _beside(Path(source))) is not None:
        rebuilt.model.vocabulary = _vocabulary(vocabulary_file, rebuilt.model.config)
    return Converted(rebuilt.model, provenance_card(file, rebuilt))


def _rebuild(file: PublishedFile, options: Mapping[str, Any]) -> Rebuilt:
    """The model of the first family that knows the file's tensors."""
    for rebuild in FAMILIES.values():
        if (rebuilt := rebuild(file, options)) is not None:
            return rebuilt
    names = ", ".join(sorted(file.state)[:3]) or "none"
    raise InputError(f"neither {' nor '.join(FAMILIES)} has such tensors ({names}, …)")


def _vocabulary(vocab: Source, config: Any) -> Codec:
    path = Path(vocab)
    if path.is_dir():
        path = _beside(path) or path / subwords.FILE
    if path.is_file() and path.suffix in TOKENIZERS:
        vocabulary, name = load_subwords(path), path.name
    else:
        content, name, _ = read_bytes(path)
        read_symbols = read_subwords if name.endswith(TOKENIZERS) else read_vocabulary
        vocabulary = read_symbols(content, name)
    check_vocabulary(vocabulary, config, name)
    return vocabulary


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
            f"- {key}: {json.dumps(value.item() if isinstance(value, Tensor) else value, default=str)}"
            for key, value in sorted(file.facts.items())
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
    body = "".join(f"\n## {title}\n\n{section}\n" for title, section in sections.items() if section)
    return f"---\n{front}\n---\n\n# A published checkpoint, converted\n\n{text}\n{body}"


def _table(mapping: dict[str, str]) -> str:
    rows = {_any_layer(key): _any_layer(name) for name, key in mapping.items()}
    lines = [f"| `{key}` | `{name}` |" for key, name in rows.items()]
    return "\n".join(["| in the file | here |", "|---|---|", *lines])


def _any_layer(name: str) -> str:
    return re.sub(r"((?:encoder|decoder)\.(?:layers\.|block\.)?)\d+\.", r"\1{l}.", name)
