"""Examples of a task: the targets that words are labelled with, the states that are read for them, controls, and
which of them train, validate and test in every fold of the documents.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Int

from tprprobe.analyses.probing.labelled_words import Corpus, Marks, Order
from tprprobe.analyses.probing.settings import ProbeSettings, SpanMode
from tprprobe.analyses.probing.task import Task
from tprprobe.errors import InputError
from tprprobe.evaluation.controls import draw_labels, shuffle_labels
from tprprobe.evaluation.runner import Fold
from tprprobe.evaluation.splits import DEV, TEST, TRAIN, stand_first
from tprprobe.gold.labels import WITHOUT_TOKEN, Target, decode_cell

MAX_TARGETS = 1024  # targets of a batch, or those of one sample that has more
FRACTIONS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0)
FEW_TYPES = 30  # word types
COMMON = 0.25  # of the targets, those of one word type
SHARED = "all have documents or texts that the test store has too: test on others"
LABELS = ("control", "prefix", "shuffled")  # the controls that are other labels

Spans = Int[np.ndarray, "target span edge"]  # half open
Places = Int[np.ndarray, " _target"]


@dataclass(frozen=True, eq=False)
class Examples:
    """The targets of one task on one side of a store, all of whose spans have states."""

    corpus: Corpus
    mode: SpanMode
    window: range  # the neighbors of a state that are read with it
    inventory: tuple[str, ...]
    marks: Mapping[str, Marks]  # by control, or real; a label that the inventory lacks is unmarked
    sample: Int[np.ndarray, " target"]
    rows: Spans  # the tokens of a target's spans
    words: Spans  # and their words
    states: Spans  # the rows that are read for them
    forms: Int[np.ndarray, "target span"]  # hashes of a span's last word, the same in every store
    before: Int[np.ndarray, "target span"]  # and of the word before its first, −1: none
    unseen: Int[np.ndarray, " target"]  # labels that the inventory lacks
    lost: int = 0  # targets whose words have no token, or no state that predicts them

    def __len__(self) -> int:
        return len(self.sample)

    @property
    def labels(self) -> Marks:
        return self.marks["real"]

    @property
    def samples(self) -> Order:
        return np.unique(self.sample)

    @property
    def document(self) -> Places:
        return self.corpus.document[self.sample]

    def take(self, ids: np.ndarray) -> "Examples":
        names = ("sample", "rows", "words", "states", "forms", "before", "unseen")
        marks = {name: labels[ids] for name, labels in self.marks.items()}
        return replace(self, marks=marks, **{name: getattr(self, name)[ids] for name in names})

    def of_first_samples(self, n: int) -> "Examples":
        """The examples in the first samples, which stand first, as samples rise."""
        return self.take(np.arange(np.searchsorted(self.sample, n)))

    def with_inventory(
        self, inventory: Sequence[str], unscored: tuple[str, ...] = ()
    ) -> "Examples":
        """These examples with the columns of other labels; one that is not among them marks nothing, and is unseen if it is scored."""
        columns = {label: column for column, label in enumerate(inventory)}
        is_listed = np.array([label in columns for label in self.inventory], bool)
        labels = np.zeros((len(self), len(inventory)), bool)
        to = [columns[label] for label in self.inventory if label in columns]
        labels[:, to] = self.labels[:, is_listed]
        is_scored = np.array([not label.startswith(unscored) for label in self.inventory], bool)
        unseen = self.labels[:, is_scored & ~is_listed].sum(1)
        return replace(self, inventory=tuple(inventory), marks={"real": labels}, unseen=unseen)

    def with_controls(
        self, reference: Bool[np.ndarray, "_reference label"], seed: int
    ) -> "Examples":
        """These examples with the labels of all controls, drawn as often as in the reference: of ``control`` for a span's last word, of
        ``prefix`` for it and the word before the span.
        """
        pairs = np.concatenate([self.forms, self.before], axis=1)
        controls = {
            "control": draw_labels(self.forms, reference, seed),
            "prefix": draw_labels(pairs, reference, seed),
            "shuffled": shuffle_labels(self.labels, seed),
        }
        return replace(self, marks={"real": self.labels, **controls})

    def subsets(self) -> dict[str, Bool[np.ndarray, " target"]]:
        """Subsets by name: second span to the ``left`` or ``right``, all spans ``single`` tokens."""
        single = (self.rows[:, :, 1] - self.rows[:, :, 0] == 1).all(1)
        if self.rows.shape[1] == 1:
            return {"single": single}
        first_words, second = self.words[:, 0, 0], self.words[:, 1, 0]
        return {"left": second < first_words, "right": second > first_words, "single": single}

    def within(self, samples: Order) -> Places:
        """The places of the examples in some samples, sample by sample."""
        start, stop = (np.searchsorted(self.sample, samples, side) for side in ("left", "right"))
        return _members(start, stop)[0]

    def batches(self, order: Order, size: int) -> Iterator[Places]:
        """The examples of ``size`` samples at a time, in that order, at most MAX_TARGETS where possible."""
        start, stop = (np.searchsorted(self.sample, order, side) for side in ("left", "right"))
        ranges, n_targets = [], 0
        for start_id, stop_id in zip(start[stop > start], stop[stop > start], strict=True):
            if len(ranges) == size or (ranges and n_targets + stop_id - start_id > MAX_TARGETS):
                yield np.concatenate(ranges)
                ranges, n_targets = [], 0
            ranges.append(np.arange(start_id, stop_id))
            n_targets += stop_id - start_id
        if ranges:
            yield np.concatenate(ranges)

    def windows(self, ids: Places, span: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows [state, window] that are read for a span of some examples (−1: none), and of which
        of the chosen ones every state is."""
        center, owner = _members(*self.states[ids, span].T)
        rows = center[:, None] + np.array(self.window)
        corpus = self.corpus
        low, high = corpus.first_row[center][:, None], corpus.last_row[center][:, None]
        is_inside = (rows >= low) & (rows <= high)
        return np.where(is_inside, rows, -1), owner

    def rows_read(self, ids: Places) -> Int[np.ndarray, " row"]:
        """All rows that are read for some examples, rising."""
        spans = range(self.states.shape[1])
        rows = np.unique(np.concatenate([self.windows(ids, s)[0].ravel() for s in spans]))
        return rows[rows >= 0]


def _members(start: np.ndarray, stop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers in ranges, one range after another, and of which range each is."""
    lengths = stop - start
    owner = np.repeat(np.arange(len(start)), lengths)
    return start[owner] + np.arange(len(owner)) - (np.cumsum(lengths) - lengths)[owner], owner


def read_examples(corpus: Corpus, task: Task, mode: SpanMode, window: range) -> Examples:
    """The targets that the cells of a task list; targets of several labels are one."""
    words = corpus.words
    listed = [
        (place, target)
        for place, cell in enumerate(words.cells[task.cells])
        if isinstance(cell, str) and cell
        for target in decode_cell(cell, int(words.number[place]))
    ]
    place = np.array([place for place, _ in listed], int)
    spans = np.array([_spans(target, task) for _, target in listed], int)
    spans = spans.reshape(len(listed), task.spans, 2)
    sample = words.sample[place]
    first_word = words.find(sample[:, None], spans[:, :, 0])
    last_word = words.find(sample[:, None], spans[:, :, 1] - 1)
    has = ((first_word >= 0) & (last_word >= 0)).all(1)
    inventory, codes = np.unique([target.label for _, target in listed], return_inverse=True)
    first_word, last_word, spans = first_word[has], last_word[has], spans[has]
    sample, codes = sample[has], codes[has]
    _, unique, owner = np.unique(
        np.column_stack([sample, spans.reshape(len(spans), 2 * task.spans)]),
        axis=0, return_index=True, return_inverse=True,
    )  # fmt: skip
    labels = np.zeros((len(unique), len(inventory)), bool)
    labels[owner.reshape(-1), codes] = True
    sample, spans = sample[unique], spans[unique]
    first_word, last_word = first_word[unique], last_word[unique]
    before = words.find(sample[:, None], spans[:, :, 0] - 1)
    rows = np.stack([words.rows[first_word, 0], words.rows[last_word, 1]], axis=-1)
    states, forms = _states(rows, corpus, mode), words.hashes
    texts = (forms[last_word], np.where(before >= 0, forms[before], -1))
    targets = (sample, rows, spans, states, *texts, np.zeros(len(sample), int))
    names = tuple(map(str, inventory))
    examples = Examples(corpus, mode, window, names, {"real": labels}, *targets)
    stated = (states[..., 0] >= 0).all(1)
    # a target of a word without a token has no cell: extraction counted it
    counts = corpus.store.facts.counts
    unaligned = max(int((~has).sum()), counts.get(f"{corpus.side}.{task.cells}{WITHOUT_TOKEN}", 0))
    lost = unaligned + int((~stated).sum())
    return replace(examples.take(np.flatnonzero(stated)), lost=lost)


def _spans(target: Target, task: Task) -> list[tuple[int, int]]:
    spans = [span for span in (target.span1, target.span2) if span is not None]
    if len(spans) != task.spans:
        raise InputError(
            f"{task.name} is a task on {('single spans', 'pairs of spans')[task.spans - 1]}, and its target "
            f"{target.label} has {len(spans)} (in words: {spans}): give all its targets span2, or none, or extract "
            "them under a name of their own (--labels NAME=FILE.jsonl)"
        )
    return spans


def _states(rows: Spans, corpus: Corpus, mode: SpanMode) -> Spans:
    """The states of every span, half open: those that predict its tokens stand before them, −1 at the start of a sample."""
    states = rows.copy()
    if corpus.predicts:
        first_row = states[..., 0]
        none = corpus.first_row[first_row] == first_row
        states -= 1
        states[none] = -1
    if mode == "first_state":
        states[..., 1] = states[..., 0] + 1
    elif mode == "last_state":
        states[..., 0] = states[..., 1] - 1
    return states


@dataclass(frozen=True, eq=False)
class Splits:
    """The examples of a task on a side, and the ``folds`` in which they train and are tested."""

    task: Task
    examples: Examples
    tested: Examples  # whose places a fold's ``test`` are: the same, or those of another store
    folds: tuple[Fold, ...]
    lost: int

    @property
    def name(self) -> tuple[str, str]:
        return self.task.name, self.examples.corpus.side

    @property
    def has_few_types(self) -> bool:
        """Whether the words (or pairs of words) are so few, or one of them so frequent, that every probe learns random labels of them
        by heart.
        """
        _, counts = np.unique(self.examples.forms, axis=0, return_counts=True)
        return len(counts) <= FEW_TYPES or bool(counts.max() > COMMON * counts.sum())

    def of_first_samples(self, n: int, n_tested: int) -> "Splits | None":
        """The examples in the first samples, which a twin has read; None where the first fold lacks a split there."""
        is_same = self.tested is self.examples
        examples = self.examples.of_first_samples(n)
        tested = examples if is_same else self.tested.of_first_samples(n_tested)
        sizes = len(examples), len(examples), len(tested)
        pairs = [zip(fold, sizes, strict=True) for fold in self.folds]
        folds = [Fold(*(rows[rows < size] for rows, size in pair)) for pair in pairs]
        if not min(map(len, folds[0])):
            return None
        folds = (folds[0], *(fold for fold in folds[1:] if len(fold.train) and len(fold.test)))
        return replace(self, examples=examples, tested=tested, folds=folds)

    def learning_from(self, n: int | None, seed: int) -> "Splits":
        """Splits whose training samples are drawn at random until they have n targets; None: all training samples."""
        if n is None:
            return self
        folds = [fold._replace(train=self._draw(fold.train, n, seed)) for fold in self.folds]
        return replace(self, folds=tuple(folds))

    def _draw(self, train: Places, n: int, seed: int) -> Places:
        if len(train) <= n:
            return train
        sample = self.examples.sample[train]
        samples, counts = np.unique(sample, return_counts=True)
        order = np.random.default_rng([2, seed]).permutation(len(samples))
        n_samples = max(1, int(np.searchsorted(np.cumsum(counts[order]), n, "right")))
        return train[np.isin(sample, samples[order[:n_samples]])]

    def portions(self, seed: int) -> Iterator[tuple[float, "Splits"]]:
        """The training portions that double, each tested on what the next adds, the last on the test samples; none where a
        target that is trained on has several labels, which have no codelength.

        Source: Voita and Titov 2020, online coding.
        """
        fold = self.folds[0]
        fold = fold._replace(train=np.setdiff1d(fold.train, fold.dev))
        if (self.examples.labels[fold.train].sum(1) != 1).any():
            return
        train = self.examples.take(fold.train)
        samples = np.random.default_rng([1, seed]).permutation(train.samples)
        sizes = sorted({max(1, round(fraction * len(samples))) for fraction in FRACTIONS})

        def places(start: int, stop: int) -> Places:
            return fold.train[train.within(np.sort(samples[start:stop]))]

        for size, following in pairwise(sizes):
            portion_fold = Fold(places(0, size), fold.dev, places(size, following))
            yield size / len(samples), replace(self, tested=self.examples, folds=(portion_fold,))
        yield 1.0, replace(self, folds=(fold,))


def split_examples(
    task: Task, corpus: Corpus, test: Corpus | None, settings: ProbeSettings
) -> Splits:
    """The examples of a task for training, validation and testing. With a ``test`` corpus all its examples are the test, and documents
    and sequences that it has are not trained on.
    """
    mode, window = settings.mode(corpus.side, corpus.predicts), settings.window(corpus.side)
    examples = read_examples(corpus, task, mode, window)
    test_examples = examples if test is None else read_examples(test, task, mode, window)
    parts = [split[examples.sample] for split in corpus.splits]
    folds = [Fold(*(np.flatnonzero(part == n) for n in (TRAIN, DEV, TEST))) for part in parts]
    if test is not None:
        folds = [_divide_for(test_examples, examples, settings.is_iterative)]
    for name, rows in zip((TRAIN, DEV, TEST), folds[0], strict=True):
        if not len(rows):
            is_empty = test is not None and len(examples) and not len(folds[0].train)
            remedy = SHARED if is_empty else "label or extract more samples"
            raise InputError(
                f"no targets of {task.name} in the {name} documents on the {corpus.side} side: {remedy}"
            )
    is_trained = examples.labels[folds[0].train].any(0)
    trained = np.array(examples.inventory, object)[is_trained].tolist()
    if len(trained) == 1:
        raise InputError(
            f"{task.name} has one label ({trained[0]}): there is nothing to predict; labeled words are "
            "classified here, not found"
        )
    inventory = trained if task.labels == "training" else task.labels
    lost = examples.lost + (0 if test is None else test_examples.lost)
    examples = examples.with_inventory(inventory, task.unscored)
    reference = examples.labels[folds[0].train]
    examples = tested = examples.with_controls(reference, settings.seed)
    if test is not None:
        tested = test_examples.with_inventory(inventory, task.unscored)
        tested = tested.with_controls(reference, settings.seed)
    further = () if settings.is_iterative else folds[1:]
    folds = [folds[0], *(fold for fold in further if len(fold.train) and len(fold.test))]
    is_softmax = settings.is_iterative and settings.estimator.get_params().get("loss") == "softmax"
    if is_softmax and any((targets.labels.sum(1) > 1).any() for targets in (examples, tested)):
        raise InputError(f"targets of {task.name} have several labels: probe with loss sigmoid")
    return Splits(task, examples, tested, tuple(folds), lost)


def _divide_for(test: Examples, examples: Examples, is_iterative: bool) -> Fold:
    """The fold of a store that another one tests, whose documents and sequences are left out. Of parts drawn by chance all are learned
    from; those that choose, too, but by an iterative estimator.
    """
    corpus, tested = examples.corpus, test.corpus
    names = {*tested.names}
    is_shared = np.array([name in names for name in corpus.names])[corpus.document]
    is_shared |= np.isin(corpus.origin.sequences, tested.origin.sequences).any(1)
    is_train, is_dev = (corpus.splits[0] == name for name in (TRAIN, DEV))
    if len(corpus.splits) > 1:
        is_dev &= stand_first(is_dev.astype(int), corpus.origin.sequences)  # no copies choose
        is_train = ~(is_dev & is_iterative)
    parts = ((part & ~is_shared)[examples.sample] for part in (is_train, is_dev))
    train, dev = map(np.flatnonzero, parts)
    return Fold(train, dev, np.arange(len(test)))
