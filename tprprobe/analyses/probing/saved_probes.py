"""Probes on disk, in the layout of checkpoints: config.json, model.safetensors, README.md."""

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from safetensors.torch import load, save
from torch import Tensor

from tprprobe.analyses.probing.batches import Reader, chunks, read_batch
from tprprobe.analyses.probing.labelled_splits import Examples
from tprprobe.analyses.probing.probes import EdgeProbes, LinearProbes, Shape, probes_of
from tprprobe.analyses.probing.rounds import Fitted
from tprprobe.analyses.probing.settings import SpanMode
from tprprobe.analyses.probing.sides import Corpus, read_corpus
from tprprobe.analyses.probing.targets import read_targets
from tprprobe.analyses.probing.tasks import Task
from tprprobe.analyses.probing.vectors import Vector, site_vectors
from tprprobe.errors import InputError
from tprprobe.files.hub import CARD, CONFIG, WEIGHTS, locate
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.writing import write_folder
from tprprobe.gold.labels import WORD
from tprprobe.notebook import as_html
from tprprobe.store import Store

FORMAT, VERSION = "tprprobe-probe", 1
CPU = torch.device("cpu")
UNKNOWN = "?"  # the label of words of unlabelled text: of no inventory
COLUMNS = ("sample", "span1", "span2", "label", "predicted", "probability")


@dataclass(frozen=True, eq=False)
class SavedProbe:
    """A trained probe, with its task and the site and states that it reads."""

    task: Task
    site: str
    head: int | None
    side: str
    labels: tuple[str, ...]
    span_mode: SpanMode
    window: range
    loss: str
    metrics: dict[str, float]
    module: EdgeProbes | LinearProbes
    mean: Tensor
    scale: Tensor

    @torch.no_grad()
    def predict(self, store: Store, tokens: pd.DataFrame | None = None) -> pd.DataFrame:
        """One row per target: sample, spans, label, prediction.

        Targets are those that the token table labels. Where it has no such column, a probe of one
        span predicts for every word, or for every token of a text without words.

        Columns: sample, span1, span2 (texts, half open in words), label (of the table; empty where
        the probe does not know it), predicted (its likeliest label), probability (of that one).

        Raises:
            InputError: the store lacks the site, or vectors of that width, or the spans to ask about.
        """
        vector = self._vector(store)
        table = self._asked(store.tokens if tokens is None else tokens)
        corpus = read_corpus(store, table, self.side, [self.task], None)
        examples = self._examples(corpus)
        if not len(examples):
            raise InputError(f"{store.path} has no targets of {self.task.name} on the {self.side}")
        logits = np.zeros((len(examples), len(self.labels)), np.float32)
        for samples in chunks(examples.samples):
            chunk = Reader(CPU).read([examples], samples)
            vectors = (chunk.stacked([vector]) - self.mean) / self.scale
            vectors[:, -1] = 0
            for chosen in examples.batches(samples, 32):
                batch = read_batch(examples, chosen, chunk, vectors)
                logits[chosen] = self.module(batch.windows([0]), batch.spans)[0].numpy()
        return self._table(examples, torch.from_numpy(logits))

    def _repr_html_(self) -> str:
        of = self.site if self.head is None else f"{self.site}, head {self.head}"
        scores = pd.DataFrame({"score": list(self.metrics), "value": list(self.metrics.values())})
        labels = f"{len(self.labels)} labels: {' '.join(self.labels)}"
        return as_html(f"Probe of {self.task.name} in {of}", scores, note=labels)

    def _asked(self, tokens: pd.DataFrame) -> pd.DataFrame:
        """The token table with the targets to predict: those that it has, or else every word."""
        if self.task.cells in tokens:
            return tokens
        if self.task.spans > 1:
            raise InputError(
                f"the token table has no column {self.task.cells!r}, which says what pairs of spans "
                "this probe is asked about"
            )
        if WORD not in tokens:
            tokens = tokens.assign(**{WORD: tokens["position"]})
        return tokens.assign(**{self.task.cells: np.where(tokens[WORD] >= 0, UNKNOWN, "")})

    def _vector(self, store: Store) -> Vector:
        if self.site not in store.sites:
            store.select(self.site)
        found = list(site_vectors(store, [self.site], heads=self.head is not None))
        vector = found[self.head or 0]
        if vector.width != self.module.shape.width:
            raise InputError(
                f"{self.site} of {store.path} is {vector.width} wide, this probe reads "
                f"{self.module.shape.width} numbers: it belongs to another model"
            )
        return vector

    def _examples(self, corpus: Corpus) -> Examples:
        targets = read_targets(corpus, self.task, self.span_mode)
        known, n = targets.with_inventory(self.labels), len(targets)
        return Examples(corpus, known, {}, self.window, np.arange(n), n)

    def _table(self, examples: Examples, logits: Tensor) -> pd.DataFrame:
        shares = logits.sigmoid() if self.loss == "sigmoid" else logits.softmax(-1)
        best = shares.max(-1)
        labels = np.array(self.labels, object)
        targets = examples.targets
        given = [" ".join(labels[marks]) for marks in targets.labels]
        spans = [[f"[{a},{b})" for a, b in each] for each in targets.words.tolist()]
        columns = (
            targets.sample,
            [each[0] for each in spans],
            [each[1] if len(each) > 1 else "" for each in spans],
            given,
            labels[best.indices.numpy()],
            best.values.numpy(),
        )
        return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))


def save_probe(
    folder: Path, fitted: Fitted, span_mode: SpanMode, metrics: dict[str, float]
) -> Path:
    """Writes a trained probe to a folder, in place of what is there, and gives the folder."""
    stack, probe = fitted.stack, fitted.probe
    train = stack.splits.train
    at = stack.vectors.index(probe.vector)
    weights = {name: p.detach().cpu() for name, p in fitted.weights.named_parameters()}
    weights |= {"mean": stack.mean[at].cpu(), "scale": stack.scale[at].cpu()}
    config = {
        "format": FORMAT,
        "version": VERSION,
        "task": probe.task.model_dump(),
        "site": probe.vector.site,
        "head": probe.vector.head,
        "side": train.corpus.side,
        "labels": list(train.targets.inventory),
        "span_mode": span_mode,
        "window": [train.window.start, train.window.stop],
        "loss": probe.loss,
        "shape": asdict(stack.shape),
        "seed": probe.seed,
        "model": train.corpus.store.manifest.get("model"),
        "metrics": metrics,
    }
    files = {
        CONFIG: json.dumps(config, indent=1, ensure_ascii=False) + "\n",
        WEIGHTS: save({name: tensor.contiguous() for name, tensor in weights.items()}),
        CARD: _card(config),
    }
    if folder.exists():
        shutil.rmtree(folder)  # of a run that was cut off
    return write_folder(folder, files)


def _card(config: dict[str, Any]) -> str:
    task, metrics = config["task"], config["metrics"]
    numbers = "\n".join(f"- {name}: {value:.4f}" for name, value in metrics.items())
    labels = f"Labels: {task['source']}\n\n" if task["source"] else ""
    head = "" if config["head"] is None else f", head {config['head']}"
    return (
        f"# Edge probe: {task['title']} from `{config['site']}`{head}\n\n"
        f"Predicts one of {len(config['labels'])} labels ({task['name']}) of "
        f"{'a span' if task['spans'] == 1 else 'a pair of spans'} from frozen vectors of "
        f"`{json.dumps(config['model'], ensure_ascii=False)}`; states read: {config['span_mode']}. "
        f"On held-out documents:\n\n{numbers}\n\n{labels}"
        "```python\nimport tprprobe as tp\n\n"
        'tp.load_probe("FOLDER").predict(tp.open_store("STORE"))\n```\n'
    )


def load_probe(name: str | os.PathLike[str]) -> SavedProbe:
    """The probe in a folder, or of a hub id ``owner/name``.

    Raises:
        InputError: there is none, or it is damaged.
    """
    folder = locate("probes", name)
    config = read_json(folder / CONFIG)
    if (config.get("format"), config.get("version")) != (FORMAT, VERSION):
        raise InputError(
            f"{folder} holds no probe of version {VERSION}: {CONFIG} is of something else"
        )
    try:
        weights = load((folder / WEIGHTS).read_bytes())
        shape = Shape(**config["shape"])
        mean, scale = weights.pop("mean"), weights.pop("scale")
        module = probes_of(shape, weights).eval()
        return SavedProbe(
            Task(**{name: config["task"][name] for name in Task.model_fields}),
            config["site"],
            config["head"],
            config["side"],
            tuple(config["labels"]),
            config["span_mode"],
            range(*config["window"]),
            config["loss"],
            config["metrics"],
            module,
            mean,
            scale,
        )
    except Exception as error:  # whatever the file's reader raises, it is one line here
        raise InputError(f"{folder} is damaged: {' '.join(str(error).split())[:200]}") from error
