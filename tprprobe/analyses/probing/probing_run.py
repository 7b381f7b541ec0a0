"""A run of probes: laid out, trained round by round, written as it goes, put together."""

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from tprprobe.analyses.probing.batches import Reader
from tprprobe.analyses.probing.folders import (
    PROBES,
    finish_run,
    identify,
    open_run,
    read_round,
    write_round,
)
from tprprobe.analyses.probing.grid import Piece, lay_out, training_samples
from tprprobe.analyses.probing.labelled_splits import Splits, split_targets
from tprprobe.analyses.probing.probed_sites import check_test, find_sites
from tprprobe.analyses.probing.rounds import Fitted, Report, run_round
from tprprobe.analyses.probing.rows import Results, Tested, gather
from tprprobe.analyses.probing.saved_probes import save_probe
from tprprobe.analyses.probing.scores import Score, describe
from tprprobe.analyses.probing.settings import ProbeSettings, find_schedule
from tprprobe.analyses.probing.sides import read_corpus
from tprprobe.analyses.probing.stacks import Stack
from tprprobe.analyses.probing.tasks import Task, find_tasks
from tprprobe.console import progress, stderr
from tprprobe.errors import InputError
from tprprobe.files.locks import alone
from tprprobe.gold.labels import WORD
from tprprobe.store import Store

KEPT = ("f1", "f1_low", "f1_high", "accuracy")  # of a saved probe's measures


def probe(
    store: Store,
    task: str | os.PathLike[str] | Iterable[str],
    test: Store | None = None,
    tokens: pd.DataFrame | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    device: str = "cpu",
    **settings: Any,
) -> pd.DataFrame:
    """One row per probe: how well a store's vectors predict labels of its words, beside controls.

    Rows have task, side, site, layer, head, seed, control (``real`` for none); f1 and accuracy with
    95 % intervals over held-out documents; precision, recall, f1 of subsets (``left`` and ``right``:
    where the second span lies; ``single``: spans of one token); selectivity (accuracy minus that of
    the control task; ``prefix_selectivity``: of the prefix control), beyond_identity (f1 minus that of
    the commonest label of the word), and of real labels best_control, best_control_f1 and beyond (the
    control with the highest f1, and whether f1 is above it by a paired, corrected test), codelength (bits), compression, information
    (bits a target) and ``added`` (information beyond the other of role and filler).

    ``test`` is another store to test on (what the model generates, say), ``tokens`` a token table in
    place of the store's own (with labels that it lacks). ``out`` gets rows, differences and documents
    as Parquet and CSV, and the probes of real labels (see :func:`load_probe`); a run that was cut off
    goes on with ``resume``. See :class:`ProbeSettings` for the others.
    Source: Tenney et al. 2019; jiang §4 for decoders.

    Raises:
        InputError: no labels, no such task, site or setting, too few documents, a folder in use.
    """
    chosen = ProbeSettings.of(**settings)
    run = ProbingRun.prepare(store, task, test, tokens, chosen)
    if out is None:
        return run.finish(None, torch.device(device)).rows
    with alone(Path(out)):
        kept = open_run(Path(out), run.describe(), resume)
        results = run.finish(kept.folder, torch.device(device))
        finish_run(kept, results, run.stores)
    return results.rows


@dataclass(frozen=True, eq=False)
class ProbingRun:
    """A run: all probes that are to be trained, in rounds that fit in memory."""

    store: Store
    settings: ProbeSettings
    tasks: Sequence[Task]
    splits: dict[tuple[Task, str], Splits]
    rounds: list[list[Piece]]
    test: Store | None
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
        rounds: list[list[Piece]] = []
        for side in ("source", "target"):
            of_side = [site for site in sites if store.side(site) == side]
            labelled = [each for each in tasks if of_side and _has_labels(table, each, side)]
            if labelled:
                corpus = read_corpus(store, table, side, labelled, settings.seed)
                other = None
                if test is not None:
                    _check_labels(test, labelled, side)
                    other = read_corpus(test, test.tokens, side, labelled, None)
                found = {each: split_targets(each, corpus, other, settings) for each in labelled}
                rounds += lay_out(corpus, of_side, found, settings, test)
                splits |= {(each, side): part for each, part in found.items()}
        known = [each for each, _ in splits]
        for each in tasks:
            if each not in known:
                raise InputError(
                    f"no side of {store.path} has both these sites and labels of {each.name}"
                )
        labels = [_digest(table, tasks), *([] if test is None else [_digest(test.tokens, tasks)])]
        return cls(store, settings, tasks, splits, rounds, test, " ".join(labels))

    @property
    def stores(self) -> list[Store]:
        """The store that is probed, and where there is one that which is tested on."""
        return [self.store, *([] if self.test is None else [self.test])]

    def describe(self) -> dict[str, Any]:
        """The settings that two runs must share for one to resume the other."""
        return {
            "store": identify(self.store),
            "test": None if self.test is None else identify(self.test),
            "tasks": [task.model_dump(mode="json") for task in self.tasks],
            "labels": self.labels,
            "settings": self.settings.as_dict(),
        }

    def finish(self, folder: Path | None, device: torch.device) -> Results:
        """The results; rounds that the folder already has are not trained again."""
        tested: list[Tested] = []
        total = sum(len(piece.probes) for pieces in self.rounds for piece in pieces)
        self._say_what_is_lost()
        with progress() as bars:
            bar = bars.add_task("probing", total=total, note="")
            for number, pieces in enumerate(self.rounds):
                known = None if folder is None else read_round(folder, number, pieces)
                if known is None:
                    note = f"round {number + 1} of {len(self.rounds)}"
                    before = len(tested)

                    def report(done: int, note: str = note, before: int = before) -> None:
                        bars.update(bar, completed=before + done, note=note)

                    known = self._train(folder, number, pieces, device, report)
                tested += known
                bars.update(bar, completed=len(tested))
        self._say_what_was_cut_off(tested)
        return gather(tested, self.splits)

    def _train(
        self,
        folder: Path | None,
        number: int,
        pieces: Sequence[Piece],
        device: torch.device,
        report: Report,
    ) -> list[Tested]:
        schedule = find_schedule(self.settings.schedule)
        stacks = [Stack(piece, schedule, device) for piece in pieces]
        reader = Reader(device, self.settings.budget // 2)
        fitted = run_round(stacks, training_samples(pieces[0].corpus), reader, report)
        tested = [Tested(f.probe, f.stack.splits, f.sums, f.subsets, f.curve) for f in fitted]
        if folder is not None:
            self._save_probes(folder, fitted)
            write_round(folder, number, tested)
        return tested

    def _save_probes(self, folder: Path, fitted: Sequence[Fitted]) -> None:
        """Writes the folders of the probes of real labels."""
        for each in fitted:
            probe = each.probe
            if probe.control == "real" and probe.portion is None:
                row = describe(Score({}, each.sums, each.subsets))
                metrics = {name: float(row[name]) for name in KEPT}
                mode = self.settings.mode(each.stack.splits.train.corpus.side)
                save_probe(folder / PROBES / name_probe(each), each, mode, metrics)

    def _say_what_was_cut_off(self, tested: Sequence[Tested]) -> None:
        limit = find_schedule(self.settings.schedule).limit
        cut = sum(len(each.curve) >= limit for each in tested)
        if cut:
            stderr.print(
                f"{cut} of {len(tested)} probes were still learning at the limit of {limit} validations: "
                "their scores are lower bounds"
            )

    def _say_what_is_lost(self) -> None:
        for (task, side), part in self.splits.items():
            if part.lost:
                stderr.print(
                    f"{task.name}: {part.lost} targets left out on the {side} side, whose words "
                    "have no token or no state that predicts them"
                )


def name_probe(fitted: Fitted) -> str:
    """The name of the folder that a probe is saved in."""
    vector, probe = fitted.probe.vector, fitted.probe
    head = "" if vector.head is None else f".head{vector.head}"
    return f"{probe.task.name}.{vector.site}{head}.seed{probe.seed}"


def _check_labels(test: Store, tasks: Sequence[Task], side: str) -> None:
    for task in tasks:
        if task.cells not in test.tokens or not _has_labels(test.tokens, task, side):
            raise InputError(
                f"{test.path} has no labels of {task.name} on the {side} side to test on: extract it with "
                "--labels, or leave out that task"
            )


def _digest(table: pd.DataFrame, tasks: Sequence[Task]) -> str:
    """A digest of the words, and of the labels of some tasks, in a token table."""
    columns = ["side", "sample", "token", WORD, *(task.cells for task in tasks)]
    columns = [name for name in columns if name in table]
    hashed = pd.util.hash_pandas_object(table[columns].astype(str), index=False)
    return hashlib.sha256(hashed.to_numpy().tobytes()).hexdigest()


def _has_labels(table: pd.DataFrame, task: Task, side: str) -> bool:
    cells = table.loc[np.asarray(table["side"] == side), task.cells]
    return bool((cells.notna() & (cells.astype(str) != "")).any())
