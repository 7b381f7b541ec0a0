"""Published checkpoints into our folder layout, checked key by key.

Sizes and settings come from the file wherever its shapes tell them; ``config`` gives the rest.
"""

import dataclasses
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from tprprobe.console import note
from tprprobe.data.vocabularies import subwords
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.data.vocabularies.subwords import load_subwords, read_subwords
from tprprobe.errors import InputError, unknown
from tprprobe.files.file_errors import as_input_error
from tprprobe.files.hub import is_foreign
from tprprobe.files.jsonfiles import parse_json
from tprprobe.files.writing import refuse_existing
from tprprobe.models.architectures import build, find_architecture, typed_option
from tprprobe.models.checkpoint import check_vocabulary, save_pretrained
from tprprobe.models.protocol import Model
from tprprobe.models.published import jiang, schlag
from tprprobe.models.published.containers import PublishedFile, read_bytes, read_checkpoint
from tprprobe.models.published.keys import Options, rename
from tprprobe.models.published.pickles import read_vocabulary
from tprprobe.models.sketches import sketched

TOKENIZERS = (".json", ".model")
UNTOLD = ("n_heads", "dropout", "norm_epsilon", "pad", "sos", "eos")  # no shape tells these
Config = Mapping[str, Any] | str | os.PathLike[str] | None


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
        found = read_checkpoint(source)
        model, mapping, over = _rebuild(found, given)
    except InputError as error:
        name = os.path.basename(source)
        other = (
            f"; a model of transformers needs none of this: hf:{source}"
            if is_foreign(Path(source))
            else ""
        )
        raise InputError(f"{'' if name in str(error) else f'{name}: '}{error}{other}") from error
    if schlag.is_ours(found.state) and "n_heads" not in given:
        note(
            f"{found.name}: {model.config.n_heads} heads are a guess, because no shape determines them: "
            "--config '{\"n_heads\": N}'"
        )
    if (file := vocab or _beside(Path(source))) is not None:
        model.vocabulary = _vocabulary(file, model.config)
    return save_pretrained(model, out, card=provenance_card(found, model, mapping, over))


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


def _rebuild(found: PublishedFile, given: dict[str, Any]) -> tuple[Any, dict[str, str], list[str]]:
    """The model, ``{our tensor: published name}``, and the published names that were passed over."""
    family = next((family for family in (schlag, jiang) if family.is_ours(found.state)), None)
    if family is None:
        some = ", ".join(sorted(found.state)[:3]) or "none"
        raise InputError(f"neither a TP-Transformer nor a T5 has such tensors ({some}, …)")
    state, over = family.prepare(found.state)
    admitted = family.options(state)
    spelled = {}
    if family is jiang:
        folder = jiang.read_options(found.config, strict=False)
        given, spelled = folder | jiang.read_options(given), jiang.SPELLED
    settings = {"architecture": family.architecture(admitted["roles"][0])}
    settings |= settle(
        find_architecture(settings["architecture"])[0].config_class, admitted, given, spelled
    )
    with sketched():  # which takes no memory for what the file may not have
        sketch = build(settings, seed=0)
    shapes = {name: tensor.shape for name, tensor in sketch.state_dict().items()}
    options = dataclasses.asdict(sketch.config)
    mapping = {name: family.published_key(name, options) for name in shapes}
    over += [key for key in family.unused(state) if key not in set(mapping.values())]
    renamed = rename(state, mapping, shapes, over)
    model = build(settings, seed=0)
    model.load_state_dict(renamed)
    return model, mapping, over


def settle(
    config_class: type, admitted: Options, given: Mapping[str, Any], spelled: Mapping[str, str]
) -> dict[str, Any]:
    """The options of a model: from the file's shapes, else as given, else the default.

    Given options that make no difference to the file's model are passed over. ``spelled`` says what
    the user calls an option.
    """
    fields = {field.name: field for field in dataclasses.fields(config_class)}
    settings = {}
    for name, value in given.items():
        if name not in fields:
            raise unknown("option", name, fields)
        key = spelled.get(name, name)
        value = typed_option(fields[name], value, key)
        value = float(value) if fields[name].type is float else value
        if value not in admitted.get(name, (value,)):
            says = " or ".join(map(str, admitted[name]))
            raise InputError(f"the configuration says {key} = {value}, the file's shapes {says}")
        if name in admitted or name in UNTOLD:
            settings[name] = value
    for name, values in admitted.items():
        usual = fields[name].default
        default = usual if usual in values else values[0]
        if name not in settings and default != usual and len(values) > 1:
            key, accepted = spelled.get(name, name), ", ".join(map(str, values))
            raise InputError(f"shapes do not determine {key}: config needs one of {accepted}")
        settings.setdefault(name, default)
    return settings


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


def provenance_card(
    found: PublishedFile, model: Model, mapping: dict[str, str], passed_over: list[str]
) -> str:
    """README.md of the folder: source, sha256, settings, the mapping of names, what was left."""
    settings = model.describe()
    vocabulary = f"{len(model.vocabulary)} symbols" if model.vocabulary else "unknown"
    sections = {
        "Settings": f"```json\n{json.dumps(settings, indent=1)}\n```",
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


def _plain(value: Any) -> str:
    return json.dumps(value.item() if isinstance(value, Tensor) else value, default=str)
