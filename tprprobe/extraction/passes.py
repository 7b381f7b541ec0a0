"""Vectors of a block of samples: forward passes read at sites, laid out as a store's ragged rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Bool, Float32
from torch import Tensor

from tprprobe.console import note
from tprprobe.data.pairs import Pairs
from tprprobe.errors import InputError
from tprprobe.models.protocol import Readable
from tprprobe.site.attachment import Attached
from tprprobe.site.hooks import capture, find_sites
from tprprobe.site.patterns import ATTENTION, side_of, sides_of
from tprprobe.site.site import Site
from tprprobe.store.dtypes import first_infinite
from tprprobe.store.layout import SAMPLE, SiteSpec

BATCH = 64  # samples


@dataclass
class Block:
    """The result of a forward pass: rows by sample, maps [head, query, key] a sample, and which targets were predicted whole."""

    correct: Bool[np.ndarray, " sample"]
    rows: dict[str, Float32[np.ndarray, "_token ..."]] = field(default_factory=dict)
    maps: dict[str, list[np.ndarray]] = field(default_factory=dict)

    def check(self, pairs: Pairs, start: int) -> None:
        """Checks that all numbers are finite; ``first`` is the number of the block's first sample."""
        bounds = {"source": pairs.source.offsets, "target": decoder_inputs(pairs)}
        for site, rows in self.rows.items():
            if (row := first_infinite(rows)) is not None:
                ends = bounds.get(side_of(site)) if len(rows) != len(pairs) else None
                sample = row if ends is None else int(torch.searchsorted(ends, row, right=True)) - 1
                raise _no_numbers(site, start + sample)
        for site, maps in self.maps.items():
            for sample, attention_map in enumerate(maps):
                if first_infinite(attention_map) is not None:
                    raise _no_numbers(site, start + sample)


def _no_numbers(site: str, sample: int) -> InputError:
    return InputError(
        f"{site} has no finite numbers in sample {sample}: look at the model's weights and their dtype, or "
        "leave the sample out"
    )


def decoder_inputs(pairs: Pairs) -> Tensor:
    """Offsets of what the decoder reads: every target without its last symbol."""
    return pairs.target.offsets - torch.arange(len(pairs.target.offsets))


def rows_of(name: str, site: Site) -> str:
    """The rows that a store keeps of a site: tokens of a side, pairs of them (maps), or samples."""
    if name.endswith(ATTENTION):
        return "_".join(sides_of(name))
    return side_of(name) if "seq" in site.axes else SAMPLE


def known_spec(name: str, site: Site) -> SiteSpec | None:
    """The layout of a site that says its width and has no further axis."""
    if site.axes != ("batch", "seq", "d_model") or site.width is None:
        return None
    return SiteSpec((rows_of(name, site), "d_model"), (site.width,))


def spec_of(name: str, site: Site, block: Block) -> SiteSpec:
    rows = rows_of(name, site)
    if name.endswith(ATTENTION):
        return SiteSpec((rows, "head"), (len(block.maps[name][0]),))
    axes, shape = site.axes[1 if rows == SAMPLE else 2 :], block.rows[name].shape[1:]
    if len(shape) != len(axes):
        raise InputError(
            f"a row of {name} has shape {shape}, but its axes are {' × '.join(axes)}: attach it with heads=, "
            "or another submodule"
        )
    return SiteSpec((rows, *axes), shape)


@torch.no_grad()
def read_block(
    model: Readable,
    pairs: Pairs,
    sites: Iterable[str],
    pad: int,
    batch_tokens: int | None = None,
    needs_answers: bool = False,
    numbers: Sequence[int] | None = None,
) -> Block:
    """Vectors and maps of all samples, one teacher-forced pass each; without ``needs_answers`` it ends behind the last site.

    ``numbers`` are those of the samples in their data; default: 0, 1, ….
    """
    run = model.run if needs_answers else getattr(model, "run_for_sites", model.run)
    batches = pairs.by_tokens(batch_tokens, model) if batch_tokens else pairs.by_length(BATCH, model)  # fmt: skip
    offsets = {  # as lists, which are cheap to index
        "source": pairs.source.offsets.tolist(),
        "target": decoder_inputs(pairs).tolist(),
        SAMPLE: list(range(len(pairs) + 1)),
    }
    site_modules = find_sites(model)
    kinds = {name: rows_of(name, site) for name, site in site_modules.items()}
    sites, block = list(sites), Block(np.zeros(len(pairs), bool))

    def run_batches(acts: dict[str, Tensor]) -> Iterator[_Batch]:
        for indices in batches:
            acts.clear()
            source, target = (ids.to(model.device) for ids in pairs.batch(indices, pad))
            try:
                logits = run(source, target[:, :-1])
            except IndexError as error:
                longest = int(indices[-1])  # they are sorted by length
                number = longest if numbers is None else numbers[longest]
                raise InputError(
                    f"{model.name} cannot read sample {number} of {source.shape[1]} ids ({error}): where it reads fewer, give "
                    "max_tokens=; otherwise an embedding has no row for an id"
                ) from error
            right = _are_right(logits, target, pad)
            if unreached := [site for site in sites if site not in acts]:
                raise InputError(f"the pass does not reach {unreached[0]}: leave this site out")
            yield _Batch.copy(indices.tolist(), right, acts)

    with capture(model, sites) as acts:
        passes = run_batches(acts)
        for batch in _one_behind(passes) if model.device.type == "cuda" else passes:
            samples = batch.samples
            block.correct[samples] = batch.wait()
            for site in sites:
                values = batch.vectors.pop(site).float().numpy()
                if kinds[site] in offsets:
                    values = values[:, None] if kinds[site] == SAMPLE else values
                    passes = site_modules[site].passes
                    _keep_rows(block.rows, site, values, samples, offsets[kinds[site]], passes)
                else:
                    _keep_maps(block, site, values, samples, [offsets[s] for s in sides_of(site)])
    return block


class _Batch(NamedTuple):
    """The vectors of some samples, which may still be on their way from a GPU, and which targets are right."""

    samples: list[int]
    right: Tensor
    vectors: dict[str, Tensor]
    copied: list[Any]  # events of the devices

    @classmethod
    def copy(cls, samples: list[int], right: Tensor, vectors: Mapping[str, Tensor]) -> "_Batch":
        """The batch, in the type that the model computes in: copies from a GPU go to pinned memory and are not waited for."""
        tensors = {"": right, **vectors}
        devices = {tensor.device for tensor in tensors.values() if tensor.is_cuda}
        host = {name: t.to("cpu", non_blocking=t.is_cuda) for name, t in tensors.items()}
        copied = [torch.cuda.current_stream(device).record_event() for device in devices]
        return cls(samples, host.pop(""), host, copied)

    def wait(self) -> Bool[np.ndarray, " batch"]:
        for event in self.copied:
            event.synchronize()
        return self.right.numpy()


def _one_behind(batches: Iterator[_Batch]) -> Iterator[_Batch]:
    """Every batch after the pass of the one behind it has begun: a GPU computes that while this one is laid out."""
    for batch, _ in pairwise(chain(batches, [None])):
        yield cast(_Batch, batch)


def _are_right(logits: Any, target: Tensor, pad: int) -> Bool[Tensor, " batch"]:
    """True for each sample whose target is the argmax throughout; all false for a module without logits."""
    if not isinstance(logits, Tensor) or logits.shape[:2] != target[:, 1:].shape:
        return torch.zeros(len(target), dtype=torch.bool)
    return ((logits.argmax(-1) == target[:, 1:]) | (target[:, 1:] == pad)).all(1)


def _keep_maps(
    block: Block, site: str, values: np.ndarray, samples: list[int], offsets: list[list[int]]
) -> None:
    maps = block.maps.setdefault(site, [values] * len(block.correct))
    for row, sample in enumerate(samples):
        query, key = (bounds[sample + 1] - bounds[sample] for bounds in offsets)
        maps[sample] = values[row, :, :query, :key].copy()


def _keep_rows(
    rows: dict[str, np.ndarray],
    site: str,
    values: np.ndarray,
    samples: list[int],
    offsets: list[int],
    passes: int,
) -> None:
    lengths = [offsets[sample + 1] - offsets[sample] for sample in samples]
    if values.shape[:2] != (len(samples), max(lengths)):
        advice = "a site is [batch, seq, …], or [batch, d_model] if its name ends in 'encoding'"
        if passes > 1:
            times = "twice" if passes == 2 else f"{passes} times"
            advice = f"its submodule was called {times} in one pass: give the input of one that follows ('NAME:input') or another one"
        elif side_of(site) == "target":
            advice = (
                "a decoder reads the start symbol and the target (texts without targets: themselves), batch[1] of forward=; "
                "name a module that reads the source alone encoder.…"
            )
        raise InputError(
            f"{site} has shape {values.shape} for {len(samples)} samples of up to {max(lengths)} symbols: {advice}"
        )
    if site not in rows:
        rows[site] = np.empty((offsets[-1], *values.shape[2:]), np.float32)
    for row, (sample, length) in enumerate(zip(samples, lengths, strict=True)):
        rows[site][offsets[sample] : offsets[sample + 1]] = values[row, :length]


def compare_padded(
    model: Attached, pairs: Pairs, sites: Sequence[str], pad: int, numbers: Sequence[int]
) -> None:
    """Reads texts of several lengths, samples of these numbers, together and alone; if these differ, batches have texts of one length,
    and a line says so.
    """
    together = read_block(model, pairs, sites, pad, numbers=numbers)
    model.needs_equal_lengths = True
    separate = read_block(model, pairs, sites, pad)
    arrays = [(together.rows[name], rows) for name, rows in separate.rows.items()]
    for name, maps in separate.maps.items():
        arrays += zip(together.maps[name], maps, strict=True)
    weights = (w for w in model.parameters() if w.is_floating_point())
    dtype = next(weights, torch.zeros(0)).dtype  # whose rounding counts
    tensors = (tuple(map(torch.from_numpy, pair)) for pair in arrays)
    model.compare_padded((a.to(dtype), b.to(dtype)) for a, b in tensors)
    if model.needs_equal_lengths:
        note(f"{model.name}: batches: {model.notes['batches']}")
