"""Sweeps over a model of captions: what its captions become when vectors are replaced while it writes.

An edit is compared with what the model writes without one: how many of its words it would write again
(token agreement, by teacher forcing), how many captions stay as they are, and CIDEr-D of what it writes
now. With ``snap`` unbinding vectors become the centers of clusters: if u_t were a role, that would change
little. Source: the substitution accuracy of TPDN, for huang's u_t.
"""

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch

from tprpapers.captions.words import Words, tokenize
from tprpapers.huang.word_vectors import prepare_captioner
from tprpapers.kinds import SUBSTITUTIONS
from tprpapers.scoring.captions.cider import cider_d
from tprpapers.scoring.captions.writing import evaluate_captions, summarize_captions
from tprprobe.data.batching import Ragged
from tprprobe.data.dataset import Dataset
from tprprobe.data.pairs import Pairs, encode_examples
from tprprobe.files.runs import KeptRun, keep_table, kept
from tprprobe.interventions.batched_edits import Variant
from tprprobe.interventions.folders import measure_parts, open_run
from tprprobe.interventions.sweep_recipes import Recipe, read_references
from tprprobe.interventions.sweeps import NOTHING, PLACE, UNEDITED, list_points, make_variant
from tprprobe.models.answers import Scores, write_answers
from tprprobe.models.decoding.generation import generate
from tprprobe.models.protocol import Language, require_vocabulary
from tprprobe.site.hooks import find_sites, intervene
from tprprobe.site.patterns import select
from tprprobe.statistics import bootstrap_mean, bootstrap_ratio

TABLE, SAMPLES = SUBSTITUTIONS.file, "captions.parquet"
AT_ONCE = 256  # images


def sweep_captions(
    model: Language,
    data: Dataset,
    recipe: Recipe,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> pd.DataFrame:
    """One row per point of the recipe, and one unedited: agreement, same, cider and change of it, with
    intervals over images.

    The centers of ``snap`` and other references are vectors of the captions that the model writes of
    the ``reference`` images. ``out`` is a new folder: substitutions.csv, captions.parquet (every
    caption) and, until it is done, the parts of the run, which goes on with ``resume``.

    Raises:
        InputError: no such site, a folder of another run.
    """
    with kept(out) as folder:
        return keep_table(
            open_run(folder, model, data, recipe, resume),
            (SAMPLES, TABLE),
            partial(_measure, model, data, recipe),
            partial(summarize_substitutions, seed=recipe.seed),
        )


def own_captions(model: Language, data: Dataset) -> Pairs:
    """The images with the captions that the model itself writes, greedily."""
    pairs = encode_examples(list(data), require_vocabulary(model))
    captions = write_answers(model, pairs, np.zeros(len(pairs), bool))
    return Pairs(pairs.source, Ragged.from_lists(captions))


def _measure(model: Language, data: Dataset, recipe: Recipe, run: KeptRun) -> pd.DataFrame:
    """The captions of all parts: one without edits, and one per group of sites."""
    sites = select(recipe.sites, list(find_sites(model)))
    groups = [(), *([tuple(sites)] if recipe.together else [(site,) for site in sites])]
    images = list(data[: recipe.n])
    reference_captions = own_captions(model, data[recipe.n :])
    captions = own_captions(model, data[: recipe.n])

    def measure(group: tuple[str, ...]) -> pd.DataFrame:
        references = read_references(model, reference_captions, group, recipe.seed) if group else {}
        points = list(list_points(recipe, group, references)) if group else [NOTHING]
        tables = [
            _write(model, images, captions, make_variant(point, references)).assign(**point.row())
            for point in points
        ]
        return pd.concat(tables, ignore_index=True)

    return measure_parts(run, [partial(measure, group) for group in groups], "captioning")


@torch.no_grad()
def _write(
    model: Language, images: Sequence[Any], captions: Pairs, variant: Variant
) -> pd.DataFrame:
    """One row per image: the caption, its CIDEr-D, and of the own caption's tokens those that agree."""
    words, pad = require_vocabulary(model), model.config.pad
    device = next(model.parameters()).device
    texts, agreeing, tokens = [], [], []
    with intervene(model, variant):
        for rows in torch.arange(len(images)).split(AT_ONCE):
            source, target = (ids.to(device) for ids in captions.batch(rows, pad))
            texts += [words.decode(ids) for ids in generate(model, source).tolist()]
            real = target[:, 1:] != pad
            is_same = (model(source, target[:, :-1]).argmax(-1) == target[:, 1:]) & real
            agreeing += is_same.sum(1).tolist()
            tokens += real.sum(1).tolist()
    references = [[tokenize(text) for text in image.captions] for image in images]
    scores = cider_d([tokenize(caption) for caption in texts], references)
    columns = {"example": range(len(images)), "image": [image.document_name for image in images]}
    columns |= {"caption": texts, "agreeing": agreeing, "tokens": tokens, "cider": scores}
    return pd.DataFrame(columns)


def summarize_substitutions(samples: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """One row per point of the samples: the columns of :func:`sweep_captions`."""
    unedited = samples[samples["edit"] == UNEDITED].sort_values("example")
    rows = []
    groups: Any = samples.groupby(PLACE, sort=False)
    for key, group in groups:
        group = group.sort_values("example")
        images = group["image"].to_numpy(str)
        row = dict(zip(PLACE, key, strict=True)) | {"n": len(group)}
        sums = group.groupby(images)[["agreeing", "tokens"]].sum().to_numpy(float)
        row |= bootstrap_ratio(*sums.T, seed=seed, lowest=0).columns("agreement")
        cider = group["cider"].to_numpy(float)
        means = {
            "same": group["caption"].to_numpy() == unedited["caption"].to_numpy(),
            "cider": cider,
            "change": cider - unedited["cider"].to_numpy(float),
        }
        for name, values in means.items():
            row |= bootstrap_mean(values, images, seed=seed).columns(name)
        rows.append(row)
    return pd.DataFrame(rows)


SCORES = Scores(evaluate_captions, summarize_captions, sweep_captions, prepare_captioner, Words)
