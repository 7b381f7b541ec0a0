"""Vectors of samples and of words, made of those of tokens as these are extracted."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import tprprobe as tp
from tprprobe.data.vocabularies.subwords import train_subwords
from tprprobe.errors import InputError
from tprprobe.models import build, load_model

SITES = ["encoder.0.hidden", "encoder.0.self.role", "decoder.0.hidden"]
CONLLU = """# newdoc id = a
# text = It's rain-ing.
1\tIt\t_\t_\tPRP\t_\t3\tnsubj\t_\t_
2\t's\t_\t_\tVBZ\t_\t3\taux\t_\t_
3\train-ing\t_\t_\tVBG\t_\t0\troot\t_\t_
4\t.\t_\t_\t.\t_\t3\tpunct\t_\t_

# text = Dogs see. Cats sleep. Again
1\tDogs\t_\t_\tNNS\t_\t2\tnsubj\t_\t_
2\tsee.\t_\t_\tVBP\t_\t0\troot\t_\t_
3\tCats\t_\t_\tNNS\t_\t4\tnsubj\t_\t_
4\tsleep.\t_\t_\tVBP\t_\t2\tdep\t_\t_
5\tAgain\t_\t_\tRB\t_\t2\tadv\t_\t_
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Any:
    path = tmp_path_factory.mktemp("data") / "two.conllu"
    path.write_text(CONLLU)
    return tp.load_data(str(path))


@pytest.fixture(scope="module")
def model() -> Any:
    text = ["It's rain-ing.", "Dogs see. Cats sleep. Again"]
    vocabulary = train_subwords(iter(text), 270, max_source=60, max_target=60)
    sizes = {"d_model": 16, "n_heads": 2, "d_head": 8, "d_ff": 16, "n_layers": 1, "n_roles": 3}
    built: Any = build({"architecture": "tpt", "vocab_size": len(vocabulary), **sizes}, seed=0)
    built.vocabulary, built.name = vocabulary, "tiny"
    return built


@pytest.fixture(scope="module")
def full_store(model, data, tmp_path_factory) -> Any:
    """The store of tokens that pooled ones are compared with."""
    out = tmp_path_factory.mktemp("whole") / "store"
    return tp.extract(model, data, SITES, out, control=False)


def expected(store: Any, site: str, pick: Any) -> np.ndarray:
    """What ``pick`` makes of the vectors of every sample, and its tokens."""
    values, tokens = store.read(site), store.tokens_of(site)
    samples = [np.flatnonzero(tokens["sample"] == sample) for sample in range(store.samples)]
    return np.stack([pick(values[rows], tokens.iloc[rows]) for rows in samples])


def at_mark(values: np.ndarray, tokens: pd.DataFrame) -> np.ndarray:
    return values[max(i for i, token in enumerate(tokens["token"]) if token.strip("▁") == ".")]


VECTOR_OF_POOL = {
    "mean": lambda values, _: values.mean(0),
    "first": lambda values, _: values[0],
    "last": lambda values, tokens: values[np.flatnonzero(tokens["word"] >= 0)[-1]],
    ".": at_mark,
}


@pytest.mark.parametrize("pool", VECTOR_OF_POOL)
def test_a_sample_has_one_vector_beside_all_its_tokens(model, data, full_store, pool, tmp_path):
    store = tp.extract(model, data, SITES, tmp_path / "store", pool=pool)
    assert store.pool == pool
    assert full_store.pool is None
    for site in SITES:
        np.testing.assert_allclose(
            store.read(site), expected(full_store, site, VECTOR_OF_POOL[pool]), rtol=1e-5, atol=1e-6
        )
        assert store.side(site) == "sample"
        pd.testing.assert_frame_equal(store.sequences_of(site), full_store.tokens_of(site))
        assert store.tokens_of(site)["sample"].tolist() == [0, 1]
    assert store.control.read(SITES[0]).shape == (2, 16)
    assert store.tokens_of("decoder.0.hidden")["side"].unique().tolist() == ["target"]


def test_maps_are_left_out_and_a_missing_mark_is_one_line(model, data, tmp_path):
    store = tp.extract(model, data, "encoder.*", tmp_path / "store", pool="mean", control=False)
    assert not [site for site in store.sites if site.endswith("attention")]
    with pytest.raises(InputError, match="attention maps, which are not pooled"):
        tp.extract(model, data, "*.attention", tmp_path / "maps", pool="mean")
    with pytest.raises(InputError, match=r"sample 0 has no token '\?' to pool by"):
        tp.extract(model, data, SITES, tmp_path / "mark", pool="?", control=False)
    with pytest.raises(InputError, match="state of a word 'first'"):
        tp.extract(model, data, SITES, tmp_path / "words", words="first")
    questions = tp.load_data("mathematics:arithmetic__mixed", split="interpolate", n=2)
    with pytest.raises(InputError, match="reads characters"):
        tp.extract(
            load_model("tpt-c-arithmetic"), questions, None, tmp_path / "letters", words="last"
        )


@pytest.mark.parametrize("words", ["mean", "last"])
def test_a_word_is_a_row_with_its_text_and_labels(model, data, full_store, words, tmp_path):
    store = tp.extract(model, data, SITES, tmp_path / "store", control=False, words=words)
    site = "encoder.0.hidden"
    tokens, values = store.tokens_of(site), store.read(site)
    inside = tokens[tokens["word"] >= 0]
    assert inside["token"].tolist() == [
        "It", "'s", "rain-ing", ".", "Dogs", "see.", "Cats", "sleep.", "Again",
    ]  # fmt: skip
    assert inside["pos"].tolist() == ["PRP", "VBZ", "VBG", ".", "NNS", "VBP", "NNS", "VBP", "RB"]
    assert len(values) == len(tokens)
    of_pieces, subwords = full_store.read(site), full_store.tokens_of(site)
    assert len(subwords) > len(tokens)
    for row, word in inside.iterrows():
        rows = np.flatnonzero(
            (subwords["sample"] == word["sample"]) & (subwords["word"] == word["word"])
        )
        vector = of_pieces[rows].mean(0) if words == "mean" else of_pieces[rows[-1]]
        np.testing.assert_allclose(values[row], vector, rtol=1e-5, atol=1e-6)
    ends, symbols = subwords[subwords["word"] < 0], tokens[tokens["word"] < 0]
    assert symbols["token"].tolist() == ends["token"].tolist()
    for _, sample in tokens.groupby("sample"):
        assert sample["position"].tolist() == [*range(len(sample))]
