"""The study of TPDN's table: its cells beside the published ones, and what is found missing."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from planted.bindings import left, plant_bindings

import tprprobe as tp
from studies.tpdn.cells import CELL, CELLS, PUBLISHED, collect_cells
from studies.tpdn.substitutions import FAMILY, SCHEMES, SCORES, SITE, Decoder
from studies.tpdn.trainings import list_models
from studies.verdicts.decomposition import of_cells
from studies.verdicts.table import read_table
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


def test_scores_are_collected_beside_published_numbers(tmp_path, published):
    store = plant_bindings(tmp_path / "store", left, n=60)
    decoder = lambda vectors, _: vectors[:, 0] > 0  # noqa: E731
    fit = tp.decompose(store, SITE, ["left", "bag"], family=FAMILY, rank="2x2", decoder=decoder)
    identity = {"encoder": "uni", "decoder": "bi", "task": "sort", "seed": 0, "accuracy": 0.9}
    write_file(
        tmp_path / "runs" / "one" / SCORES, fit.scores.assign(**identity).to_csv(index=False)
    )
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
    assert (
        decoder(encodings, sequences) == (generate(model, source)[:, :1] == source)[:, 0].numpy()
    ).all()
    assert (
        decoder(np.repeat(encodings[:1], 10, 0), sequences).sum() == 1
    )  # all write the same digit


def test_claims_hold_where_the_published_table_is_found_again(published):
    evidence = of_cells(cells_of(published, seeds=3))
    claims = [a_claim for name, a_claim in load_claims().items() if name in evidence]
    assert len(claims) == 6
    assert {judge(a_claim, evidence[a_claim.id]).outcome for a_claim in claims} == {"holds"}
    without_trainings = of_cells(cells_of(published))
    assert {judge(a_claim, without_trainings[a_claim.id]).outcome for a_claim in claims} == {
        "undecided"
    }
    copied = cells_of(published, seeds=3).query("task == 'copy'")
    assert set(of_cells(copied)) == {"mccoy-tree-roles"}


def test_the_cells_that_ship_are_judged_as_the_table_says():
    evidence, rows = of_cells(pd.read_csv(CELLS)), read_table().set_index("claim")
    for name, of_claim in evidence.items():
        verdict = judge(load_claims()[name], of_claim)
        assert rows.loc[name, ["verdict", "reason"]].tolist() == [verdict.outcome, verdict.reason]
