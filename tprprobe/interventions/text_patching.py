"""Activation patching between two texts: which state, at which token and layer, makes the difference between their answers.

The states of one text are replaced by those of the other, one token and one site at a time. Source: Vig et al. 2020 and
Meng et al. 2022, causal tracing; Geiger et al. 2021, interchange interventions.
"""

import os
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from tprprobe.console import note, track
from tprprobe.errors import InputError
from tprprobe.evaluation.results import FILE, melt
from tprprobe.files.runs import kept
from tprprobe.interventions.batched_edits import rows_per_pass
from tprprobe.interventions.behavior import select_source_sites
from tprprobe.interventions.edits import patch
from tprprobe.interventions.folders import begin_run
from tprprobe.interventions.kinds import PATCHINGS
from tprprobe.interventions.word_edits import draw_directions
from tprprobe.models.architectures import describe_origin
from tprprobe.models.protocol import Language, require_head, require_vocabulary
from tprprobe.site.hooks import capture, find_sites, hold, intervene, record
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
        lowest = min(layer_of(site) or 0 for site in edits) if self.can_hold else 0
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


RANDOM = "random direction"  # the control: moved as far, elsewhere
PLACE = ["site", "position"]
EQUAL = 1e-6  # nats
DRAWS = 5  # random directions of a place
MIN_JUDGED, MAX_JUDGED = 0.05, 3  # the smallest share, and how many of a site, that have a control
SITES_PER_PASS = 4  # whose cells are rows of one batch
States = dict[str, Tensor]  # by site


class Pair(NamedTuple):
    """Two texts of as many tokens: the runs of the first, the states of both, the contrast ``end`` after the second."""

    runs: PatchedRuns
    states: States
    other_states: States
    end: float
    tokens: list[str]
    other_tokens: list[str]

    def share(self, contrasts: "pd.Series[float]") -> "pd.Series[float]":
        return (contrasts - self.runs.contrast) / (self.end - self.runs.contrast)


def patch_positions(
    model: Language,
    text: str,
    against: str,
    answers: Sequence[str] | None = None,
    sites: str | Sequence[str] | None = None,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> pd.DataFrame:
    """How much of the difference between two texts' answers the state of one token carries, site by site.

    Args:
        model: A model with a head.
        text: A text, open at its end.
        against: The other text, of as many tokens.
        answers: The answer to either text, whose first tokens count; default: the token that the model predicts, or, where
            that is the same one, the token whose probability falls or rises most from the text to the other.
        sites: Sites of tokens' vectors, as patterns (``*.self.filler``: what all heads of a layer return); default: embeddings and
            the layers' outputs of the source's side.
        seed: Seed of the random directions.
        out: A new folder for patching.parquet, the same as patching.csv, and the long table; default: nothing is written.
        resume: Give the table of a finished folder.

    Returns:
        One row per site and position: ``token`` and ``other_token``; ``difference``, log p(other answer) − log p(answer) after the state
        at this position is replaced by that of the other text; ``recovered``, its share of the way from the text (0) to the other
        text (1). Five rows have the control ``random direction``, the state moved as far in a random direction, at the position that
        recovers most at a site, and where shares from 0.05 (up or down) are the largest three or the most negative one there. ``answer`` and ``other_answer``, and the differences of both texts as they are,
        ``difference_text`` and ``difference_against``, ``model``, ``text`` and ``against`` are the same in all rows.

    Raises:
        InputError: Texts of different numbers of tokens, equal answers, answers that are as likely after either text, no such
            site, a site without a vector for every token, or a folder of another run.

    Examples:
        >>> table = tp.interventions.patch_positions(model, "Calculate 1+1.", "Calculate 1+2.", ["2", "3"])
        >>> table["token"].iloc[:4].to_list()
        ['<sos>', 'C', 'a', 'l']
    """
    model = require_head(model, "patching").eval()
    names = select_source_sites(model, sites)
    if unplaced := [name for name in names if find_sites(model)[name].axes[1] != "seq"]:
        raise InputError(
            f"{unplaced[0]} has no vector for every token: patch *.hidden or *.self.filler"
        )
    settings = {"model": describe_origin(model), "text": text, "against": against}
    settings |= {"answers": list(answers or ()), "sites": names, "seed": seed}
    pair = _read_pair(model, (text, against), answers, names)
    with kept(out) as folder:
        run = begin_run(folder, settings, resume)
        if not run.is_done:
            table = _measure(pair, names, seed)
            table = table.assign(model=model.name, text=text, against=against)
            tables = {PATCHINGS.file: table, "patching.csv": table, FILE: list_results(table)}
            run.finish(tables, {})
        return pd.read_parquet(folder / PATCHINGS.file)


def _read_pair(
    model: Language, texts: tuple[str, str], answers: Sequence[str] | None, names: Sequence[str]
) -> Pair:
    """Both texts as they are, without an edit.

    Raises:
        InputError: Texts and answers that cannot be compared.
    """
    spell, sources = require_vocabulary(model).spell, [model.read(text) for text in texts]
    tokens, other_tokens = ([spell([i]) for i in ids[0].tolist()] for ids in sources)
    if tokens == other_tokens:
        raise InputError("the two texts are the same: give two that differ in a token")
    if len(tokens) != len(other_tokens):
        raise InputError(
            f"{texts[0]!r} has {len(tokens)} tokens, {texts[1]!r} {len(other_tokens)}: give texts of as many tokens "
            f"({'·'.join(tokens)} and {'·'.join(other_tokens)})"
        )
    answer_ids = read_answer_ids(model, texts, answers)
    shown = [repr(spell([i])) for i in answer_ids]
    for i, given in enumerate(answers or ()):
        if spell([answer_ids[i]]).strip() != given.strip():
            shown[i] += f", the first token of {given!r}"
    advice = "" if answers else "; other answers are compared by --answers A,B (answers=)"
    note(f"answers: {shown[0]}; to the other text {shown[1]}{advice}")
    with capture(model, names) as states:
        runs = PatchedRuns(model, sources[0], answer_ids)
    with capture(model, names) as other_states:
        end = contrast_answers(model, sources[1], answer_ids).item()
    if abs(end - runs.contrast) < EQUAL:
        answer, rival = (spell([i]) for i in answer_ids)
        raise InputError(
            f"{answer!r} and {rival!r} are as likely after either text: give other texts or answers"
        )
    return Pair(runs, states, other_states, end, tokens, other_tokens)


def _measure(pair: Pair, names: Sequence[str], seed: int) -> pd.DataFrame:
    generator = torch.Generator().manual_seed(seed)
    groups = [names[i : i + SITES_PER_PASS] for i in range(0, len(names), SITES_PER_PASS)]
    tables = []
    for group in track(groups, "patching", len(groups)):
        edited = _patch_all(pair, group)
        judged = edited.loc[is_judged(edited["site"], pair.share(edited["difference"])), PLACE]
        tables += [edited, _move_randomly(pair, judged, generator)]
    table = pd.concat(tables, ignore_index=True)
    spell = require_vocabulary(pair.runs.model).spell
    answer, rival = (spell([i]) for i in pair.runs.answer_ids)
    columns = {"layer": table["site"].map(layer_of), "recovered": pair.share(table["difference"])}
    columns |= {"token": table["position"].map(pair.tokens.__getitem__)}
    columns |= {"other_token": table["position"].map(pair.other_tokens.__getitem__)}
    columns |= {"answer": answer, "other_answer": rival}
    return table.assign(**columns, difference_text=pair.runs.contrast, difference_against=pair.end)


def is_judged(sites: "pd.Series[str]", shares: "pd.Series[float]") -> "pd.Series[bool]":
    """Which places have a control: the most of every site, and the largest that are seen, the most negative among them."""
    sizes = shares.abs()
    is_most, is_least, is_large = (
        values.groupby(sites).rank(method="first", ascending=False) <= n
        for values, n in ((shares, 1), (-shares, 1), (sizes, MAX_JUDGED))
    )
    return is_most | (is_least | is_large) & (sizes >= MIN_JUDGED)


def _patch_all(pair: Pair, names: Sequence[str]) -> pd.DataFrame:
    """Every position of these sites with the state of the other text; equal states change nothing and are not run."""
    cells = [Cell(name, i, x) for name in names for i, x in enumerate(pair.other_states[name][0])]
    is_changed = [not torch.equal(x, pair.states[name][0, i]) for name, i, x in cells]
    changed = [cell for cell, changes in zip(cells, is_changed, strict=True) if changes]
    differences = np.full(len(cells), pair.runs.contrast)
    differences[is_changed] = pair.runs.measure(changed)
    table = pd.DataFrame([cell[:2] for cell in cells], columns=PLACE)
    return table.assign(control="", difference=differences)


def _move_randomly(pair: Pair, places: pd.DataFrame, generator: torch.Generator) -> pd.DataFrame:
    """The states at these places moved as far as the other text's, in random directions."""
    cells = []
    for name, i in places.itertuples(index=False):
        x, y = (tensors[name][:, [i]] for tensors in (pair.states, pair.other_states))
        change = (y - x).expand(DRAWS, *x.shape[1:])
        cells += [Cell(name, i, state) for state in (x + draw_directions(change, generator))[:, 0]]
    table = pd.DataFrame([cell[:2] for cell in cells], columns=PLACE)
    return table.assign(control=RANDOM, difference=pair.runs.measure(cells))


def read_answer_ids(
    model: Language, texts: Sequence[str], answers: Sequence[str] | None
) -> tuple[int, int]:
    vocabulary = require_vocabulary(model)
    if answers is None:
        p_text, p_against = (model.predict(text)[0] for text in texts)
        answer, rival = int(p_text.argmax()), int(p_against.argmax())
        if answer == rival:  # then those whose probability differs most
            answer, rival = int((p_text - p_against).argmax()), int((p_against - p_text).argmax())
    elif len(answers) == len(texts):
        _, targets = vocabulary.encode_answers([*texts], [*answers])
        starts = np.append(0, targets.lengths.cumsum())[:-1] + 1 + len(vocabulary.begun)
        answer, rival = (int(targets.values[start]) for start in starts)
    else:
        raise InputError(f"answers {[*answers]}: give one to each of the two texts")
    if answer == rival:
        token = vocabulary.spell([answer])
        raise InputError(
            f"both answers begin with {token!r}: give two that begin with different tokens"
        )
    return answer, rival


def list_results(table: pd.DataFrame) -> pd.DataFrame:
    """The long table of :func:`patch_positions`; a task is a position with its token."""
    task = table["position"].astype(str) + " " + table["token"]
    names = {"site": "site", "layer": "layer", "task": "task", "control": "control"}
    return melt(table.assign(task=task), names, ("difference", "recovered"))
