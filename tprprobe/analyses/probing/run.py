"""A run of probes: one vector after another, written as it goes, put together.

OUT/settings.json          what the run is of: another one does not go on with it
OUT/rounds/NNNN.npz        counts by document of every probe of a vector, written when they are done
OUT/probes/NAME/           the probes of real labels, in the layout of checkpoints
OUT/rows.parquet, .csv     one row per probe, with intervals; differences.* beside it
OUT/documents.parquet      the counts by document behind them
OUT/curves.parquet, .csv   the training curve of every probe: step, training and held-out loss
"""

import hashlib
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from tprprobe.analyses.probing.batches import FLOAT, Reader, Shape
from tprprobe.analyses.probing.document_counts import REAL, Fitted, Tested
from tprprobe.analyses.probing.labelled_words import Corpus, read_corpus
from tprprobe.analyses.probing.linear import fit_linear
from tprprobe.analyses.probing.probe_folder import save_probe
from tprprobe.analyses.probing.result_table import Results, gather
from tprprobe.analyses.probing.settings import HIDDEN, ProbeSettings
from tprprobe.analyses.probing.span_conv import fit_span_conv
from tprprobe.analyses.probing.splits import Splits, split_examples
from tprprobe.analyses.probing.stacks import Stack, lay_out
from tprprobe.analyses.probing.task import ALL, Task, find_tasks, list_tasks
from tprprobe.analyses.probing.vectors import (
    check_test,
    find_sites,
)
from tprprobe.console import progress, stderr
from tprprobe.errors import InputError
from tprprobe.files.file_errors import as_input_error
from tprprobe.files.kinds import SETTINGS
from tprprobe.files.locks import alone
from tprprobe.files.runs import KeptRun
from tprprobe.files.writing import write_file
from tprprobe.gold.labels import WORD
from tprprobe.store import Store
from tprprobe.store.reader import Source, as_store, takes_paths

ROUNDS, PROBES = "rounds", "probes"
STORE = "store"  # the folder of the store, where it is extracted for the run
TABLES = ("rows", "differences", "documents", "curves")
STATES = 6  # times its parameters that a probe takes in training


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
    run = ProbingRun.prepare(store, task, test, tokens, ProbeSettings.of(**settings))
    if out is None:
        return run.finish(None, torch.device(device)).rows
    folder = Path(out)
    with alone(folder):
        begun = KeptRun.open(
            folder, run.describe(), resume, SETTINGS, begun=SETTINGS, beside={STORE}
        )
        for name in (ROUNDS, PROBES):
            (folder / name).mkdir(exist_ok=True)
        results = run.finish(folder, torch.device(device))
        tables = {f"{name}.parquet": getattr(results, name) for name in TABLES}
        tables |= {f"{name}.csv": getattr(results, name) for name in TABLES if name != "documents"}
        begun.finish(tables, {"stores": [each.fingerprint for each in run.stores]})
    return results.rows


@dataclass(frozen=True, eq=False)
class ProbingRun:
    """A run: the probes of every vector (``rounds``, by task), and what they learn from."""

    stores: list[Store]  # that which is probed, and where there is one that which is tested on
    settings: ProbeSettings
    splits: dict[tuple[Task, str], Splits]
    rounds: list[list[Stack]]
    labels: str  # a digest of what the words are labelled

    @classmethod
    def prepare(
        cls,
        store: Store,
        task: str | os.PathLike[str] | Iterable[str],
        test: Store | None,
        tokens: pd.DataFrame | None,
        settings: ProbeSettings,
    ) -> "ProbingRun":
        """The run of some tasks on a store, on both sides where both have labels and sites."""
        table = store.tokens if tokens is None else tokens
        tasks = find_tasks(task, table.columns)
        sites = find_sites(store, settings.sites)
        if test is not None:
            check_test(store, test, sites, settings)
        splits: dict[tuple[Task, str], Splits] = {}
        rounds: list[list[Stack]] = []
        refused: dict[Task, str] = {}
        for side in ("source", "target"):
            of_side = [site for site in sites if store.side(site) == side]
            labelled = [task for task in tasks if of_side and _has_labels(table, task, side)]
            if labelled:
                corpus = read_corpus(store, table, side, labelled, settings.seed)
                other = None if test is None else _read_test(test, side, labelled)
                wholes: dict[Task, Splits] = {}
                for one in labelled:
                    try:
                        wholes[one] = split_examples(one, corpus, other, settings)
                    except InputError as error:
                        refused[one] = str(error)
                rounds += lay_out(corpus, of_side, wholes, settings, test)
                n, seed = settings.targets, settings.seed
                splits |= {(one, side): part.learning_from(n, seed) for one, part in wholes.items()}
        lacking = f"no side of {store.path} has both these sites and labels of"
        probed = [one for one, _ in splits]
        refused |= {one: f"{lacking} {one.name}" for one in tasks if one not in [*probed, *refused]}
        if refused and (task != ALL or not splits):
            raise InputError(next(iter(refused.values())))
        if task == ALL:
            _say_what_is_skipped([one for one in tasks if one in probed], refused)
        stores = [store, *([] if test is None else [test])]
        tables = [table, *([] if test is None else [test.tokens])]
        labels = " ".join(_digest(table, tasks) for table in tables)
        return cls(stores, settings, splits, rounds, labels)

    def describe(self) -> dict[str, Any]:
        """The settings that two runs must share for one to resume the other."""
        store, test = [*self.stores, None][:2]
        return {
            "store": _identify(store),
            "test": _identify(test),
            "tasks": [
                task.model_dump(mode="json") for task in dict.fromkeys(t for t, _ in self.splits)
            ],
            "labels": self.labels,
            "settings": self.settings.as_dict(),
        }

    def finish(self, folder: Path | None, device: torch.device) -> Results:
        """The results; rounds that the folder already has are not trained again."""
        tested: list[Tested] = []
        for (task, side), part in self.splits.items():
            if part.lost:
                stderr.print(
                    f"{task.name}: {part.lost} targets left out on the {side} side, whose words "
                    "have no token or no state that predicts them"
                )
        total = sum(len(stack.probes) for stacks in self.rounds for stack in stacks)
        with progress() as bars:
            bar = bars.add_task("probing", total=total, note="")
            for number, stacks in enumerate(self.rounds):
                file = None if folder is None else folder / ROUNDS / f"{number:04}.npz"
                if file is not None and file.is_file():
                    tested += _read_round(file, stacks)
                else:
                    fitted = train_round(stacks, self.settings, device)
                    if folder is not None and file is not None:
                        self._save_probes(folder / PROBES, fitted)
                        _write_round(file, [one.tested for one in fitted])
                    tested += [one.tested for one in fitted]
                note = f"vector {number + 1} of {len(self.rounds)}"
                bars.update(bar, completed=len(tested), note=note)
        limit = self.settings.training.limit
        if cut := sum(len(one.curve) >= limit for one in tested):
            stderr.print(
                f"{cut} of {len(tested)} probes were still learning at the limit of {limit} validations: "
                "their scores are lower bounds"
            )
        order = {key: place for place, key in enumerate(self.splits)}
        tested.sort(key=lambda one: order[one.probe.task, one.probe.side])
        return gather(tested, self.splits)

    def _save_probes(self, folder: Path, fitted: Sequence[Fitted]) -> None:
        """Writes the folders of the probes of real labels."""
        for one in fitted:
            probe = one.tested.probe
            if probe.control == REAL and probe.portion is None:
                save_probe(folder, one, self.splits[probe.task, probe.side])


def _say_what_is_skipped(tasks: Sequence[Task], refused: Mapping[Task, str]) -> None:
    """Prints which tasks `all` are, and why others that ship are not among them."""
    others = {*list_tasks()} - {task.name for task in (*tasks, *refused)}
    reasons = [f"{name}: no labels in this store" for name in sorted(others)]
    reasons += [f"{task.name}: {reason}" for task, reason in refused.items()]
    skipped = f"; skipped: {'; '.join(reasons)}" if reasons else ""
    stderr.print(f"probing {', '.join(task.name for task in tasks)}{skipped}", soft_wrap=True)


def train_round(
    stacks: Sequence[Stack], settings: ProbeSettings, device: torch.device
) -> list[Fitted]:
    """The probes of one vector, trained and tested."""
    reader = Reader(stacks[0].probes[0].vector, device, settings.budget // 2)
    fitted: list[Fitted] = []
    for stack in stacks:
        probes, splits = stack.probes, stack.splits
        labels, spans = len(splits.examples.inventory), probes[0].task.spans
        width, kernel = reader.vector.width, settings.kernel
        if settings.is_linear:
            shape = Shape(width, spans, labels, kernel, 0)
            fitted += fit_linear(probes, splits, reader, shape)
            continue
        shape = Shape(width, spans, labels, kernel, HIDDEN)
        size = max(1, settings.budget // 2 // (shape.parameters * STATES * FLOAT))
        for start in range(0, len(probes), size):
            some = probes[start : start + size]
            fitted += fit_span_conv(some, splits, reader, shape, settings.training)
    return fitted


def _write_round(file: Path, tested: Sequence[Tested]) -> None:
    """Writes what a round counted; the presence of this file means that the round is done."""
    stream = io.BytesIO()
    arrays: dict[str, Any] = {f"sums{i}": one.sums for i, one in enumerate(tested)}
    arrays |= {f"curve{i}": one.curve for i, one in enumerate(tested)}
    np.savez_compressed(stream, **arrays)
    write_file(file, stream.getvalue())


def _read_round(file: Path, stacks: Sequence[Stack]) -> list[Tested]:
    probes = [(probe, stack.splits) for stack in stacks for probe in stack.probes]
    with (
        as_input_error(f"{file} is damaged", "remove it and go on with --resume"),
        np.load(file) as arrays,
    ):
        return [
            Tested(probe, len(splits.turns[0].train), arrays[f"sums{i}"], arrays[f"curve{i}"])
            for i, (probe, splits) in enumerate(probes)
        ]


def _identify(store: Store | None) -> dict[str, Any] | None:
    """The path of a store, its model and its data: what a run of probes belongs to."""
    if store is None:
        return None
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
