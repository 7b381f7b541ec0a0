"""The plan of a run of probes: what is fitted on which vectors, beside which controls."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tprprobe.analyses.probing import features
from tprprobe.analyses.probing.examples import Splits, split_examples
from tprprobe.analyses.probing.features import FeatureSource
from tprprobe.analyses.probing.labelled_words import Corpus, are_predicted, read_corpus
from tprprobe.analyses.probing.settings import ProbeSettings
from tprprobe.analyses.probing.task import ALL, Task, find_tasks, list_tasks
from tprprobe.analyses.probing.trials import Trial
from tprprobe.console import note, stderr
from tprprobe.errors import InputError
from tprprobe.evaluation.controls import REAL
from tprprobe.evaluation.runner import with_seed
from tprprobe.files.jsonfiles import read_json
from tprprobe.gold.labels import LAST_WORD, WORD
from tprprobe.gold.labels import list_tasks as list_counted
from tprprobe.gold.structure import COLUMNS, join
from tprprobe.store import Store
from tprprobe.store.layout import SAMPLE
from tprprobe.store.own_labels import are_whole_texts

Stack = list[Trial]  # of one vector and task, fitted side by side


@dataclass(frozen=True, eq=False)
class ProbingRun:
    """A run: the probes of every vector (``rounds``, by task), what they learn from, and ``identity``: what two
    runs must share for one to resume the other."""

    settings: ProbeSettings
    splits: list[Splits]
    rounds: list[list[Stack]]
    identity: dict[str, object]


def plan_run(
    store: Store,
    names: str | os.PathLike[str] | Iterable[str],
    test: Store | None,
    tokens: pd.DataFrame | None,
    settings: ProbeSettings,
) -> ProbingRun:
    """The run of some tasks on a store, on both sides where both have labels and sites."""
    table = store.tokens if tokens is None else tokens
    is_sequence = settings.needs == "sequences"
    if is_sequence:
        table = _with_symbols(table, names)
    counted_tasks = list_counted(name.partition(".")[2] for name in store.facts.counts)
    tasks = find_tasks(names, table, [*counted_tasks, *store.labels])
    sites = features.find_sites(store, settings.sites)
    if test is not None:
        features.check_test(store, test, sites, settings)
    splits: list[Splits] = []
    rounds: list[list[Stack]] = []
    refusals: dict[Task, str] = {}
    for side, predicts in (("source", False), ("target", True), ("target", False)):
        labelled = [task for task in tasks if _count_labels(table, task, side)]
        labelled = [task for task in labelled if are_predicted(store, side, task) == predicts]
        is_of_texts = all(_count_labels(table, task, side) == 1 for task in labelled)
        sides = (side, SAMPLE) if side == "source" and (is_sequence or is_of_texts) else (side,)
        side_sites = [site for site in sites if store.side(site) in sides]
        if not labelled or not side_sites:
            continue
        corpus = read_corpus(store, table, side, labelled, settings.seed, predicts)
        test_corpus = None if test is None else _read_test(test, side, labelled, predicts)
        all_targets: list[Splits] = []
        for task in labelled:
            try:
                all_targets.append(split_examples(task, corpus, test_corpus, settings))
            except InputError as error:
                refusals[task] = str(error)
        n, seed = settings.max_train_targets, settings.seed
        sampled = [targets.learning_from(n, seed) for targets in all_targets]
        rounds += lay_out(store, side_sites, all_targets, sampled, settings, test)
        splits += sampled
    probed = list(dict.fromkeys(targets.task for targets in splits))
    reason = f"no side of {store.path} has both these sites and labels of"
    unprobed = [task for task in tasks if task not in [*probed, *refusals]]
    refusals |= {task: f"{reason} {task.name}" for task in unprobed}
    is_one = isinstance(names, str | os.PathLike) and names != ALL
    if refusals and (is_one or not splits):
        raise InputError(next(iter(refusals.values())))
    if refusals or names == ALL:
        unlabelled = {*list_tasks()} - {task.name for task in tasks} if names == ALL else ()
        reasons = [f"{name}: no labels in this store" for name in sorted(unlabelled)]
        own_labels = [name for name in store.labels if names == ALL and name not in list_tasks()]
        reasons += refusals.values()
        reasons += [f"{name}: your labels, give this name" for name in own_labels]
        skipped = f"; skipped: {'; '.join(reasons)}" if reasons else ""
        names_of_tasks = ", ".join(task.name for task in tasks if task in probed)
        stderr.print(f"probing {names_of_tasks}{skipped}", soft_wrap=True)
    tables = [table, *([] if test is None else [test.tokens])]
    identity = {
        "store": _identify(store),
        "test": None if test is None else _identify(test),
        "tasks": [task.model_dump(mode="json") for task in probed],
        "labels": " ".join(_digest(table, [task.cells for task in tasks]) for table in tables),
        "settings": settings.as_dict(),
    }
    return ProbingRun(settings, splits, rounds, identity)


def lay_out(
    store: Store,
    sites: Sequence[str],
    all_targets: Sequence[Splits],
    sampled: Sequence[Splits],
    settings: ProbeSettings,
    test: Store | None,
) -> Iterator[list[Stack]]:
    """The trials on one side, a round a vector: of ``sampled`` targets; those of a twin learn from the samples that it has read."""
    real = list(features.site_vectors(store, sites, settings.heads))
    is_joined = settings.with_codelength and not settings.heads
    joined = list(features.joined_vectors(store, sites)) if is_joined else []
    for source in [*real, *features.control_vectors(store, real, test, settings), *joined]:
        stacks: list[Stack] = []
        for targets, sample in zip(all_targets, sampled, strict=True):
            splits = sample
            if source.control in store.twins:
                splits = _of_twin(store, test, source.control, targets, settings)
            if splits is None:
                continue
            if source not in joined:
                stacks.append(list(_list_trials(source, splits, settings)))
            if source.control == REAL and settings.with_codelength:
                stacks += _list_portions(source, splits, settings)
        if stacks:
            yield stacks


def _of_twin(
    store: Store, test: Store | None, kind: str, splits: Splits, settings: ProbeSettings
) -> Splits | None:
    n = store.twins[kind].samples
    n_tested = n if test is None else test.twins[kind].samples
    examples = splits.of_first_samples(n, n_tested)
    if examples is None and settings.controls is not None:
        raise InputError(
            f"the {kind} twin has read the first {n} samples, which lack a split "
            f"of {splits.task.name}: leave out that control"
        )
    return examples and examples.learning_from(settings.max_train_targets, settings.seed)


def _list_trials(source: FeatureSource, splits: Splits, settings: ProbeSettings) -> Iterator[Trial]:
    controls = [source.control]
    if source.control == REAL:
        controls += [name for name in ("control", "shuffled") if settings.has(name)]
        if settings.has("prefix") and (splits.name[1] == "target" or settings.controls):
            controls.append("prefix")
    for seed in range(settings.seed, settings.seed + settings.seeds):
        estimator = with_seed(settings.estimator, seed)
        yield from (Trial(source, splits, estimator, seed, control) for control in controls)


def _list_portions(
    source: FeatureSource, splits: Splits, settings: ProbeSettings
) -> Iterator[Stack]:
    """The trials of a codelength: a portion of the training samples each, of estimators with probabilities."""
    estimator, seed = with_seed(settings.estimator, settings.seed), settings.seed
    estimator = getattr(estimator, "with_probabilities", lambda: estimator)()
    for portion, sample in splits.portions(seed):
        yield [Trial(source, sample, estimator, seed, REAL, portion)]


def _with_symbols(table: pd.DataFrame, names: object) -> pd.DataFrame:
    """The tokens, each a word where there are no words, with the gold structure of questions where that is asked about."""
    if WORD not in table:
        table = table.assign(**{WORD: table["position"]})
    elif names == "token" and are_whole_texts(table):
        note("every text is one word: its tokens are the places")
        places = table["position"].where(table[WORD] >= 0, -1)
        table = table.assign(**{WORD: places, LAST_WORD: places})
    if names in COLUMNS and names not in table and "question" in table:
        labels = join(table)[str(names)]
        cells = labels.astype(object).where(labels.notna(), "").astype(str)
        table = table.assign(**{str(names): cells})
    return table


def _identify(store: Store) -> dict[str, object]:
    manifest = {key: store.manifest.get(key) for key in ("model", "data", "samples", "lengths")}
    return {"path": str(store.path.resolve()), **manifest}


def _read_test(test: Store, side: str, tasks: Sequence[Task], predicts: bool) -> Corpus:
    for task in tasks:
        if task.cells not in test.tokens or not _count_labels(test.tokens, task, side):
            raise InputError(
                f"{test.path} has no labels of {task.name} on the {side} side to test on: extract it with "
                "--labels, or leave out that task"
            )
    return read_corpus(test, test.tokens, side, tasks, None, predicts)


def find_replaced(store: Store, folder: str | os.PathLike[str]) -> list[str]:
    """The labels of one's own that are no longer those that a finished run learned from."""
    settings = read_json(Path(folder) / "settings.json")
    columns = [task["column"] or task["name"] for task in settings["tasks"]]
    own_labels = [name for name in columns if name in store.labels]
    is_same = own_labels and _digest(store.tokens, columns) == settings["labels"].split()[0]
    return [] if is_same else own_labels


def _digest(table: pd.DataFrame, tasks: Sequence[str]) -> str:
    columns = ["side", "sample", "token", WORD, *tasks]
    columns = [name for name in columns if name in table]
    hashed = pd.util.hash_pandas_object(table[columns].astype(str), index=False)
    return hashlib.sha256(hashed.to_numpy().tobytes()).hexdigest()


def _count_labels(table: pd.DataFrame, task: Task, side: str) -> int:
    """The most different labels that a text has, 1 of labels of whole texts; 0 without labels."""
    rows = table.loc[np.asarray(table["side"] == side), ["sample", task.cells]]
    cells = rows[task.cells].astype(object)
    is_labelled = cells.notna() & (cells.astype(str) != "")
    counts = cells[is_labelled].groupby(rows["sample"][is_labelled]).nunique()
    return int(counts.max()) if len(counts) else 0
