"""The command that makes a store again, from what its manifest says, and what to do about a damaged one."""

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tprprobe.store.dtypes import NONE
from tprprobe.store.layout import twins_in
from tprprobe.store.manifests import Manifest
from tprprobe.store.verification import Verification

NAMED = 3  # damaged files in a line


def making_command(path: Path, manifest: Manifest) -> str:
    """The `tprprobe extract` or `import` of a store; what its manifest does not say is left open as …"""
    model, data = manifest.model, manifest.data
    options = {
        "--ckpt": model.name or "…",
        "--data": data.name or "…",
        "--split": data.split,
        "-n": data.n,
        "--seed": data.seed,
        "--target": manifest.target,
        "--attention-samples": manifest.attention_samples,
        "--pool": manifest.pool,
        "--words": manifest.words,
        "--labels": f"{','.join(manifest.labels)}=…" if manifest.labels else None,
    }
    specs = manifest.sites.values()
    dtypes, compressions = {each.dtype for each in specs}, {each.compression for each in specs}
    of_all = {"--store-dtype": dtypes - {"float32"}, "--compress": compressions - {NONE}}
    same = {option: min(values) if len(values) == 1 else None for option, values in of_all.items()}
    if made := manifest.imported:
        words = ["import", f"…/{made.source}", path, "--format", made.format or "…", *_words(same)]
    else:
        patterns = [("--sites", pattern) for pattern in _patterns(manifest.sites)]
        twins = [("--twin", kind) for kind in twins_in(path)] or [("--no-control",)]
        chosen = [word for pair in (*patterns, *twins) for word in pair]
        words = ["extract", *_words(options | same), *chosen, "--out", path]
    return shlex.join(map(str, ["tprprobe", *words]))


def _words(options: Mapping[str, Any]) -> list[Any]:
    return [word for name, value in options.items() if value is not None for word in (name, value)]


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
    """What a verified store's damage is, in a line, and the command that makes it again."""
    if found.damage:
        more = len(found.damage) - NAMED
        named = "; ".join(map(str, found.damage[:NAMED]))
        rest = f"; and {more} files more (--json lists all)" if more > 0 else ""
        return f"{found.store} is damaged: {named}{rest}: remove it and run `{command}`"
    if not found.unchecked:
        return f"{found.store}: all {found.files} files are as they were written"
    return (
        f"{found.store}: all {found.files} files have their lengths, but {found.unchecked} of them have "
        "no checksum in the manifest, so changed bytes in these would go unnoticed"
    )
