"""The run of an examination, and its page, which grows question by question."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from torch import nn

from tprprobe.console import quiet
from tprprobe.data import as_data, load_data
from tprprobe.data.dataset import ALL, Dataset
from tprprobe.errors import InputError
from tprprobe.examination.component_measures import list_component_measures
from tprprobe.examination.measures import MEASURES, score_answers
from tprprobe.examination.subject import Subject, check_labels, label_words
from tprprobe.extraction.blocks import find_vocabulary
from tprprobe.figures.model_page import QUESTIONS, SECTIONS, describe_run, explain_lack
from tprprobe.figures.report.page import Page
from tprprobe.figures.report.sections import Section
from tprprobe.files.runs import KeptRun
from tprprobe.files.writing import alone
from tprprobe.models.architectures import fingerprint
from tprprobe.models.checkpoint import default_data, trained_data
from tprprobe.models.loading import load_model
from tprprobe.models.protocol import Language, Readable
from tprprobe.site.adapters import Adaptable
from tprprobe.site.attachment import Attached
from tprprobe.site.hooks import find_sites
from tprprobe.site.patterns import choose_outputs

PAIRS = "pairs:active+passive+relative+cleft"  # what a model reads if nothing is asked for
MANIFEST, LAYERS, TEXTS = "examination.json", 6, 600
FEWEST = 300  # test texts that are read instead of all texts; of fewer, shares of variance are not estimated well


@dataclass(frozen=True, eq=False, repr=False)
class Examination:
    """What was measured of a model: a section a question, and tables by name (nested, heads, clusters, probes, behavior).

    ``page`` is the file with sentences and figures; every table is a CSV file beside it, every figure a file in its folder figures.
    """

    folder: Path
    sections: list[Section]
    tables: Mapping[str, pd.DataFrame]
    introduction: str

    def __repr__(self) -> str:
        texts = [section.as_text() for section in self.sections]
        return "\n\n".join([self.introduction, *texts, f"page: {self.page}"])

    @property
    def lines(self) -> list[str]:
        """The sentences of every section, or why there are none."""
        return [section.text or f"{section.heading} {section.lack}" for section in self.sections]

    @property
    def page(self) -> Path:
        """The page."""
        return self.folder / "report.html"


def examine(
    model: Readable | nn.Module | Adaptable,
    tokenizer: Any = None,
    data: Dataset | str | os.PathLike[str] | Iterable[str] | None = None,
    out: str | os.PathLike[str] = "runs/examined",
    layers: int = LAYERS,
    n: int = TEXTS,
    labels: str | None = None,
    resume: bool = False,
    seed: int = 0,
) -> Examination:
    """A model on one page: what its states are made of, layer by layer, beside a baseline model with permuted weights;
    what its heads look at; which tokens a late layer groups; what probes read from it; and what its next token is when two
    words' states change places.

    Args:
        model: Any model that reads text, or one in memory, as :func:`load_model` takes it, or an attached module.
        tokenizer: The tokenizer of a model in memory; default: the one that it has. Of an attached module what
            :func:`extract` takes as ``vocabulary``.
        data: What it reads, as :func:`load_data` takes it; default: the data that its card names, else minimal pairs of four
            frames, in which agent and patient change places.
        out: The folder of report.html, its figures, the tables as CSV and the store.
        layers: How many layers' outputs are examined, evenly spaced; default: 6. The input embeddings come first.
        n: How many texts are read, at equal distances in larger data; default: 600; of data that the model was trained on, test texts where there are 300.
        labels: What labels words for probes: ``spacy:PIPELINE``, ``pos,nel=spacy:PIPELINE``, ``TASK=FILE`` of annotated data, or ``none``, the data alone;
            default: the data, else an installed pipeline of spaCy.
        resume: Resume an interrupted run.
        seed: Seed of random choices.

    Returns:
        The examination. The state of a text is the mean over its tokens, of sites named ``layers.…`` or ``decoder.…``, which look
        back only, its last token's; fillers are the model's tokens.

    Raises:
        InputError: a model without vectors of what it reads, a pipeline that is not there, a folder of something else.

    Examples:
        >>> tp.examine(module, tokenizer, ["Dogs chase cats.", "Rain falls."], out="runs/mine")  # doctest: +SKIP
    """
    check_labels(labels)
    if not isinstance(model, Language | Attached):
        model = load_model(model, tokenizer)
    data = choose_data(model, n, seed) if data is None else as_data(data)
    if isinstance(model, Attached) and tokenizer is not None:
        model.vocabulary = find_vocabulary(model, tokenizer, data)
    all_texts = prefer_test(model, data)
    sites = choose_outputs([*find_sites(model)], layers)
    data, labellers = label_words(model, all_texts.spaced(n), labels)
    subject = Subject(model, data, Path(out), sites, labels, labellers, seed, len(all_texts))
    with alone(subject.folder):
        return _examine(subject, resume)


def _examine(subject: Subject, resume: bool) -> Examination:
    """The examination in a folder that no other process writes; its page grows question by question."""
    model, data, folder = subject.model, subject.data, subject.folder
    settings = {"model": model.name, "weights": fingerprint(model), "data": data.name}
    settings |= {"n": len(data), "sites": subject.sites, "seed": subject.seed}
    settings |= {"labels": subject.labels or "", "tprprobe": version("tprprobe")}
    run = KeptRun.open(folder, settings, resume, MANIFEST)
    tables, sections = dict[str, pd.DataFrame](), score_answers(subject)
    measures = MEASURES | list_component_measures(subject)
    measures = {name: measures[name] for name in QUESTIONS if name in measures}
    n_sections = len(sections) + len(measures)
    introduction = describe_run(subject)
    page = Page(folder, subject.name, introduction, n_sections, subject.command)
    page.add(*sections)
    for name, measure in measures.items():
        try:
            tables[name] = _measure(run, name, measure, subject)
            section = SECTIONS[name](tables[name], subject)
        except InputError as error:
            section = explain_lack(name, str(error), subject)
        page.add(section)
        sections.append(section)
    examination = Examination(folder, sections, tables, introduction)
    facts = {"lines": examination.lines, "sections": [section.as_dict() for section in sections]}
    run.finish({f"{name}.csv": table for name, table in tables.items()}, facts)
    return examination


def _measure(
    run: KeptRun, name: str, measure: Callable[[Subject], pd.DataFrame], subject: Subject
) -> pd.DataFrame:
    """The table of a question, which a run that goes on does not measure again."""
    if run.is_done and (run.folder / f"{name}.csv").is_file():
        table = pd.read_csv(run.folder / f"{name}.csv")
        return table.fillna(dict.fromkeys(table.select_dtypes("object"), ""))
    part = run.part(name, lambda: {name: measure(subject)})
    part.finish()
    return part.read(name)


def choose_data(model: Readable, n: int, seed: int) -> Dataset:
    """The data that the model's card names, else minimal pairs."""
    try:
        name, split = default_data(model) if getattr(model, "folder", None) else (PAIRS, None)
    except InputError:
        name, split = PAIRS, None
    options: dict[str, Any] = {} if split is None else {"split": split}
    return load_data(name, n=n, seed=seed, **options)


def prefer_test(model: Readable, data: Dataset) -> Dataset:
    """The test split of data that the model was partly trained on, if this split has FEWEST texts."""
    trained = trained_data(Path(getattr(model, "folder", None) or ""))
    if data.split != ALL or trained.get("data") != data.name:
        return data
    with quiet():
        test = load_data(data.name, split=trained["split"], seed=data.seed)
    return test if len(test) >= FEWEST else data
