"""Activation patching between two texts: which state, at which token and layer, makes the difference between their answers.

The states of one text are replaced by those of the other, one token and one site at a time. Source: Vig et al. 2020 and
Meng et al. 2022, causal tracing; Geiger et al. 2021, interchange interventions.
"""

import os
from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from tprprobe.console import note, track
from tprprobe.errors import InputError
from tprprobe.evaluation.results import FILE, melt
from tprprobe.files.runs import kept
from tprprobe.interventions.behavior import select_source_sites
from tprprobe.interventions.edits import patch
from tprprobe.interventions.folders import begin_run
from tprprobe.interventions.kinds import PATCHINGS
from tprprobe.interventions.word_edits import draw_directions
from tprprobe.models.origins import describe_origin
from tprprobe.models.protocol import Language, require_head, require_vocabulary
from tprprobe.site.hooks import capture, intervene
from tprprobe.site.patterns import layer_of

RANDOM = "random direction"  # the control: moved as far, elsewhere


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
        answers: The answer to either text, whose first tokens count; default: the token that the model predicts.
        sites: Sites, as patterns; default: embeddings and the layers' outputs of the source's side.
        seed: Seed of the random directions.
        out: A new folder for patching.parquet and the long table; default: nothing is written.
        resume: Give the table of a finished folder.

    Returns:
        One row per site, position and control: ``token`` and ``other_token``; ``difference``, log p(other answer) − log
        p(answer) after the state at this position is replaced by that of the other text; ``recovered``, its share of the way from
        the text (0) to the other text (1). The control moves the state as far in a random direction.

    Raises:
        InputError: Texts of different numbers of tokens, equal answers, no such site, or a folder of another run.

    Examples:
        >>> table = tp.interventions.patch_positions(model, "Calculate 1+1.", "Calculate 1+2.", ["2", "3"])
        >>> table["token"].iloc[:4].to_list()
        ['<sos>', 'C', 'a', 'l']
    """
    model = require_head(model, "patching").eval()
    names = select_source_sites(model, sites)
    settings = {"model": describe_origin(model), "text": text, "against": against}
    settings |= {"answers": list(answers or ()), "sites": names, "seed": seed}
    with kept(out) as folder:
        run = begin_run(folder, settings, resume)
        if not run.is_done:
            table = _measure(model, (text, against), answers, names, seed)
            run.finish({PATCHINGS.file: table, FILE: list_results(table)}, {})
        return pd.read_parquet(folder / PATCHINGS.file)


def _measure(
    model: Language,
    texts: tuple[str, str],
    answers: Sequence[str] | None,
    names: Sequence[str],
    seed: int,
) -> pd.DataFrame:
    spell, sources = require_vocabulary(model).spell, [model.read(text) for text in texts]
    tokens, other_tokens = ([spell([i]) for i in ids[0].tolist()] for ids in sources)
    if len(tokens) != len(other_tokens):
        raise InputError(
            f"{texts[0]!r} has {len(tokens)} tokens, {texts[1]!r} {len(other_tokens)}: give texts of as many tokens "
            f"({'·'.join(tokens)} and {'·'.join(other_tokens)})"
        )
    answer_ids = read_answer_ids(model, texts, answers)
    note("answers: {!r}; to the other text {!r}".format(*(spell([i]) for i in answer_ids)))
    start, end = (contrast_answers(model, ids, answer_ids).item() for ids in sources)
    with capture(model, names) as states:
        model.predict(sources[0])
    with capture(model, names) as other_states:
        model.predict(sources[1])
    generator = torch.Generator().manual_seed(seed)
    common = {"position": range(len(tokens)), "token": tokens, "other_token": other_tokens}
    tables = []
    for name in track(names, "patching", len(names)):
        shift = other_states[name] - states[name]  # [1, seq, …]
        noise = draw_directions(shift, generator)
        for control, moved in (("", other_states[name]), (RANDOM, states[name] + noise)):
            differences = _patched(model, sources[0], answer_ids, name, moved)
            place = {"site": name, "layer": layer_of(name), "control": control}
            recovered = (differences - start) / (end - start)
            scores = {"difference": differences, "recovered": recovered}
            tables.append(pd.DataFrame(place | common | scores))
    return pd.concat(tables, ignore_index=True)


def read_answer_ids(
    model: Language, texts: Sequence[str], answers: Sequence[str] | None
) -> tuple[int, int]:
    vocabulary = require_vocabulary(model)
    if answers is None:
        answer, rival = (int(model.predict(text)[0].argmax()) for text in texts)
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


def contrast_answers(model: Language, source: Tensor, answer_ids: tuple[int, int]) -> Tensor:
    """log p(other answer) − log p(answer) of the next token, by row."""
    answer, rival = answer_ids
    log_p = model.predict(source).clamp_min(1e-30).log()
    return log_p[:, rival] - log_p[:, answer]


def _patched(
    model: Language, source: Tensor, answer_ids: tuple[int, int], name: str, moved: Tensor
) -> np.ndarray:
    """The contrast with the state at position i replaced, i = 0, 1, …: a row of a batch each."""
    n = source.shape[1]
    rows, values = source.expand(n, -1), moved.expand(n, *moved.shape[1:])
    with intervene(model, {name: patch(values, positions=torch.eye(n, dtype=torch.bool))}):
        return contrast_answers(model, rows, answer_ids).cpu().numpy()


def list_results(table: pd.DataFrame) -> pd.DataFrame:
    """The long table of :func:`patch_positions`; a task is a position with its token."""
    task = table["position"].astype(str) + " " + table["token"]
    names = {"site": "site", "layer": "layer", "task": "task", "control": "control"}
    return melt(table.assign(task=task), names, ("difference", "recovered"))
