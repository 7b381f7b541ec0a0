"""A run of probes: one vector after another, written as it goes, put together.

OUT/settings.json          what the run is of: another one does not go on with it
OUT/probes/NAME/           the probes of real labels, in the layout of checkpoints
OUT/rows.parquet, .csv     one row per probe, with intervals; differences.* beside it
OUT/documents.parquet      the counts by document behind them
OUT/curves.parquet, .csv   the training curve of every probe: step, training and held-out loss
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from tprprobe.analyses.probing.document_counts import CURVE, REAL, TERMS, Probe, Tested
from tprprobe.analyses.probing.examples import Splits, split_examples
from tprprobe.analyses.probing.inputs import (
    FLOAT,
    Reader,
    Vector,
    check_test,
    control_vectors,
    find_sites,
    joined_vectors,
    site_vectors,
)
from tprprobe.analyses.probing.labelled_words import Corpus, read_corpus
from tprprobe.analyses.probing.linear import fit_linear
from tprprobe.analyses.probing.probe_folder import SAVED, save_probe
from tprprobe.analyses.probing.result_table import gather
from tprprobe.analyses.probing.settings import ProbeSettings
from tprprobe.analyses.probing.span_conv import fit_span_conv
from tprprobe.analyses.probing.task import ALL, Task, find_tasks, list_tasks
from tprprobe.console import progress, stderr
from tprprobe.errors import InputError
from tprprobe.files.kinds import SETTINGS
from tprprobe.files.runs import KeptRun, Part, Tables, kept
from tprprobe.gold.labels import WORD
from tprprobe.store import Store
from tprprobe.store.reader import Source, as_store, takes_paths

STORE = "store"  # the folder of the store, where it is extracted for the run
ROWS, COUNTED = "rows.parquet", "counted"  # the table of a run, and that of a part of it
STATES = 6  # times its parameters that a probe takes in training

Stack = list[Probe]  # of one vector and task, trained side by side


@takes_paths
def probe(
    store: Store,
    task: str | os.PathLike[str] | Iterable[str],
    test: Store | Source | None = None,
    tokens: pd.DataFrame | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    device: str = "cpu",
    **settings: Any,
) -> pd.DataFrame:
    """Scores of probes: how well a store's vectors predict labels of its words, beside controls.

    Args:
        store: The store whose vectors are probed.
        task: A task, several, or ``all``: those that ship and whose labels the store has. Any column of labels is a task.
        test: Another store to test on, or its folder, for example of what the model generates; default: held-out documents.
        tokens: A token table in place of the store's, with labels that it lacks; default: the store's.
        out: A folder that gets rows, differences and documents as Parquet and CSV, and the probes of
            real labels (see :func:`load_probe`); default: nothing is written.
        resume: Go on with a run that was cut off.
        device: Where probes are trained: ``cpu``, ``cuda``, …
        **settings: The fields of :class:`ProbeSettings`: ``probe`` (``linear`` or ``span-conv``), ``sites``, ``heads``,
            ``seeds``, ``controls``, ``most`` and others.

    Returns:
        One row per probe, with f1, accuracy and their intervals over held-out documents, and the best control; see
        [columns](columns.md#probes).

    Raises:
        InputError: No labels, no such task, site or setting, too few documents, or a folder in use.

    Source: Tenney et al. 2019; Hewitt and Liang 2019 for control tasks; jiang Sec. 4 for decoders.

    Examples:
        >>> english = tp.load_model("tpt-d-english")
        >>> words = tp.load_data("english", n=16)
        >>> _ = tp.extract(english, words, "encoder.-1.self.role", out="english", control=False)
        >>> rows = tp.probe("english", "pos", controls=["shuffled"], out="pos")
        >>> rows["control"].to_list()
        ['real', 'shuffled', 'majority', 'identity']
    """
    test = None if test is None else as_store(test)
    run = plan_run(store, task, test, tokens, ProbeSettings.of(**settings))
    with kept(out) as folder:
        begun = KeptRun.open(folder, run.about, resume, SETTINGS, beside={STORE})
        if not begun.is_done:
            tables = gather(_train_all(run, begun, torch.device(device)), run.splits)
            files = {f"{name}.parquet": table for name, table in tables.items()}
            files |= {f"{name}.csv": tables[name] for name in tables if name != "documents"}
            stores = [each.fingerprint for each in (store, test) if each is not None]
            begun.finish(files, {"stores": stores})
        return pd.read_parquet(folder / ROWS)


@dataclass(frozen=True, eq=False)
class ProbingRun:
    """A run: the probes of every vector (``rounds``, by task), what they learn from, and ``about``: what two
    runs must share for one to resume the other."""

    settings: ProbeSettings
    splits: list[Splits]
    rounds: list[list[Stack]]
    about: dict[str, Any]


def plan_run(
    store: Store,
    task: str | os.PathLike[str] | Iterable[str],
    test: Store | None,
    tokens: pd.DataFrame | None,
    settings: ProbeSettings,
) -> ProbingRun:
    """The run of some tasks on a store, on both sides where both have labels and sites."""
    table = store.tokens if tokens is None else tokens
    tasks = find_tasks(task, table.columns)
    sites = find_sites(store, settings.sites)
    if test is not None:
        check_test(store, test, sites, settings)
    splits: list[Splits] = []
    rounds: list[list[Stack]] = []
    refused: dict[Task, str] = {}
    for side in ("source", "target"):
        of_side = [site for site in sites if store.side(site) == side]
        labelled = [one for one in tasks if of_side and _has_labels(table, one, side)]
        if not labelled:
            continue
        corpus = read_corpus(store, table, side, labelled, settings.seed)
        other = None if test is None else _read_test(test, side, labelled)
        wholes: list[Splits] = []
        for one in labelled:
            try:
                wholes.append(split_examples(one, corpus, other, settings))
            except InputError as error:
                refused[one] = str(error)
        parts = [whole.learning_from(settings.targets, settings.seed) for whole in wholes]
        rounds += lay_out(store, of_side, wholes, parts, settings, test)
        splits += parts
    probed = list(dict.fromkeys(part.task for part in splits))
    lacking = f"no side of {store.path} has both these sites and labels of"
    refused |= {one: f"{lacking} {one.name}" for one in tasks if one not in [*probed, *refused]}
    if refused and (task != ALL or not splits):
        raise InputError(next(iter(refused.values())))
    if task == ALL:
        _say_what_is_skipped([one for one in tasks if one in probed], refused)
    tables = [table, *([] if test is None else [test.tokens])]
    about = {
        "store": _identify(store),
        "test": None if test is None else _identify(test),
        "tasks": [one.model_dump(mode="json") for one in probed],
        "labels": " ".join(_digest(table, tasks) for table in tables),
        "settings": settings.as_dict(),
    }
    return ProbingRun(settings, splits, rounds, about)


def lay_out(
    store: Store,
    sites: Sequence[str],
    wholes: Sequence[Splits],
    parts: Sequence[Splits],
    settings: ProbeSettings,
    test: Store | None,
) -> Iterator[list[Stack]]:
    """The probes on one side of a store, a round a vector: of ``parts`` of the splits; those of a twin learn from the
    samples that it has read.
    """
    real = list(site_vectors(store, sites, settings.heads))
    joined = list(joined_vectors(store, sites)) if settings.informs and not settings.heads else []
    for vector in [*real, *control_vectors(store, real, test, settings), *joined]:
        stacks: list[Stack] = []
        for whole, part in zip(wholes, parts, strict=True):
            if vector.control in store.twins:
                part = _of_twin(store, vector.control, whole, settings)
            if part is None:
                continue
            if vector not in joined:
                stacks.append(list(_probes(vector, part, settings)))
            if vector.control == REAL and settings.informs:
                seed, kind = settings.seed, settings.kind
                stacks += [
                    [Probe(vector, some, seed, REAL, "softmax", kind, portion)]
                    for portion, some in part.portions(seed)
                ]
        if stacks:
            yield stacks


def _of_twin(store: Store, kind: str, whole: Splits, settings: ProbeSettings) -> Splits | None:
    n = store.twins[kind].samples
    part = whole.of_first_samples(n)
    if part is None and settings.controls is not None:
        raise InputError(
            f"the {kind} twin has read the first {n} samples, which lack a split "
            f"of {whole.task.name}: leave out that control"
        )
    return None if part is None else part.learning_from(settings.targets, settings.seed)


def _probes(vector: Vector, splits: Splits, settings: ProbeSettings) -> Iterator[Probe]:
    """The probes of a vector: for every seed, of the real labels and of others."""
    controls = [vector.control]
    if vector.control == REAL:
        controls += [name for name in ("control", "shuffled") if settings.has(name)]
        if settings.has("prefix") and (splits.name[1] == "target" or settings.controls):
            controls.append("prefix")
    new = partial(Probe, vector, splits, loss=settings.loss_of_probes, kind=settings.kind)
    for seed in range(settings.seed, settings.seed + settings.seeds):
        yield from (new(seed, control) for control in controls)


def _train_all(run: ProbingRun, begun: KeptRun, device: torch.device) -> list[Tested]:
    """The probes of all rounds, tested; rounds that the folder already has are not trained again."""
    for part in run.splits:
        if part.lost:
            task, side = part.name
            stderr.print(
                f"{task}: {part.lost} targets left out on the {side} side, whose words "
                "have no token or no state that predicts them"
            )
    tested: list[Tested] = []
    with progress() as bars:
        total = sum(len(probes) for stacks in run.rounds for probes in stacks)
        bar = bars.add_task("probing", total=total, note="")
        for number, stacks in enumerate(run.rounds):
            make = partial(_make_round, stacks, run.settings, device, begun.folder / SAVED)
            part = begun.part(f"{number:04}", make)
            part.finish()
            tested += _read_round(part, stacks)
            note = f"vector {number + 1} of {len(run.rounds)}"
            bars.update(bar, completed=len(tested), note=note)
    limit = run.settings.training.limit
    if cut := sum(len(one.curve) >= limit for one in tested):
        stderr.print(
            f"{cut} of {len(tested)} probes were still learning at the limit of {limit} validations: "
            "their scores are lower bounds"
        )
    order = [part.name for part in run.splits]
    return sorted(tested, key=lambda one: order.index(one.probe.splits.name))


def _make_round(
    stacks: Sequence[Stack], settings: ProbeSettings, device: torch.device, folder: Path
) -> Tables:
    """What a round counted; its probes of real labels are saved."""
    trained = train_round(stacks, settings, device)
    for one in trained:
        if one.probe.control == REAL and one.probe.portion is None:
            save_probe(folder, one)
    counted = {"sums": [one.sums.ravel() for one in trained]}
    counted["curve"] = [one.curve.ravel() for one in trained]
    return {COUNTED: pd.DataFrame(counted)}


def _read_round(part: Part, stacks: Sequence[Stack]) -> Iterator[Tested]:
    rows = part.read(COUNTED)
    for one, sums, curve in zip(chain(*stacks), rows["sums"], rows["curve"], strict=True):
        shape = (-1, len(one.splits.tested.corpus.names), len(TERMS))
        yield Tested(one, sums.reshape(shape), curve.reshape(-1, len(CURVE)))


def train_round(
    stacks: Sequence[Stack], settings: ProbeSettings, device: torch.device
) -> list[Tested]:
    """The probes of one vector, trained and tested."""
    reader = Reader(stacks[0][0].vector, device, settings.budget // 2)
    trained: list[Tested] = []
    for probes in stacks:
        if settings.is_linear:
            trained += fit_linear(probes, reader)
            continue
        size = max(1, settings.budget // 2 // (probes[0].shape.parameters * STATES * FLOAT))
        for start in range(0, len(probes), size):
            trained += fit_span_conv(probes[start : start + size], reader, settings.training)
    return trained


def _say_what_is_skipped(tasks: Sequence[Task], refused: Mapping[Task, str]) -> None:
    """Prints which tasks `all` are, and why others that ship are not among them."""
    others = {*list_tasks()} - {task.name for task in (*tasks, *refused)}
    reasons = [f"{name}: no labels in this store" for name in sorted(others)]
    reasons += [f"{task.name}: {reason}" for task, reason in refused.items()]
    skipped = f"; skipped: {'; '.join(reasons)}" if reasons else ""
    stderr.print(f"probing {', '.join(task.name for task in tasks)}{skipped}", soft_wrap=True)


def _identify(store: Store) -> dict[str, Any]:
    """The path of a store, its model and its data: what a run of probes belongs to."""
    manifest = {key: store.manifest.get(key) for key in ("model", "data", "samples", "lengths")}
    return {"path": str(store.path.resolve()), **manifest}


def _read_test(test: Store, side: str, tasks: Sequence[Task]) -> Corpus:
    """One side of a store that is tested on."""
    for task in tasks:
        if task.cells not in test.tokens or not _has_labels(test.tokens, task, side):
            raise InputError(
                f"{test.path} has no labels of {task.name} on the {side} side to test on: extract it with "
                "--labels, or leave out that task"
            )
    return read_corpus(test, test.tokens, side, tasks, None)


def _digest(table: pd.DataFrame, tasks: Sequence[Task]) -> str:
    """A digest of the words, and of the labels of some tasks, in a token table."""
    columns = ["side", "sample", "token", WORD, *(task.cells for task in tasks)]
    columns = [name for name in columns if name in table]
    hashed = pd.util.hash_pandas_object(table[columns].astype(str), index=False)
    return hashlib.sha256(hashed.to_numpy().tobytes()).hexdigest()


def _has_labels(table: pd.DataFrame, task: Task, side: str) -> bool:
    cells = table.loc[np.asarray(table["side"] == side), task.cells]
    return bool((cells.notna() & (cells.astype(str) != "")).any())
