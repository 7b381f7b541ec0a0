"""A sweep: edits × strengths × heads × sites, scored on the same examples; resumable, part by part."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
import pandas as pd

from tprprobe import plugins
from tprprobe.data import load_data
from tprprobe.data.dataset import Dataset
from tprprobe.data.pairs import Pairs, encode_answers
from tprprobe.errors import InputError
from tprprobe.evaluation.results import Row
from tprprobe.files.runs import KeptRun, keep_table, kept
from tprprobe.files.settings import read_toml
from tprprobe.interventions import sweep_recipes
from tprprobe.interventions.batched_edits import Variant, score_variants
from tprprobe.interventions.folders import measure_parts, open_run
from tprprobe.interventions.kinds import SWEEPS
from tprprobe.interventions.placement import Where
from tprprobe.models.answers import CAPTIONS, find_scores
from tprprobe.models.checkpoint import default_data
from tprprobe.models.protocol import Language, require_vocabulary
from tprprobe.site.hooks import find_sites
from tprprobe.site.patterns import layer_of, select
from tprprobe.statistics import bootstrap_mean, wilson

TABLE, SAMPLES = SWEEPS.file, "samples.parquet"
BATCH = 64  # examples
ALL = -1  # heads
PLACE = ["site", "layer", "head", "edit", "k", "strength"]
UNEDITED = "none"


@dataclass(frozen=True)
class Point:
    """One variant of a sweep: its sites, head and edit (k is for ``snap``)."""

    sites: tuple[str, ...]
    head: int
    edit: str
    k: int
    strength: float

    def row(self) -> Row:
        layer = layer_of(self.sites[0]) if len(self.sites) == 1 else None
        place = {
            "site": " + ".join(self.sites),
            "layer": ALL if layer is None else layer,
            "head": self.head,
        }
        return place | {"edit": self.edit, "k": self.k, "strength": self.strength}


NOTHING = Point((UNEDITED,), ALL, UNEDITED, 0, 0.0)


def list_points(
    recipe: sweep_recipes.Recipe,
    sites: tuple[str, ...],
    reference: dict[str, sweep_recipes.Reference],
) -> Iterator[Point]:
    """The points of a group of sites; a site without heads has no choice of head."""
    shapes = [reference[site].vectors.shape[1:] for site in sites]
    is_each = recipe.heads == "each" and all(len(shape) == 2 for shape in shapes)
    heads = range(min(shape[0] for shape in shapes)) if is_each else (ALL,)
    for head, edit, strength in product(heads, recipe.edits, recipe.strengths):
        for k in recipe.clusters if edit == sweep_recipes.QUANTIZE else (0,):
            yield Point(sites, head, edit, k, strength)


def make_variant(point: Point, reference: dict[str, sweep_recipes.Reference]) -> Variant:
    """The edits of a point, by site."""
    if point.edit == UNEDITED:
        return {}
    heads = None if point.head == ALL else [point.head]
    where = Where(heads=heads, strength=point.strength)
    return {site: reference[site].edit(point.edit, point.k, **where) for site in point.sites}


def sweep(
    model: Language,
    data: Dataset,
    recipe: sweep_recipes.Recipe,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> pd.DataFrame:
    """The effect of every edit of a recipe on the answers of a model.

    Args:
        model: The model, with a head.
        data: ``n`` + ``reference`` examples, as :func:`find_data` loads them.
        recipe: The recipe.
        out: A new folder: sweep.csv, samples.parquet (every example), and parts of the run until it is done; default: nothing
            is written.
        resume: Go on with that folder.

    Returns:
        One row per point of the recipe, and one unedited; see [columns](interventions.md#columns-of-sweeps). For captioning models the scores
        of captions.

    Raises:
        InputError: No such site, a site of attention maps, too few examples, or a folder of another run.

    Examples:
        >>> recipe = tp.interventions.Recipe(sites=["encoder.-1.self.role"], edits=["zero"], heads="all", n=4, reference=1)
        >>> tp.interventions.sweep(model, data[:5], recipe)[["site", "edit", "n"]].values.tolist()
        [['none', 'none', 4], ['encoder.2.self.role', 'zero', 4]]
    """
    if len(data) != recipe.n + recipe.reference:
        raise InputError(
            f"{len(data)} examples: the recipe asks for {recipe.n} + {recipe.reference}"
        )
    if require_vocabulary(model).reads_images:
        sweep_captions = find_scores(CAPTIONS).sweep
        if sweep_captions is None:
            raise InputError("the scores of captions that are installed have no sweep")
        return sweep_captions(model, data, recipe, out, resume)
    with kept(out) as folder:
        run = open_run(folder, model, data, recipe, resume)
        measure = partial(_measure, model, data, recipe)
        summarize = partial(summarize_sweep, seed=recipe.seed)
        return keep_table(run, (SAMPLES, TABLE), measure, summarize)


def run_recipe(
    path: str | os.PathLike[str],
    model: Language,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> pd.DataFrame:
    """The table of a recipe file: of a sweep, or of the plug-in of ``tprprobe.edits`` whose name is a key of the file.

    Args:
        path: A TOML file.
        model: The model.
        out: A new folder for the table; default: nothing is written.
        resume: Go on with that folder.

    Returns:
        The table, see :func:`sweep`.

    Raises:
        InputError: No such file, or it does not fit the model or its data.

    Examples:
        >>> tp.interventions.run_recipe("missing.toml", model)
        Traceback (most recent call last):
        tprprobe.errors.InputError: ...
    """
    content = read_toml(path)
    for name, plugin in plugins.find("edits").items():
        if name in content:
            return plugin.load()(path, model, out, resume)
    recipe = sweep_recipes.read_recipe(path)
    return sweep(model, find_data(model, recipe), recipe, out, resume)


def find_data(model: Language, recipe: sweep_recipes.RecipeData) -> Dataset:
    """The examples of a recipe: those that are scored, then those of reference.

    Args:
        model: The model, whose card names the data where the recipe does not.
        recipe: The recipe.

    Returns:
        ``n`` + ``reference`` examples.

    Raises:
        InputError: No such data, or neither recipe nor card names any.

    Examples:
        >>> recipe = tp.interventions.Recipe(sites=["encoder.*.self.role"], edits=["zero"], n=4, reference=1)
        >>> len(tp.interventions.find_data(model, recipe))
        5
    """
    data, split = (recipe.data, recipe.split) if recipe.data else default_data(model, recipe.split)
    return load_data(data, split=split, n=recipe.examples, seed=recipe.seed)


def _measure(
    model: Language, data: Dataset, recipe: sweep_recipes.Recipe, run: KeptRun
) -> pd.DataFrame:
    sites = select(recipe.sites, list(find_sites(model)))
    groups = [(), *([tuple(sites)] if recipe.together else [(site,) for site in sites])]
    vocabulary = require_vocabulary(model)
    examples = data[: recipe.n], data[recipe.n :]
    scored, reference_pairs = (encode_answers(list(subset), vocabulary) for subset in examples)

    def measure(group: tuple[str, ...]) -> pd.DataFrame:
        if not group:
            return _score(model, scored, [NOTHING], [{}])
        references = sweep_recipes.read_references(model, reference_pairs, group, recipe.seed)
        points = list(list_points(recipe, group, references))
        variants = [make_variant(point, references) for point in points]
        return _score(model, scored, points, variants)

    return measure_parts(run, [partial(measure, group) for group in groups], "sweeping")


def _score(
    model: Language, pairs: Pairs, points: Sequence[Point], variants: Sequence[Variant]
) -> pd.DataFrame:
    pad, device = model.config.pad, model.device
    is_written = np.zeros((len(points), len(pairs)), bool)
    nats = np.zeros(is_written.shape, np.float32)
    for rows in pairs.by_length(BATCH, model):
        source, target = (ids.to(device) for ids in pairs.batch(rows, pad))
        scores = score_variants(model, source, [target], variants)
        is_written[:, rows.numpy()] = scores.is_written[:, 0].numpy()
        nats[:, rows.numpy()] = scores.log_probability[:, 0].numpy()
    examples = range(len(pairs))
    tables = [
        pd.DataFrame({**point.row(), "example": examples, "correct": ok, "nats": scores})
        for point, ok, scores in zip(points, is_written, nats, strict=True)
    ]
    return pd.concat(tables, ignore_index=True)


def summarize_sweep(samples: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """One row per point of the samples: the columns of :func:`sweep`."""
    unedited = samples[samples["edit"] == UNEDITED].sort_values("example")
    before = {name: unedited[name].to_numpy(float) for name in ("correct", "nats")}
    rows = []
    groups = samples.groupby(PLACE, sort=False)
    for key, group in groups:
        group = group.sort_values("example")
        n, right = len(group), int(group["correct"].to_numpy().sum())
        row = dict(zip(PLACE, key, strict=True)) | {"n": n}
        row |= wilson(right, n).columns("exact_match")
        for name, column, lowest in (("change", "correct", -1), ("nats", "nats", None)):
            change = group[column].to_numpy(float) - before[column]
            mean = bootstrap_mean(change, group["example"].to_numpy(), seed=seed, lowest=lowest)
            row |= mean.columns(name)
        rows.append(row)
    return pd.DataFrame(rows)
