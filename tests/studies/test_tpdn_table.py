"""The study of TPDN's table: its cells beside the published ones, and what is found missing."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from planted.bindings import left, plant_bindings

import tprprobe as tp
from studies.pages import decomposition_page
from studies.tpdn.cells import CELL, PUBLISHED, collect_cells, compare, compare_trainings
from studies.tpdn.substitutions import FAMILY, SCHEMES, SCORES, SITE, Decoder
from studies.tpdn.trainings import list_models
from tprpapers.claims import judge, load_claims
from tprprobe.data.vocabularies.characters import SPECIALS, SymbolTable
from tprprobe.files.writing import write_file
from tprprobe.models import build
from tprprobe.models.decoding.generation import generate


@pytest.fixture(scope="module")
def published():
    return pd.read_csv(PUBLISHED)


def test_the_published_table_has_every_cell_once(published):
    models = [(m.encoder, m.decoder, m.task, roles) for m in list_models(0) for roles in SCHEMES]
    assert sorted(published[CELL].itertuples(index=False, name=None)) == sorted(models)
    assert len(models) == 216
    assert published["published"].between(0, 1).all()


def cells_of(published: pd.DataFrame, seeds: int = 1, accuracy: float = 1.0) -> pd.DataFrame:
    """A table that agrees with the published one exactly."""
    bounds = {f"substitution{end}": published["published"] for end in ("", "_low", "_high")}
    table = published.assign(accuracy=accuracy, n=10, n_fit=20, **bounds)
    return pd.concat([table.assign(seed=seed) for seed in range(seeds)], ignore_index=True)


def test_agreement_is_measured(published):
    equal = compare(cells_of(published))
    assert equal.median == 0
    assert equal.far.empty
    assert equal.right == len(equal.differences) > 200
    turned = cells_of(published).assign(substitution=lambda t: 1 - t["published"])
    differing = compare(turned)
    assert differing.right == 0
    assert differing.far["difference"].abs().is_monotonic_decreasing
    assert compare(turned.assign(accuracy=0.5), min_accuracy=0.95).cells.empty


def test_two_trainings_are_compared_where_both_were_learned(published):
    two_seeds, one_seed = cells_of(published, seeds=2), cells_of(published)
    one_seed["accuracy"] = np.where(one_seed["encoder"] == "uni", 0.9, 0.97)
    higher = two_seeds.assign(substitution=lambda t: t["substitution"] + 0.1)
    differences = compare_trainings(higher, one_seed, min_accuracy=0.95)
    assert len(differences) == 24  # of two encoders
    assert differences.to_numpy() == pytest.approx(0.1)
    assert compare_trainings(two_seeds.assign(accuracy=0.5), one_seed, min_accuracy=0.95).empty


def test_scores_are_collected_beside_published_numbers(tmp_path, published):
    store = plant_bindings(tmp_path / "store", left, n=60)
    decoder = lambda vectors, _: vectors[:, 0] > 0  # noqa: E731
    fit = tp.decompose(store, SITE, ["left", "bag"], family=FAMILY, rank="2x2", decoder=decoder)
    identity = {"encoder": "uni", "decoder": "bi", "task": "sort", "seed": 0, "accuracy": 0.9}
    table = fit.scores.assign(**identity).to_csv(index=False)
    write_file(tmp_path / "runs" / "one" / SCORES, table)
    cells = collect_cells(tmp_path / "runs")
    assert cells["roles"].tolist() == ["left", "bag"]
    assert cells["published"].tolist() == [0.90, 0.90]
    assert cells[["substitution", "shuffled roles"]].notna().all(axis=None)
    with pytest.raises(tp.InputError, match=r"no scores\.csv: python -m studies\.tpdn"):
        collect_cells(tmp_path / "store")


def test_a_decoder_reads_back_its_own_encodings():
    model: Any = build({"architecture": "bottleneck", "d_model": 8}, seed=0).eval()
    model.vocabulary = SymbolTable((*SPECIALS, *"0123456789"))
    sequences, decoder = [[digit] for digit in "0123456789"], Decoder(model, "copy")
    source = torch.arange(4, 14)[:, None]
    encodings = model.encode(source).vector.detach().numpy()
    is_right = (generate(model, source)[:, :1] == source)[:, 0].numpy()
    assert (decoder(encodings, sequences) == is_right).all()
    same = np.repeat(encodings[:1], 10, 0)  # all write the same digit
    assert decoder(same, sequences).sum() == 1


def test_claims_hold_where_the_published_table_is_found_again(published):
    evidence = decomposition_page._of_cells(cells_of(published, seeds=3))
    claims = [claim for name, claim in load_claims().items() if name in evidence]
    assert len(claims) == 6
    assert {judge(claim, evidence[claim.id]).outcome for claim in claims} == {"holds"}
    evidence = decomposition_page._of_cells(cells_of(published))  # of a single training
    assert {judge(claim, evidence[claim.id]).outcome for claim in claims} == {"undecided"}
    copied = cells_of(published, seeds=3).query("task == 'copy'")
    assert set(decomposition_page._of_cells(copied)) == {"mccoy-tree-roles"}
