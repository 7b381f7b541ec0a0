"""The results in a run's folder: loaded, or checked against the checksums that were written with them."""

from pathlib import Path
from typing import Any

from tprprobe.errors import InputError
from tprprobe.files import hub
from tprprobe.files.kinds import SETTINGS, Source, finished_in, list_kinds
from tprprobe.files.notebook import as_html


def verify_run(folder: Source) -> dict[str, Any]:
    """What of a folder could be read: its finished results (``kinds``, by place), and the number of
    ``files`` whose checksums were kept, all as they were written.
    """
    from tprprobe.files.runs import check_tables  # a store is verified without pandas

    path, found = Path(folder), finished_in(folder)
    if not found:
        raise InputError(f"{folder} holds no finished result: give a store, a run or a checkpoint")
    files = 0
    for place, kind in found.items():
        if list_kinds()[kind].loader:
            list_kinds()[kind].load(path / place)
        kept = [path / place / name for name in (*list_kinds()[kind].files, SETTINGS)]
        files += sum(
            check_tables(file) for file in kept if file.suffix == ".json" and file.is_file()
        )
    return {"run": str(folder), "kinds": found, "files": files}


class RunContents(dict[str, Any]):
    """The results in a folder by their folders' names; a notebook shows them as a table.

    Examples:
        >>> tp.load_run("runs")["arith"].samples
        24
    """

    def _repr_html_(self) -> str:
        import pandas as pd

        rows = [
            {
                "folder": place,
                "holds": type(found).__name__,
                "rows": len(found) if hasattr(found, "__len__") else None,
            }
            for place, found in self.items()
        ]
        return as_html(f"{len(self)} results", pd.DataFrame(rows))


def load_run(folder: Source) -> RunContents:
    """All finished results in a folder and in the folders in it.

    Args:
        folder: The ``--out`` of commands, or ``hub:owner/name``, a dataset of the hub.

    Returns:
        The results by their folders' names; "." is the folder itself.

    Raises:
        InputError: Nothing is finished there, or it is damaged.

    Examples:
        >>> sorted(tp.load_run("runs"))[0]
        'arith'
    """
    path = hub.locate_dataset(folder)
    found = {place: kind for place, kind in finished_in(path).items() if list_kinds()[kind].is_read}
    if not found:
        raise InputError(f"{folder} holds no finished result: give the folder of a command (--out)")
    return RunContents(
        {place: list_kinds()[kind].load(path / place) for place, kind in found.items()}
    )
