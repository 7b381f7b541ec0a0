"""The card of a converted checkpoint: where its weights come from and what was done to them."""

import json
import re
from typing import Any

from torch import Tensor

from tprprobe.models.checkpoint import describe_config
from tprprobe.models.protocol import Model
from tprprobe.models.published.containers import PublishedFile


def provenance_card(
    found: PublishedFile, model: Model, mapping: dict[str, str], passed_over: list[str]
) -> str:
    """README.md of the folder: source, sha256, settings, the mapping of names, what was left."""
    settings = describe_config(model)
    vocabulary = f"{len(model.vocabulary)} symbols" if model.vocabulary else "unknown"
    sections = {
        "Settings": _fenced(json.dumps(settings, indent=1)),
        "Mapping of tensors": _table(mapping),
        "Passed over": "\n".join(f"- `{key}`" for key in sorted(set(map(_any_layer, passed_over)))),
        "Also in the file": "\n".join(
            f"- {key}: {_plain(value)}" for key, value in sorted(found.facts.items())
        ),
    }
    head = {
        "library_name": "tprprobe",
        "architecture": settings["architecture"],
        "vocabulary": vocabulary,
        "source": found.name,
        "source_sha256": found.sha256,
    }
    front = "\n".join(f"{key}: {json.dumps(value)}" for key, value in head.items())
    text = f"Converted from `{found.name}` (sha256 `{found.sha256}`)."
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


def _fenced(text: str) -> str:
    return f"```json\n{text}\n```"


def _plain(value: Any) -> str:
    return json.dumps(value.item() if isinstance(value, Tensor) else value, default=str)
