"""HDF5 files, whose library believes what a damaged one says: of texts it may ask for 4 GB, or never end."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from tprprobe.errors import InputError, check_extra

SECONDS, PER_SECOND = 8, 2**24  # of a processor, to read texts, and bytes in each further one
WAIT = 20  # times as long by the clock, where processors are shared
MEMORY = 2**30  # bytes beyond those of the file
ENDLESS = "no end in sight, or a crash"
TASTE = """
import sys
try:
    import resource
    for limit, most in (resource.RLIMIT_AS, sys.argv[3]), (resource.RLIMIT_CPU, sys.argv[4]):
        resource.setrlimit(limit, (int(most),) * 2)
except ImportError:
    pass
import h5py
h5py.File(sys.argv[1], "r")[sys.argv[2]][:]
"""


def open_hdf5(path: Path, texts: str) -> Any:
    """The opened file; if its data set ``texts`` has texts of any length, a process that may take only so
    much memory and time has read them before.
    """
    check_extra("h5py", "hdf5", path)
    import h5py

    file: Any = h5py.File(path, "r")
    kind = h5py.check_string_dtype(get_array(file, texts).dtype) if texts in file else None
    if kind is not None and kind.length is None:
        _taste(path, texts)
    return file


def get_array(file: Any, name: str) -> Any:
    """The data set of a name, whose numbers this file holds: no link, group or view of another file."""
    import h5py

    if name not in file:
        raise InputError(f"{file.filename} has no data set {name}")
    if isinstance(file.get(name, getlink=True), h5py.HardLink):
        array = file[name]
        is_array = isinstance(array, h5py.Dataset) and array.shape is not None
        if is_array and not array.is_virtual and not array.external:
            return array
    raise InputError(
        f"{file.filename}: {name} is a group, a link, empty or a view of another file: store it as an array"
    )


def _taste(path: Path, texts: str) -> None:
    size = path.stat().st_size
    seconds = SECONDS + size // PER_SECOND
    words = [sys.executable, "-I", "-c", TASTE, str(path), texts]
    words += map(str, (MEMORY + 4 * size, seconds))
    fault = f"{path}: the texts of {texts} cannot be read"
    try:
        process = subprocess.run(words, capture_output=True, timeout=WAIT * seconds, check=False)
    except subprocess.TimeoutExpired:
        raise InputError(f"{fault} ({ENDLESS}): the file is damaged") from None
    if process.returncode:
        lines = process.stderr.decode(errors="replace").splitlines()
        reason = lines[-1] if lines else ENDLESS
        raise InputError(f"{fault} ({reason}): the file is damaged")
