"""How fast a sweep is: variants as rows above what they share, beside one pass an intervention.

`python benchmarks/interventions.py [N]`: all layers × heads × 4 edits of the roles of tpt-c-arithmetic on N
(default 500) questions. Both sides score the same answers by teacher forcing, in turn, in one process;
one by one is measured on a part of the variants (batched) or of these and the questions (alone).
"""

import sys
import time
from pathlib import Path
from typing import Any

import torch

from tprprobe.data.pairs import Pairs, encode_pairs
from tprprobe.interventions.batched_edits import Variant, score_variants
from tprprobe.interventions.sweep_recipes import read_recipe, read_references
from tprprobe.interventions.sweeps import ALL, BATCH, find_data, list_points
from tprprobe.models import load_model
from tprprobe.models.decoding.generation import generate
from tprprobe.site.hooks import find_sites, intervene
from tprprobe.site.patterns import select

RECIPE = Path(__file__).parent / "interventions" / "ablation.toml"
SOME, FEW = 8, 4  # variants that are measured one by one: batched, and a question at a time
ALONE = 50  # questions


def timed(run: Any) -> float:
    """Processor seconds."""
    start = time.process_time()
    run()
    return time.process_time() - start


@torch.no_grad()
def one_by_one(model: Any, pairs: Pairs, variants: list[Variant], size: int, decode: bool) -> None:
    """A pass an intervention (and batch), nothing shared: answers scored, or decoded greedily."""
    for variant in variants:
        with intervene(model, variant):
            for rows in pairs.by_length(size):
                source, target = pairs.batch(rows, model.config.pad)
                if decode:
                    generate(model, source)
                else:
                    model(source, target[:, :-1]).log_softmax(-1)


def main(n: int) -> None:
    """Prints the table."""
    recipe = read_recipe(RECIPE).model_copy(update={"n": n})
    model: Any = load_model("tpt-c-arithmetic")
    data = find_data(model, recipe)
    pairs = encode_pairs(data[:n], model.vocabulary)
    alone = encode_pairs(data[: min(ALONE, n)], model.vocabulary)
    sites = select(recipe.sites, list(find_sites(model)))
    references = read_references(model, encode_pairs(data[n:], model.vocabulary), sites)
    points = [point for site in sites for point in list_points(recipe, (site,), references)]
    variants: list[Variant] = [
        {
            site: references[site].edit(
                point.edit, heads=None if point.head == ALL else [point.head]
            )
            for site in point.sites
        }
        for point in points
    ]

    def swept() -> None:
        for rows in pairs.by_length(BATCH):
            source, target = pairs.batch(rows, model.config.pad)
            score_variants(model, source, [target], variants)

    some, few = variants[:: len(variants) // SOME], variants[:: len(variants) // FEW]
    ours = timed(swept)
    batched = timed(lambda: one_by_one(model, pairs, some, BATCH, False)) / len(some)
    decoded = timed(lambda: one_by_one(model, pairs, some, BATCH, True)) / len(some)
    single = timed(lambda: one_by_one(model, alone, few, 1, False)) / len(few) / len(alone)
    print(f"{len(variants)} interventions on {n} questions, {torch.get_num_threads()} thread(s):\n")
    print("| processor seconds | all of them | ratio |\n|---|---|---|")
    rows = {
        "a sweep: variants as rows, shared layers computed once": ours,
        "one pass an intervention, batched": batched * len(variants),
        "the same, answers decoded greedily": decoded * len(variants),
        "one pass an intervention and question": single * len(variants) * n,
    }
    for name, seconds in rows.items():
        print(f"| {name} | {seconds:.1f} | {seconds / ours:.1f}× |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
