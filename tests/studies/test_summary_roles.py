"""Roles of a study's models: measured from its folder, collected in tables that grow with the finished runs."""

import pandas as pd
import pytest

from studies.summary_roles import measures
from studies.summary_roles.records import FILES, collect_roles, measure_missing
from tprpapers.jiang.snapping import find_weights
from tprpapers.study.plans import read_plan
from tprpapers.study.runner import run_study
from tprprobe.data import load_data
from tprprobe.data.pairs import encode_pairs
from tprprobe.extraction.passes import read_block
from tprprobe.models import load_model
from tprprobe.training import loop

DATA = 'data = "english:version=1,depth=1,sentences=4-6"'
PLAN = f"""
name = "tiny"
seeds = [0]
test = [{{ {DATA}, split = "test", n = 3 }}]
[variants.tpt-d]
n_roles = 4
[recipe]
batch_size = 4
keep_every = 2
subwords = {{ size = 300, texts = 20, max_source = 128, max_target = 40 }}
[recipe.model]
architecture = "tpt"
d_model = 8
n_heads = 2
d_head = 4
n_layers = [1, 1]
d_ff = 16
[[recipe.stages]]
steps = 3
learning_rate = 0.01
mix = [{{ {DATA}, split = "train", n = 16 }}]
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "plan.toml").write_text(PLAN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "REPORT_EVERY", 1)
        return run_study(read_plan(folder / "plan.toml"), folder / "study")


def test_tables_of_roles_are_those_of_the_checkpoints(study, tmp_path, monkeypatch):
    monkeypatch.setattr(measures, "REPORTS", 12)
    measure_missing(study)
    earlier = {
        "reports": pd.DataFrame({"t5-0:pos.0.filler": ["1/2"] * 12}),
        "discreteness": pd.DataFrame({"run": []}),
    }
    for name, table in earlier.items():
        table.to_csv(tmp_path / FILES[name], index=False)
    monkeypatch.setattr(measures, "probe_reports", None)  # what is measured is not measured again
    measure_missing(study)
    reports, along = (pd.read_csv(path) for path in collect_roles(study, tmp_path))
    assert (reports["t5-0:pos.0.filler"] == "1/2").all()
    columns = [column for column in reports if column.startswith("tpt-d-0:")]
    kinds = [f"{task}.0.{kind}" for task in ("pos", "nel") for kind in ("role", "tpr")]
    kinds += [f"pos.0.role.{control}" for control in ("untrained", "indices", "quantized")]
    assert {f"tpt-d-0:{kind}" for kind in kinds} < {*columns}
    assert sorted(set(along["step"])) == [2, 3]

    data = load_data(measures.DATA, split="test", n=12, seed=1)
    half = load_model(study / "runs" / "tpt-d-0" / "steps" / "2")
    pairs = encode_pairs(data, half.vocabulary)
    weights = read_block(half, pairs, find_weights(half), half.config.pad).rows
    peaks = [values.max(-1) > 0.98 for values in weights.values()]
    counts = reports["tpt-d-0:above_98.2"].str.split("/", expand=True).astype(int)
    assert counts.sum().tolist() == [sum(p.sum() for p in peaks), sum(p.size for p in peaks)]
    sizes = [values[: int(lengths[0])].size for values, lengths in zip(
        peaks, (pairs.source.lengths, pairs.target.lengths - 1, pairs.target.lengths - 1), strict=True
    )]  # fmt: skip
    assert counts.iloc[0, 1] == sum(sizes)
    of_step = along[along["step"] == 2]
    assert of_step["n_distributions"].sum() == counts[1].sum()
