"""The parts of the prober against definitions, other libraries and an implementation of jiant's."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from planted.sentences import FILLER, STATE, plant
from sklearn.metrics import f1_score
from torch import nn

from tprpapers.jiang.figures import table4
from tprprobe.analyses.probing import read_task
from tprprobe.analyses.probing.examples import read_examples
from tprprobe.analyses.probing.features import needed_sites
from tprprobe.analyses.probing.labelled_words import read_corpus
from tprprobe.analyses.probing.scores import Score, compare_scores, tabulate_pairs
from tprprobe.analyses.probing.settings import SITES
from tprprobe.analyses.probing.task import check_tasks
from tprprobe.analyses.probing.trials import Counts
from tprprobe.errors import InputError
from tprprobe.estimators.probes.span_conv import step_amsgrad
from tprprobe.estimators.probes.span_network import draw_dropout, edge_logits, losses
from tprprobe.estimators.probes.spans import Shape, Spans
from tprprobe.evaluation.metrics import (
    TERMS,
    Predictions,
    codelength,
    compression,
    constant_bits,
    count_terms,
)
from tprprobe.figures.catalogue.loaders import load_probes
from tprprobe.figures.line_styles import style_lines
from tprprobe.figures.probes import probe_table
from tprprobe.site.patterns import layer_of
from tprprobe.statistics import adjust


class JiantProbe(nn.Module):
    """Written from the description of Tenney et al. 2019 and jiant's modules, one sentence at a time."""

    def __init__(self, width, labels, spans, context, seed):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            size = 1 + 2 * context
            self.project = nn.ModuleList(
                nn.Conv1d(width, 256, size, padding=context) for _ in range(spans)
            )
            self.attend = nn.ModuleList(nn.Linear(256, 1) for _ in range(spans))
            self.classify = nn.Sequential(
                nn.Linear(256 * spans, 256),
                nn.Tanh(),
                nn.LayerNorm(256),
                nn.Dropout(0.3),
                nn.Linear(256, labels),
            )

    def forward(self, vectors, spans):
        """Logits [target, label] of spans [target, span, edge] over vectors [state, width]."""
        pooled = []
        for k, (project, attend) in enumerate(zip(self.project, self.attend, strict=True)):
            p = project(vectors.T[None])[0].T
            if (spans[:, k, 1] - spans[:, k, 0] == 1).all():
                pooled.append(p[spans[:, k, 0]])  # of one state the mean is that state
                continue
            rows = [p[start:stop] for start, stop in spans[:, k].tolist()]
            pooled.append(torch.stack([attend(r).softmax(0).T @ r for r in rows])[:, 0])
        return self.classify(torch.cat(pooled, -1))


@pytest.mark.parametrize(("spans", "context"), [(1, 0), (2, 0), (2, 1)])
def test_the_probe_is_jiants(spans, context):
    reference = JiantProbe(12, 5, spans, context, seed=0).eval()
    mapped = {}
    for k in range(spans):
        kernel = reference.project[k].weight  # [out, in, place]
        mapped[f"project{k}_weight"] = kernel.permute(2, 1, 0).reshape(-1, 256)
        mapped[f"project{k}_bias"] = reference.project[k].bias
        mapped[f"attend{k}_weight"] = reference.attend[k].weight[0]
        mapped[f"attend{k}_bias"] = reference.attend[k].bias[0]
    hidden_layer, _, norm, dropout, output_layer = reference.classify
    nn.init.uniform_(norm.weight)
    nn.init.uniform_(norm.bias)
    mask = draw_dropout(0, 0, 3, 256)
    dropout.forward = lambda hidden: hidden * mask
    for name, layer in (("hidden", hidden_layer), ("output", output_layer)):
        mapped |= {f"{name}_weight": layer.weight.T, f"{name}_bias": layer.bias}
    mapped |= {"norm_weight": norm.weight, "norm_bias": norm.bias}
    shape = Shape(12, spans, 5, 1 + 2 * context)
    assert {k: tuple(v.shape) for k, v in mapped.items()} == shape.sizes()
    weights = {k: v.detach()[None] for k, v in mapped.items()}
    vectors = torch.randn(9, 12, generator=torch.Generator().manual_seed(1))
    spans_of_targets = torch.tensor([[[0, 3], [4, 5]], [[2, 4], [0, 9]], [[8, 9], [6, 8]]])[
        :, :spans
    ]
    padded = nn.functional.pad(vectors, (0, 0, context, context))
    states = torch.stack([padded[i : i + 1 + 2 * context].flatten() for i in range(9)])
    windows, pooled = [], []
    for k in range(spans):
        start, stop = spans_of_targets[:, k].T
        pooled.append(Spans.of(torch.arange(3).repeat_interleave(stop - start), 3))
        windows.append(torch.cat([states[a:b] for a, b in zip(start, stop, strict=True)]))
    logits = edge_logits(shape, weights, windows, pooled, mask[None])
    torch.testing.assert_close(logits[0], reference(vectors, spans_of_targets))


@settings(max_examples=10)
@given(st.integers(0, 100), st.integers(1, 3))
def test_steps_are_those_of_amsgrad_with_clipping(seed, n_probes):
    """Every probe of a stack by itself, with its own rate."""
    rng = torch.Generator().manual_seed(seed)
    start = torch.randn(n_probes, 6, generator=rng, dtype=torch.float64)
    grads = [30 * torch.randn(n_probes, 6, generator=rng, dtype=torch.float64) for _ in range(4)]
    rates = torch.rand(n_probes, generator=rng, dtype=torch.float64)
    weights, moments = start.clone(), torch.zeros(3, n_probes, 6, dtype=torch.float64)
    for step, grad in enumerate(grads, 1):
        step_amsgrad(weights, moments, grad, rates, step, clip=5.0)
    for i in range(n_probes):
        parameter = nn.Parameter(start[i].clone())
        optimizer = torch.optim.Adam([parameter], float(rates[i]), amsgrad=True)
        for grad in grads:
            parameter.grad = grad[i].clone()
            nn.utils.clip_grad_norm_([parameter], 5.0)
            optimizer.step()
        torch.testing.assert_close(weights[i], parameter.detach())


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_counts_are_those_of_micro_f1(seed):
    rng = np.random.default_rng(seed)
    logits, gold = rng.normal(size=(20, 4)), rng.random((20, 4)) < 0.3
    predictions = Predictions(logits.argmax(1), logits >= 0, np.zeros(20))
    terms = count_terms(predictions, gold, np.zeros(20, int), np.ones(4, bool))
    hit, false, missed, right, n, _ = terms.sum(0).tolist()
    expected = f1_score(gold, logits >= 0, average="micro", zero_division=0)
    assert 2 * hit / max(1, 2 * hit + false + missed) == pytest.approx(expected)
    assert n == gold.any(-1).sum()
    assert right == sum(gold[i, logits[i].argmax()] for i in range(20))


@given(st.integers(2, 50), st.lists(st.integers(1, 200), min_size=1, max_size=6))
def test_a_uniform_predictor_compresses_exactly_1(n_labels, sizes):
    nats = [size * np.log(n_labels) for size in sizes[1:]]
    bits = codelength(sizes[0], n_labels, nats)
    assert compression(bits, sum(sizes), n_labels) == pytest.approx(1.0, abs=1e-12)


def test_losses_are_nats_and_the_constant_model_is_the_entropy():
    logits = torch.zeros(1, 5, 4)
    marks = torch.eye(4)[[0, 1, 2, 3, 0]][None]
    torch.testing.assert_close(
        losses(logits, marks, "softmax"), torch.full((1, 5), float(np.log(4)))
    )
    labels = np.eye(2, dtype=bool)[np.repeat([0, 1], [300, 100])]
    assert constant_bits(labels, labels) == pytest.approx(0.8113, abs=1e-3)


def test_states_are_those_that_predict(tmp_path):
    store = plant(tmp_path / "store", 20, control=False)
    task = read_task("nel")
    tokens = store.tokens_of(STATE)
    corpus = read_corpus(store, store.tokens, "target", [task], 0)
    targets = read_examples(corpus, task, "first_state", range(1))
    first_states, every = targets.states, read_examples(corpus, task, "all_states", range(1)).states
    assert (first_states[..., 1] - first_states[..., 0] == 1).all()
    assert (every[..., 1] - every[..., 0] == 2).all()
    behind = tokens["nel"].astype(str).to_numpy()[first_states[:, 0, 0] + 1]
    assert all(cell.startswith(("ODD", "EVEN")) for cell in behind)
    source = read_corpus(store, store.tokens, "source", [task], 0)
    source_targets = read_examples(source, task, "all_states", range(1))
    assert (source_targets.states == source_targets.rows).all()
    fewer = targets.with_inventory(["ODD", "NEW"])
    assert fewer.inventory == ("ODD", "NEW")
    assert (fewer.labels.sum(1) + fewer.unseen == 1).all()
    assert not targets.with_inventory(["ODD", "NEW"], ("EV",)).unseen.any()  # does not count
    no_start = tokens.assign(side="target")[tokens["word"] >= 0]
    bare = read_corpus(store, no_start, "target", [task], None)
    without_start = read_examples(bare, task, "first_state", range(1))
    listed = targets.take(np.flatnonzero(targets.words[:, 0, 0] > 0))
    assert len(without_start) == len(listed) < len(targets)  # nothing predicts the first token
    assert without_start.lost == len(targets) - len(without_start)


def test_targets_on_words_without_tokens_are_counted(tmp_path):
    store = plant(tmp_path / "store", 20, control=False)
    tokens = store.tokens_of(FILLER)
    gone = tokens[~((tokens["sample"] == 3) & (tokens["word"] == 1))]
    task = read_task("dep")
    corpus = read_corpus(store, gone, "source", [task], None)
    complete = read_corpus(store, tokens, "source", [task], None)
    all_examples = read_examples(complete, task, "all_states", range(1))
    examples = read_examples(corpus, task, "all_states", range(1))
    heads_there = (all_examples.words[all_examples.sample == 3][:, 1, 0] == 1).sum()
    itself = 1 if (all_examples.words[all_examples.sample == 3][1, 1, 0] == 1) else 0
    assert examples.lost == heads_there - itself
    assert len(examples) == len(all_examples) - 1 - examples.lost


def place(site, control="real"):
    names = ("task", "side", "site", "layer", "head", "seed", "control")
    return dict(zip(names, ("pos", "source", site, 0, None, 0, control), strict=True))


def score(hits, n=20, **names):
    """The score of one vector, from the rightly predicted of n targets of every document."""
    sums = np.zeros((1, len(hits), len(TERMS)))
    sums[0, :, [0, 1, 2, 4]] = hits, n - hits, n - hits, np.broadcast_to(n, len(hits))
    return Score(place(names.pop("site")) | names, Counts(sums, np.zeros((1, 1, 3)), np.zeros(0)))


def test_differences_are_paired_and_corrected():
    rng = np.random.default_rng(0)
    n = rng.integers(5, 20, 60)
    role, hits = "encoder.0.self.role", rng.binomial(n, 0.5)
    filler = score(np.minimum(n, hits + 1), n, site="encoder.0.self.filler")  # a little better
    scores = [score(hits, n, site=role), filler, score(hits, n, site=role, control="control")]
    table = tabulate_pairs(compare_scores(scores)).set_index(["first", "second"])
    better = table.loc[role, "encoder.0.self.filler"]
    assert better["difference"] < better["high"] < 0
    assert better["p_holm"] < 1e-10
    control_pair = table.loc[role, f"{role} (control)"]
    assert (control_pair["difference"], control_pair["p_holm"]) == (0, 1)
    assert len(table) == 2


def score_layers(*hits):
    return [score(h, site=f"encoder.{i}.hidden", layer=i) for i, h in enumerate(hits)]


def test_every_two_layers_are_compared_and_the_best_is_corrected_for_all():
    rng = np.random.default_rng(0)
    hits = rng.integers(5, 15, 40)
    noise = rng.integers(-2, 3, 40)
    scores = score_layers(hits, hits + 2, hits + 2 - noise * 2, hits)
    pairs = compare_scores([*scores, score(hits, site="encoder.0.hidden", control="control")])
    layers = [pair for pair in pairs if pair.is_of_layers]
    assert len(layers) == 6 == len(pairs) - 1
    assert all(pair.comparison.difference.value >= 0 for pair in layers)
    p_values = np.array([pair.comparison.p for pair in layers])
    assert [pair.p for pair in layers] == pytest.approx(adjust(p_values, "holm").tolist())
    best = [pair for pair in layers if pair.score.names["layer"] == 1]  # it stands first
    assert [pair.reference.names["layer"] for pair in layers[:3]] == [2, 0, 3]
    assert [pair.p < 0.05 for pair in best] == [False, True, True]


def test_equal_layers_are_seldom_distinguished_from_the_best():
    """The best of equal layers is chosen by chance, so a test of it alone would often say that it is better."""
    rng, n_distinguished = np.random.default_rng(1), 0
    for _ in range(100):
        pairs = compare_scores(score_layers(*rng.binomial(20, 0.6, (5, 20))))
        n_distinguished += min(pair.p for pair in pairs) < 0.05
    assert n_distinguished <= 11  # 5 expected, of 5 % at most


def drawn_rows():
    """Rows as `probe` gives them, of two layers and two tasks."""
    rows = [
        place(f"decoder.{layer}.cross.{kind}")
        | {"task": task, "side": "target", "layer": layer, "seed": seed, "model": "tiny"}
        | {"f1": 0.5, "f1_low": 0.4, "f1_high": 0.6}
        for task in ("pos", "nel")
        for layer in (0, 1)
        for kind in ("role", "tpr")
        for seed in (0, 1)
    ]
    base = {"side": "target", "layer": None, "model": "tiny", "f1": 0.2, "f1_low": 0.1}
    rows += [
        place("", "majority") | base | {"task": task, "f1_high": 0.3} for task in ("pos", "nel")
    ]
    table = pd.DataFrame(rows).astype({"layer": "Int64"})
    return table.assign(layer=table["layer"].fillna(table["site"].map(layer_of)))


@pytest.mark.parametrize(("f1", "is_line"), [(0.1, True), (0.3, False)])
def test_the_baseline_model_is_a_line_unless_it_is_the_band_of_the_strongest_control(f1, is_line):
    rows = drawn_rows()
    twins = rows[rows["control"] == "real"].assign(control="permuted", f1=f1)
    scene = probe_table(pd.concat([rows, twins], ignore_index=True)).scene
    lines = scene.rows[scene.rows["line"] == "tpr, baseline model (permuted weights)"]
    assert len(lines) == 4 * is_line  # tasks and layers
    assert lines["value"].eq(f1).all()
    assert ("permuted" in scene.band) != is_line


@pytest.mark.parametrize("head", [None, 3])
def test_a_control_is_of_the_site_and_layer_that_it_was_measured_at(head):
    rows = drawn_rows()[lambda rows: (rows["control"] == "real") & (rows["task"] == "pos")]
    measured = rows[rows["site"] == "decoder.1.cross.role"].assign(control="shuffled", f1=0.3)
    of_head = measured.assign(site="decoder.1.cross.tpr", head=head, f1=0.9)
    scene = probe_table(pd.concat([rows, measured, *([of_head] if head else [])])).scene
    assert scene.bands[["x", "value"]].to_numpy().tolist() == [[1, 0.3]]
    assert scene.band == "strongest control: shuffled labels (of role)"


def test_two_protocols_of_a_model_are_not_averaged(tmp_path):
    for name, f1 in (("same", 0.846), ("document", 0.857)):
        rows = drawn_rows().drop(columns="model")
        rows.loc[rows["control"] == "real", "f1"] = f1
        (tmp_path / name).mkdir()
        rows.to_parquet(tmp_path / name / "rows.parquet")
        settings = {"store": {"model": {"name": "tiny"}}}
        (tmp_path / name / "settings.json").write_text(json.dumps(settings))
    probes = load_probes([tmp_path / "same", tmp_path / "document"])
    cells = table4(probes).cells
    assert {*cells["model"]} == {"tiny (same)", "tiny (document)"}
    texts = cells.set_index("model")["POS"]
    assert {*texts["tiny (same)"]} == {"84.6 / 84.6 (20.0)"}
    assert {*texts["tiny (document)"]} == {"85.7 / 85.7 (20.0)"}
    assert {*load_probes([tmp_path / "same"])["model"]} == {"tiny"}
    styles = style_lines(probe_table(probes, kinds=["tpr"]).scene.rows).values()
    assert len({style["color"] for style in styles}) == 2  # paler is the baseline model


def test_table_4_has_a_row_a_layer_and_a_column_a_task():
    table = table4(drawn_rows())
    assert list(table.cells.columns) == ["vectors of", "layer", "POS", "NEL"]
    assert "(widest 95 % interval ±10.0): role / filler / TPR" in table.caption
    assert table.cells["vectors of"].tolist() == ["decoder cross"] * 2  # layers
    assert set(table.cells["POS"]) == {"50.0 / 50.0 (20.0)"}


def test_a_rule_that_knows_the_word_is_no_control_of_a_decoders_states():
    rows = drawn_rows()
    identity = rows[rows["control"] == "majority"].assign(control="identity", f1=0.9)
    table = probe_table(pd.concat([rows, identity], ignore_index=True))
    assert "label of the training documents 20.0" in table.caption
    assert "of the word 90.0 (no control here: the probed state precedes the word)" in table.caption
    assert "most frequent label of the word" not in {*table.scene.levels["line"]}


def test_macro_f1_takes_the_place_of_f1_without_its_tests():
    rows = pd.DataFrame(
        {"task": "pos", "site": "encoding", "model": "m", "beats_controls": True}, [0]
    )
    rows = rows.assign(**{f"f1{end}": 0.9 for end in ("", "_low", "_high")})
    rows = rows.assign(**{f"macro_f1{end}": 0.5 for end in ("", "_low", "_high")})
    assert probe_table(rows).cells["macro F1"].item() == "50.0 [50.0, 50.0]"
    assert probe_table(rows).cells["encoding"].item() == "90.0 [90.0, 90.0] *"
    table = probe_table(rows, score="macro_f1")
    assert table.cells.loc[0, ["layer", "encoding"]].tolist() == ["encoding", "50.0 [50.0, 50.0]"]
    assert (table.lines.label, table.lines.ticks) == ("macro F1", {0: "encoding"})
    assert "not tested" not in table.caption  # there is no control


@pytest.mark.parametrize(("macro", "is_full"), [(0.5, False), (0.7, True)])
def test_a_score_that_is_not_tested_is_hollow_below_its_control(macro, is_full):
    rows = pd.DataFrame(
        [place("encoder.0.hidden"), place("", "static")], columns=["site", "control"]
    ).assign(task="pos", model="m", f1=0.9, macro_f1=[macro, 0.6], best_control="static")
    rows = rows.assign(beats_controls=True, side="source", layer=[0, None])
    ends = {f"{name}{end}": rows[name] for name in ("f1", "macro_f1") for end in ("_low", "_high")}
    rows = rows.assign(**ends)
    assert probe_table(rows).cells["control's macro F1"].tolist() == ["60.0"]
    table = probe_table(rows, score="macro_f1")
    assert table.lines.rows["sure"].tolist() == [is_full]
    assert table.lines.hollow == "hollow: not above the strongest control"
    assert "The macro F1 is not tested against controls." in table.caption


def test_ticks_of_layers_stand_at_equal_distances():
    layers = [0, 1, 2, 3, 4, 5, 10, 15, 20, 25]
    rows = pd.DataFrame([place(f"encoder.{layer}.hidden") for layer in layers])
    rows = rows.assign(task="pos", model="m", layer=layers, f1=0.5, f1_low=0.4, f1_high=0.6)
    (panel,) = probe_table(rows).draw().axes
    assert [label.get_text() for label in panel.get_xticklabels()] == [
        "0",
        "5",
        "10",
        "15",
        "20",
        "25",
    ]


@pytest.mark.parametrize(("n", "few"), [(9, " (no interval of fewer than 10)"), (10, "")])
def test_captions_say_that_few_documents_have_no_interval(n, few):
    table = probe_table(drawn_rows().assign(documents=n))
    assert f"in brackets the 95 % interval over {n} documents{few}." in table.caption
    assert f"Shaded: 95 % intervals over {n} documents{few}." in table.scene.note


def test_the_table_marks_what_beats_its_strongest_control():
    rows = drawn_rows().assign(best_control="majority", beyond=None)
    is_real = rows["control"] == "real"
    rows.loc[is_real, "beyond"] = rows.loc[is_real, "site"].str.endswith("tpr")
    table = table4(rows)
    assert {*table.cells["POS"]} == {"50.0 / 50.0* (20.0)"}
    assert "*: beyond every control" in table.caption


def test_a_store_for_probes_has_what_controls_are_made_of():
    names = ["encoder.0.self.role", "encoder.0.self.query", "encoder.0.self.role_weights"]
    assert needed_sites(SITES, names) == [names[0], names[2]]
    hub = ["layers.embedding", "layers.0.self.filler", "layers.0.hidden"]  # without roles
    assert needed_sites(SITES, hub) == [hub[0], hub[2]]
    assert needed_sites(["encoder.-1.self.query"], names) == names[1:]
    with pytest.raises(InputError, match="unknown site"):
        needed_sites(["decoder.*"], names)


def test_tasks_without_labels_are_refused_before_an_extraction():
    check_tasks(["pos", "token"], ["pos"])
    check_tasks(["all"], [])
    with pytest.raises(InputError, match=r"unknown labels 'mood' \(accepted: pos\)"):
        check_tasks(["pos", "mood"], ["pos"])
    with pytest.raises(InputError, match=r"no labels \(mood\): .* columns text and label"):
        check_tasks(["mood"], [])
