"""A dump of another program's vectors written as a store, and sites of a store written for other programs."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path

from tprprobe import plugins
from tprprobe.errors import InputError, unknown
from tprprobe.files.checksums import sum_file
from tprprobe.files.writing import alone, refuse_existing, whole
from tprprobe.store.dtypes import check_storage, first_infinite
from tprprobe.store.dumps.dump import Block
from tprprobe.store.dumps.dump import Format as Format
from tprprobe.store.layout import SAMPLE, TOKENS, SiteSpec
from tprprobe.store.reader import Store, open_store, takes_paths
from tprprobe.store.tokens import samples_of
from tprprobe.store.writer import StoreWriter

PICKLES = (".pt", ".pth", ".bin", ".pkl", ".pickle")


def import_store(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    format: str | None = None,
    tokens: str | os.PathLike[str] | None = None,
    resume: bool = False,
    store_dtype: str | None = None,
    compress: str | None = None,
    layers: Sequence[int] | None = None,
) -> Store:
    """The store of vectors that another program wrote.

    Args:
        source: The file or folder that another program wrote.
        out: The folder of the new store.
        format: vllm, datasets, neurox, arrays or tpdn; default: what the source looks like.
        tokens: The token table (CSV, Parquet) of arrays, where it does not lie beside them, or the tokenizer.json of
            a dump of ids.
        resume: Resume an interrupted run.
        store_dtype: The type of the store's numbers: float32, float16 or bfloat16; default: that on disk.
        compress: The store's compression: none, lz4 (bfloat16's default) or zstd.
        layers: The model's numbers of the layers of a dump that does not have them.

    Returns:
        The complete store.

    Raises:
        InputError: No such source or format, a damaged file, numbers that are not finite, an existing store, or a
            full disk.

    Examples:
        >>> _ = tp.export_store(store, "vectors.npz", "encoder.*.role")
        >>> tp.import_store("vectors.npz", "runs/imported").sites == store.select("encoder.*.role")
        True
    """
    check_storage(store_dtype, compress)
    path, out = Path(source), Path(out)
    table = None if tokens is None else Path(tokens)
    if not path.exists():
        raise InputError(f"no file or folder {path} to import")
    name = format or _recognize(path)
    if name not in (formats := plugins.find("formats")):
        raise unknown("format", name, formats)
    form: Format = formats[name].load()
    for option, value in {"tokens": tokens, "layers": layers}.items():
        if value is not None and option not in form.options:
            raise InputError(f"{path} of the format {name} takes no --{option}")
    dump = form.open(path, table, layers)
    settings = {
        "model": {"name": path.name},
        "data": {"name": path.name, "split": None, "seed": None, "n": None},
        "imported": {
            "source": path.name,
            "format": name,
            "crc32c": sum_file(path) if path.is_file() else None,
        },
        "tprprobe": version("tprprobe"),
    }
    with alone(out):
        specs = {name: spec.kept_as(store_dtype, compress) for name, spec in dump.specs.items()}
        writer = StoreWriter.create(out, specs, settings, resume)
        try:
            for block in dump.blocks(writer.samples_done):
                _check_finite(path, dump.specs, block)
                writer.append(*block)
        except MemoryError as error:
            raise InputError(f"{path}: one sample is larger than this memory") from error
        writer.finish()
    return open_store(out)


def _recognize(path: Path) -> str:
    formats: dict[str, Format] = plugins.load_all("formats")
    for name, dump in formats.items():
        if dump.reads(path):
            return name
    if path.suffix in PICKLES:
        raise InputError(
            f"{path} is a pickle, which can run code when it is read: save its tensors in Python by "
            "safetensors.torch.save_file({'layers.0.hidden': tensor}, 'acts.safetensors'), with a table of tokens "
            "acts.csv beside it, and import that"
        )
    listed = "; ".join(f"{name}: {dump.title}" for name, dump in formats.items())
    raise InputError(f"{path} is in no format that is known here ({listed}): give --format")


def _check_finite(path: Path, specs: Mapping[str, SiteSpec], block: Block) -> None:
    bad = {site: first_infinite(rows) for site, rows in block.rows.items()}
    for site, maps in block.maps.items():
        bad[site] = next((i for i, m in enumerate(maps) if first_infinite(m) is not None), None)
    for site, row in bad.items():
        if row is not None:
            samples = samples_of(block.table, SAMPLE if site in block.maps else specs[site].rows)
            place = f"{path}: {site}, sample {samples[row]}"
            raise InputError(f"{place} has a number that is not finite: leave the sample out")


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
