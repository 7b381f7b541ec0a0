"""The command that makes a store again, from what its manifest says, and what to do about a damaged one."""

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tprprobe.store.layout import MANIFEST, twins_in
from tprprobe.store.verification import Verification

NAMED = 3  # damaged files in a line


def making_command(path: Path, manifest: Mapping[str, Any]) -> str:
    """The `tprprobe extract` or `import` of a store; what its manifest does not say is left open as …"""
    imported, model, data = (
        value if isinstance(value := manifest.get(key), dict) else {}
        for key in ("imported", "model", "data")
    )
    storage = _storage(manifest["sites"].values())
    if imported:
        words = ["import", f"…/{imported.get('source')}", path, "--format", imported.get("format")]
        return shlex.join(map(str, ["tprprobe", *words, *storage]))
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
    words += [word for pattern in _patterns(manifest["sites"]) for word in ("--sites", pattern)]
    if labels := manifest.get("labels"):
        words += ["--labels", f"{','.join(map(str, labels))}=…"]
    words += storage
    words += [
        w for key in ("pool", "words") if key in manifest for w in (f"--{key}", manifest[key])
    ]
    words += [w for kind in twins_in(path) for w in ("--twin", kind)] or ["--no-control"]
    return shlex.join(map(str, ["tprprobe", "extract", *words, "--out", path]))


def _storage(sites: Iterable[Mapping[str, Any]]) -> list[str]:
    """The options of how numbers are kept, where all sites agree on something but the default."""
    options = {"--store-dtype": ("dtype", "float32"), "--compress": ("compression", "none")}
    words = []
    for option, (key, default) in options.items():
        kept = {site.get(key, default) for site in sites}
        words += [option, *kept] if len(kept) == 1 and kept != {default} else []
    return words


def _patterns(sites: Iterable[str]) -> list[str]:
    """Globs that match these sites only: those that differ in a layer of one digit share one."""
    layers: dict[tuple[str, str], list[str]] = defaultdict(list)
    for site in sites:
        stack, _, rest = site.partition(".")
        layer, _, name = rest.partition(".")
        layers[(stack, name) if len(layer) == 1 and layer.isdigit() else (site, "")].append(layer)
    one = {key: each[0] if len(each) == 1 else f"[{''.join(each)}]" for key, each in layers.items()}
    return [".".join([stack, one[stack, name], name]) if name else stack for stack, name in layers]


def describe_damage(found: Verification, command: str) -> str:
    """What a verified store's damage is, in a line, and the command that mends it."""
    if found.damage:
        more = len(found.damage) - NAMED
        named = "; ".join(map(str, found.damage[:NAMED]))
        rest = f"; and {more} files more (--json lists all)" if more > 0 else ""
        # only of what this program extracted can single files be made again
        whole = any(each.file.endswith(MANIFEST) for each in found.damage)
        whole = whole or not command.startswith("tprprobe extract")
        remedy = f"`{command} --repair` makes these files again"
        remedy = f"remove it and run `{command}`" if whole else remedy
        return f"{found.store} is damaged: {named}{rest}: {remedy}"
    if not found.unchecked:
        return f"{found.store}: all {found.files} files are as they were written"
    return (
        f"{found.store}: all {found.files} files have their lengths, but {found.unchecked} of them have "
        "no checksum in the manifest, so changed bytes in these would go unnoticed"
    )
