"""Gold structure over figures: frames are the numbers, by value; the examples show what they say."""

import pandas as pd
import pytest
from planted.questions import LAST, MAPS, plant

from tprpapers.schlag.attention_examples import attention_examples, pick_examples
from tprprobe import figures
from tprprobe.analyses.attention.gold_maps import gold_tokens
from tprprobe.analyses.clustering import cluster
from tprprobe.analyses.naming.names import find_arithmetic
from tprprobe.errors import InputError
from tprprobe.figures import clusters
from tprprobe.figures.dots import render
from tprprobe.figures.strips import COLUMNS, Strip, StripFrame


def written(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts if text.get_text()]


def frames_of(figure):
    """Style and width of every frame that is drawn."""
    patches = [patch for axes in figure.axes for patch in axes.patches if not patch.get_fill()]
    return [(patch.get_linestyle(), patch.get_width()) for patch in patches]


def test_numbers_are_framed_by_their_value(store):
    """(a/b)/(c/d): a and d are in the numerator, b and c in the denominator."""
    (question,) = [table for name, table in gold_tokens(store, [2]).groupby("sample") if name == 2]
    frames, letters = clusters.mark_polarity(question)
    tokens = question["token"].astype(str).tolist()
    numbers = ["".join(tokens[frame.start : frame.stop]) for frame in frames]
    text = "".join(token for token in tokens if len(token) == 1)
    a, b, c, d = (operand.strip("(-).") for operand in text[text.index("(") :].split("/"))
    assert numbers == [a, b, c, d]
    looks = [clusters.LOOKS[name] for name in ("numerator", "denominator") * 1]
    assert [(f.color, f.style) for f in frames] == [looks[0], looks[1], looks[1], looks[0]]
    assert "".join(letters[frames[0].start : frames[0].stop]) == "n" * len(a)
    assert "".join(letters[frames[2].start : frames[2].stop]) == "D" * len(c)
    assert "".join(letters[frames[3].start : frames[3].stop]) == "N" * len(d)
    assert letters[frames[2].start - 1] == "s"


def test_a_frame_goes_on_in_the_next_line():
    strip = Strip(["x"] * 60, [(1.0, 1.0, 1.0)] * 60, [""] * 60)
    frame = StripFrame(COLUMNS - 2, COLUMNS + 3)
    assert strip.list_boxes(frame) == [(0, COLUMNS - 2, 2), (1, 0, 3)]
    assert strip.list_boxes(StripFrame(3, 5)) == [(0, 3, 2)]
    assert strip.list_boxes(StripFrame(COLUMNS - 1, COLUMNS)) == [(0, COLUMNS - 1, 1)]


def test_clusters_with_gold_have_frames_and_letters(store):
    roles = cluster(store, LAST, head=0, k=6, n_seeds=2)
    plain = figures.role_clusters(store, roles, samples=[0])
    framed = figures.role_clusters(store, roles, samples=[0], gold=True)
    assert frames_of(plain) == []
    drawn_frames = frames_of(framed)
    assert len(drawn_frames) == 4
    assert len({style for style, _ in drawn_frames}) == 2
    assert {"n", "d", "N", "D", "s"} <= set(written(framed))
    assert set(written(plain)) <= set(written(framed))


def test_other_questions_have_no_gold_and_are_drawn_as_they_are(tmp_path):
    store = plant(tmp_path / "store", 4)
    store.__dict__["tokens"] = store.tokens.assign(question="Where does the train go?")
    assert gold_tokens(store) is None
    roles = cluster(store, LAST, head=0, k=6, n_seeds=2)
    assert frames_of(figures.role_clusters(store, roles, gold=True)) == []
    examples = pd.DataFrame({"kind": ["simple"], "sample": [0], "question": ["?"]})
    with pytest.raises(InputError, match="no arithmetic questions with a division"):
        attention_examples(store, MAPS, 0, examples)


@pytest.mark.parametrize(("question", "is_arithmetic"), [("12", False), ("1/2", True)])
def test_numbers_alone_are_no_arithmetic(tmp_path, question, is_arithmetic):
    store = plant(tmp_path / "store", 4)
    tokens = pd.DataFrame({"token": ["<sos>", *question, "<eos>"], "question": question})
    tokens = tokens.assign(sample=0, side="source", position=range(len(tokens)))
    store.__dict__["tokens"] = tokens
    assert (gold_tokens(store) is not None) == is_arithmetic
    assert (find_arithmetic(store) is not None) == is_arithmetic


def test_the_weight_told_is_that_of_the_map(store):
    examples = pick_examples(store)
    sample = int(examples["sample"].iloc[0])
    figure = render(attention_examples(store, MAPS, 1, examples.head(1)))
    gold = gold_tokens(store, [sample]).reset_index(drop=True)
    weights = store.attention(MAPS, sample)[1]
    for position in gold.index[(gold["place"] == 0) & (gold["polarity"] == "denominator")]:
        target = gold.index[gold["position"] == gold.loc[position, "div_second"] + 1][0]
        assert gold.loc[target, "token"] == "/"
        query = f"token {position}, ‘{gold.loc[position, 'token']}’, denominator"
        label = f"{query}: {weights[position, target]:.0%} on its '/'"
        assert any(label in text for text in written(figure))
