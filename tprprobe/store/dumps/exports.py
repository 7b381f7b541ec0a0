"""Sites of a store written for other programs, in every format that has a writer."""

import os
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from tprprobe import plugins
from tprprobe.errors import InputError
from tprprobe.files.locks import alone
from tprprobe.files.writing import refuse_existing, whole
from tprprobe.store.dumps.dump import Format
from tprprobe.store.layout import TOKENS
from tprprobe.store.reader import Store, takes_paths


@takes_paths
def export_store(
    store: Store, out: str | os.PathLike[str], sites: str | Iterable[str] | None = None
) -> Path:
    """The file or folder to which vectors of a store were written, for other programs.

    Args:
        store: The store.
        out: A new file, ``.npz`` or ``.safetensors``, which gets the token table beside it (``.parquet``); or without
            an ending a folder for ``datasets.load_from_disk``, a row a sample. bfloat16 becomes float32, except in
            safetensors.
        sites: Sites to write, as patterns; default: all.

    Returns:
        The path of the file or folder.

    Raises:
        InputError: No such site, another ending, something that lies there already, or another process that writes it.

    Examples:
        >>> tp.export_store(store, "roles.npz", "encoder.*.role").name
        'roles.npz'
    """
    out = Path(out)
    names = store.select("*" if sites is None else sites)
    formats: list[Format] = [*plugins.load_all("formats").values()]
    writers = {ending: w for form in formats for ending, w in form.writers.items()}
    if out.suffix not in writers:
        raise InputError(
            f"{out} ends in {out.suffix}: give a .npz or .safetensors file or a folder"
        )
    if not names:
        raise InputError("no site to export: give one or several, or leave them out for all")
    specs = {name: store.specs[name] for name in names}
    with alone(out), ExitStack() as stack:
        refuse_existing(out)
        file = stack.enter_context(whole(out))  # the last one that appears
        if out.suffix:
            table = out.with_name(f"{out.stem}.parquet")
            saved = store.path / TOKENS  # without labels that were added
            content = store.tokens.to_parquet() if store.labels else saved.read_bytes()
            if not table.is_file() or table.read_bytes() != content:
                refuse_existing(table)  # unless a killed export left it
            stack.enter_context(whole(table)).write_bytes(content)
        writers[out.suffix](store, specs, file)
    return out
