"""Data sets by name: examples with a source and a target text, the same in every run."""

from tprprobe.data.annotated.sentencesets import is_annotated_file, open_annotated
from tprprobe.data.captions.imagesets import is_captions, open_captions
from tprprobe.data.dataset import Dataset, Request
from tprprobe.data.documents.corpora import is_corpus, open_corpus
from tprprobe.data.documents.hubsets import is_hub_set, open_hub_set
from tprprobe.data.mathematics.modulefiles import is_folder, open_folder
from tprprobe.data.mathematics.modulesets import generate_questions, is_generated
from tprprobe.data.worlds.english.reportsets import draw_reports, is_english
from tprprobe.data.worlds.english.reporttexts import is_texts, read_texts
from tprprobe.data.worlds.scan import is_scan, list_commands
from tprprobe.data.worlds.scenes import draw_scenes, is_scenes
from tprprobe.data.worlds.sequences import draw_sequences, is_sequences
from tprprobe.errors import InputError

SOURCES = {
    "mathematics:MODULE (or a+b, or all)": (is_generated, generate_questions),
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
    raise InputError(f"no data {spec!r}; accepted: {', '.join(SOURCES)}")
