"""Many runs of one text in which single states are replaced: rows of a batch, over layers that are computed once."""

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tprprobe.interventions.batched_edits import rows_per_pass
from tprprobe.interventions.edits import patch
from tprprobe.models.protocol import Language
from tprprobe.site.cached_prefix import hold, record
from tprprobe.site.hooks import intervene
from tprprobe.site.patterns import layer_of

ENCODER_LAYER = re.compile(r"encoder\.\d+")


class Cell(NamedTuple):
    """A state at a position of a site that takes the place of the text's."""

    site: str
    position: int
    state: Float[Tensor, "*shape"]


class PatchedRuns:
    """The contrast of two answers to a text, as it is (``contrast``) and with states replaced."""

    def __init__(self, model: Language, source: Tensor, answer_ids: tuple[int, int]):
        self.model, self.source, self.answer_ids = model, source, answer_ids
        layers = list_layers(model)
        with record(model, layers.values()) as self.outputs:
            self.contrast = contrast_answers(model, source, answer_ids).item()
        computed = {name: step for name, step in layers.items() if step in self.outputs}
        self.step_of_layer = {layer_of(name) or 0: step for name, step in computed.items()}

    @cached_property
    def can_hold(self) -> bool:
        """Whether the last layer reads nothing of lower ones but their output; some models share keys between layers."""
        with (
            suppress(LookupError, TypeError, ValueError, AttributeError),
            self._hold(max(self.step_of_layer), 2),
        ):
            contrasts = contrast_answers(self.model, self.source.expand(2, -1), self.answer_ids)
            return bool((contrasts - self.contrast).abs().max() < 1e-3)
        return False

    def _hold(self, layer: int, n_rows: int) -> AbstractContextManager[None]:
        """A block in which layers below this one return what they returned for the text, in so many rows."""
        steps = [step for number, step in self.step_of_layer.items() if number < layer]
        return hold(self.model, {step: _repeat(self.outputs[step], n_rows) for step in steps})

    def measure(self, cells: Sequence[Cell]) -> Float[np.ndarray, " cell"]:
        """The contrast with one cell replaced, for every cell."""
        size = rows_per_pass(self.source.device, self.source.shape[1])
        batches = [cells[start : start + size] for start in range(0, len(cells), size)]
        return np.concatenate([np.empty(0), *map(self._measure, batches)])

    def _first_changed(self, site: str) -> int:
        """The lowest layer that computes anything after an edit of the site; a layer's output may pass its site outside of the layer."""
        if (layer := layer_of(site)) is None:
            return -1
        is_outside = site.endswith(".hidden") and not site.startswith(
            f"{self.step_of_layer.get(layer)}."
        )
        return layer + is_outside

    def _measure(self, cells: Sequence[Cell]) -> Float[np.ndarray, " cell"]:
        n_rows, length = len(cells), self.source.shape[1]
        edits = {}
        for site in dict.fromkeys(cell.site for cell in cells):
            of_site = [(row, cell) for row, cell in enumerate(cells) if cell.site == site]
            is_replaced = torch.zeros(n_rows, length, dtype=torch.bool)
            values = cells[0].state.new_zeros(n_rows, length, *of_site[0][1].state.shape)
            for row, cell in of_site:
                is_replaced[row, cell.position] = True
                values[row, cell.position] = cell.state
            edits[site] = patch(values, positions=is_replaced)
        lowest = min(map(self._first_changed, edits)) if self.can_hold else 0
        with intervene(self.model, edits), self._hold(lowest, n_rows):
            rows = self.source.expand(n_rows, -1)
            return contrast_answers(self.model, rows, self.answer_ids).double().cpu().numpy()


def _repeat(output: object, n_rows: int) -> object:
    """A layer's output for one text, as that of a batch."""
    if isinstance(output, tuple):
        return tuple(_repeat(value, n_rows) for value in output)
    return output[[0] * n_rows] if isinstance(output, Tensor) else output


def list_layers(model: Language) -> dict[str, str]:
    """The submodules that are the layers of the source's side, by the name of the layer."""
    taps = getattr(model, "taps", None)
    if taps is not None:
        return {n: step for n, step in taps.layer_modules.items() if not n.startswith("decoder.")}
    names = [name for name, _ in model.named_modules()]
    return {name: name for name in names if ENCODER_LAYER.fullmatch(name)}


def contrast_answers(
    model: Language, source: Tensor, answer_ids: tuple[int, int]
) -> Float[Tensor, " row"]:
    """log p(other answer) − log p(answer) of the next token, by row."""
    answer, rival = answer_ids
    log_p = model.predict(source).clamp_min(1e-30).log()
    return log_p[:, rival] - log_p[:, answer]
