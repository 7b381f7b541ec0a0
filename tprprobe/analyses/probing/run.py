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
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from tprprobe.analyses.probing.document_counts import CURVE, REAL, TERMS, Fitted, Probe, Tested
from tprprobe.analyses.probing.examples import Splits, split_examples
from tprprobe.analyses.probing.inputs import (
    FLOAT,
    Reader,
    Shape,
    Vector,
    check_test,
    control_vectors,
    find_sites,
    joined_vectors,
    site_vectors,
)
from tprprobe.analyses.probing.labelled_words import Corpus, read_corpus
from tprprobe.analyses.probing.linear import fit_linear
from tprprobe.analyses.probing.probe_folder import save_probe
from tprprobe.analyses.probing.result_table import gather
from tprprobe.analyses.probing.settings import HIDDEN, ProbeSettings
from tprprobe.analyses.probing.span_conv import fit_span_conv
from tprprobe.analyses.probing.task import ALL, Task, find_tasks, list_tasks
from tprprobe.console import progress, stderr
from tprprobe.errors import InputError
from tprprobe.files.kinds import SETTINGS
from tprprobe.files.runs import KeptRun, Part, Tables, kept
from tprprobe.gold.labels import WORD
from tprprobe.store import Store
from tprprobe.store.reader import Source, as_store, takes_paths

PROBES = "probes"
STORE = "store"  # the folder of the store, where it is extracted for the run
ROWS = "rows.parquet"
STATES = 6  # times its parameters that a probe takes in training

Stack = tuple[list[Probe], Splits]  # probes of one vector and task, trained side by side


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
    splits: dict[tuple[Task, str], Splits]
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
    splits: dict[tuple[Task, str], Splits] = {}
    rounds: list[list[Stack]] = []
    refused: dict[Task, str] = {}
    for side in ("source", "target"):
        of_side = [site for site in sites if store.side(site) == side]
        labelled = [one for one in tasks if of_side and _has_labels(table, one, side)]
        if not labelled:
            continue
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
    probed = list(dict.fromkeys(one for one, _ in splits))
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
    corpus: Corpus,
    sites: Sequence[str],
    splits: Mapping[Task, Splits],
    settings: ProbeSettings,
    test: Store | None = None,
) -> Iterator[list[Stack]]:
    """The probes on one side of a store, a round a vector; those of a twin learn from the samples that it has read."""
    store, n, seed = corpus.store, settings.targets, settings.seed
    parts = {task: whole.learning_from(n, seed) for task, whole in splits.items()}
    real = list(site_vectors(store, sites, settings.heads))
    joined = list(joined_vectors(store, sites)) if settings.informs and not settings.heads else []
    for vector in [*real, *control_vectors(store, real, test, settings), *joined]:
        stacks: list[Stack] = []
        for task, part in parts.items():
            if vector.control in store.twins:
                part = _of_twin(store, vector.control, task, splits[task], settings)
            if part is None:
                continue
            new = partial(Probe, task, corpus.side, vector, kind=settings.kind)
            if vector not in joined:
                stacks.append((list(_probes(new, vector, settings)), part))
            if vector.control == REAL and settings.informs and part.has_one_label:
                stacks += [
                    ([new(seed, REAL, "softmax", portion=portion)], some)
                    for portion, some in part.portions(seed)
                ]
        if stacks:
            yield stacks


def _of_twin(
    store: Store, kind: str, task: Task, whole: Splits, settings: ProbeSettings
) -> Splits | None:
    n = store.twins[kind].samples
    part = whole.of_first_samples(n)
    if part is None and settings.controls is not None:
        raise InputError(
            f"the {kind} twin has read the first {n} samples, which lack a split "
            f"of {task.name}: leave out that control"
        )
    return None if part is None else part.learning_from(settings.targets, settings.seed)


def _probes(new: partial[Probe], vector: Vector, settings: ProbeSettings) -> Iterator[Probe]:
    """The probes of a vector: for every seed, of the real labels and of others."""
    controls = [vector.control]
    if vector.control == REAL:
        controls += [name for name in ("control", "shuffled") if settings.has(name)]
        if settings.has("prefix") and (new.args[1] == "target" or settings.controls):
            controls.append("prefix")
    for seed in range(settings.seed, settings.seed + settings.seeds):
        yield from (new(seed, control, settings.loss_of_probes) for control in controls)


def _train_all(run: ProbingRun, begun: KeptRun, device: torch.device) -> list[Tested]:
    """The probes of all rounds, tested; rounds that the folder already has are not trained again."""
    for (task, side), part in run.splits.items():
        if part.lost:
            stderr.print(
                f"{task.name}: {part.lost} targets left out on the {side} side, whose words "
                "have no token or no state that predicts them"
            )
    tested: list[Tested] = []
    with progress() as bars:
        total = sum(len(probes) for stacks in run.rounds for probes, _ in stacks)
        bar = bars.add_task("probing", total=total, note="")
        for number, stacks in enumerate(run.rounds):
            make = partial(_make_round, stacks, run.settings, device, begun.folder / PROBES)
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
    order = list(run.splits)
    return sorted(tested, key=lambda one: order.index((one.probe.task, one.probe.side)))


def _make_round(
    stacks: Sequence[Stack], settings: ProbeSettings, device: torch.device, folder: Path
) -> Tables:
    """What a round counted; its probes of real labels are saved."""
    fitted = train_round(stacks, settings, device)
    for one in fitted:
        if one.tested.probe.control == REAL and one.tested.probe.portion is None:
            save_probe(folder, one)
    sums = [pd.DataFrame(one.tested.sums.reshape(-1, len(TERMS)), columns=TERMS) for one in fitted]
    curves = [pd.DataFrame(one.tested.curve, columns=CURVE) for one in fitted]
    numbered = {"sums": dict(enumerate(sums)), "curves": dict(enumerate(curves))}
    return {
        name: pd.concat(some, names=["probe", None]).reset_index(0)
        for name, some in numbered.items()
    }


def _read_round(part: Part, stacks: Sequence[Stack]) -> Iterator[Tested]:
    probes = [(one, splits) for probes, splits in stacks for one in probes]
    sums, curves = (part.read(name).set_index("probe") for name in ("sums", "curves"))
    for i, (one, splits) in enumerate(probes):
        shape = (-1, len(splits.tested.corpus.names), len(TERMS))
        yield Tested(
            one, splits, sums.loc[[i]].to_numpy().reshape(shape), curves.loc[[i]].to_numpy()
        )


def train_round(
    stacks: Sequence[Stack], settings: ProbeSettings, device: torch.device
) -> list[Fitted]:
    """The probes of one vector, trained and tested."""
    reader = Reader(stacks[0][0][0].vector, device, settings.budget // 2)
    hidden = 0 if settings.is_linear else HIDDEN
    fitted: list[Fitted] = []
    for probes, splits in stacks:
        labels, spans = len(splits.examples.inventory), probes[0].task.spans
        shape = Shape(reader.vector.width, spans, labels, settings.kernel, hidden)
        if settings.is_linear:
            fitted += fit_linear(probes, splits, reader, shape)
            continue
        size = max(1, settings.budget // 2 // (shape.parameters * STATES * FLOAT))
        for start in range(0, len(probes), size):
            some = probes[start : start + size]
            fitted += fit_span_conv(some, splits, reader, shape, settings.training)
    return fitted


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
