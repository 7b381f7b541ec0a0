"""Tables of unbinding vectors and of captions' scores: huang's Tables 1, 2 and 3, and its 76.3 %."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pandas as pd

from tprpapers.claims import Verdict
from tprpapers.huang.unbinding import conformity, regions
from tprpapers.scoring.captions.toolkit import PLAIN_METEOR
from tprpapers.verdicts import with_verdicts
from tprprobe.figures.tables import Table
from tprprobe.statistics import interval_text, read_interval

METRICS = ("METEOR", "BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "CIDEr-D")
SHOWN_METRICS = (*METRICS, PLAIN_METEOR)
SCORED = {  # Source: huang Table 1, COCO, Karpathy's test split of 5,000 images
    "NIC (Vinyals 2015)": (0.237, 0.666, 0.461, 0.329, 0.246, 0.855),
    "CNN-LSTM (ResNet-152)": (0.238, 0.698, 0.525, 0.390, 0.292, 0.889),
    "TPGN": (0.243, 0.709, 0.539, 0.406, 0.305, 0.909),
}
SPARE = ("conforming (printed)", "words (printed)", "conforming")  # columns of Table 2
PRINTED_INTERPRETATIONS = {  # cluster and interpretation. Source: huang Table 3
    2: "Position 1 (1.00)",
    3: "Position 2 (1.00)",
    1: "Noun (0.54), Determiner (0.43)",
    5: "Determiner (0.50), Noun (0.19), Preposition (0.15)",
    7: "Noun (0.88), Adjective (0.09)",
    9: "Determiner (0.90), Noun (0.10)",
    0: "Preposition (0.64), . (0.16), V (0.14)",
    4: "Preposition: spatial (0.72) non-spatial (0.19)",
    6: "Preposition (0.59), . (0.14)",
    8: "Verb (0.37), Preposition (0.36), . (0.20)",
}


def scores_table(
    captioned: Sequence[Mapping[str, Any]],
    differences: Mapping[str, pd.DataFrame],
    verdicts: Sequence[Verdict],
) -> Table:
    """The scores of evaluations of captions with intervals over images, above the paper's Table 1.

    ``captioned`` are what ``tprprobe eval --out`` wrote of captions: model, data, split, n, scores.
    ``differences``, by data, are those of a TPGN and a CNN-LSTM on the same images.
    """
    rows = [_score_row(evaluation) for evaluation in captioned]
    for data, table in differences.items():
        cells = {str(row["metric"]): row for row in table.to_dict("records")}
        intervals = {
            name: interval_text(read_interval(cells[name], "difference"))
            for name in SHOWN_METRICS
            if name in cells
        }
        rows.append({"model": "TPGN − CNN-LSTM", "captions of": data, **intervals})
    n_measured = len(rows)
    for name, values in SCORED.items():
        numbers = {metric: f"{v:.3f}" for metric, v in zip(METRICS, values, strict=True)}
        rows.append({"model": name, "captions of": "printed: COCO, 5,000", **numbers})
    caption = (
        "[95 % interval] over images, differences paired by image. METEOR needs Java and has none. "
        "CIDEr-D counts words over the evaluated set: it does not compare across data.\nOther data, "
        "features and sizes than the paper's, one run a model. –: not measured."
    )
    measured = {name for row in rows[:n_measured] for name in row}
    spare = sorted(
        [PLAIN_METEOR, "BLEU-2", "BLEU-3", "BLEU-1", "METEOR"], key=measured.__contains__
    )
    places: Any = {"ruled": (n_measured,), "block": ("captions of",), "spare": tuple(spare)}
    return judged("Scores of captions", rows, caption, verdicts, **places)


def _score_row(evaluation: Mapping[str, Any]) -> dict[str, str]:
    cells = {
        name: evaluation["scores"][name] for name in SHOWN_METRICS if name in evaluation["scores"]
    }
    return {
        "model": str(evaluation["model"]),
        "captions of": f"{evaluation['data']}, {evaluation['split']}, {evaluation['n']:,}",
        **{name: interval_text(read_interval(score)) for name, score in cells.items()},
    }


def conformity_table(
    shares: pd.DataFrame, one_cluster_share: float, note: str, verdicts: Sequence[Verdict]
) -> Table:
    """The result of ``measure_conformity`` beside huang's Table 2, whose shares are computed from
    its counts.

    ``whole`` is the share of captions all of whose words are in one of the clusters.
    """
    printed = dict(conformity.PRINTED)
    n_words, n_conforming = map(sum, zip(*printed.values(), strict=True))
    printed[conformity.TOTAL] = n_words, n_conforming
    rows = []
    for row in shares.to_dict("records"):
        n, conforming = printed[row["category"]]
        rows.append(
            {
                "category": str(row["category"]),
                "words": f"{row['n']:,}",
                "conforming": f"{row['conforming']:,}",
                "share": interval_text(read_interval(row, "share")),
                "commoner side": f"{row['majority']:.3f}" if row["n"] else "–",
                "words (printed)": f"{n:,}",
                "conforming (printed)": f"{conforming:,}",
                "share (printed)": f"{conforming / n:.4f}",
            }
        )
    caption = (
        f"{note}\nTwo clusters; which one is nominal is learned on one half of the images, and the words of the other half "
        "are counted, without first words, as in the paper. Commoner side: the share if all words were put there.\n"
        f"{one_cluster_share:.1%} of the captions have all their words in one cluster.\n"
        "Printed: the paper's Table 2, its shares divided again: it has 0.969 for nouns, and no total."
    )
    title, ruled = "Conformity to nominal/verbal clusters", (len(rows) - 1,)
    return judged(title, rows, caption, verdicts, ruled=ruled, spare=SPARE)


def interpretation_table(
    interpretation: pd.DataFrame, k: int, note: str, verdicts: Sequence[Verdict]
) -> Table:
    """The result of ``interpret`` of k clusters, with huang's Table 3 below it."""
    rows = [
        {
            "from": "this run",
            "cluster": str(row["cluster"]),
            "share": f"{row['coverage']:.3f}",
            "interpretation": row["told"],
            "name": row["name"],
            "precision": _or_dash(row, "precision"),
            "recall": _or_dash(row, "recall"),
        }
        for row in interpretation.sort_values("coverage", ascending=False).to_dict("records")
    ]
    n_clusters = len(rows)
    for cluster, text in PRINTED_INTERPRETATIONS.items():
        rows.append({"from": "printed", "cluster": str(cluster), "interpretation": text})
    caption = (
        f"{note}\nNames are chosen among positions, tags, kinds of words, the kind of the word before, "
        "and words, on one half of the images. Shares, precision and recall are of the other half.\n"
        + f"Clusters without a word: {k - n_clusters} of {k}. " * (n_clusters < k)
        + "Numbers are not the paper's. Printed: of 100 captions, by hand."
    )
    places: Any = {"ruled": (n_clusters,), "block": ("from",), "spare": ("precision", "recall")}
    return judged(f"Interpretation of {k} clusters", rows, caption, verdicts, **places)


def _or_dash(row: Mapping[Any, Any], name: str) -> str:
    return "–" if row["name"] == "unnamed" else interval_text(read_interval(row, name))


def regions_table(region_purity: regions.Regions, note: str, verdicts: Sequence[Verdict]) -> Table:
    """Purity of regions by every reading of the paper's 76.3 %, beside what needs no u_t."""
    table = region_purity.table()
    rows = []
    for vectors, vector_rows in table.groupby("vectors", sort=False):
        cells = {"vectors": str(vectors)}
        for row in vector_rows.to_dict("records"):
            place = f"{row['reading']}, {row['split']}"
            if row["reading"] == "one region":
                cells["k-means, in sample"] = f"{row['micro']:.3f}"
                continue
            cells[place] = f"{row['macro']:.3f} / {row['micro']:.3f}"
        rows.append(cells)
    keys = product(regions.READINGS, regions.SPLITS, regions.MEASURES)
    gains = [gain.value for key in keys for gain in region_purity.gain(*key).values()]
    caption = (
        f"{note}\nu is above positions, previous words and permuted tags in {sum(gain > 0 for gain in gains)} of its {len(gains)} numbers.\n"
        f"Mean over regions / over words of the share of the region's own tag (one of {region_purity.tags}); "
        f"{regions.REGIONS} clusters by k-means. Held out: five folds of images.\nThe paper prints 0.763, "
        "for 17 regions. Its words are 1,000; it does not say which kind of regions, which mean, and "
        "whether they are held out."
    )
    order = ["vectors", *(f"{r}, {s}" for r in regions.READINGS for s in regions.SPLITS)]
    cells = pd.DataFrame(rows).fillna("–").loc[:, order]
    return judged("Purity of regions of unbinding vectors", cells, caption, verdicts)


def subjects_table(results: pd.DataFrame, note: str, verdicts: Sequence[Verdict]) -> Table:
    """The AUC of subjects against objects, over all pairs and over matched ones."""
    rows = [
        {
            "vectors": row["vectors"],
            "AUC, all pairs": interval_text(read_interval(row, "auc")),
            "AUC, matched pairs": interval_text(read_interval(row, "matched")),
        }
        for row in results.to_dict("records")
    ]
    counts = results.iloc[0]
    caption = (
        f"{note}\nNouns: {counts['subjects']:,} subjects and roots, {counts['objects']:,} objects, "
        "obliques and nominal modifiers; logistic regression, held out by image. Matched: pairs at "
        "the same position after the same tag, so that place and previous tag cannot distinguish them."
    )
    return judged("Subject or object, from the unbinding vector", rows, caption, verdicts)


def judged(
    title: str,
    rows: pd.DataFrame | Sequence[Mapping[str, str]],
    caption: str,
    verdicts: Sequence[Verdict],
    **places: Any,
) -> Table:
    """The table with the verdicts that it decides; ``places`` are the rows and columns that it sets apart."""
    cells = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(list(rows)).fillna("–")
    return with_verdicts(Table(cells, title, caption, **places), verdicts)
