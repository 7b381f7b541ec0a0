"""Stores and finished runs (with a card) and checkpoints on the Hugging Face hub."""

import json
import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tprprobe.errors import InputError
from tprprobe.files import hub
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.kinds import finished_in, list_kinds
from tprprobe.store.kinds import STORE
from tprprobe.store.layout import MANIFEST, TOKENS
from tprprobe.store.manifests import sum_manifest
from tprprobe.store.reader import Store, open_store

TAGS = ["tprprobe", "tensor-product-representation", "interpretability"]
READING = "```python\nimport tprprobe as tp\n\n{}\n```\n"


def push_to_hub(folder: str | os.PathLike[str], repo_id: str, private: bool = False) -> str:
    """The address of the repository on the hub to which a folder was uploaded.

    Args:
        folder: A store, a finished run or a checkpoint.
        repo_id: The repository, ``owner/name``.
        private: Whether only its owner sees it.

    Returns:
        The address.

    Raises:
        InputError: The folder holds none of these, or the hub refuses.

    Examples:
        >>> tp.push_to_hub("runs/nothing", "me/roles")
        Traceback (most recent call last):
        tprprobe.errors.InputError: ...
    """
    folder = Path(folder)
    if (folder / hub.CONFIG).is_file():
        read_json(folder / hub.CONFIG)
        return hub.upload(folder, repo_id, "model", private)
    files = {hub.CARD: describe(folder, repo_id), **_hide_places(folder)}
    return hub.upload(folder, repo_id, "dataset", private, files)


def _hide_places(folder: Path) -> dict[str, bytes]:
    """The manifests of the stores in a folder, without the folder of their model on this disk."""
    manifests = {}
    for file in sorted(folder.rglob(MANIFEST)):
        if STORE.is_in(file.parent) and (content := read_json(file)).get("model_folder"):
            content["model_folder"] = None
            if MANIFEST in content.get("checksums", {}):
                content["checksums"][MANIFEST] = sum_manifest(content)
            text = json.dumps(content, indent=1, ensure_ascii=False)
            manifests[file.relative_to(folder).as_posix()] = text.encode()
    return manifests


def describe(folder: Path, repo_id: str) -> bytes:
    """The card of a dataset repository; it names the tables that the hub's viewer shows."""
    if STORE.is_in(folder):
        tables, text = {"tokens": TOKENS}, _text_of_store(open_store(folder), repo_id)
    elif runs := finished_in(folder):
        tables, text = _list_tables(folder, runs), _text_of_runs(runs, repo_id)
    else:
        advice = "give a store, a checkpoint, or the --out of a finished command"
        raise InputError(f"{folder} holds nothing to share: {advice}")
    from huggingface_hub import DatasetCardData

    configs = [{"config_name": name, "data_files": file} for name, file in tables.items()]
    front: Any = {"tags": TAGS, "configs": configs} if configs else {"tags": TAGS}
    return f"---\n{DatasetCardData(**front).to_yaml()}\n---\n\n{text}".encode()


def _list_tables(folder: Path, runs: Mapping[str, str]) -> dict[str, str]:
    places = [folder / place for place, kind in runs.items() if kind not in ("store", "checkpoint")]
    files = (file for place in places for file in sorted(place.iterdir()))
    tables = [file.relative_to(folder) for file in files if file.suffix in (".parquet", ".csv")]
    return {file.with_suffix("").as_posix().replace("/", "-"): file.as_posix() for file in tables}


def _text_of_store(store: Store, repo_id: str) -> str:
    facts, name = store.facts, repo_id.split("/")[-1]
    split = "" if facts.data.split is None else f", split `{facts.data.split}`"
    twins = ", ".join(f"`{kind}/`" for kind in store.twins)
    rows = store.summary[["site", "axes", "shape", "dtype", "compression"]].itertuples(index=False)
    sites = [f"| {' | '.join(map(str, row))} |" for row in rows]
    lines = [
        f"# {name}\n",
        f"Vectors of the model `{facts.model.name}` on `{facts.data.name}`{split}: {store.samples} samples, "
        f"{len(store.tokens)} tokens, {len(store.sites)} sites, {store.summary['bytes'].sum() / 1e6:.1f} MB. "
        f"A store of tprprobe {facts.tprprobe or version('tprprobe')}.\n",
        READING.format(f'store = tp.open_store("{hub.HUB}{repo_id}")\nstore.read(store.sites[0])'),
        "Without tprprobe, `xarray.open_zarr` reads `arrays.zarr`, pandas reads `tokens.parquet`, which the viewer "
        "shows.\n",
        "| site | axes | shape | type | compression |\n|---|---|---|---|---|",
        *sites,
        f"\nThe vectors of twins, which are controls, are in {twins}.\n" if twins else "\n\n",
    ]
    return "\n".join(lines)


def _text_of_runs(runs: Mapping[str, str], repo_id: str) -> str:
    kinds = list_kinds()
    lines = [
        f"# {repo_id.split('/')[-1]}\n",
        f"Results of tprprobe {version('tprprobe')}.\n",
        READING.format(f'results = tp.load_run("{hub.HUB}{repo_id}")    # by folder'),
        "The viewer shows their tables.\n",
        "| folder | holds | made by |\n|---|---|---|",
        *(
            f"| `{folder}` | {kind} | `tprprobe {kinds[kind].command} …` |"
            for folder, kind in runs.items()
        ),
    ]
    return "\n".join(lines) + "\n"
