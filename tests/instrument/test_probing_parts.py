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
from tprpapers.verdicts import CLAIMS, add_verdicts
from tprprobe.analyses.probing import Schedule, probe, read_task
from tprprobe.analyses.probing.counts import Counts
from tprprobe.analyses.probing.examples import read_examples
from tprprobe.analyses.probing.features import needed_sites
from tprprobe.analyses.probing.labelled_words import read_corpus
from tprprobe.analyses.probing.scores import Score, compare_scores, tabulate_pairs
from tprprobe.analyses.probing.settings import SITES
from tprprobe.errors import InputError
from tprprobe.estimators.probes.span_conv import step_amsgrad
from tprprobe.estimators.probes.span_network import draw_dropout, edge_logits, losses
from tprprobe.estimators.probes.spans import Shape, Spans
from tprprobe.evaluation.controls import draw_labels
from tprprobe.evaluation.metrics import (
    TERMS,
    Predictions,
    codelength,
    compression,
    constant_bits,
    count_terms,
)
from tprprobe.figures.catalogue import make
from tprprobe.figures.catalogue.loaders import load_probes
from tprprobe.site.patterns import layer_of


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
    theirs = JiantProbe(12, 5, spans, context, seed=0).eval()
    mapped = {}
    for k in range(spans):
        kernel = theirs.project[k].weight  # [out, in, place]
        mapped[f"project{k}_weight"] = kernel.permute(2, 1, 0).reshape(-1, 256)
        mapped[f"project{k}_bias"] = theirs.project[k].bias
        mapped[f"attend{k}_weight"] = theirs.attend[k].weight[0]
        mapped[f"attend{k}_bias"] = theirs.attend[k].bias[0]
    first, _, norm, _, last = theirs.classify
    for name, layer in (("hidden", first), ("output", last)):
        mapped |= {f"{name}_weight": layer.weight.T, f"{name}_bias": layer.bias}
    mapped |= {"norm_weight": norm.weight, "norm_bias": norm.bias}
    shape = Shape(12, spans, 5, 1 + 2 * context)
    assert {k: tuple(v.shape) for k, v in mapped.items()} == shape.sizes()
    weights = {k: v.detach()[None] for k, v in mapped.items()}
    vectors = torch.randn(9, 12, generator=torch.Generator().manual_seed(1))
    at = torch.tensor([[[0, 3], [4, 5]], [[2, 4], [0, 9]], [[8, 9], [6, 8]]])[:, :spans]
    padded = nn.functional.pad(vectors, (0, 0, context, context))
    states = torch.stack([padded[i : i + 1 + 2 * context].flatten() for i in range(9)])
    windows, pooled = [], []
    for k in range(spans):
        rows = [(i, row) for i, (a, b) in enumerate(at[:, k].tolist()) for row in range(a, b)]
        pooled.append(Spans.of(torch.tensor([i for i, _ in rows]), 3))
        windows.append(states[[row for _, row in rows]])
    ours = edge_logits(shape, weights, windows, pooled)
    torch.testing.assert_close(ours[0], theirs(vectors, at))


def test_training_ends_where_jiants_does(tmp_path):
    """Both are trained on the same features, targets and split; code, initialization, batches and dropout differ."""
    store = plant(tmp_path / "store", 80, seed=1, control=False)
    schedule = Schedule(learning_rate=1e-3, batch=32, limit=20)  # as below
    chosen = {"sites": FILLER, "controls": (), "information": False, "seeds": 2}
    chosen |= {"schedule": schedule}
    rows = probe(store, "dep", **chosen).query("control == 'real'")
    task = read_task("dep")
    corpus = read_corpus(store, store.tokens, "source", [task], 0)
    targets = read_examples(corpus, task, "all_states", range(1))
    kind = corpus.splits[0][targets.sample]
    vectors = torch.from_numpy(store.read(FILLER).reshape(-1, 8))
    vectors = (vectors - vectors.mean(0)) / vectors.std(0)
    spans, gold = torch.from_numpy(targets.rows), torch.from_numpy(targets.labels).float()
    found = []
    for seed in range(2):
        model = JiantProbe(8, gold.shape[1], 2, 0, seed)
        optimizer = torch.optim.Adam(model.parameters(), 1e-3, amsgrad=True)
        train = np.flatnonzero(kind == "train")
        rng = np.random.default_rng(seed)
        for _ in range(20):
            for batch in np.array_split(rng.permutation(train), 4):
                with torch.random.fork_rng():
                    torch.manual_seed(seed)
                    logits = model(vectors, spans[batch])
                nn.functional.binary_cross_entropy_with_logits(logits, gold[batch]).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 5.0)
                optimizer.step()
                optimizer.zero_grad()
        test = np.flatnonzero(kind == "test")
        given_ = model.eval()(vectors, spans[test]) >= 0
        found.append(f1_score(gold[test].numpy(), given_.numpy(), average="micro"))
    assert abs(np.mean(found) - rows["f1"].mean()) < 0.05


@pytest.mark.parametrize("spans", [1, 2])
def test_logits_are_those_of_the_definition(spans):
    """Also of spans of one and of several states, under dropout, away from the initial weights."""
    rng, n_targets = torch.Generator().manual_seed(spans), 20
    shape = Shape(6, spans, 3, hidden=8)
    flat = torch.randn(2, shape.parameters, generator=rng, dtype=torch.float64) / 2
    weights = shape.split(flat)
    lengths = [1 + torch.randint(3, (n_targets,), generator=rng) for _ in range(spans)]
    pooled = [Spans.of(torch.arange(n_targets).repeat_interleave(n), n_targets) for n in lengths]
    windows = [torch.randn(int(n.sum()), 6, generator=rng, dtype=torch.float64) for n in lengths]
    dropout = torch.stack([draw_dropout(s, 0, n_targets, 8).double() for s in range(2)])
    hidden = weights["hidden_bias"][:, None]
    for k, (x, lengths_) in enumerate(zip(windows, lengths, strict=True)):
        p = x @ weights[f"project{k}_weight"] + weights[f"project{k}_bias"][:, None]
        a = (p @ weights[f"attend{k}_weight"][..., None]).squeeze(-1)
        a = a + weights[f"attend{k}_bias"][:, None]
        parts = zip(p.split(lengths_.tolist(), 1), a.split(lengths_.tolist(), 1), strict=True)
        v = torch.stack([(b.softmax(1)[..., None] * q).sum(1) for q, b in parts], 1)
        hidden = hidden + v @ weights["hidden_weight"][:, 8 * k : 8 * (k + 1)]
    hidden = nn.functional.layer_norm(hidden.tanh(), (8,))
    hidden = hidden * weights["norm_weight"][:, None] + weights["norm_bias"][:, None]
    theirs = (hidden * dropout) @ weights["output_weight"] + weights["output_bias"][:, None]
    ours = edge_logits(shape, weights, windows, pooled, dropout)
    torch.testing.assert_close(ours, theirs)


@settings(max_examples=10)
@given(st.integers(0, 100), st.integers(1, 3))
def test_steps_are_those_of_amsgrad_with_clipping(seed, n_probes):
    """Every probe of a stack by itself, with its own rate."""
    rng = torch.Generator().manual_seed(seed)
    start = torch.randn(n_probes, 6, generator=rng, dtype=torch.float64)
    grads = [30 * torch.randn(n_probes, 6, generator=rng, dtype=torch.float64) for _ in range(4)]
    rates = torch.rand(n_probes, generator=rng, dtype=torch.float64)
    ours, moments = start.clone(), torch.zeros(3, n_probes, 6, dtype=torch.float64)
    for step, grad in enumerate(grads, 1):
        step_amsgrad(ours, moments, grad, rates, step, clip=5.0)
    for i in range(n_probes):
        theirs = nn.Parameter(start[i].clone())
        optimizer = torch.optim.Adam([theirs], float(rates[i]), amsgrad=True)
        for grad in grads:
            theirs.grad = grad[i].clone()
            nn.utils.clip_grad_norm_([theirs], 5.0)
            optimizer.step()
        torch.testing.assert_close(ours[i], theirs.detach())


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


def test_labels_that_are_not_scored_and_not_known_count_as_they_should():
    logits = np.array([[2.0, -1.0], [2.0, -1.0], [-1.0, -1.0]])
    marks = np.array([[1, 0], [0, 1], [0, 0]], bool)
    predictions = Predictions(logits.argmax(1), logits >= 0, np.zeros(3))
    terms = count_terms(predictions, marks, np.array([0, 0, 1]), np.array([True, False]))
    assert terms[:, :5].tolist() == [[1, 0, 0, 1, 1], [0, 1, 0, 0, 0], [0, 0, 1, 0, 1]]


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


@settings(max_examples=10)
@given(st.integers(0, 50))
def test_control_labels_belong_to_the_key_and_have_the_same_shares(seed):
    rng = np.random.default_rng(seed)
    labels = np.eye(3, dtype=bool)[rng.choice(3, 400, p=[0.6, 0.3, 0.1])]
    keys = rng.integers(0, 2**32, (3000, 2))
    drawn = draw_labels(keys, labels, seed)
    order = rng.permutation(len(keys))
    assert (draw_labels(keys[order], labels[rng.permutation(400)], seed) == drawn[order]).all()
    np.testing.assert_allclose(drawn.mean(0), labels.mean(0), atol=0.05)
    assert (draw_labels(keys, labels, seed + 1) != drawn).any()


def test_states_are_those_that_predict(tmp_path):
    store = plant(tmp_path / "store", 20, control=False)
    task = read_task("nel")
    tokens = store.tokens_of(STATE)
    corpus = read_corpus(store, store.tokens, "target", [task], 0)
    targets = read_examples(corpus, task, "first_state", range(1))
    first, every = targets.states, read_examples(corpus, task, "all_states", range(1)).states
    assert (first[..., 1] - first[..., 0] == 1).all()
    assert (every[..., 1] - every[..., 0] == 2).all()
    behind = tokens["nel"].astype(str).to_numpy()[first[:, 0, 0] + 1]
    assert all(cell.startswith(("ODD", "EVEN")) for cell in behind)
    source = read_corpus(store, store.tokens, "source", [task], 0)
    same = read_examples(source, task, "all_states", range(1))
    assert (same.states == same.rows).all()
    fewer = targets.with_inventory(["ODD", "NEW"])
    assert fewer.inventory == ("ODD", "NEW")
    assert (fewer.labels.sum(1) + fewer.unseen == 1).all()
    no_start = tokens.assign(side="target")[tokens["word"] >= 0]
    bare = read_corpus(store, no_start, "target", [task], None)
    found = read_examples(bare, task, "first_state", range(1))
    listed = targets.take(np.flatnonzero(targets.words[:, 0, 0] > 0))
    assert len(found) == len(listed) < len(targets)  # nothing predicts the first token
    assert found.lost == len(targets) - len(found)


def test_targets_on_words_without_tokens_are_counted(tmp_path):
    store = plant(tmp_path / "store", 20, control=False)
    tokens = store.tokens_of(FILLER)
    gone = tokens[~((tokens["sample"] == 3) & (tokens["word"] == 1))]
    task = read_task("dep")
    corpus = read_corpus(store, gone, "source", [task], None)
    complete = read_corpus(store, tokens, "source", [task], None)
    whole = read_examples(complete, task, "all_states", range(1))
    found = read_examples(corpus, task, "all_states", range(1))
    heads_there = (whole.words[whole.sample == 3][:, 1, 0] == 1).sum()
    itself = 1 if (whole.words[whole.sample == 3][1, 1, 0] == 1) else 0
    assert found.lost == heads_there - itself
    assert len(found) == len(whole) - 1 - found.lost


def test_dropout_is_a_function_of_seed_and_step():
    assert torch.equal(draw_dropout(1, 7, 10, 32), draw_dropout(1, 7, 10, 32))
    assert not torch.equal(draw_dropout(1, 7, 10, 32), draw_dropout(1, 8, 10, 32))
    kept = draw_dropout(0, 0, 400, 256)
    assert kept.mean().item() == pytest.approx(1, abs=0.01)


def place(site, control="real"):
    names = ("task", "side", "site", "layer", "head", "seed", "control")
    return dict(zip(names, ("pos", "source", site, 0, None, 0, control), strict=True))


def test_differences_are_paired_and_corrected():
    rng = np.random.default_rng(0)
    n = rng.integers(5, 20, 60)
    hits = {"role": rng.binomial(n, 0.5)}
    hits["filler"] = np.minimum(n, hits["role"] + 1)  # a little better in every document
    hits["control"] = hits["role"]
    scores = []
    for name, right in hits.items():
        sums = np.zeros((1, 60, len(TERMS)))
        sums[0, :, 0], sums[0, :, 1], sums[0, :, 2] = right, n - right, n - right
        sums[0, :, 4] = n
        site = "encoder.0.self.role" if name == "control" else f"encoder.0.self.{name}"
        control = "control" if name == "control" else "real"
        scores.append(Score(place(site, control), Counts(sums, np.zeros((1, 1, 3)))))
    table = tabulate_pairs(*compare_scores(scores)).set_index(["first", "second"])
    better = table.loc["encoder.0.self.role", "encoder.0.self.filler"]
    assert better["difference"] < better["high"] < 0
    assert better["p_holm"] < 1e-10
    same = table.loc["encoder.0.self.role", "encoder.0.self.role (control)"]
    assert (same["difference"], same["p_holm"]) == (0, 1)
    assert len(table) == 2


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
    shown = cells.set_index("model")["role"]
    assert {*shown["tiny (same)"]} == {"84.6 [40.0, 60.0]"}
    assert {*shown["tiny (document)"]} == {"85.7 [40.0, 60.0]"}
    assert {*load_probes([tmp_path / "same"])["model"]} == {"tiny"}


def test_table_4_is_drawn_and_written(tmp_path):
    made = table4(drawn_rows())
    assert add_verdicts(made, CLAIMS["jiang-table4"]).caption.startswith(made.caption)
    names = ["task", "side", "layer", "model", "role", "tpr", "most frequent label"]
    assert list(made.cells.columns) == names
    assert len(made.cells) == 4
    assert set(made.cells["role"]) == {"50.0 [40.0, 60.0]"}
    text = made.markdown()
    assert "POS role 56.0" in text
    assert set(made.cells["most frequent label"]) == {"20.0"}
    for name in ("t.md", "t.tex", "t.csv", "t.pdf"):
        assert made.save(tmp_path / name).stat().st_size > 100
    assert [axes.get_title(loc="left") for axes in made.draw().axes] == [
        "POS, decoder cross",
        "NEL, decoder cross",
    ]
    with pytest.raises(InputError, match="nothing to draw"):
        table4(drawn_rows().assign(control="shuffled"))
    with pytest.raises(InputError, match=r"holds no rows\.parquet"):
        make("jiang-table4", probes=[tmp_path])


def test_a_store_for_probes_has_what_controls_are_made_of():
    names = ["encoder.0.self.role", "encoder.0.self.query", "encoder.0.self.role_weights"]
    assert needed_sites(SITES, names) == [names[0], names[2]]
    assert needed_sites(["encoder.-1.self.query"], names) == names[1:]
    with pytest.raises(InputError, match="unknown site"):
        needed_sites(["decoder.*"], names)
