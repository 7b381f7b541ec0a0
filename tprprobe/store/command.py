"""The command that makes a store again, from what its manifest says."""

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tprprobe.store.layout import twins_in


def making_command(path: Path, manifest: Mapping[str, Any]) -> str:
    """The `tprprobe extract` or `import` of a store; what its manifest does not say is left open as …"""
    imported = _mapping(manifest.get("imported"))
    if imported:
        source, form = f"…/{imported.get('source')}", str(imported.get("format"))
        words = ["tprprobe", "import", source, str(path), "--format", form]
        return shlex.join([*words, *_storage(manifest["sites"])])
    model, data = (_mapping(manifest.get(key)) for key in ("model", "data"))
    options = {
        "--ckpt": model.get("name", "…"),
        "--data": data.get("name", "…"),
        "--split": data.get("split"),
        "-n": data.get("n"),
        "--seed": data.get("seed"),
        "--target": manifest.get("target"),
        "--attention-samples": manifest.get("attention_samples"),
    }
    words = [word for key, value in options.items() if value is not None for word in (key, value)]
    for pattern in _patterns(manifest["sites"]):
        words += ["--sites", pattern]
    if labels := manifest.get("labels"):
        words += ["--labels", f"{','.join(labels)}=…"]
    words += _storage(manifest["sites"])
    for key in ("pool", "words"):
        words += [f"--{key}", manifest[key]] if key in manifest else []
    twins = [word for kind in twins_in(path) for word in ("--twin", kind)]
    words += twins or ["--no-control"]
    return shlex.join(["tprprobe", "extract", *map(str, words), "--out", str(path)])


def _storage(sites: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The options of how numbers are kept, where all sites agree on something but the default."""
    options = {"--store-dtype": ("dtype", "float32"), "--compress": ("compression", "none")}
    words = []
    for option, (key, default) in options.items():
        kept = {site.get(key, default) for site in sites.values()}
        words += [option, *kept] if len(kept) == 1 and kept != {default} else []
    return words


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _patterns(sites: Iterable[str]) -> list[str]:
    """Globs that match these sites only: those that differ in a layer of one digit share one."""
    layers: dict[tuple[str, str], list[str]] = defaultdict(list)
    for site in sites:
        stack, _, rest = site.partition(".")
        layer, _, name = rest.partition(".")
        key = (stack, name) if len(layer) == 1 and layer.isdigit() else (site, "")
        layers[key].append(layer)
    return [
        ".".join([stack, _glob(each), name]) if name else stack
        for (stack, name), each in layers.items()
    ]


def _glob(layers: list[str]) -> str:
    return layers[0] if len(layers) == 1 else f"[{''.join(layers)}]"
