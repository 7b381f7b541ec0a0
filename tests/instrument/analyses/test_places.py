"""Places and tokens as names of clusters, and the places that cross-attention reads."""

import numpy as np
import pandas as pd
import pytest

from tprprobe.analyses.attention.cross_places import mean_map, score_cross_heads
from tprprobe.analyses.attention.head_patterns import score_heads
from tprprobe.analyses.naming.fields import (
    build_places,
    build_tokens_at_places,
    compare_places,
    read_places,
)
from tprprobe.analyses.naming.names import name_clusters
from tprprobe.estimators.clusters.names import build_lattice, join_lattices
from tprprobe.store import Store

CROSS, SELF = "decoder.0.cross.attention", "encoder.0.self.attention"
RNG = np.random.default_rng(0)
WORDS = ["".join(RNG.choice([*"abcdef"], RNG.integers(3, 6))) for _ in range(60)]


def list_tokens(words: list[str], side: str = "source") -> pd.DataFrame:
    rows = [
        {"sample": i, "side": side, "position": j, "token": token}
        for i, word in enumerate(words)
        for j, token in enumerate(["<sos>", *word, "<eos>"])
    ]
    return pd.DataFrame(rows)


def test_places_count_tokens_or_words_but_no_marks():
    places = read_places(list_tokens(["abc"]))
    assert places["mark"].tolist()[::4] == ["<sos>", "<eos>"]
    assert places["left"].tolist()[1:4] == [1, 2, 3]
    assert places["right"].tolist()[1:4] == [3, 2, 1]
    pieces = list_tokens(["abcd"]).assign(word=[-1, 0, 0, 1, 2, -1])
    assert read_places(pieces)["right"].tolist()[1:5] == [3, 3, 2, 1]
    assert "word 1 from the left" in build_places(pieces).names


@pytest.mark.parametrize(
    ("column", "name"), [("left", "place 2 from the left"), ("right", "place 2 from the right")]
)
def test_clusters_of_a_place_are_named_by_it(column, name):
    tokens = list_tokens(WORDS)
    labels = (read_places(tokens)[column] == 2).fillna(False).to_numpy(int)
    names = name_clusters(labels, build_tokens_at_places(tokens), tokens["sample"].to_numpy())
    assert names["name"].tolist() == ["unnamed", name]


def test_a_label_wins_over_a_place_that_explains_as_much_and_loses_to_one_that_explains_more():
    tokens = list_tokens(WORDS)
    at_two = (read_places(tokens)["left"] == 2).fillna(False).to_numpy()
    for share, name in ((1.0, "DT"), (0.8, "place 2 from the left")):
        tags = np.where(at_two & (RNG.random(len(tokens)) < share), "DT", "NN")
        lattice = build_lattice(pd.DataFrame({"pos": pd.Categorical(tags)}))
        both = join_lattices(lattice, build_tokens_at_places(tokens))
        names = name_clusters(at_two.astype(int), both, tokens["sample"].to_numpy())
        assert names["name"][1] == name


def test_labels_add_names_and_take_none_away():
    tokens = list_tokens(WORDS)
    is_a = (tokens["token"] == "a").to_numpy()
    for is_labeled, name in ((RNG.random(len(tokens)) < 0.8, "‘a’"), (is_a, "DT")):
        tags = pd.Categorical(np.where(is_a | is_labeled, "DT", "NN"))
        lattice = build_lattice(pd.DataFrame({"pos": tags}))
        lattice = join_lattices(lattice, build_tokens_at_places(tokens))
        names = name_clusters(is_a.astype(int), lattice, tokens["sample"].to_numpy())
        assert names["name"][1] == name


def test_what_holds_for_nearly_all_tokens_is_no_name():
    tokens = list_tokens(WORDS)
    kinds = pd.Categorical(np.where(tokens["token"].str.len() == 1, "letter", "mark"))
    labels = np.where(kinds == "letter", RNG.integers(0, 2, len(tokens)), 2)
    lattice = build_lattice(pd.DataFrame({"kind": kinds}))
    names = name_clusters(labels, lattice, tokens["sample"].to_numpy())
    assert names["name"].tolist() == ["unnamed", "unnamed", "mark"]
    assert ": lift " in names["unnamed_because"][0]


def test_the_baseline_models_places_stand_beside():
    assert compare_places(0, {"untrained": 0}) == ""
    assert compare_places(9, {"untrained": 0}).endswith(
        ", none of the baseline model’s (untrained)."
    )
    assert ", 3 of the baseline model’s (untrained)." in compare_places(9, {"untrained": 3})


class CrossMaps(Store):
    """A store of words and their reversals, whose head 0 reads from the right, and whose head 1 reads anything."""

    specs = {CROSS: None}  # noqa: RUF012

    def __init__(self, tokens: pd.DataFrame):
        self.__dict__["tokens"] = tokens

    def count_maps(self, site: str) -> int:
        return len(WORDS)

    def attention(self, site: str, sample: int) -> np.ndarray:
        n = len(WORDS[sample]) + 2
        maps = np.random.default_rng(sample).dirichlet(np.ones(n), (2, n))
        for output in range(n - 2):
            maps[0, output] = np.eye(n)[n - 2 - output]
        return maps


def test_the_place_that_cross_attention_reads_is_found():
    reversals = list_tokens([word[::-1] for word in WORDS], "target")
    store = CrossMaps(pd.concat([list_tokens(WORDS), reversals]))
    heads = score_cross_heads(store)
    assert heads["relation"][0] == "place i from the right at output place i"
    assert heads["value"][0] == 1
    assert heads["chance"][0] == pytest.approx(1 / 4, abs=0.05)
    assert heads["value"][1] < 0.5
    values = mean_map(store, CROSS, 0)
    assert (values == np.eye(len(values))[::-1]).all()


def test_a_relation_of_one_place_is_none_of_all_places():
    """Only the first of three outputs has a place i + 2: a head that always reads it follows no relation of all outputs."""

    class OftenMirrored(CrossMaps):
        def attention(self, site: str, sample: int) -> np.ndarray:
            read = [3, 2, 1] if sample % 4 else [3, 1, 3]
            return np.eye(5)[[*read, 0, 0]][None]

    words = [word[:3] for word in WORDS]
    mirrored = list_tokens([word[::-1] for word in words], "target")
    heads = score_cross_heads(OftenMirrored(pd.concat([list_tokens(words), mirrored])))
    assert heads["relation"].tolist() == ["place i from the right at output place i"]


@pytest.mark.parametrize("place", [1, 2])
def test_a_place_that_is_read_for_one_output_alone_is_named_by_it(place):
    """While the first letter is written it reads the first one, or the second in three of four cases, and any for the others."""

    words = [word[:3] + "bc" * (i % 5 > 0) for i, word in enumerate(WORDS)]

    class ReadsOnce(CrossMaps):
        def attention(self, site: str, sample: int) -> np.ndarray:
            n = len(words[sample]) + 2
            weights = np.random.default_rng(sample).dirichlet(np.ones(n), (1, n))
            weights[0, 0] = np.eye(n)[place] if place == 1 or sample % 4 else weights[0, 0]
            return weights

    tokens = [list_tokens(words, side) for side in ("source", "target")]
    [head] = score_cross_heads(ReadsOnce(pd.concat(tokens))).to_dict("records")
    assert head["relation"] == f"place {place} from the left at output place 1"
    assert head["value"] > 0.7
    assert head["beyond_low"] > 0.2


class SelfMaps(CrossMaps):
    """A store of words, whose head 0 looks from every letter at the mirrored one."""

    specs = {SELF: None}  # noqa: RUF012
    has_questions = False

    def tokens_of(self, site: str) -> pd.DataFrame:
        return self.tokens

    def attention(self, site: str, sample: int) -> np.ndarray:
        return np.roll(super().attention(site, sample), 1, axis=1)  # row i + 1 is of letter i


def test_a_head_that_looks_at_the_mirrored_place_follows_a_relation():
    heads = score_heads(SelfMaps(list_tokens(WORDS)))
    assert heads["relation"][0] == "place i from the right"
    assert heads["value"][0] == 1
    assert heads["beyond_low"][0] > 0.3
    assert heads["beyond_low"][1] < 0.1
    labelled = score_heads(SelfMaps(list_tokens(WORDS).assign(role="_", word=-1)))
    assert "right" not in " ".join(labelled["relation"])  # labels of words are better relations
