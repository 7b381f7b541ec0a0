"""Captions: words, scores against the COCO toolkit's, files and features, generated scenes."""

import gzip
import json
import string
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

from tprpapers.captions.images import Captioned
from tprpapers.captions.words import BRACKETS, Words, count_words, tokenize
from tprpapers.huang.caption_bags import bag_vector
from tprpapers.huang.caption_files import read_annotations
from tprpapers.huang.caption_scores import judge_scores
from tprpapers.huang.word_vectors import read_glove
from tprpapers.scoring.captions.toolkit import compare_captions, compare_lengths, score_captions
from tprpapers.scoring.meteor import meteor_missing
from tprpapers.worlds.scenes import Group, Scene, SceneKnobs, render, sample
from tprpapers.worlds.scenes.rendering import facts
from tprpapers.worlds.scenes.scene import draw, split_of, unseen_color
from tprprobe.data import load_data
from tprprobe.errors import InputError

# What the toolkit's own program (commit 3a9afb2, its scorers in pycocoevalcap 1.2) computes of its
# example; its notebook prints them as .579 .404 .279 .191 .600 .396 and METEOR .195.
TOOLKIT = {
    "BLEU-1": 0.5793995754573356,
    "BLEU-2": 0.40439129741018104,
    "BLEU-3": 0.2785363856619147,
    "BLEU-4": 0.1908290437674253,
    "CIDEr-D": 0.5997905185184199,
    "ROUGE-L": 0.39625269357570847,
}
METEOR = 0.19525467177780284


# Words


@pytest.mark.parametrize(
    ("caption", "words"),
    [
        ("A man's T-shirt isn't red.", "a man 's t-shirt is n't red"),
        ('Two dogs , "one" (black) - asleep...', "two dogs one -lrb- black -rrb- asleep"),
        (
            "It cannot be 3:30 at the U.S. 7-eleven, etc.",
            "it can not be 3:30 at the u.s. 7-eleven etc.",
        ),
        ("Player #25 at bat.", "player # 25 at bat"),
        ("5 o'clock & 10,000 they're there!", "5 o'clock & 10,000 they 're there"),
    ],
)
def test_words_are_those_of_the_toolkit(caption, words):
    assert tokenize(caption) == words.split()


@given(st.text(string.printable + "é—“", max_size=60))
def test_words_stand_where_the_text_has_them(text):
    vocabulary = Words(("<unk>", "<pad>", "<sos>", "<eos>", *dict.fromkeys(tokenize(text))))
    spans = vocabulary.offsets(text)
    assert len(spans) == len(vocabulary.encode(text)) == len(tokenize(text))
    for (start, end), word in zip(spans, tokenize(text), strict=True):
        assert word in (text[start:end].lower(), BRACKETS.get(text[start:end]))
    assert vocabulary.decode(vocabulary.encode(text)) == " ".join(tokenize(text))


def test_a_vocabulary_has_the_words_from_a_threshold_on(tmp_path):
    words = count_words(["a dog", "A cat", "a dog runs"], threshold=2)
    assert words.symbols == ("<unk>", "<pad>", "<sos>", "<eos>", "a", "dog")
    assert words.encode("A dog and a cat") == [4, 5, 0, 4, 0]
    assert words.decode([2, 4, 5, 3, 4]) == "a dog"
    ids, lengths, _ = words.encode_all(["a dog", "", "cat"])
    assert (ids.tolist(), lengths.tolist()) == ([4, 5, 0], [2, 0, 1])
    for name, text in words.files().items():
        (tmp_path / name).write_text(text)
    assert Words.load(tmp_path) == words
    with pytest.raises(InputError, match="no word occurs 3 times"):
        count_words(["a cat"], threshold=3)


# Scores


@pytest.fixture(scope="module")
def toolkit_example(shared, root) -> tuple[list[str], list[list[str]]]:
    """The toolkit's example: 1,000 captions, and the references of their images."""
    references: dict[int, list[str]] = {}
    for split in ("train", "dev", "test"):
        with gzip.open(shared / "data/coco" / f"captions_val2014.{split}.jsonl.gz", "rt") as lines:
            references |= {row["image_id"]: row["captions"] for row in map(json.loads, lines)}
    results = json.loads(gzip.decompress((root / "tests/cocoexample.json.gz").read_bytes()))
    return [r["caption"] for r in results], [references[r["image_id"]] for r in results]


def test_scores_are_those_of_the_toolkits_example(toolkit_example):
    table = score_captions(*toolkit_example).table().set_index("metric")
    assert set(table.index) == {*TOOLKIT, "METEOR (no synonyms)"}
    for name, value in TOOLKIT.items():
        assert table.value[name] == pytest.approx(value, abs=1e-9), name
        assert table.low[name] < value < table.high[name]


@pytest.mark.skipif(meteor_missing() is not None, reason=f"{meteor_missing()}")
def test_meteor_is_that_of_the_toolkits_example(toolkit_example):
    meteor = score_captions(*toolkit_example, with_meteor=True).meteor
    assert meteor == pytest.approx(METEOR, abs=1e-4)


def test_meteor_in_python_is_that_of_the_best_reference(monkeypatch):
    single = [score_captions(["two dogs ran"], [[t]]) for t in ("two dog running", "a cat")]
    name, values = "METEOR (no synonyms)", []
    for scores in (*single, score_captions(["two dogs ran"], [["a cat", "two dog running"]])):
        values.append(scores.table().set_index("metric").value[name])
    assert values[0] == values[2] > values[1] == 0
    monkeypatch.setattr("tprpapers.scoring.meteor.find_spec", lambda package: None)
    bare = score_captions(["two dogs ran"], [["a cat"]])
    assert name not in set(bare.table()["metric"])
    assert "BLEU-1" in set(compare_captions(bare, bare)["metric"])


def test_the_java_program_decides_nothing_as_it_has_no_interval():
    captions, references = ["a dog", "a cat sits"], [["a dog runs"], ["a cat sits"]]
    scores = replace(score_captions(captions, references), meteor=0.4)
    verdict, _ = judge_scores([scores], [scores])
    assert "each of 6" in verdict.reason
    assert "METEOR" in set(compare_captions(scores, scores)["metric"])


def test_a_caption_that_is_its_reference_has_the_most_cider_and_rouge():
    texts = ["a dog runs fast", "two cats sleep here", "the red bus stops"]
    best = score_captions(texts, [[text] for text in texts]).table().set_index("metric").value
    assert best["CIDEr-D"] == pytest.approx(10)
    assert best["ROUGE-L"] == pytest.approx(1)
    mismatched = score_captions(texts[::-1], [[text] for text in texts])
    difference = compare_captions(score_captions(texts, [[t] for t in texts]), mismatched)
    steps = compare_lengths(score_captions(texts, [[t] for t in texts]), mismatched)
    gain = difference.set_index("metric")["difference"]
    assert steps["metric"].tolist() == [f"BLEU-{n} − BLEU-{n - 1}" for n in (2, 3, 4)]
    expected = [gain[f"BLEU-{n}"] - gain[f"BLEU-{n - 1}"] for n in (2, 3, 4)]
    assert steps["difference"].tolist() == pytest.approx(expected)
    cider = mismatched.table().set_index("metric").value["CIDEr-D"]
    assert gain["CIDEr-D"] == pytest.approx(10 - cider)


def test_scores_need_a_caption_an_image_and_references():
    with pytest.raises(InputError, match="2 captions for the references of 1"):
        score_captions(["a", "b"], [["a"]])
    for references in ([], ["..."]):
        with pytest.raises(InputError, match="image 1 has no references"):
            score_captions(["a", "b"], [["a"], references])


# Files


IMAGES = {"7": ["a dog", "one dog runs"], "9": ["two cats", "cats"], "5": ["a bus", "the red bus"]}


def write_captions(folder: Path, kind: str) -> Path:
    """The same images in one of the file formats; Karpathy's with splits."""
    splits = {"7": "train", "9": "restval", "5": "test"}
    if kind == "karpathy":
        images = [
            {"cocoid": int(i), "split": splits[i], "sentences": [{"raw": f" {c} "} for c in cs]}
            for i, cs in IMAGES.items()
        ]
        content = json.dumps({"dataset": "coco", "images": images})
    elif kind == "official":
        rows = [{"image_id": int(i), "id": 0, "caption": c} for i, cs in IMAGES.items() for c in cs]
        content = json.dumps({"images": [{"id": 7}], "annotations": rows})
    else:
        rows = [{"image_id": int(i), "captions": cs} for i, cs in IMAGES.items()]
        content = "\n".join(map(json.dumps, rows))
    path = folder / f"{kind}.{'jsonl' if kind == 'lines' else 'json'}.gz"
    path.write_bytes(gzip.compress(content.encode()))
    return path


@pytest.mark.parametrize("kind", ["karpathy", "official", "lines"])
def test_every_format_gives_the_same_captions(tmp_path, kind):
    images = read_annotations(write_captions(tmp_path, kind))
    assert {image.image: list(image.captions) for image in images} == IMAGES


def test_splits_are_karpathys_with_restval_trained_on(tmp_path):
    path = write_captions(tmp_path, "karpathy")
    train = load_data(f"captions:{path},held=1", split="train")
    assert [image.image for image in train] == ["7#0", "7#1", "9#0", "9#1"]
    assert [image.image for image in load_data(f"captions:{path}")] == ["5#0", "5#1"]
    with pytest.raises(InputError, match=r"unknown split .*'dev'.*test, train"):
        load_data(f"captions:{path}", split="dev")


def test_images_without_splits_are_divided_and_none_is_lost(tmp_path):
    rows = [json.dumps({"image_id": i, "captions": ["a dog", "a cat"]}) for i in range(200)]
    (tmp_path / "c.jsonl").write_text("\n".join(rows))
    spec = f"captions:{tmp_path / 'c.jsonl'}"
    splits = [
        {image.image.split("#")[0] for image in load_data(spec, split=split)}
        for split in ("train", "dev", "test")
    ]
    assert sorted(map(int, set().union(*splits))) == list(range(200))
    assert sum(map(len, splits)) == 200
    assert len(splits[0]) > 130


def write_features(folder: Path, kind: str, vectors: np.ndarray, names: list[str]) -> Path:
    path = folder / f"f.{kind}"
    if kind == "npy":
        np.save(path, vectors)
    elif kind == "parquet":
        pd.DataFrame({"image_id": names, "features": list(vectors)}).to_parquet(path)
    elif kind == "zarr":
        group = zarr.open_group(path, mode="w")
        group.create_array("features", data=vectors)
        group.create_array("image_id", data=np.array(names, np.int64))
    else:
        h5py = pytest.importorskip("h5py", reason="the extra hdf5 is not installed")
        with h5py.File(path, "w") as file:
            file["features"], file["image_id"] = vectors, np.array(names, np.int64)
    return path


VECTORS = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("kind", ["npy", "h5", "zarr", "parquet"])
def test_features_belong_to_their_images(tmp_path, kind):
    captions = write_captions(tmp_path, "karpathy")
    order = ["7", "9", "5"] if kind == "npy" else ["5", "7", "9"]
    features = write_features(tmp_path, kind, VECTORS, order)
    for split, images in (("train", ["7", "9"]), ("test", ["5"])):
        data = load_data(f"captions:{captions},features={features}", split=split)
        assert [image.image for image in data] == images
        for image in data:
            assert image.features.tolist() == VECTORS[order.index(image.image)].tolist()
            assert list(image.captions) == IMAGES[image.image]


def test_damaged_features_are_named(tmp_path):
    captions = write_captions(tmp_path, "karpathy")

    def refused(features: Path) -> str:
        with pytest.raises(InputError) as error:
            load_data(f"captions:{captions},features={features}", split="train")
        assert "\n" not in str(error.value)
        return str(error.value)

    names = ["7", "9", "5"]
    two = write_features(tmp_path, "npy", VECTORS[:2], names)
    assert "2 feature vectors for 3 images" in refused(two)
    vectors = VECTORS.copy()
    vectors[1, 2] = np.nan
    holed = write_features(tmp_path, "parquet", vectors, names)
    assert "vector 1 (image 9) has NaN" in refused(holed)
    missing = write_features(tmp_path, "parquet", VECTORS[:1], names[:1])
    assert "no features of image 9 (1 of 2" in refused(missing)
    assert "no features at" in refused(tmp_path / "none.npy")
    assert "unknown format of features '.csv'" in refused(tmp_path / "x.csv")


def test_nothing_of_a_held_out_caption_is_in_its_features(tmp_path):
    path = write_captions(tmp_path, "karpathy")
    for example in load_data(f"captions:{path}", split="train"):
        image, number = example.image.split("#")
        remaining = [c for i, c in enumerate(IMAGES[image]) if i != int(number)]
        assert example.captions == (IMAGES[image][int(number)],)
        assert example.features.tolist() == bag_vector(remaining).tolist()
        assert example.features.shape == (2048,)


def test_glove_rows_have_zero_mean(tmp_path):
    words = Words(("<unk>", "<pad>", "<sos>", "<eos>", "dog", "cat", "emu"))
    path = tmp_path / "glove.txt"
    path.write_text("dog 1 2\nthe 5 5\ncat 3 0\n")
    vectors, is_known = read_glove(path, words, 2)
    assert is_known.tolist() == [False] * 4 + [True, True, False]
    assert vectors[is_known].tolist() == [[-1, 1], [1, -1]]
    with pytest.raises(InputError, match=r"line 1: 2 numbers; d_embedding is 3"):
        read_glove(path, words, 3)


# Scenes


def a_scene(**changes: Any) -> Scene:
    main, second = Group("dog", 2, "orange", "old"), Group("table", 1, "red", "")
    fields: dict[str, Any] = {"main": main, "second": second, "relation": "under"}
    fields |= {"action": "sitting", "manner": "quietly", "place": "park"}
    return Scene(**fields | changes)


def check_tree(words: Any) -> None:
    """One root, heads that are there, no cycle, no crossing arcs."""
    heads = [word.head for word in words]
    assert [word.deprel for word in words if word.head == 0] == ["root"]
    for place in range(1, len(words) + 1):
        node = place
        for _ in words:
            node = heads[node - 1] if node else 0
        assert node == 0
    arcs = [tuple(sorted((place, head))) for place, head in enumerate(heads, 1) if head]
    assert not any(a < c < b < d for a, b in arcs for c, d in arcs)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from(["train", "dev", "test", "compositional"]))
def test_a_scene_has_captions_with_labels(index, split):
    scene = sample(index, split=split, knobs=SceneKnobs(captions=6))
    assert len(set(scene.captions)) == len(scene.captions) >= 5
    for caption, sentence in zip(scene.captions, scene.sentences, strict=True):
        assert sentence.text == caption
        assert list(sentence.forms) == tokenize(caption)
        check_tree(sentence.words)
        for word, after in zip(sentence.words, (*sentence.forms[1:], ""), strict=True):
            if word.form in ("a", "an"):
                assert (word.form == "an") == (after[0] in "aeiou")
                assert (word.xpos, word.deprel) == ("DT", "det")
            if word.deprel == "case":
                assert sentence.words[word.head - 1].xpos in ("NN", "NNS", "PRP")
            if word.deprel == "nsubj" and word.xpos != "WDT" and word.head > 0:
                verb = sentence.words[word.head - 1]
                forms = [w.form for w in sentence.words if w.deprel == "aux"]
                finite = forms[0] if forms else verb.form
                assert (word.xpos == "NNS") == (finite == "are" or verb.xpos == "VBP")


def test_scenes_are_the_same_whatever_is_read_before_and_by_whom():
    data = load_data("scenes", n=70)
    assert len(data) == 70
    by_another = load_data("scenes", n=70, workers=1)
    assert [scene.captions for scene in by_another] == [scene.captions for scene in data]
    assert data[60].features.tolist() == sample(60, split="test").features.tolist()
    assert data[5].captions != load_data("scenes", n=70, seed=1)[5].captions
    assert isinstance(data[0], Captioned)
    assert data[0].target == data[0].captions[0]


def test_no_scene_is_in_two_splits_and_unseen_colors_are_unseen():
    rng = np.random.default_rng(0)
    for split in ("train", "dev", "test"):
        for _ in range(60):
            scene = draw(rng, split)
            assert split_of(scene) == split
            assert scene.main.color != unseen_color(scene.main.kind)
    for _ in range(60):
        scene = draw(rng, "compositional")
        assert scene.main.color == unseen_color(scene.main.kind)


def test_an_image_is_its_facts_mixed_and_noise():
    plain = render(a_scene(), np.random.default_rng(0), noise=0)
    assert plain.shape == (2048,)
    assert plain.min() == 0
    assert render(a_scene(), np.random.default_rng(1), 0).tolist() == plain.tolist()
    noisy = render(a_scene(), np.random.default_rng(1), 0.3)
    assert 0.1 < np.abs(noisy - plain).mean() < 0.3
    changed = render(a_scene(main=Group("cat", 2, "orange", "old")), np.random.default_rng(0), 0)
    assert 0.5 < np.corrcoef(plain, changed)[0, 1] < 0.95
    assert len(facts(a_scene(second=None, relation="", manner=""))) == 6


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("scenes:nois=1", "did you mean 'noise'"),
        ("scenes:noise=-1", "noise is 0 or more"),
        ("scenes:captions=13", "captions 1 to 12"),
        ("captions:none.json", "no captions at 'none.json'"),
        ("captions:{path},feature=x", "did you mean 'features'"),
        ("captions:{path},held=0", "held = '0'"),
        ("captions:{path},held=1,features=x.npy", "held= is for features from captions"),
    ],
)
def test_what_is_no_data_is_refused(tmp_path, spec, message):
    with pytest.raises(InputError, match=message):
        load_data(spec.format(path=write_captions(tmp_path, "lines")), split="train")
