"""Data sets by name: examples with a source and a target text, the same in every run."""

from collections.abc import Callable

from tprprobe import plugins
from tprprobe.data.annotated.sentencesets import is_annotated_file, open_annotated
from tprprobe.data.captions.imagesets import is_captions, open_captions
from tprprobe.data.dataset import Dataset, Request
from tprprobe.data.documents.corpora import is_corpus, open_corpus
from tprprobe.data.documents.hubsets import is_hub_set, open_hub_set
from tprprobe.data.mathematics.modulefiles import is_folder, open_folder
from tprprobe.data.mathematics.modulesets import generate_questions, is_generated
from tprprobe.errors import InputError


def is_plugged(spec: str) -> bool:
    """True if a data set is of a plug-in: `PREFIX` or `PREFIX:REST`."""
    return spec.partition(":")[0] in plugins.find("data")


def open_plugged(request: Request) -> Dataset:
    """The data set that the plug-in of the prefix loads, called with the options that were given."""
    return plugins.find("data")[request.spec.partition(":")[0]].load()(
        request.spec, **request.options
    )


SOURCES: dict[str, tuple[Callable[[str], bool], Callable[[Request], Dataset]]] = {
    "mathematics:MODULE (or a+b, or all)": (is_generated, generate_questions),
    "captions:FILE (or captions:FILE,features=FILE)": (is_captions, open_captions),
    "PREFIX or PREFIX:… of a plug-in": (is_plugged, open_plugged),
    "FILE.conllu, FILE.conllup, FILE.iob2, edge-probing FILE.jsonl": (
        is_annotated_file,
        open_annotated,
    ),
    "xsum, cnn_dailymail, arxiv or wikihow (or NAME:PATH)": (is_hub_set, open_hub_set),
    "FILE.jsonl, FILE.parquet, FILE.source, or a FOLDER of such files": (is_corpus, open_corpus),
    "FOLDER or FOLDER:MODULE of published Mathematics Dataset files": (is_folder, open_folder),
}


def load_data(
    spec: str, split: str | None = None, n: int | None = None, seed: int = 0, workers: int = 0
) -> Dataset:
    """The data set of a name, a file or a folder, all of it or the first n examples.

    Without a split, the Mathematics Dataset's is `interpolate`, the generated English's `test`; n
    defaults to 1,000 where examples are generated. With workers, that many processes generate
    them; the examples are the same.
    Raises: InputError for a name, file, split or number that is not there.
    """
    for matches, open_data in SOURCES.values():
        if matches(spec):
            return open_data(Request(spec, split, n, seed, workers))
    listed = ", ".join(SOURCES).replace(
        "a plug-in", f"a plug-in ({', '.join(plugins.find('data'))})"
    )
    raise InputError(f"no data {spec!r}; accepted: {listed}")


def pin_version(spec: str) -> str:
    """The name of a data set with the version that it means today, where its plug-in has versions."""
    if not is_plugged(spec) or is_generated(spec):
        return spec
    load = plugins.find("data")[spec.partition(":")[0]].load()
    return getattr(load, "pin_version", str)(spec)
