"""Heads that do what the paper says score so, others as their baselines; nothing is read into noise."""

import zlib
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from planted.questions import ANSWERS, CROSS, HIDDEN, LAST, plant, tokens_of
from planted.relations import FOLLOWS, plant_relations

from studies.verdicts.coupling import _attended, couple_roles
from tprpapers.schlag.attention_examples import pick_examples
from tprpapers.schlag.relation_scores import score_relations
from tprprobe.analyses.attention.head_patterns import Tally, choose_relations
from tprprobe.analyses.attention.head_relations import (
    OFFSETS,
    _score,
    follow_relations,
    pick_heads,
    score_sharpness,
)
from tprprobe.errors import InputError
from tprprobe.figures import catalogue
from tprprobe.gold import join
from tprprobe.store import SiteSpec, Store, StoreWriter, open_store

MAPS = "encoder.0.self.attention"
QUESTIONS = [
    "Calculate 12/345.",
    "What is 7/3/45?",
    "Evaluate 28/(-4)*297/55.",
    "(18/(-15))/((-3)/(-50)*52/117)",
    "1 + 2*3",
    "What is (-8)/(-6)*(-12)/(-8)?",
    "60/(5/(2/7)) - 3/4",
]
QUESTIONS += [
    question.replace("2", "6").replace("3", "9") for question in QUESTIONS
]  # enough for intervals


def store_of(path, heads, questions=QUESTIONS, right=(), control=None):
    """A store whose attention maps are made by functions of a question's gold table."""
    sites = {MAPS: SiteSpec(("source_source", "head"), (len(heads),))}
    writer = StoreWriter.create(path, sites, {})
    if control:
        store_of(path / "untrained", control, questions, right)
    for sample, question in enumerate(questions):
        table = tokens_of(sample, question, "1").assign(correct=sample in right)
        gold = join(table[table["side"] == "source"].reset_index(drop=True))
        maps = np.stack([head(gold) for head in heads]).astype(np.float32)
        writer.append({}, table, {MAPS: [maps]})
    writer.finish()
    return open_store(path)


def to_target(gold, net=True):
    """Every denominator's digit attends to its '/', what else there is to the start."""
    weights = np.zeros((len(gold), len(gold)))
    for query, row in enumerate(gold.itertuples()):
        column = row.div_second if net else row.parent_position
        is_below = row.kind == "digit" and (row.polarity == "denominator" if net else row.literal)
        weights[query, int(column) + 1 if is_below else 0] = 1
    return weights


def to_digits(gold):
    """Every '/' attends to the digits of the denominators that it divides by, else to the start."""
    weights = to_target(gold).T.copy()
    weights[0] = 0
    weights[weights.sum(1) == 0, 0] = 1
    return weights / weights.sum(1, keepdims=True)


def to_any_slash(gold):
    weights = np.tile((gold["token"].astype(str) == "/").to_numpy(float), (len(gold), 1))
    return (weights + 1e-9) / (weights + 1e-9).sum(1, keepdims=True)


def noise(gold):
    seed = zlib.crc32("".join(gold["token"].astype(str)).encode())
    return np.random.default_rng(seed).dirichlet(np.ones(len(gold)), len(gold))


def pick(table, **values):
    for name, value in values.items():
        table = table.loc[(table[name] == value).fillna(False)]
    (row,) = table.itertuples()
    return row


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    heads = [to_target, lambda gold: to_target(gold, net=False), to_digits, to_any_slash, noise]
    return score_relations(store_of(tmp_path_factory.mktemp("maps") / "store", heads))


@pytest.mark.parametrize(
    ("head", "way", "gold"), [(0, "rows", "net"), (1, "rows", "literal"), (2, "columns", "net")]
)
def test_head_of_the_relation_scores_fully(table, head, way, gold):
    for score in ("mass", "argmax_accuracy"):
        row = pick(table, source="head", head=head, way=way, gold=gold, score=score)
        assert (row.value, row.high) == pytest.approx((1, 1))
        assert row.low == pytest.approx(0.025 ** (1 / 12))  # the exact end of twelve questions
    selective = pick(table, source="head", head=head, way=way, gold=gold, score="selectivity")
    assert selective.value == pytest.approx(1) if way == "rows" else selective.value > 0.5


def test_net_and_literal_heads_are_told_apart(table):
    for head, gold in ((0, "literal"), (1, "net")):
        row = pick(table, source="head", head=head, way="rows", gold=gold, score="mass")
        assert 0.3 < row.value < 0.95
        assert row.low < row.value < row.high


def test_looking_at_any_slash_is_no_selectivity(table):
    row = pick(table, source="head", head=3, way="rows", gold="net", score="selectivity")
    assert row.value == pytest.approx(0, abs=1e-6)
    assert pick(table, source="head", head=3, way="rows", gold="net", score="mass").value > 0.4


def test_skipped_numerator_is_scored(table):
    """In 28/(-4)*297/55 the numerator 297 stands between the denominators 4 and 55."""
    for head, around, between in ((0, 1, 0), (3, 1, 1)):
        values = [
            pick(table, source="head", head=head, way="rows", gold="net", score=score).value
            for score in ("around", "intervening", "skip")
        ]
        assert values == pytest.approx([around, between, around - between], abs=1e-6)
    columns = pick(table, source="head", head=2, way="columns", gold="net", score="skip")
    assert columns.value > 0.2


def test_scores_are_what_a_loop_over_the_gold_table_finds(table):
    """A second reading of the definitions, on the head of noise."""
    for gold in ("literal", "net"):
        for way in ("rows", "columns"):
            mass, top, plus, minus = [], [], [], []
            for question in QUESTIONS:
                tokens = tokens_of(0, question, "1")
                tokens = join(tokens[tokens["side"] == "source"].reset_index(drop=True))
                if "/" not in question:
                    continue
                weights = noise(tokens).astype(np.float32)
                related = {}
                rows = list(tokens.itertuples())
                slashes = [i for i, row in enumerate(rows) if row.token == "/"]
                for i, row in enumerate(rows):
                    if row.kind != "digit":
                        continue
                    below = row.literal if gold == "literal" else row.polarity == "denominator"
                    place = row.parent_position if gold == "literal" else row.div_second
                    if below and way == "rows":
                        related[i] = [place + 1]
                    elif below:
                        related.setdefault(place + 1, []).append(i)
                    if way == "rows":
                        (plus if below else minus).append(sum(weights[i, j] for j in slashes))
                    else:
                        for j in slashes:
                            (plus if below else minus).append(weights[j, i])
                mass += [sum(weights[q, k] for k in keys) for q, keys in related.items()]
                top += [weights[q].argmax() in keys for q, keys in related.items()]
            n_slashes = sum(question.count("/") for question in QUESTIONS)
            difference = (
                np.mean(plus) - np.mean(minus)
                if way == "rows"
                else (sum(plus) - sum(minus)) / n_slashes
            )
            means = {"mass": np.mean(mass), "argmax_accuracy": np.mean(top)}
            for score, value in (means | {"selectivity": difference}).items():
                row = pick(table, source="head", head=4, way=way, gold=gold, score=score)
                assert row.value == pytest.approx(value, abs=1e-6), (way, gold, score)


def test_baselines(table):
    """The nearest '/' is always the literal one, not always the net one: 9/8*7 in a denominator."""
    for gold, exact in (("literal", True), ("net", False)):
        row = pick(table, source="nearest", way="rows", gold=gold, score="argmax_accuracy")
        assert row.value == 1 if exact else 0.5 < row.value < 1
    offset = pick(table, source="offset", way="columns", gold="literal", score="argmax_accuracy")
    assert offset.offset in (1, 2, 3)
    null = pick(table, source="shuffled", way="rows", gold="net", score="mass")
    best = pick(table, source="head", head=0, way="rows", gold="net", score="mass")
    assert null.low < null.value < null.high < best.value


def test_untrained_twin_stands_beside_it(tmp_path):
    scores = score_relations(store_of(tmp_path / "store", [to_target], control=[noise]))
    row = {"source": "head", "way": "rows", "gold": "net", "score": "mass"}
    assert pick(scores, untrained=False, **row).value == pytest.approx(1)
    assert pick(scores, untrained=True, **row).value < 0.3


def test_examples_of_three_kinds(tmp_path):
    store = store_of(tmp_path / "store", [noise], right=(1, 3, 5))
    examples = pick_examples(store)
    assert examples["kind"].tolist() == ["simple", "several", "skipped"]
    assert examples["question"].tolist() == [QUESTIONS[0], QUESTIONS[1], QUESTIONS[5]]
    assert pick_examples(store, per_kind=2)["kind"].tolist().count("skipped") == 2


# ---------------------------------------------------------------- coupling


@dataclass
class Given:
    site: str
    head: int | None
    labels: np.ndarray


def to_start_or_here(gold):
    """Digits attend to themselves, all else to the start."""
    weights = np.eye(len(gold)) * (gold["kind"] == "digit").to_numpy()[:, None]
    weights[weights.sum(1) == 0, 0] = 1
    return weights


@pytest.fixture(scope="module")
def coupled(tmp_path_factory):
    rng = np.random.default_rng(0)
    numbers = rng.integers(1, 99, (60, 3))
    questions = [f"({a}/{b})*{c}" for a, b, c in numbers]
    heads = [to_start_or_here, noise]
    store = store_of(tmp_path_factory.mktemp("coupled") / "store", heads, questions)
    tokens = join(store.tokens_of(MAPS))
    symbol = pd.factorize(tokens["token"])[0]
    return store, symbol, rng.permutation(symbol)


def test_role_that_names_what_its_head_attends_to(coupled):
    store, symbol, shuffled = coupled
    role_labels = [
        Given("encoder.0.self.role", head, labels) for head, labels in ((0, symbol), (1, shuffled))
    ]
    couplings = couple_roles(store, role_labels)
    row = pick(couplings, head=0)
    assert row.information > 0.5
    assert 0.5 < row.advantage_low < row.advantage < row.advantage_high


def test_other_pairings_of_heads_have_no_advantage_where_roles_signify_relations(coupled):
    store, symbol, _ = coupled
    attended = _attended(store, MAPS, join(store.tokens_of(MAPS)))
    clear = {
        head: symbol[keys] for head, keys in enumerate(attended)
    }  # of what their own heads attend to
    role_labels = [Given("encoder.0.self.role", head, labels) for head, labels in clear.items()]
    assert set(couple_roles(store, role_labels)["pairings"]) == {0.0}
    crossed = [Given("encoder.0.self.role", head, clear[1 - head]) for head in clear]
    assert set(couple_roles(store, crossed)["pairings"]) == {1.0}


def test_a_target_that_every_cluster_tells_is_no_advantage(coupled):
    """Both heads' clusters name what head 0 attends to: it is easy, and no head's role signifies it."""
    store, symbol, _ = coupled
    role_labels = [Given("encoder.0.self.role", head, symbol) for head in (0, 1)]
    couplings = couple_roles(store, role_labels)
    row = pick(couplings, head=0)
    assert row.information > 0.5
    assert row.advantage == pytest.approx(0, abs=1e-9)


def test_roles_of_noise_couple_with_nothing(coupled):
    store, _, shuffled = coupled
    couplings = couple_roles(
        store, [Given("encoder.0.self.role", head, shuffled) for head in (0, 1)]
    )
    assert couplings["information"].between(-0.2, 0.02).all()


def test_bad_input_is_one_line(tmp_path):
    with pytest.raises(InputError, match="no question with a division"):
        score_relations(store_of(tmp_path / "sums", [noise], ["1 + 2"]))
    none = plant(tmp_path / "planted", 2)
    assert {LAST, HIDDEN, CROSS, ANSWERS} < set(none.sites)
    assert (score_relations(none)["n_questions"] <= 2).all()


def test_heads_that_follow_relations_are_picked_on_one_half_and_scored_on_the_other(tmp_path):
    store = plant_relations(tmp_path / "store")
    followed = follow_relations(store)
    assert followed[f"{followed.columns[-1].rpartition(':')[0]}:{FOLLOWS}"].all()
    rows = pick_heads(followed).set_index("relation")
    assert {*rows.index} == {"all", "subj", "obj"}
    assert (rows["head"] == FOLLOWS).all()
    assert (rows["value"] == 1).all()
    assert rows["by_offset"].max() < 0.5 < rows["beyond_low"].min()
    assert rows.loc["all", "n"] == 30 * 5
    backward = pick_heads(follow_relations(store, backward=True)).set_index("relation")
    assert backward["value"].max() < 0.5  # no head looks from heads to their dependents
    table = catalogue.make("heads", store=store)
    assert table.cells["direction"].tolist() == ["to the parent"] * 3 + ["to the dependent"] * 3
    assert "heads" in {entry.name for entry in catalogue.list_drawable(store)}


def test_heads_of_causal_maps_are_compared_with_distances_that_they_can_reach():
    columns = ["layers.0.self.attention:0", *(f"offset:{offset}" for offset in OFFSETS)]
    followed = pd.DataFrame(0.0, range(40), columns).assign(
        relation="subj", sequence=np.arange(40, dtype=np.uint64)
    )
    followed = followed.assign(document=range(40), **{"offset:1": 1.0, "offset:-2": 0.5})
    assert pick_heads(followed)["offset"].tolist() == [-2, -2]
    both_ways = followed.rename(columns={columns[0]: "encoder.0.self.attention:0"})
    assert pick_heads(both_ways)["offset"].tolist() == [1, 1]


def test_the_previous_word_is_not_the_previous_piece_of_a_word(tmp_path, monkeypatch):
    words, start_of_previous = np.array([0, 0, 1, 2, 2, 2, 3]), [0, 0, 0, 2, 2, 2, 3]
    heads = np.stack([np.eye(7, k=-1), np.eye(7)[start_of_previous]])
    tokens = pd.DataFrame({"word": words, "dep": "", "origin": 0, "sequence": 0})
    monkeypatch.setattr(Store, "attention", lambda *_: heads.astype(np.float32))
    tables = _score(plant(tmp_path / "store", 2), [MAPS], 0, tokens, backward=False, nearby=True)
    shares = pd.concat(tables).groupby("relation")[[f"{MAPS}:0", f"{MAPS}:1"]].mean()
    assert shares.loc["previous token"].tolist() == [1, pytest.approx(2 / 6)]
    assert shares.loc["previous word"].tolist() == [1, 1]


def test_heads_without_relations_or_maps_are_one_line(tmp_path):
    store = store_of(tmp_path / "store", [lambda gold: np.full((len(gold),) * 2, 0.1)])
    with pytest.raises(InputError, match=r"no relations between words .dep.: extract a treebank"):
        catalogue.make("heads", store=store)
    assert "heads" not in {entry.name for entry in catalogue.list_drawable(store)}


@pytest.mark.parametrize(
    ("share", "relation"), [(0.4, "next word"), (0.6, "place i from the right")]
)
def test_a_place_names_a_head_that_looks_there_in_half_of_the_cases(share, relation):
    shares = {"next word": 0.3, "place i from the right": share}
    tallies = {
        name: [Tally(i, np.arange(20)[:, None] < 20 * value, np.full(20, 0.1)) for i in range(20)]
        for name, value in shares.items()
    }
    [row] = choose_relations([tallies], [("layers.0", 0)], 0).to_dict("records")
    assert (row["relation"], row["value"]) == (relation, pytest.approx(shares[relation]))


def test_a_head_that_looks_at_a_fixed_distance_follows_no_relation_but_the_next_word():
    """The related word is the next one in four of five cases: one head looks there, another finds it always."""
    rng, next_one = np.random.default_rng(0), OFFSETS.index(1)
    tallies = []
    for document in range(20):
        is_next = rng.random(20) < 0.8
        hits = np.stack([is_next, np.ones(20, bool)], axis=1)
        offsets = np.zeros((20, len(OFFSETS)), bool)
        offsets[:, next_one] = is_next
        tallies.append(Tally(document, hits, np.full(20, 0.1), offsets))
    names = [("layers.0", 0), ("layers.0", 1)]
    heads = choose_relations([{"det → its parent": tallies}], names, 0)
    assert heads["offset"].tolist() == [1, 1]
    assert heads["by_offset"].tolist() == pytest.approx([heads["value"][0]] * 2)
    no_difference = 0.025 ** (1 / 10) - 1  # the exact end of ten documents without any
    assert heads["beyond_low"].tolist() == pytest.approx([no_difference, 0.2], abs=0.06)
    followed = {"next word": [replace(tally, offsets=None) for tally in tallies]}
    heads = choose_relations([{"det → its parent": tallies}, followed], names, 0)
    assert heads["relation"].tolist() == ["next word", "det → its parent"]


def test_the_first_query_of_causal_maps_which_sees_nothing_else_does_not_count(tmp_path):
    site, weights = "layers.0.attention", [[1, 0, 0], [0.2, 0.8, 0], [0.1, 0.5, 0.4]]
    spec = SiteSpec(("source_source", "head"), (1,))
    writer = StoreWriter.create(tmp_path / "store", {site: spec}, {"model": {"name": "planted"}})
    tokens = pd.DataFrame({"position": range(3), "token": list("abc"), "side": "source"})
    writer.append({}, tokens.assign(sample=0), {site: [np.array([weights], np.float32)]})
    writer.finish()
    [row] = score_sharpness(open_store(tmp_path / "store")).to_dict("records")
    assert row["value"] == pytest.approx((0.8 + 0.5) / 2)
