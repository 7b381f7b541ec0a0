"""Runs of probes compared on the documents of both."""

import numpy as np
import pandas as pd
import pytest

from studies.pages.paired_runs import compare_runs
from tprprobe.errors import InputError


def place(site, control="real"):
    names = ("task", "side", "site", "layer", "head", "seed", "control")
    return dict(zip(names, ("pos", "source", site, 0, None, 0, control), strict=True))


def test_two_runs_are_compared_on_the_documents_of_both(tmp_path):
    def write(name, sites, hits):
        parts = [
            pd.DataFrame({"document": [f"d{i}" for i in range(len(right))]}).assign(
                **place(site),
                hit=right,
                false=10 - right,
                missed=10 - right,
                right=right,
                n=10,
                nats=0,
            )
            for site, right in zip(sites, hits, strict=True)
        ]
        (tmp_path / name).mkdir()
        table = pd.concat(parts).astype({"head": "Int64"})
        table.to_parquet(tmp_path / name / "documents.parquet")
        return tmp_path / name

    rng = np.random.default_rng(0)
    low, high = rng.integers(3, 6, 40), rng.integers(6, 9, 50)
    ours = write("tpt", ["encoder.0.self.filler", "encoder.0.self.tpr"], [low, high])
    theirs = write("t5", ["encoder.0.self.filler"], [low])
    (same,) = compare_runs(ours, theirs).to_dict("records")
    assert (same["site"], same["difference"], same["p"]) == ("encoder.0.self.filler", 0, 1)
    (better,) = compare_runs(ours, theirs, ("tpr", "filler")).to_dict("records")
    assert better["documents"] == 40
    assert better["difference"] == pytest.approx((high[:40].mean() - low.mean()) / 10)
    assert better["low"] > 0
    assert better["p_holm"] < 1e-6
    with pytest.raises(InputError, match="share no site"):
        compare_runs(ours, theirs, ("filler", "tpr"))
    with pytest.raises(InputError, match="holds no probes"):
        compare_runs(ours, tmp_path)
