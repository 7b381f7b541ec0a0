"""Data sets by name: examples with a source and a target text, the same in every run."""

import os
from collections.abc import Iterable

from tprprobe.data.annotated.sentencesets import is_annotated_file, open_annotated
from tprprobe.data.captions.imagesets import is_captions, open_captions
from tprprobe.data.dataset import Dataset, Request, no_data
from tprprobe.data.documents.corpora import choose, is_corpus, open_corpus
from tprprobe.data.documents.hubsets import is_hub_set, open_hub_set
from tprprobe.data.documents.textfiles import open_list
from tprprobe.data.frames.pairsets import draw_pairs, is_pairs
from tprprobe.data.mathematics.modulefiles import is_folder, open_folder
from tprprobe.data.mathematics.modulesets import generate_questions, is_generated
from tprprobe.data.worlds.english.reportsets import draw_reports, is_english
from tprprobe.data.worlds.english.reporttexts import is_texts, read_texts
from tprprobe.data.worlds.scan import is_scan, list_commands
from tprprobe.data.worlds.scenes import draw_scenes, is_scenes
from tprprobe.data.worlds.sequences import draw_sequences, is_sequences

SOURCES = {
    "mathematics:MODULE (or a+b, or all)": (is_generated, generate_questions),
    "pairs:FRAME (or a+b, all, FILE.toml, with ,asked and ,one_token)": (is_pairs, draw_pairs),
    "english (or english:KNOB=VALUE,…)": (is_english, draw_reports),
    "texts:english, openings:english (or with :KNOB=VALUE,…)": (is_texts, read_texts),
    "FILE.conllu, FILE.conllup, FILE.iob2, edge-probing FILE.jsonl": (
        is_annotated_file,
        open_annotated,
    ),
    "scenes (or scenes:KNOB=VALUE,…)": (is_scenes, draw_scenes),
    "sequences:TASK (or sequences:TASK,KNOB=VALUE,…)": (is_sequences, draw_sequences),
    "scan": (is_scan, list_commands),
    "captions:FILE (or captions:FILE,features=FILE)": (is_captions, open_captions),
    "datasets:OWNER/NAME[,CONFIGURATION][:COLUMN]; xsum, cnn_dailymail, arxiv, wikihow (or NAME:PATH)": (
        is_hub_set,
        open_hub_set,
    ),
    "FILE.txt, .jsonl, .csv, .tsv, .parquet (or FILE:COLUMN), FILE.source, a FOLDER of such files": (
        is_corpus,
        open_corpus,
    ),
    "FOLDER or FOLDER:MODULE of published Mathematics Dataset files": (is_folder, open_folder),
}


def load_data(
    spec: str | os.PathLike[str] | Iterable[str],
    split: str | None = None,
    n: int | None = None,
    seed: int = 0,
    workers: int = 0,
) -> Dataset:
    """The data set of a name, a file, a folder or a list of texts, all of it or the first n examples.

    Without a split, the Mathematics Dataset's is `interpolate`, the generated English's `test`; n
    defaults to 1,000 where examples are generated. With workers, that many processes generate
    them; the examples are the same.
    Raises: InputError for a name, file, split or number that is not there.
    """
    if not isinstance(spec, str | os.PathLike):
        request = Request("the list", split, n, seed, workers)
        return choose(open_list(list(spec), request), request, divided=True)
    spec = os.fspath(spec)
    for matches, open_data in SOURCES.values():
        if matches(spec):
            return open_data(Request(spec, split, n, seed, workers))
    words = (word.partition(":")[0].strip(",;") for name in SOURCES for word in name.split())
    raise no_data(spec, [word for word in words if word.isidentifier() and word.islower()])
