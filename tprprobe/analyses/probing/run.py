"""A run of probes: one vector after another, written as it goes, put together.

OUT/settings.json          what the run is of: another one does not go on with it; what ``guessed`` the labels of a task, and
                           ``at_tokens``, the tasks of a decoder's tokens whose states have read the token
OUT/results.parquet        the long table of all numbers
OUT/rows.parquet, .csv     its view of a row a probe; differences.* beside it
OUT/documents.parquet      the counts by document behind them
OUT/targets.parquet        which tested targets are right, by their first tokens: with it slices are scored
OUT/curves.parquet, .csv   the training curve of every probe: step, training and held-out loss
OUT/probes/NAME/           the probes of real labels, in the layout of checkpoints
"""

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from tprprobe.analyses.probing.examples import FEW_TYPES
from tprprobe.analyses.probing.plan import ProbingRun, Stack, plan_run
from tprprobe.analyses.probing.rows import list_rows, load_rows
from tprprobe.analyses.probing.saved_probe import SAVED, save_probe
from tprprobe.analyses.probing.scores import gather
from tprprobe.analyses.probing.settings import ProbeSettings
from tprprobe.analyses.probing.stored_states import RowReader
from tprprobe.analyses.probing.trials import CURVE, BlockScores, Counts, TrialResult, run_trials
from tprprobe.console import note, progress, stderr
from tprprobe.estimators.probes.linear import PENALTIES, LinearProbe
from tprprobe.estimators.probes.span_conv import Schedule as Schedule
from tprprobe.evaluation.controls import REAL
from tprprobe.evaluation.results import Results
from tprprobe.evaluation.runner import Estimator, has_predictions
from tprprobe.files.kinds import SETTINGS
from tprprobe.files.runs import KeptRun, Tables, kept
from tprprobe.gold.labels import WITHOUT_TOKEN
from tprprobe.store import Store
from tprprobe.store.dask_workers import each_part
from tprprobe.store.reader import Source, as_store, takes_paths

STORE = "store"  # the folder of the store, where it is extracted for the run
COUNTS = "counts"  # the table of a part of a run
KNOWING = ("static", "previous", "identity")  # controls that know words
CERTAIN = 0.995  # F1 of such a control, from which on the labels may be what it knows


@takes_paths
def probe(
    store: Store,
    task: str | os.PathLike[str] | Iterable[str],
    estimator: Any = None,
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
            Of several, those that cannot be probed are left out with a line, such as one with a single label.
        estimator: What is fitted: any classifier, pipeline or search of scikit-learn, or a name: ``linear`` (multinomial
            logistic regression on the mean of a span's states, its L2 penalty chosen on held-out documents; it has no
            seed), ``span-conv`` (Tenney et al. 2019) or that of a [plug-in](plugins.md). Default: ``linear``, or
            ``span-conv`` where seeds, a schedule or the loss ``sigmoid`` are set. All but span-conv are cross-fitted where
            documents are divided by chance: every document is tested once, by an estimator that has not seen it.
        test: Another store to test on, or its folder, for example of what the model generates; default: held-out documents.
        tokens: A token table in place of the store's, with labels that it lacks; default: the store's.
        out: A folder that gets the results as Parquet and CSV, and the probes of real labels (see :func:`load_probe`);
            default: nothing is written.
        resume: Go on with a run that was cut off.
        device: Where probes are trained: ``cpu``, ``cuda``, …
        **settings: The fields of :class:`ProbeSettings` (``sites``, ``heads``, ``seeds``, ``controls``, ``most`` and
            others), and of an estimator that is named the parameters of its constructor (``schedule``, ``loss``).

    Returns:
        One row per probe, with f1, accuracy and their intervals over held-out documents, and the strongest control; see
        [columns](probing.md#columns-of-probes).

    Raises:
        InputError: No labels, no such task, estimator, site or setting, too few documents, or a folder in use.

    Source: Tenney et al. 2019; Hewitt and Liang 2019 for control tasks; jiang Sec. 4 for decoders.

    Examples:
        >>> english = tp.load_model("tpt-d-english")
        >>> words = tp.load_data("english", n=16)
        >>> _ = tp.extract(english, words, "encoder.-1.self.role", out="english", control=False)
        >>> from sklearn.linear_model import LogisticRegression
        >>> rows = tp.probe("english", "pos", LogisticRegression(C=0.1), controls=["shuffled"])
        >>> rows = tp.probe("english", "pos", controls=["shuffled"], out="pos")
        >>> rows["control"].to_list()
        ['real', 'shuffled', 'majority', 'identity']
    """
    if isinstance(estimator, Store):
        warnings.warn(
            "a test store is now given as test=; the third argument works until 2027-06-01",
            FutureWarning,
            stacklevel=2,
        )
        estimator, test = None, estimator
    test = None if test is None else as_store(test)
    run = plan_run(store, task, test, tokens, ProbeSettings.of(estimator, **settings))
    with kept(out) as folder:
        begun = KeptRun.open(folder, run.identity, resume, SETTINGS, beside={STORE})
        if not begun.is_done:
            results = _run_all(run, begun, torch.device(device))
            tables = gather(results, run.splits, run.settings)
            tables["rows"] = list_rows(Results(tables["results"]))
            _warn_of_certain_controls(tables["rows"])
            files = {f"{name}.parquet": table for name, table in tables.items()}
            files |= {f"{name}.csv": tables[name] for name in ("rows", "differences", "curves")}
            stores = [tested.fingerprint for tested in (store, test) if tested is not None]
            begun.finish(files, {"stores": stores, **_describe_labels(store, run)})
        return load_rows(folder)


def _describe_labels(store: Store, run: ProbingRun) -> dict[str, object]:
    """What figures say of the labels: which are guesses, of what, and which are read at the states of their own tokens."""
    tasks = {targets.task.name: targets.task.cells for targets in run.splits}
    sources = {name: store.facts.guessed.get(cells, "") for name, cells in tasks.items()}
    guessed = {name: s for name, s in sources.items() if s and tasks[name] not in store.labels}
    for name, source in guessed.items():
        note(f"{name}: the labels are guesses, right or wrong, of {source}")
    at_tokens = [
        targets.task.name
        for targets in run.splits
        if targets.name[1] == "target" and not targets.examples.corpus.predicts
    ]
    return {"guessed": guessed, "at_tokens": at_tokens}


def _warn_of_certain_controls(rows: pd.DataFrame) -> None:
    """Says where a control knows the labels, such as the word before if the label is this word."""
    if "f1" in rows:
        certain = rows[rows["control"].isin(KNOWING) & (rows["f1"] >= CERTAIN)]
        for task, control, f1 in certain[["task", "control", "f1"]].itertuples(index=False):
            note(f"{task}: the control {control} alone predicts {100 * f1:.1f} % of these labels")


def _run_all(run: ProbingRun, begun: KeptRun, device: torch.device) -> list[TrialResult]:
    """The trials of all rounds, tested; rounds that the folder already has are not run again."""
    for targets in run.splits:
        task, side = targets.name
        counts = targets.examples.corpus.store.facts.counts  # which the extraction told
        if targets.lost > counts.get(f"{side}.{targets.task.cells}{WITHOUT_TOKEN}", 0):
            stderr.print(
                f"{task}: {targets.lost:,} targets left out on the {side} side, whose words "
                "have no token or no state that predicts them"
            )
        is_unscored = [not targets.task.is_scored(label) for label in targets.examples.inventory]
        if n_unscored := int(targets.examples.labels[:, is_unscored].any(1).sum()):
            starts = ", ".join(f"{start}…" for start in targets.task.unscored)
            total = f"{n_unscored:,} of {len(targets.examples):,} targets"
            stderr.print(
                f"{targets.task.name}: {total} have labels that are learned, but do not count ({starts})"
            )
    small_tasks = dict.fromkeys(targets.name[0] for targets in run.splits if targets.has_few_types)
    if small_tasks and run.settings.has("control"):
        stderr.print(
            f"{', '.join(small_tasks)}: the (last) words of the targets are few (at most {FEW_TYPES} different ones, or one in more than a quarter of the targets), and a "
            "probe can memorize one random label for each. So a score is compared with all controls but the control task.",
            soft_wrap=True,
        )
    results: list[TrialResult] = []
    with progress() as bars:
        total = sum(len(trials) for stacks in run.rounds for trials in stacks)
        bar = bars.add_task("probing", total=total, note="")
        folders = [begun.part(f"{i:04}", dict) for i in range(len(run.rounds))]
        rounds = [slice(i, i + 1) for i, folder in enumerate(folders) if not folder.is_done]
        fitted_rounds = each_part(partial(_run_rounds, run, device), rounds)
        for i, (folder, stacks) in enumerate(zip(folders, run.rounds, strict=True)):
            make = partial(_take_round, fitted_rounds, stacks, begun.folder / SAVED)
            saved = replace(folder, make=make)
            saved.finish()
            results += _read_round(saved.read(COUNTS), stacks)
            note = f"probes, {i + 1} of {len(run.rounds)} vectors (sites and controls)"
            bars.update(bar, completed=len(results), note=note)
    limit = getattr(run.settings.estimator, "limit", None)
    if limit and (n_cut := sum(len(result.curve) >= limit for result in results)):
        stderr.print(
            f"{n_cut} of {len(results)} probes were still learning at the limit of {limit} validations: "
            "their scores are lower bounds"
        )
    _warn_of_strongest_penalty(results)
    order = [targets.name for targets in run.splits]
    return sorted(results, key=lambda result: order.index(result.trial.splits.name))


def _warn_of_strongest_penalty(results: Sequence[TrialResult]) -> None:
    """Says how many linear probes of real labels chose the penalty at the border of the grid."""
    linear = [r for r in results if isinstance(r.trial.estimator, LinearProbe)]
    real = [r for r in linear if r.trial.control == REAL and r.trial.portion is None]
    at_border = [r for r in real if r.curve[0, -1] == r.curve[:, -1].min()]
    if at_border:
        tasks = ", ".join(dict.fromkeys(result.trial.splits.name[0] for result in at_border))
        note(
            f"{tasks}: {len(at_border)} of {len(real)} probes chose the strongest penalty of the grid ({PENALTIES[0]:g}): a stronger one may do better"
        )


def _run_rounds(
    run: ProbingRun, device: torch.device, rounds: slice
) -> tuple[pd.DataFrame, dict[int, Estimator | None]]:
    """The counts of the trials of a round, and by number the estimators that can be saved."""
    [stacks] = run.rounds[rounds]
    reader = RowReader(stacks[0][0].source, device, run.settings.budget // 2)
    results = [result for trials in stacks for result in run_trials(trials, reader, run.settings)]
    is_saved = [r.trial.control == REAL and r.trial.portion is None for r in results]
    estimators = {i: r.estimator for i, r in enumerate(results) if is_saved[i]}
    counts = {"sums": [result.counts.flatten() for result in results]}
    counts["curve"] = [result.curve.ravel() for result in results]
    return pd.DataFrame(counts), estimators


def _take_round(
    fitted_rounds: Iterator[tuple[pd.DataFrame, dict[int, Estimator | None]]],
    stacks: Sequence[Stack],
    folder: Path,
) -> Tables:
    """The counts of the round that comes next; its probes of real labels are saved, if they can be."""
    counts, estimators = next(fitted_rounds)
    for number, result in enumerate(_read_round(counts, stacks)):
        if hasattr(estimators.get(number), "tensors"):
            save_probe(folder, replace(result, estimator=estimators[number]))
    return {COUNTS: counts}


def _read_round(rows: pd.DataFrame, stacks: Sequence[Stack]) -> Iterator[TrialResult]:
    for trial, flat, curve in zip(chain(*stacks), rows["sums"], rows["curve"], strict=True):
        kind = Counts if has_predictions(trial.estimator) else BlockScores
        counts = kind.unflatten(flat, trial.splits)
        yield TrialResult(trial, counts, curve.reshape(-1, len(CURVE)))
