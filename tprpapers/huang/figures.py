"""huang's tables and figures: read from a store of captions, measured, judged and drawn."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from tprpapers.claims import Verdict
from tprpapers.huang import unbinding_tables as tables
from tprpapers.huang.caption_scores import find_rivals, judge_scores, load_captioned, read_scores
from tprpapers.huang.unbinding import (
    GeneratedWords,
    find_clusters,
    interpret,
    load_fitted_clusters,
    measure_conformity,
    partition_space,
    read_words,
    summarize_subjects,
)
from tprpapers.huang.unbinding.categories import KINDS
from tprpapers.huang.unbinding.conformity import TOTAL, share_one_cluster, split_initial
from tprpapers.huang.unbinding.regions import PLACE_AND_BEFORE, Regions
from tprpapers.huang.unbinding.ten_clusters import (
    dominant_kind,
    find_position,
    find_spatial,
    hybrid_roles,
    labels_of,
    one_side,
)
from tprpapers.huang.word_planes import scatter_planes
from tprpapers.scoring.captions.toolkit import compare_captions
from tprpapers.verdicts import judge_cases
from tprprobe.analyses.projections import METHODS, project
from tprprobe.errors import unknown
from tprprobe.figures.catalogue import Input, Maker
from tprprobe.figures.catalogue.loaders import find_files
from tprprobe.figures.scenes import Grid
from tprprobe.figures.tables import Table
from tprprobe.gold.labellers import load_pipeline
from tprprobe.statistics import Interval, read_interval
from tprprobe.store import Store

N_DRAWN = 1000  # words of a figure, as in the paper
LEAST_OTHER = 0.1  # of prepositions must not be spatial, if clusters are to tell the spatial ones
MOST_WHOLE = 0.5  # of captions may lie in one of two clusters, if these are to be of words
MIN_OF_KIND = 20  # words of a kind that has a mark of its own

Cases = dict[str, Interval]


def read(store: Store, tagger: str = "", seed: int = 0) -> GeneratedWords:
    """The words of a store, tagged by the store or by a spaCy pipeline (a name or folder)."""
    return read_words(store, tagger=load_pipeline(tagger) if tagger else None, seed=seed)


def note_words(words: GeneratedWords) -> str:
    """A note on a table's words: model, data, target, tags."""
    manifest = words.store.manifest
    model, data = manifest.get("model"), manifest.get("data")
    names = [source.get("name") if isinstance(source, dict) else source for source in (model, data)]
    kind = {"generated": "its own captions", "reference": "the references, read word by word"}
    author = kind.get(str(manifest.get("target")), "captions")
    untagged = f", {words.untagged:,} words without one left out" if words.untagged else ""
    return (
        f"{names[0]} on {names[1]}, {author}: {len(words.table):,} words of "
        f"{words.table['group'].nunique():,} images. Tags: {words.tagger}{untagged}."
    )


def judge_words(
    words: GeneratedWords, cases: Mapping[str, Cases], void: Mapping[str, str] = {}
) -> list[Verdict]:
    """The verdicts on claims, by claim id, with intervals over the held-out half of the images."""
    return judge_cases(cases, "document", int(words.held_out["group"].nunique()), void)


def judge_subjects(results: pd.DataFrame) -> list[Verdict]:
    """The verdict on subjects and objects: u_t on matched pairs."""
    cases = {"huang-subject-object": {"": read_interval(results.iloc[0], "matched")}}
    return judge_cases(cases, "document", int(results["images"].iloc[0]))


def of_two(words: GeneratedWords, labels: np.ndarray, seed: int = 0) -> dict[str, Cases]:
    """The evidence of two clusters, by claim id."""
    total: Any = measure_conformity(words, labels, seed).set_index("category").loc[TOTAL]
    return {
        "huang-nominal-verbal": {"": read_interval(total, "share")},
        "huang-initial-word": {"": split_initial(words, labels, seed)},
    }


def explain_void_two(words: GeneratedWords, labels: np.ndarray) -> dict[str, str]:
    """Why first words fall into both clusters anyway: clusters that tell captions apart, not words."""
    share = share_one_cluster(words, labels)
    reason = f"{share:.1%} of captions lie in one cluster, so that first words are in both anyway"
    return {"huang-initial-word": reason} if share > MOST_WHOLE else {}


def explain_void_ten(words: GeneratedWords) -> dict[str, str]:
    """Why no cluster could have other prepositions: nearly all that there are are spatial."""
    table = words.table
    is_spatial = table.loc[table["kind"] == "preposition", "spatial"].eq("spatial")
    share = float(is_spatial.to_numpy(bool).mean())
    reason = (
        f"{share:.1%} of the prepositions are spatial, "
        "so that a cluster of prepositions is spatial anyway"
    )
    return {"huang-spatial-prepositions": reason} if share > 1 - LEAST_OTHER else {}


def of_ten(words: GeneratedWords, labels: np.ndarray, seed: int = 0) -> dict[str, Cases]:
    """The evidence of ten clusters, by claim id."""
    spatial, hybrid = find_spatial(words, labels, seed), hybrid_roles(words, labels, seed)
    return {
        "huang-first-position": {"": find_position(words, labels, 1, seed)},
        "huang-second-position": {"": find_position(words, labels, 2, seed)},
        "huang-dominant-category": {"": dominant_kind(words, labels, seed)["difference"]},
        "huang-spatial-prepositions": spatial,
        "huang-clusters-one-side": {"": one_side(words, labels, seed)},
        "huang-hybrid-roles": hybrid,
    }


def of_regions(regions: Regions) -> dict[str, Cases]:
    """The evidence of regions, by claim id: the literal reading, and the linear probe on others."""
    return {
        "huang-pos-regions": regions.gain("k-means", "in sample", "macro"),
        "huang-pos-prediction": regions.gain("linear", "held out", "micro", PLACE_AND_BEFORE),
    }


def tabulate_scores(captioned: list[dict[str, Any]]) -> Table:
    rivals = find_rivals(captioned)
    differences = {data: compare_captions(tpgn, lstm) for data, tpgn, lstm in rivals}
    verdicts = [verdict for _, tpgn, lstm in rivals for verdict in judge_scores([tpgn], [lstm])]
    return tables.scores_table(captioned, differences, verdicts)


def _labels(words: GeneratedWords, k: int, seed: int, clusters: str) -> tuple[np.ndarray, str]:
    """The cluster of every word, and a note: of centers in a folder, or found on these words."""
    if not clusters:
        return labels_of(words, find_clusters(words, [k], seed)[k]), note_words(words)
    fitted = load_fitted_clusters(words, clusters, k)
    centers = f"Centers: k-means of {fitted.size:,} vectors of other captions; these words count to the nearest center."
    stability = f"Stability over {fitted.n_seeds} seeds: {fitted.stability:.3f}."
    return labels_of(words, fitted), f"{note_words(words)}\n{centers} {stability}"


def tabulate_conformity(store: Store, tagger: str = "", seed: int = 0, clusters: str = "") -> Table:
    words = read(store, tagger, seed)
    labels, note = _labels(words, 2, seed, clusters)
    verdicts = judge_words(words, of_two(words, labels, seed), explain_void_two(words, labels))
    conformity = measure_conformity(words, labels, seed)
    one_cluster_share = share_one_cluster(words, labels)
    return tables.conformity_table(conformity, one_cluster_share, note, verdicts)


def tabulate_interpretation(
    store: Store, tagger: str = "", k: int = 10, seed: int = 0, clusters: str = ""
) -> Table:
    words = read(store, tagger, seed)
    labels, note = _labels(words, k, seed, clusters)
    verdicts = (
        judge_words(words, of_ten(words, labels, seed), explain_void_ten(words)) if k == 10 else []
    )
    return tables.interpretation_table(interpret(words, labels, seed), k, note, verdicts)


def tabulate_regions(store: Store, tagger: str = "", seed: int = 0) -> Table:
    words = read(store, tagger, seed)
    regions = partition_space(words, seed=seed)
    verdicts = judge_cases(of_regions(regions), "document", regions.images)
    return tables.regions_table(regions, note_words(words), verdicts)


def tabulate_subjects(store: Store, tagger: str = "", seed: int = 0) -> Table:
    words = read(store, tagger, seed)
    results = summarize_subjects(words, seed)
    return tables.subjects_table(results, note_words(words), judge_subjects(results))


def draw_plane(
    kind: str, store: Store, method: str | None = None, tagger: str = "", seed: int = 0
) -> Grid:
    """1,000 vectors of held-out images in the plane, by kind of word, or by one kind and the rest."""
    if method not in (None, *METHODS):
        raise unknown("projection", method, METHODS)
    words = read(store, tagger, seed)
    drawn_words = words.held_out.iloc[:N_DRAWN]
    fit_words = words.table.loc[words.table["learned"]].iloc[: 5 * N_DRAWN]
    rows = np.concatenate([fit_words["row"], drawn_words["row"]])
    order = np.argsort(rows)
    vectors = store.read(words.site, rows[order]).reshape(len(rows), -1)[np.argsort(order)]
    fit = np.arange(len(rows)) < len(fit_words)
    kinds = np.concatenate([fit_words["kind"], drawn_words["kind"]]).astype(str)
    counts = drawn_words["kind"].value_counts()
    if not kind:
        names = [name for name in KINDS if name != "other" and counts.get(name, 0) >= MIN_OF_KIND]
        classes, other_class = np.where(np.isin(kinds, names), kinds, "other"), "other"
    else:
        other_class = f"not {kind}"
        classes, names = np.where(kinds == kind, kind, other_class), [kind]
    drawn_classes = classes[~fit]
    labels_by_class = {
        name: f"{name} ({np.sum(drawn_classes == name)})" for name in (*names, other_class)
    }
    planes = [
        project(vectors, projection, classes, seed, fit)
        for projection in ([method] if method else ["pca", "linear"])
    ]
    note = (
        f"{note_words(words)}\nDrawn: {len(drawn_words):,} words of held-out images; axes were found on "
        f"{len(fit_words):,} words of others. The paper's linear projection is not described.\n"
        "Percent: of the variance; of discriminants, of the variance between the means of classes."
    )
    title = f"of {kind}s and of other words" if kind else "by kind of word"
    texts = np.concatenate([fit_words["word"], drawn_words["word"]])
    return scatter_planes(
        planes, classes, texts, labels_by_class, f"Unbinding vectors {title}", note
    )


CAPTIONED = Input(
    "scores of captions: give --ckpt with folders of `eval --out` of captions",
    load_captioned,
    find_files(read_scores),
)

SITES = ("word.unbinding",)
TABLE1 = Maker(tabulate_scores, inputs={"captioned": CAPTIONED})
TABLE2 = Maker(tabulate_conformity, SITES)
TABLE3 = Maker(tabulate_interpretation, SITES)
FIG3 = Maker(partial(draw_plane, ""), SITES)
FIG4 = Maker(partial(draw_plane, "noun"), SITES)
FIG5 = Maker(partial(draw_plane, "verb"), SITES)
FIG6 = Maker(partial(draw_plane, "adjective"), SITES)
FIG7 = Maker(partial(draw_plane, "preposition"), SITES)
REGIONS = Maker(tabulate_regions, SITES)
SUBJECTS = Maker(tabulate_subjects, SITES)
