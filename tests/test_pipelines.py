"""Labels from a spaCy pipeline that is trained here on a few sentences."""

import pytest

from tprprobe.errors import InputError
from tprprobe.gold.labels import Labelled, Target
from tprprobe.gold.pipelines import load_pipeline
from tprprobe.gold.training import read_sentences, train_pipeline

pytest.importorskip("spacy")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

NOUNS, VERBS, NAMES = ("dog", "cat", "bird", "child"), ("sees", "likes", "hears"), ("Ann", "Bob")
WORDS = [
    (
        ("the", "DT", "DET", 2, "det"),
        (noun, "NN", "NOUN", 3, "nsubj"),
        (verb, "VBZ", "VERB", 0, "root"),
        (name, "NNP", "PROPN", 3, "obj"),
        (".", ".", "PUNCT", 3, "punct"),
    )
    for noun in NOUNS
    for verb in VERBS
    for name in NAMES
]


def conllu():
    blocks = []
    for words in WORDS:
        lines = [
            f"{i}\t{form}\t_\t{upos}\t{xpos}\t_\t{head}\t{relation}\t_\t_"
            for i, (form, xpos, upos, head, relation) in enumerate(words, 1)
        ]
        blocks.append("\n".join([f"# text = {' '.join(w[0] for w in words[:-1])}.", *lines]))
    return "\n\n".join(blocks) + "\n"


def iob():
    tags = ["\n".join(f"{w[0]}\t{'B-PER' if w[1] == 'NNP' else 'O'}" for w in s) for s in WORDS]
    return "\n\n".join(tags) + "\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("treebank")
    (folder / "train.conllu").write_text(conllu())
    (folder / "train.iob2").write_text(iob())
    return folder


@pytest.fixture(scope="module")
def folder(files):
    train = read_sentences(files / "train.conllu", [f"nel={files / 'train.iob2'}"])
    return train_pipeline(train, train, files / "pipeline", steps=40)


def test_a_trained_pipeline_labels_any_text(folder):
    """Words are the tokenizer's, blanks are none of them, the root is paired with itself."""
    pipeline = load_pipeline(folder)
    assert {*pipeline.tasks} == {"pos", "upos", "dep", "nel"}
    (found,) = pipeline.label_texts(["the  cat hears\nBob."])
    assert found.words == ("the", "cat", "hears", "Bob", ".")
    assert [found.text[a:b] for a, b in found.offsets] == list(found.words)
    assert [t.label for t in found.targets["pos"]] == ["DT", "NN", "VBZ", "NNP", "."]
    assert [t.label for t in found.targets["upos"]] == ["DET", "NOUN", "VERB", "PROPN", "PUNCT"]
    assert Target("root", (2, 3), (2, 3)) in found.targets["dep"]
    assert Target("nsubj", (1, 2), (2, 3)) in found.targets["dep"]
    assert found.targets["nel"] == (Target("PER", (3, 4)),)
    assert pipeline.label_texts([""])[0].words == ()


def test_given_words_are_kept_and_only_asked_labels_are_added(folder):
    pipeline = load_pipeline(folder, ["pos"])
    words = ("the", "dog", "sees", "Ann.")
    gold = {"mood": (Target("good", (0, 4)),), "pos": (Target("XX", (0, 1)),)}
    (found,) = pipeline.label([Labelled("s", "d", words, "the dog sees Ann.", gold)])
    assert found.words == words
    assert found.targets["mood"] == gold["mood"]
    assert [t.label for t in found.targets["pos"]][:3] == ["DT", "NN", "VBZ"]


def test_a_pipeline_says_how_well_it_was_measured(folder):
    about = load_pipeline(folder, ["pos", "dep"]).describe()
    assert about["pos"] == {"source": "spacy:pipeline", "agreement": pytest.approx(1.0)}
    assert {*about} == {"pos", "dep"}


def test_what_is_missing_is_told(folder, tmp_path):
    with pytest.raises(
        InputError, match="no spaCy pipeline 'en_core_web_none' here: give a folder"
    ):
        load_pipeline("en_core_web_none")
    with pytest.raises(InputError, match=r"unknown label of the pipeline .*'srl'"):
        load_pipeline(folder, ["srl"])
    with pytest.raises(InputError, match="exists already"):
        train_pipeline([], [], folder)
