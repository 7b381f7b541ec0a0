"""Probes on disk, in the layout of checkpoints: config.json, model.safetensors, README.md."""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from safetensors.torch import load, save
from torch import Tensor

from tprprobe.analyses.probing.examples import Examples, read_examples
from tprprobe.analyses.probing.features import FeatureSource, site_vectors
from tprprobe.analyses.probing.labelled_words import Corpus, read_corpus
from tprprobe.analyses.probing.settings import SpanMode
from tprprobe.analyses.probing.stored_states import RowReader, StoredStates
from tprprobe.analyses.probing.task import Task
from tprprobe.analyses.probing.trials import Counts, TrialResult
from tprprobe.errors import InputError
from tprprobe.estimators.probes.linear import LinearProbe
from tprprobe.estimators.probes.span_conv import SpanConvProbe
from tprprobe.estimators.probes.spans import Shape
from tprprobe.evaluation.intervals import interval_of
from tprprobe.evaluation.metrics import N, accuracy, micro_f1
from tprprobe.files.file_errors import as_input_error
from tprprobe.files.hub import CARD, CONFIG, WEIGHTS, locate
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.notebook import as_html
from tprprobe.files.settings import Document, parse
from tprprobe.files.writing import write_folder
from tprprobe.gold.labels import WORD
from tprprobe.store import Store

UNKNOWN = "?"  # the label of words of unlabelled text: of no inventory
SAVED = "probes"  # the folder of a run's probes


class ProbeFile(Document):
    """The configuration of a saved probe: what it reads, what it predicts, and its scores on held-out documents."""

    format: Literal["tprprobe-probe"] = "tprprobe-probe"
    version: Literal[1] = 1
    task: Task
    site: str
    head: int | None
    side: str
    labels: tuple[str, ...]
    span_mode: SpanMode
    predicts: bool | None = None
    window: tuple[int, int]
    loss: str
    shape: Shape
    seed: int
    model: object
    metrics: dict[str, float]


@dataclass(frozen=True, eq=False)
class SavedProbe:
    """A trained probe, with its task and the site and states that it reads.

    Attributes:
        task: What it predicts.
        labels: The labels that it knows.
        window: The states around a span that it reads.
        shape: The sizes of its weights.
        weights: Its weights by name.
        mean: What is subtracted from every vector.
        scale: What every dimension is divided by.
        learned: Hashes of the texts that it learned from; empty in a probe of an earlier version.
        site: The site that it reads.
        head: The head that it reads; None: all heads.
        side: ``source`` or ``target``.
        span_mode: Which states of a span it reads: first_state, all_states or last_state.
        predicts: Whether these are the states before the span's tokens; None: as the store's labels ask.
        loss: What it was trained with: softmax or sigmoid.
        metrics: Its scores on held-out documents, by name.

    Examples:
        >>> saved = tp.load_probe("pos/probes/pos.encoder.1.self.role.seed0")
        >>> saved.predict(tp.open_store("english")).columns.to_list()
        ['sample', 'span1', 'span2', 'words', 'label', 'predicted', 'probability', 'learned']
    """

    task: Task
    labels: tuple[str, ...]
    window: range
    shape: Shape
    weights: Mapping[str, Tensor]
    mean: Tensor
    scale: Tensor
    learned: Tensor
    site: str
    head: int | None
    side: str
    span_mode: SpanMode
    predicts: bool | None
    loss: str
    metrics: dict[str, float]

    @torch.no_grad()
    def predict(self, store: Store, tokens: pd.DataFrame | None = None) -> pd.DataFrame:
        """The labels that the probe gives to the words of a store.

        Args:
            store: The store, with the probe's site.
            tokens: A token table in place of the store's; default: the store's. Where it has no labels of the task, every
                word is a target (every token of a text without words).

        Returns:
            One row per target; see [columns](probing.md#columns-of-predictions).

        Raises:
            InputError: The store has not the probe's site, or no targets of its task.
        """
        source = self._source(store)
        table = self._with_targets(store.tokens if tokens is None else tokens)
        corpus = read_corpus(store, table, self.side, [self.task], None, self.predicts)
        examples = read_examples(corpus, self.task, self.span_mode, self.window)
        examples = examples.with_inventory(self.labels)
        if not len(examples):
            raise InputError(f"{store.path} has no targets of {self.task.name} on the {self.side}")
        reader = RowReader(source, torch.device("cpu"), 0)
        states = StoredStates(reader, examples).standardize(self.mean, self.scale)
        inputs = states if self.shape.hidden else states.means()
        return self._table(examples, self.estimator.logits(inputs))

    @property
    def estimator(self) -> Any:
        """The probe of vectors that are standardized."""
        kind = SpanConvProbe if self.shape.hidden else LinearProbe
        return kind.from_tensors(dict(self.weights), self.shape, self.loss)

    def __repr__(self) -> str:
        scores = ", ".join(f"{name} {value:.3f}" for name, value in self.metrics.items())
        return f"SavedProbe({self.task.name} at {self.site}, {len(self.labels)} labels; {scores})"

    def _repr_html_(self) -> str:
        place = self.site if self.head is None else f"{self.site}, head {self.head}"
        scores = pd.DataFrame({"score": list(self.metrics), "value": list(self.metrics.values())})
        labels = f"{len(self.labels)} labels: {' '.join(self.labels)}"
        return as_html(f"Probe of {self.task.name} in {place}", scores, note=labels)

    def _with_targets(self, tokens: pd.DataFrame) -> pd.DataFrame:
        """The token table with the targets to predict: those that it has, or else every word."""
        if self.task.cells in tokens:
            return tokens
        if self.task.spans > 1:
            raise InputError(
                f"the token table has no column {self.task.cells!r}, which says what pairs of spans "
                'this probe is asked about: give them as JSON lines, each target with the label "?", '
                f"`tprprobe extract --data FILE.jsonl --labels {self.task.cells}=FILE.jsonl`"
            )
        if WORD not in tokens:
            tokens = tokens.assign(**{WORD: tokens["position"]})
        return tokens.assign(**{self.task.cells: np.where(tokens[WORD] >= 0, UNKNOWN, "")})

    def _source(self, store: Store) -> FeatureSource:
        if self.site not in store.sites:
            store.select(self.site)
        sources = list(site_vectors(store, [self.site], heads=self.head is not None))
        source = sources[self.head or 0]
        if source.width != self.shape.width:
            raise InputError(
                f"{self.site} of {store.path} is {source.width} wide, this probe reads "
                f"{self.shape.width} numbers: it belongs to another model"
            )
        return source

    def _table(self, examples: Examples, logits: Float[Tensor, "target label"]) -> pd.DataFrame:
        shares = logits.sigmoid() if self.loss == "sigmoid" else logits.softmax(-1)
        best, corpus = shares.max(-1), examples.corpus
        labels = np.array(self.labels, object)
        places = [*zip(examples.sample.tolist(), examples.words, strict=True)]
        texts = corpus.origin.sequences[examples.sample, 0].astype(np.int64)
        spans = [[f"[{a},{b})" for a, b in spans] for spans in examples.words.tolist()]
        columns = {
            "sample": examples.sample,
            "span1": [first_span for first_span, *_ in spans],
            "span2": ["".join(second_span) for _, *second_span in spans],
            "words": [_join_words(corpus, n, s) for n, s in places],
            "label": [" ".join(labels[marks]) for marks in examples.labels],
            "predicted": labels[best.indices.numpy()],
            "probability": best.values.numpy(),
            "learned": np.isin(texts, self.learned),
        }
        return pd.DataFrame(columns)


def _join_words(corpus: Corpus, sample: int, spans: np.ndarray) -> str:
    """The words of the spans of a target; those of a pair with a bar between."""
    words = [np.arange(start, stop) for start, stop in spans]
    places = [corpus.words.find(np.full(len(numbers), sample), numbers) for numbers in words]
    return " | ".join(" ".join(corpus.words.form[place[place >= 0]]) for place in places)


def save_probe(folder: Path, result: TrialResult) -> None:
    """Writes a fitted probe to a folder of its name, in place of what is there."""
    trial, splits = result.trial, result.trial.splits
    estimator: Any = result.estimator
    source, examples, task = trial.source, splits.examples, splits.task
    counts = result.counts
    assert isinstance(counts, Counts)
    shape = estimator.shape(examples.states.shape[1], len(examples.window))
    sums = counts.sums[0][counts.sums[0][:, N] > 0]
    is_right = accuracy(sums.sum(0, keepdims=True))
    config = ProbeFile(
        task=task,
        site=source.site,
        head=source.head,
        side=examples.corpus.side,
        labels=examples.inventory,
        span_mode=examples.mode,
        predicts=examples.corpus.predicts,
        window=(examples.window.start, examples.window.stop),
        loss=getattr(estimator, "loss", "softmax"),
        shape=shape,
        seed=trial.seed,
        model=examples.corpus.store.manifest.get("model"),
        metrics=interval_of(sums, micro_f1).columns("f1") | {"accuracy": float(is_right[0])},
    )
    scaling = {"mean": getattr(estimator, "mean_", 0.0), "scale": getattr(estimator, "scale_", 1.0)}
    tensors = {name: torch.as_tensor(x).expand(source.width) for name, x in scaling.items()}
    samples = np.unique(examples.sample[splits.folds[0].train])
    learned_samples = examples.corpus.origin.sequences[samples, 0].astype(np.int64)
    tensors = estimator.tensors() | tensors | {"learned": torch.from_numpy(learned_samples)}
    files = {
        CONFIG: json.dumps(config.model_dump(), indent=1, ensure_ascii=False) + "\n",
        WEIGHTS: save({name: tensor.cpu().contiguous() for name, tensor in tensors.items()}),
        CARD: _card(config),
    }
    head = "" if source.head is None else f".head{source.head}"
    path = folder / f"{task.name}.{source.site}{head}.seed{trial.seed}"
    if path.exists():
        shutil.rmtree(path)  # of a run that was cut off
    write_folder(path, files)


def _card(config: ProbeFile) -> str:
    task = config.task
    numbers = "\n".join(f"- {name}: {value:.4f}" for name, value in config.metrics.items())
    labels = f"Labels: {task.source}\n\n" if task.source else ""
    head = "" if config.head is None else f", head {config.head}"
    return (
        f"# Edge probe: {task.title} from `{config.site}`{head}\n\n"
        f"Predicts one of {len(config.labels)} labels ({task.name}) of "
        f"{'a span' if task.spans == 1 else 'a pair of spans'} from frozen vectors of "
        f"`{json.dumps(config.model, ensure_ascii=False)}`; states read: {config.span_mode}. "
        f"On held-out documents:\n\n{numbers}\n\n{labels}"
        "```python\nimport tprprobe as tp\n\n"
        'tp.load_probe("FOLDER").predict(tp.open_store("STORE"))\n```\n'
    )


def load_probe(name: str | os.PathLike[str]) -> SavedProbe:
    """A trained probe.

    Args:
        name: A folder of OUT/probes of ``tprprobe probe --out OUT``, or a hub id ``owner/name``.

    Returns:
        The probe, which labels words of other stores.

    Raises:
        InputError: There is none, or it is damaged.

    Examples:
        >>> tp.load_probe("pos/probes/pos.encoder.1.self.role.seed0").task.name
        'pos'
    """
    folder = locate("probes", name)
    config = parse(ProbeFile, read_json(folder / CONFIG), folder / CONFIG)
    with as_input_error(f"{folder} is damaged"):
        weights = load((folder / WEIGHTS).read_bytes())
        mean, scale = weights.pop("mean"), weights.pop("scale")
        sequence_hashes = weights.pop("learned", torch.zeros(0, dtype=torch.long))
        sizes = {name: tuple(weight.shape[1:]) for name, weight in weights.items()}
    if sizes != config.shape.sizes():
        raise InputError(f"{folder} is damaged: its weights are of another shape")
    names = {field.name for field in fields(SavedProbe)} - {
        "weights",
        "mean",
        "scale",
        "learned",
        "window",
    }
    as_written = {name: getattr(config, name) for name in names}
    window = range(*config.window)
    tensors = {"mean": mean, "scale": scale, "learned": sequence_hashes}
    return SavedProbe(weights=weights, window=window, **tensors, **as_written)
