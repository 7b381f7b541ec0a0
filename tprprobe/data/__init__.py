"""Data sets by name: examples with a source and a target text, the same in every run."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from tprprobe import plugins
from tprprobe.data.annotated.sentencesets import is_annotated_file, open_annotated
from tprprobe.data.dataset import Dataset, Request, no_data
from tprprobe.data.documents.corpora import choose, is_corpus, open_corpus, open_list
from tprprobe.data.frames.pairsets import draw_pairs, is_pairs


def is_plugged(spec: str) -> bool:
    """True if a data set is of a plug-in: `PREFIX` or `PREFIX:REST`."""
    return spec.partition(":")[0] in plugins.find("data")


def _plugged(spec: str) -> Callable[..., Dataset]:
    return plugins.find("data")[spec.partition(":")[0]].load()


def _reading(spec: str) -> list[plugins.Plugin]:
    """The plug-ins that read a folder, or a part of it (`FOLDER:PART`): it has a sub-folder of their titles."""
    folder, colon, _ = spec.rpartition(":")
    path = Path(folder if colon and not Path(spec).is_dir() else spec)
    marks = [(plugin, plugin.title.split()) for plugin in plugins.find("data").values()]
    return [plugin for plugin, names in marks if any((path / name).is_dir() for name in names)]


# what tells the name of a data set, and what opens it: the first that accepts a name
SOURCES: tuple[tuple[Callable[[str], bool], Callable[[Request], Dataset]], ...] = (
    (is_pairs, draw_pairs),
    (is_plugged, lambda request: _plugged(request.spec)(request.spec, **request.options)),
    (is_annotated_file, open_annotated),
    (is_corpus, open_corpus),
    (
        lambda spec: bool(_reading(spec)),
        lambda request: _reading(request.spec)[0].load()(request.spec, **request.options),
    ),
)


def load_data(
    spec: str | os.PathLike[str] | Iterable[str],
    split: str | None = None,
    n: int | None = None,
    seed: int = 0,
    workers: int = 0,
) -> Dataset:
    """The data set of a name, a file, a folder or a list of texts.

    Args:
        spec: ``mathematics:MODULE``, ``english``, ``pairs:FRAME``, a file or a folder of a
            [known format](corpora.md), a data set of the hub, or the texts themselves.
        split: The part of the data; default: ``interpolate`` of the Mathematics Dataset, ``test`` of the
            generated English, else all examples.
        n: The number of examples, from the first on; default: 1,000 where examples are generated, else all.
        seed: The seed of generated examples, and of a division into splits.
        workers: The number of processes that generate examples; the examples are the same.

    Returns:
        The data set, whose examples have ``source`` and ``target``.

    Raises:
        InputError: No such name, file, split or number.

    Examples:
        >>> tp.load_data("mathematics:arithmetic__mixed", n=2)[1].question
        'Evaluate (-1872)/88 - (-160)/8.'
        >>> len(tp.load_data(["A text.", "Another one."]))
        2
    """
    if not isinstance(spec, str | os.PathLike):
        request = Request("the list", split, n, seed, workers)
        return choose(open_list(list(spec), request), request, divided=True)
    spec = os.fspath(spec)
    for matches, open_data in SOURCES:
        if matches(spec):
            return open_data(Request(spec, split, n, seed, workers))
    raise no_data(spec, ["pairs", *plugins.find("data")])


def as_data(data: Dataset | str | os.PathLike[str] | Iterable[str]) -> Dataset:
    return data if isinstance(data, Dataset) else load_data(data)


def pin_version(spec: str) -> str:
    """The name of a data set with the version that it means today, where its plug-in has versions."""
    if not is_plugged(spec):
        return spec
    return getattr(_plugged(spec), "pin_version", str)(spec)
