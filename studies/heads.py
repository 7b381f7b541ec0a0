"""``python -m studies.heads DIR``: what the last encoder layer of a study's models learned, into heads.csv."""

from pathlib import Path
from typing import Annotated

import pandas as pd
import torch
import typer

from tprpapers.schlag.relation_scores import score_relations
from tprprobe.analyses.naming import name_all
from tprprobe.console import track
from tprprobe.data import load_data
from tprprobe.extraction import extract
from tprprobe.files import assets
from tprprobe.files.writing import write_file
from tprprobe.models import load_model
from tprprobe.models.protocol import Model, require_model

DATA, SPLIT, SEED = "mathematics:arithmetic__mixed", "small-test", 2
N, MAPS, K = 1000, 300, 20
LAST_LAYER, ROLE = "encoder.-1.*", "encoder.-1.self.role"
CONTROLS = ("query", "key", "filler", "random")
HEADS = assets.find("studies", "matched-starts") / "heads.csv"

# measure → what it is, of the last encoder layer
MEASURES = {
    "attention": "attention of a digit on the '/' in whose denominator it is after all flips, the best head",
    "polarity": "numerator or denominator predicted by role clusters, mean over heads",
    "polarity control": "the same by clusters of the best of queries, keys, fillers, random projections",
}


def main(study: Annotated[Path, typer.Argument(help="What `tprprobe train PLAN` wrote.")]) -> None:
    """Measure every finished model of a study."""
    torch.set_num_threads(1)
    rows = []
    models = sorted(study.glob("runs/*/model"))
    for path in track(models, "heads", len(models)):
        variant, _, seed = path.parent.name.rpartition("-")
        model = require_model(load_model(path), "which no study trains")
        measures = measure_heads(model, path.parent / "heads")
        rows.append({"variant": variant, "seed": int(seed)} | measures)
    table = pd.DataFrame(rows).sort_values(["variant", "seed"], kind="stable")
    write_file(HEADS, table.round(4).to_csv(index=False))


def measure_heads(model: Model, out: Path, n: int = N) -> dict[str, float]:
    """The numbers of MEASURES of one model; polarity only where it has roles."""
    data, resume = load_data(DATA, split=SPLIT, n=n, seed=SEED), out.exists()
    store = extract(model, data, [LAST_LAYER], out, min(MAPS, n), control=False, resume=resume)
    masses = score_relations(store).query(
        "way == 'rows' and score == 'mass' and gold == 'net' and source == 'head'"
    )
    measures = {"attention": masses["value"].max()}
    if getattr(model.config, "roles", "") != "continuous":
        return measures
    decoding = name_all(store, ROLE, k=K).decoding
    accuracy = (
        decoding.query("predictor == 'clusters' and subset == 'all'")
        .groupby("vectors")["accuracy"]
        .mean()
    )
    control = accuracy.reindex(CONTROLS).max()
    return measures | {"polarity": accuracy["role"], "polarity control": control}


if __name__ == "__main__":
    typer.run(main)
