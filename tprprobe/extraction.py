"""From a model and data to a store: every vector of the chosen sites, streamed and resumable."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from tprprobe.console import track
from tprprobe.data.batching import Ragged
from tprprobe.data.dataset import Dataset
from tprprobe.data.pairs import Pairs, encode_texts
from tprprobe.errors import InputError
from tprprobe.evaluation import by_length, can_decode, write_answers
from tprprobe.hooks import capture, find_sites
from tprprobe.models.checkpoint import untrained_twin
from tprprobe.sitenames import select, side_of
from tprprobe.store import SiteSpec, Store, StoreWriter, open_store
from tprprobe.vocabulary import Vocabulary

BLOCK = 256  # samples of a block: batches are made, and progress is kept, block by block
BATCH = 64
CONTROL, CONTROL_SAMPLES = "untrained", 1000

Target = Literal["reference", "generated"]


def extract(
    model: nn.Module,
    data: Dataset,
    sites: str | Iterable[str] | None = None,
    out: str | os.PathLike[str] = "runs/store",
    attention_samples: int = 128,
    target: Target = "reference",
    control: bool = True,
    resume: bool = False,
    vocabulary: Vocabulary | None = None,
) -> Store:
    """The store of ``sites`` (default: all) of a model on every example of ``data``.

    The decoder reads the reference (teacher forcing) or what the model itself generates. Attention
    maps are of the first ``attention_samples`` only. ``OUT/untrained`` gets the same vectors of the
    first 1,000 samples from the model's randomly initialised twin, as a control; it reads the same
    symbols and has the same token table. A killed run goes on with ``resume`` to a store identical
    to an uninterrupted one. ``vocabulary`` is needed for an attached module, which has none.

    Raises:
        InputError: no such site, text that cannot be encoded, an existing store, a full disk.
    """
    if not len(data):
        raise InputError(f"{data.name} has no examples here: give at least one")
    if target == "generated" and not can_decode(model):
        raise InputError(
            "an attached module writes nothing that its decoder could read: target='reference'"
        )
    vocabulary = vocabulary or getattr(model, "vocabulary", None)
    if vocabulary is None:
        raise InputError("this model's vocabulary is unknown, so text cannot be encoded: give one")
    names = select(sites or "*", list(find_sites(model)))
    out = Path(out)
    settings = (names, attention_samples, target)
    main = Extraction(model, model, vocabulary, data, out, *settings)
    writer = main.writer(resume)
    if control and hasattr(model, "architecture"):
        few = data[: min(len(data), CONTROL_SAMPLES)]
        twin = Extraction(untrained_twin(model), model, vocabulary, few, out / CONTROL, *settings)
        twin.write(twin.writer(resume))  # before the end: a complete store has its control
    main.write(writer)
    return open_store(out)


@dataclass
class Block:
    """The vectors of some samples, row after row as the store keeps them."""

    rows: dict[str, np.ndarray]
    maps: dict[str, list[np.ndarray]]


@dataclass
class Extraction:
    """One pass of one model over data into one store; ``author`` is who answers the questions."""

    model: Any
    author: Any
    vocabulary: Vocabulary
    data: Dataset
    out: Path
    names: list[str]
    attention_samples: int
    target: Target

    def __post_init__(self):
        self.model.eval()
        self.author.eval()
        self.maps = [name for name in self.names if name.endswith(".attention")]
        self.vectors = [name for name in self.names if name not in self.maps]
        parameter = next(self.model.parameters(), None)
        self.device = parameter.device if parameter is not None else torch.device("cpu")

    def writer(self, resume: bool) -> StoreWriter:
        """The store, begun or (``resume``) as far as it is."""
        return StoreWriter.create(self.out, self._specs(), self._settings(), resume)

    def write(self, writer: StoreWriter) -> None:
        """Extract what the store does not have yet, block by block, and finish it."""
        done, total = writer.samples_done, len(self.data)
        examples = iter(self.data[done:]) if done < total else iter(())
        title = f"{self.out}"
        for begin, end in track(self._blocks(done), title, total=len(list(self._blocks(done)))):
            some = list(islice(examples, end - begin))
            pairs = encode_texts(
                [e.source for e in some], [e.target for e in some], self.vocabulary
            )
            written, correct = write_answers(self.author, pairs)
            predicted = [self.vocabulary.decode(ids) for ids in written]
            if self.target == "generated":
                pairs = Pairs(pairs.source, Ragged.from_lists(written))
            with_maps = self.maps if begin < self.attention_samples else []
            block = self._run(pairs, [*self.vectors, *with_maps])
            writer.append(
                block.rows, self._table(some, pairs, predicted, correct, begin), block.maps
            )
        writer.finish()

    def _blocks(self, start: int) -> Iterator[tuple[int, int]]:
        """Bounds of the blocks; one ends where the samples with attention maps do."""
        while start < len(self.data):
            end = min(start + BLOCK, len(self.data))
            if start < self.attention_samples:
                end = min(end, self.attention_samples)
            yield start, end
            start = end

    @torch.no_grad()
    def _run(self, pairs: Pairs, names: list[str]) -> Block:
        pad = self.vocabulary.pad
        places = {"source": pairs.source.offsets, "target": _inputs(pairs)}
        rows: dict[str, np.ndarray] = {}
        maps: dict[str, list[Any]] = {
            name: [None] * len(pairs) for name in names if name in self.maps
        }
        for indices in by_length(pairs, BATCH):
            source, target = (ids.to(self.device) for ids in pairs.batch(indices, pad))
            with capture(self.model, names) as acts:
                self.model(source, target[:, :-1])
            for name in names:
                if name not in acts:
                    raise InputError(f"the forward pass does not reach {name}: leave this site out")
                tensor = acts[name]
                if name in maps:
                    _keep_maps(maps[name], tensor, indices, places, name)
                else:
                    _keep_rows(rows, name, tensor, indices, places[side_of(name)])
        return Block(rows, maps)

    def _specs(self) -> dict[str, SiteSpec]:
        """Axes and shapes of the sites, from a pass over the first example."""
        first = self.data[0]
        block = self._run(encode_texts([first.source], [first.target], self.vocabulary), self.names)
        found = find_sites(self.model)
        specs = {}
        for name in self.names:
            if name in self.maps:
                heads = block.maps[name][0].shape[0]
                pairs = _sides(name)
                specs[name] = SiteSpec((f"{pairs[0]}_{pairs[1]}", "head"), (heads,))
            else:
                axes = (side_of(name), *found[name].axes[2:])
                specs[name] = SiteSpec(axes, block.rows[name].shape[1:])
        return specs

    def _settings(self) -> dict[str, Any]:
        model: Any = self.model
        return {
            "model": {
                "name": getattr(model, "name", type(model).__name__),
                "architecture": getattr(model, "architecture", None),
                "sha256": fingerprint(model),
            },
            "data": {
                "name": self.data.name,
                "split": self.data.split,
                "seed": self.data.seed,
                "n": len(self.data),
            },
            "target": self.target,
            "attention_samples": min(self.attention_samples, len(self.data)),
            "tprprobe": version("tprprobe"),
        }

    def _table(
        self, some: list[Any], pairs: Pairs, predicted: list[str], correct: np.ndarray, begin: int
    ) -> pd.DataFrame:
        parts = []
        for side, ids, offsets in (
            ("source", pairs.source.values, pairs.source.offsets),
            ("target", _without_last(pairs), _inputs(pairs)),
        ):
            lengths = offsets.diff().numpy()
            sample = np.repeat(np.arange(len(some)), lengths)
            table = pd.DataFrame({"side": side, "sample": begin + sample})
            table["position"] = np.arange(len(sample)) - np.repeat(offsets[:-1].numpy(), lengths)
            table["id"] = ids.numpy().astype(np.int32)
            table["token"] = np.array(self.vocabulary.symbols, dtype=object)[table["id"]]
            for column, values in (
                ("question", [example.source for example in some]),
                ("answer", [example.target for example in some]),
                ("prediction", predicted),
                ("correct", correct),
                ("module", [getattr(example, "module", "") for example in some]),
            ):
                table[column] = np.array(values)[sample]
            parts.append(table)
        return pd.concat(parts, ignore_index=True)


def fingerprint(model: nn.Module) -> str:
    """The sha256 of a model's weights, names included."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _inputs(pairs: Pairs) -> Tensor:
    """Offsets of what the decoder reads: every target without its last symbol."""
    return pairs.target.offsets - torch.arange(len(pairs.target.offsets))


def _without_last(pairs: Pairs) -> Tensor:
    keep = torch.ones(len(pairs.target.values), dtype=torch.bool)
    keep[pairs.target.offsets[1:] - 1] = False
    return pairs.target.values[keep]


def _sides(name: str) -> tuple[str, str]:
    """Which tokens an attention map's queries and keys are."""
    query = side_of(name)
    return query, "source" if ".cross." in name else query


def _keep_rows(
    rows: dict[str, np.ndarray], name: str, tensor: Tensor, indices: Tensor, offsets: Tensor
) -> None:
    """Put the real positions of a batch where their samples lie in the block."""
    if name not in rows:
        rows[name] = np.empty((int(offsets[-1]), *tensor.shape[2:]), np.float32)
    expected = (len(indices), int(offsets.diff()[indices].max()))
    if tensor.shape[:2] != expected:
        raise InputError(
            f"{name} has shape {tuple(tensor.shape)} for {expected[0]} samples of up to {expected[1]} "
            "symbols: a site is [batch, seq, …]"
        )
    values = tensor.float().cpu().numpy()
    for row, sample in enumerate(indices.tolist()):
        start, end = int(offsets[sample]), int(offsets[sample + 1])
        rows[name][start:end] = values[row, : end - start]


def _keep_maps(
    maps: list[Any], tensor: Tensor, indices: Tensor, places: dict[str, Tensor], name: str
) -> None:
    queries, keys = (places[side].diff() for side in _sides(name))
    weights = tensor.float().cpu().numpy()
    for row, sample in enumerate(indices.tolist()):
        maps[sample] = weights[row, :, : int(queries[sample]), : int(keys[sample])].copy()
