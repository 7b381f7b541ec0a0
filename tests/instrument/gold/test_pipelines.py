"""Labels from a spaCy pipeline that is trained here on a few sentences."""

import pytest

from tprpapers.jiang.argument_rules import RoleRules, find_arguments
from tprprobe.data import load_data
from tprprobe.errors import InputError
from tprprobe.extraction import extract
from tprprobe.gold.labellers import ROOT, find_labellers, import_spacy, load_pipeline
from tprprobe.gold.labels import Labelled, Target
from tprprobe.models import load_model

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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    spacy = import_spacy()
    spacy.util.fix_random_seed(0)
    nlp = spacy.blank("en")
    for name in ("tagger", "morphologizer", "ner"):
        nlp.add_pipe(name)
    nlp.add_pipe("parser", config={"min_action_freq": 1})
    examples = []
    for words in WORDS:
        forms, tags, upos, heads, relations = zip(*words, strict=True)
        gold = {
            "words": forms,
            "tags": tags,
            "pos": upos,
            "deps": [r.replace("root", ROOT) for r in relations],
        }
        gold["heads"] = [head - 1 if head else i for i, head in enumerate(heads)]
        gold["entities"] = ["U-PER" if tag == "NNP" else "O" for tag in tags]
        for blanks in ("{} {} {} {}{}", "{}  {} {}\n{}{}"):
            doc = nlp.make_doc(blanks.format(*forms))
            examples.append(spacy.training.Example.from_dict(doc, gold))
    nlp.initialize(lambda: examples)
    for _ in range(40):
        nlp.update(examples)
    nlp.meta["performance"] = nlp.evaluate(examples)
    path = tmp_path_factory.mktemp("spacy") / "pipeline"
    nlp.to_disk(path)
    return path


def text(characters):
    return Labelled("1", "1", (), characters)


def test_a_trained_pipeline_labels_any_text(folder):
    """Words are the tokenizer's, blanks are none of them, the root is paired with itself."""
    pipeline = load_pipeline(folder)
    assert {*pipeline.tasks} == {"pos", "upos", "dep", "nel"}
    (sentence,) = pipeline.label([text("the  cat hears\nBob.")])
    assert sentence.words == ("the", "cat", "hears", "Bob", ".")
    assert [sentence.text[a:b] for a, b in sentence.offsets] == list(sentence.words)
    assert [t.label for t in sentence.targets["pos"]] == ["DT", "NN", "VBZ", "NNP", "."]
    assert [t.label for t in sentence.targets["upos"]] == ["DET", "NOUN", "VERB", "PROPN", "PUNCT"]
    assert Target("root", (2, 3), (2, 3)) in sentence.targets["dep"]
    assert Target("nsubj", (1, 2), (2, 3)) in sentence.targets["dep"]
    assert sentence.targets["nel"] == (Target("PER", (3, 4)),)
    assert pipeline.label([text("")])[0].words == ()


def test_given_words_are_kept_and_only_asked_labels_are_added(folder):
    pipeline = load_pipeline(folder, ["pos"])
    words = ("the", "dog", "sees", "Ann.")
    gold = {"mood": (Target("good", (0, 4)),), "pos": (Target("XX", (0, 1)),)}
    (sentence,) = pipeline.label([Labelled("s", "d", words, "the dog sees Ann.", gold)])
    assert sentence.words == words
    assert sentence.targets["mood"] == gold["mood"]
    assert [t.label for t in sentence.targets["pos"]][:3] == ["DT", "NN", "VBZ"]


def test_a_pipeline_says_how_well_it_was_measured(folder):
    sources = load_pipeline(folder, ["pos", "dep"]).describe()
    assert sources["pos"] == {"source": "spacy:pipeline", "agreement": pytest.approx(1.0)}
    assert {*sources} == {"pos", "dep"}


def test_what_is_missing_is_told(folder, tmp_path):
    with pytest.raises(
        InputError, match="no spaCy pipeline 'en_core_web_none' here: give a folder"
    ):
        load_pipeline("en_core_web_none")
    with pytest.raises(InputError, match=r"unknown label of the pipeline .*'srl'"):
        load_pipeline(folder, ["srl"])


def test_labels_of_a_pipeline_and_of_rules_land_in_the_store(folder, make_data, tmp_path):
    """Of summaries, and of what a model writes itself, in the words of the tokenizer."""
    labellers = find_labellers({"pos,dep": f"spacy:{folder}", "srl": "rules"})
    model = load_model("tpt-d-english")
    reports = load_data("english:version=1,depth=1,sentences=4-6", split="test", n=3)
    data = make_data(
        [(report.source, report.target) for report in reports]
    )  # nothing but the texts
    settings = {"sites": "decoder.0.hidden", "control": False, "labellers": labellers}
    for target in ("reference", "generated"):
        store = extract(model, data, out=tmp_path / target, target=target, **settings)
        tokens = store.tokens_of("decoder.0.hidden")
        assert (tokens.loc[tokens["word"] >= 0, "pos"] != "").all()
        assert tokens["dep"].str.contains(r"nsubj\[\d+,\d+\)\[\d+,\d+\)").any()
        assert {"pos", "dep", "srl"} <= {*tokens}
        assert store.manifest["labels"]["pos"]["source"] == "spacy:pipeline"
        assert "heuristic" in store.manifest["labels"]["srl"]["source"]


def test_labellers_are_named_as_files_are(folder):
    for sources, message in (
        ({"pos": "rules"}, "semantic roles by srl=rules"),
        ({"srl,pos": "rules"}, "semantic roles by srl=rules"),
        ({"srl": f"spacy:{folder}"}, "unknown label of the pipeline"),
    ):
        with pytest.raises(InputError, match=message):
            find_labellers(sources)
    bare = Labelled("s", "d", ("Ann", "sleeps"), "Ann sleeps")
    with pytest.raises(InputError, match="need tags and dependencies"):
        RoleRules().label([bare])


def test_roles_by_rules():
    """The textbook cases: passives, prepositions, negation, control, relative clauses, copulas."""
    tagged = {
        "The letter was not sent to Bob by Ann in May": (
            "DT NN VBD RB VBN IN NNP IN NNP IN NNP",
            "det:1 nsubj:pass:4 aux:pass:4 advmod:4 root:4 case:6 obl:4 case:8 obl:4 case:10 obl:4",
            {("ARG1", "The letter"), ("ARGM-NEG", "not"), ("ARG2", "to Bob"), ("ARG0", "by Ann")}
            | {("ARGM-TMP", "in May")},
        ),
        "Ann who sings wants to go": (
            "NNP WP VBZ VBZ TO VB",
            "nsubj:3 nsubj:2 acl:relcl:0 root:3 mark:5 xcomp:3",
            {("R-ARG0", "who"), ("ARG0", "Ann"), ("ARG0", "Ann who sings"), ("ARG1", "to go")},
        ),
        "Ann may be a singer": (
            "NNP MD VB DT NN",
            "nsubj:4 aux:4 cop:4 det:4 root:4",
            {("ARG1", "Ann"), ("ARGM-MOD", "may"), ("ARG2", "a singer")},
        ),
    }
    for text, (tags, relations, expected) in tagged.items():
        words = tuple(text.split())
        heads = [relation.rpartition(":") for relation in relations.split()]
        targets = {
            "pos": tuple(Target(tag, (i, i + 1)) for i, tag in enumerate(tags.split())),
            "dep": tuple(
                Target(name, (i, i + 1), (int(head), int(head) + 1))
                for i, (name, _, head) in enumerate(heads)
            ),
        }
        arguments = find_arguments(Labelled("s", "d", words, text, targets))
        assert {
            (t.label, " ".join(words[slice(*t.span2)])) for t in arguments if t.span2
        } == expected
