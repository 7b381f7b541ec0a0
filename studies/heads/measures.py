"""What the heads of every model of a matched study learned, as one number a model and measure."""

from pathlib import Path

import numpy as np
import pandas as pd

from tprpapers.architectures.transformer import TransformerConfig
from tprpapers.schlag.relation_scores import score_relations
from tprpapers.swaps.fractions import binding_probe
from tprprobe.analyses.naming.run import name_all
from tprprobe.console import track
from tprprobe.data import load_data
from tprprobe.extraction import extract
from tprprobe.files import assets
from tprprobe.models import load_model
from tprprobe.models.protocol import Model, require_model
from tprprobe.store import Store

DATA, SPLIT, SEED = "mathematics:arithmetic__mixed", "small-test", 2
N, MAPS, PAIRS, K = 1000, 300, 300, 20
LAST_LAYER, ROLE = "encoder.-1.*", "encoder.-1.self.role"
CONTROLS = ("query", "key", "filler", "random")
HEADS = assets.find("studies", "matched-starts") / "heads.csv"
RUNS, MODEL, MEASURED = "runs", "model", "heads.csv"

# measure → what it is, of the last encoder layer
MEASURES = {
    "attention": "attention of a digit on the '/' in whose denominator it is after all flips, the best head",
    "nearest": "the same of a map that looks at the nearest '/', with no head",
    "pairs": "the binding problem: both questions of a pair read right from the middle bar",
    "pairs_answered": "its questions answered right",
    "polarity": "numerator or denominator told by role clusters, the mean head",
    "polarity_control": "the same by clusters of the best of queries, keys, fillers, random projections",
    "polarity_discordant": "by role clusters where the two divisions disagree, the mean head",
}


def measure_missing(study: Path) -> None:
    """Every finished model's numbers, kept in its folder."""
    folders = [path.parent for path in sorted((study / RUNS).glob(f"*/{MODEL}"))]
    missing = [path for path in folders if not (path / MEASURED).is_file()]
    for folder in track(missing, "heads", len(missing)):
        model = require_model(load_model(folder / MODEL), "which no study trains")
        measures = measure_heads(model, folder / "heads")
        table = pd.DataFrame(measures.items(), columns=["measure", "value"])
        table.to_csv(folder / MEASURED, index=False)


def collect_heads(study: Path) -> pd.DataFrame:
    """One row per run and measure: variant, seed, measure, value."""
    tables = []
    for file in sorted((study / RUNS).glob(f"*/{MEASURED}")):
        variant, _, seed = file.parent.name.rpartition("-")
        tables.append(pd.read_csv(file).assign(variant=variant, seed=int(seed)))
    rows = pd.concat(tables, ignore_index=True).sort_values(["variant", "seed"], kind="stable")
    return rows[["variant", "seed", "measure", "value"]]


def measure_heads(model: Model, out: Path, n: int = N) -> dict[str, float]:
    """The numbers of MEASURES of one model; those of roles only where it has roles."""
    data = load_data(DATA, split=SPLIT, n=n, seed=SEED)
    store = extract(
        model, data, [LAST_LAYER], out, min(MAPS, n), control=False, resume=out.exists()
    )
    measures = _attention(store) | _pairs(model)
    has_roles = isinstance(model.config, TransformerConfig) and model.config.roles == "continuous"
    return measures | _polarity(store) if has_roles else measures


def _attention(store: Store) -> dict[str, float]:
    rows = score_relations(store).query("way == 'rows' and score == 'mass' and gold == 'net'")
    best = rows.groupby("source")["value"].max()
    return {"attention": best["head"], "nearest": best["nearest"]}


def _pairs(model: Model) -> dict[str, float]:
    rows = binding_probe(model, PAIRS, control=False)
    deepest = rows[rows["bar"] == "middle"].sort_values("depth").iloc[-1]
    return {"pairs": deepest["paired_accuracy"], "pairs_answered": deepest["exact_match"]}


def _polarity(store: Store) -> dict[str, float]:
    rows = name_all(store, ROLE, k=K).decoding.query("predictor == 'clusters'")
    means = rows.groupby(["subset", "vectors"])["accuracy"].mean()
    control = np.max(
        [means["all", vectors] for vectors in CONTROLS if ("all", vectors) in means.index]
    )
    return {
        "polarity": means["all", "role"],
        "polarity_control": float(control),
        "polarity_discordant": means.get(("discordant", "role"), np.nan),
    }
