"""Annotation files: what is read is what is written there; what is wrong is named with its line."""

import gzip
import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tprprobe.data import load_data
from tprprobe.errors import InputError
from tprprobe.gold.annotations import (
    add_labels,
    is_annotated,
    read_annotated,
    read_file,
)
from tprprobe.gold.labels import (
    Labelled,
    Target,
    decode_cell,
    encode_shared,
    token_columns,
)

CONLLU = """# newdoc id = letters
# sent_id = letters-1
# text = Ann doesn't sleep.
1\tAnn\tAnn\tPROPN\tNNP\t_\t4\tnsubj\t_\t_
2-3\tdoesn't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdoes\tdo\tAUX\tVBZ\t_\t4\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t_\t_
4\tsleep\tsleep\tVERB\tVB\t_\t0\troot\t_\t_
4.1\tghost\t_\t_\t_\t_\t_\t_\t_\t_
5\t.\t.\tPUNCT\t.\t_\t4\tpunct\t_\t_

1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_
"""
PLUS = """# global.columns = ID FORM NER UP:PRED UP:ARGHEADS UP:ARGSPANS
1\tNew\tB-LOC\t_\t_\t_
2\tYork\tI-LOC\t_\t_\t_
3\tsleeps\tO\tsleep.01\tA0:2|AM-TMP:4\tA0:1-2|V:3-3|AM-TMP:4-4
4\tnow\t_\t_\t_\t_
"""
IOB = "# sent_id = letters-1\n1\tAnn\tB-PER\n2\tdoes\tO\n3\tn't\tO\n4\tsleep\tO\n5\t.\tO\n"
EDGES = '{"text": "a b c", "targets": [{"span1": [0, 2], "span2": [2, 3], "label": "x"}]}\n'


def write(folder, name, text):
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_treebank_is_read(tmp_path, ending):
    sentence, second = read_annotated(write(tmp_path, f"a.conllu{ending}", CONLLU))
    assert sentence.words == ("Ann", "does", "n't", "sleep", ".")
    assert (sentence.name, sentence.document, second.name) == ("letters-1", "letters", "2")
    assert [target.label for target in sentence.targets["pos"]] == ["NNP", "VBZ", "RB", "VB", "."]
    dep = {(t.label, t.span1): t.span2 for t in sentence.targets["dep"]}
    assert dep["nsubj", (0, 1)] == (3, 4)
    assert dep["root", (3, 4)] == (3, 4)
    assert [sentence.text[start:end] for start, end in sentence.offsets] == list(sentence.words)


def test_columns_of_entities_and_roles_are_read(tmp_path):
    (sentence,) = read_annotated(write(tmp_path, "a.conllup", PLUS))
    assert sentence.targets["nel"] == (Target("LOC", (0, 2)),)
    assert sentence.targets["srl"] == (
        Target("ARG0", (2, 3), (0, 2)),
        Target("ARGM-TMP", (2, 3), (3, 4)),
    )


def test_a_label_file_joins_the_sentences_of_another(tmp_path):
    sentences = read_annotated(write(tmp_path, "a.conllu", CONLLU))
    joined = add_labels(sentences, write(tmp_path, "b.iob2", IOB), "nel")
    assert joined[0].targets["nel"] == (Target("PER", (0, 1)),)
    assert joined[1].targets["nel"] == ()
    edges = json.dumps({"text": "Yes", "targets": [{"span1": [0, 1], "label": "x"}]})
    joined = add_labels(joined, write(tmp_path, "srl.jsonl", edges), "mood")
    assert joined[1].targets["mood"] == (Target("x", (0, 1)),)
    with pytest.raises(InputError, match=r"c\.iob2: sentence '1' \(Bob…\) is not in the file"):
        add_labels(sentences, write(tmp_path, "c.iob2", "Bob B-PER\n"), "nel")


@pytest.mark.parametrize(
    ("document", "line"), [("blog", "its 1 documents are not used"), (None, "")]
)
def test_documents_of_a_label_file_are_not_used_unsaid(tmp_path, capsys, document, line):
    sentences = read_annotated(write(tmp_path, "a.iob2", "Yes O\n\nNo O\n"))
    targets = {"targets": [{"span1": [0, 1], "label": "x"}]}
    lines = [{"text": text} | targets for text in ("Yes", "No")]
    lines = [record | {"document": document} if document else record for record in lines]
    add_labels(sentences, write(tmp_path, "b.jsonl", "\n".join(map(json.dumps, lines))), "mood")
    assert line in (messages := capsys.readouterr().err)
    assert ("not used" in messages) == bool(line)


def test_a_sentence_that_comes_once_a_predicate_gets_the_labels_of_all(tmp_path):
    gold = read_annotated(write(tmp_path, "a.iob2", "She O\nsaid O\ngo O\n\nYes O\n"))
    line = {"text": "She said go"}
    frames = [
        line | {"targets": [{"span1": [1, 2], "span2": [0, 1], "label": "ARG0"}]},
        line | {"targets": [{"span1": [2, 3], "span2": [0, 1], "label": "ARG1"}]},
    ]
    path = write(tmp_path, "srl.jsonl", "\n".join(map(json.dumps, frames)))
    joined = add_labels(gold, path, "srl")
    assert [target.label for target in joined[0].targets["srl"]] == ["ARG0", "ARG1"]
    assert len({sentence.document for sentence in read_annotated(path)}) == 1


def test_missing_documents_and_labels_of_one_target_are_told(tmp_path, capsys):
    labels = ("past", "past", "psat")
    lines = [
        {"text": f"{i} ran", "targets": [{"span1": [1, 2], "label": label}]}
        for i, label in enumerate(labels)
    ]
    path = write(tmp_path, "a.jsonl", "\n".join(map(json.dumps, lines)))
    read_annotated(path)
    assert not {"documents", "without"} & {
        *capsys.readouterr().err.split()
    }  # of labels, which have those of the data
    load_data(path)
    messages = capsys.readouterr().err
    assert 'without a "document"' in messages
    assert messages.endswith("labels of one target: 1 (psat)\n")
    lines = [line | {"info": {"document": f"letter {i // 2}"}} for i, line in enumerate(lines)]
    named = read_annotated(write(tmp_path, "b.jsonl", "\n".join(map(json.dumps, lines))))
    assert [sentence.document for sentence in named] == ["letter 0", "letter 0", "letter 1"]
    assert 'without a "document"' not in capsys.readouterr().err


def test_sentences_of_the_same_words_are_taken_in_order(tmp_path, capsys):
    text = "# sent_id = {}\nThanks O\n\n# sent_id = {}\nThanks O\n"
    gold = read_annotated(write(tmp_path, "a.iob2", text.format("a", "b")))
    second_text = text.format("x", "y").replace("Thanks O", "Thanks B-PER", 1)
    joined = add_labels(gold, write(tmp_path, "b.iob2", second_text), "nel")
    assert [len(sentence.targets["nel"]) for sentence in joined] == [1, 0]
    once = add_labels(gold, write(tmp_path, "d.iob2", "Thanks B-PER\n"), "nel")
    assert [len(sentence.targets["nel"]) for sentence in once] == [1, 1]
    load_data(tmp_path / "d.iob2")
    assert (
        "sentences of no document, each of which counts as a document: 1" in capsys.readouterr().err
    )
    thrice = second_text + "\n# sent_id = z\nThanks O\n"
    with pytest.raises(InputError, match="comes 3 times, 2 sentences"):
        add_labels(gold, write(tmp_path, "c.iob2", thrice), "nel")


def _treebank(*heads, form="w"):
    lines = [f"{i}\t{form}\t_\tX\tX\t_\t{head}\tdep\t_\t_\n" for i, head in enumerate(heads, 1)]
    return "".join(lines) + "\n"


def _exchange(text: str) -> str:
    rows = [line.split("\t") for line in text.split("\n")]
    moved = [[*r[:3], r[4], r[3], *r[5:]] if len(r) > 4 else r for r in rows]
    return "\n".join(map("\t".join, moved))


def _cut(text: str) -> str:
    return text.rstrip().rsplit("\n", 1)[0] + "\n"


TREEBANK = """# sent_id = s1
# text = The cat sleeps
1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\tcat\tcat\tNOUN\tNN\t_\t0\troot\t_\t_
3\tsleeps\tsleep\tVERB\tVBZ\t_\t2\tacl\t_\t_

"""


WRONG = {
    "a.conllu": [
        ("", "is empty"),
        (CONLLU.replace("3\tn't", "4\tn't"), r"line 7: word number '4', expected 3"),
        (CONLLU.replace("4\tnsubj", "9\tnsubj"), r"line 4: head '9' in a sentence of 5 words"),
        (CONLLU.replace("4\tnsubj", "_\tnsubj"), r"line 4: head '_'"),
        (CONLLU.replace("NNP", "N NP"), r"line 4: label 'N NP'"),
        (_treebank(0, 2), r"line 1: word 2 is its own head"),
        (_treebank(0, 3, 2), r"line 1: word 3 is below itself \(head 2\)"),
        (_treebank(0) + _treebank(1), r"line 3: word 1 is its own head"),
        (_treebank(0, form="\u00a0"), r"line 1: word '\\xa0' has no character but blanks"),
        (_cut(TREEBANK), "is cut: its last sentence ends with 'cat'"),
        (_exchange(TREEBANK), "UPOS has tags like .*: exchange the columns"),
    ],
    "a.conllup": [
        (PLUS.replace("NER", "NERD"), r"line 1: unknown column 'NERD'; did you mean 'NER'"),
        (PLUS.replace("ID FORM", "ID FORN"), r"line 1: unknown column 'FORN'"),
        (PLUS.replace("I-LOC", "I-PER"), r"line 3: tag 'I-PER' after 'B-LOC'"),
        (PLUS.replace("4-4", "4-9"), r"line 4: span \[3, 9\) in a sentence of 4 words"),
        (PLUS.replace("A0:1-2", "A0:1"), r"line 4: argument 'A0:1'"),
    ],
    "a.iob2": [
        ("", "is empty"),
        ("1\ta\tO\n3\tb\tO\n", r"line 2: token number '3', expected 2"),
        ("a\n", r"line 1: 1 columns"),
    ],
    "a.jsonl": [
        ("", "is empty"),
        (EDGES + "{", r"line 2 is not JSON"),
        (EDGES.replace("[2, 3]", "[3, 4]"), r"line 1: span \[3, 4\).*3 words.*count from 0"),
        (EDGES.replace("[0, 2]", "[1, 1]"), r"line 1: span \[1, 1\)"),
        (EDGES.replace("[0, 2]", "[0.5, 1]"), r"line 1: span \[0\.5, 1\]"),
        (
            EDGES.replace("span1", "span"),
            r"line 1: unknown key of a target 'span'; did you mean 'span1'",
        ),
        (EDGES.replace('"x"', "7"), r"line 1: label 7"),
        (EDGES.replace('"x"', '"x y"'), r"line 1: label 'x y'"),
        (EDGES.replace('"text"', '"test"'), r"line 1: a line is a JSON object"),
    ],
}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [(name, text, message) for name, cases in WRONG.items() for text, message in cases],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, name, text, message):
    with pytest.raises(InputError, match=message) as error:
        read_annotated(write(tmp_path, name, text))
    assert name in str(error.value)
    assert "\n" not in str(error.value)


def test_unknown_files_are_refused(tmp_path):
    latin = tmp_path / "b.conllu"
    latin.write_bytes(CONLLU.replace("Ann", "Zoë").encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8"):
        read_annotated(latin)
    with pytest.raises(InputError, match="an annotated file ends in"):
        read_annotated(tmp_path / "c.txt")
    with pytest.raises(InputError, match="No such file"):
        read_annotated(tmp_path / "d.conllu")
    assert is_annotated("x.conllu.gz")
    assert not is_annotated("x.gz")
    assert not is_annotated("x.tsv")  # a table of texts, but where labels are asked for


LABEL = st.text("AB:$'[],)(0", min_size=1, max_size=4)


@st.composite
def drawn(draw):
    """A number of words, and targets that are all different."""
    n = draw(st.integers(1, 6))
    spans = st.tuples(st.integers(0, n - 1), st.integers(1, n)).filter(lambda s: s[0] < s[1])
    target = st.builds(Target, LABEL, spans, st.none() | spans)
    return n, draw(st.lists(target, unique=True, max_size=5))


def make_sentence(n, targets):
    words = tuple(f"w{i}" for i in range(n))
    return Labelled("s", "d", words, " ".join(words), {"x": tuple(targets)})


@given(drawn())
def test_cells_hold_all_targets(drawn_sentence):
    sentence = make_sentence(*drawn_sentence)
    n_words = len(sentence.words)
    ranges = [(word, word) for word in range(n_words)]
    listed = [*encode_shared(sentence.targets["x"], n_words, ranges).values()]
    targets = [target for word, cell in enumerate(listed) for target in decode_cell(cell, word)]
    assert Counter(targets) == Counter(sentence.targets["x"])


def test_tokens_belong_to_words_and_bear_their_cells():
    targets = {"nel": (Target("PER", (0, 2)),), "pos": (Target("NN", (0, 1)), Target("VB", (2, 3)))}
    sentence = Labelled("s", "d", ("Ann", "Lee", "sleeps"), "Ann  Lee sleeps", targets)
    tokens = [(0, 1), (1, 3), (3, 4), (5, 8), (8, 12), (12, 15), (15, 15)]
    columns = token_columns(sentence, tokens)
    assert columns["word"] == [0, 0, -1, 1, 2, 2, -1]
    assert columns["pos"] == ["NN", "NN", "", "", "VB", "VB", ""]
    assert columns["nel"][:2] == ["PER[0,2)"] * 2


def test_odd_sentences_are_counted_in_a_line(tmp_path, capsys):
    respelled = "# text = Bob slept.\n" + _treebank(0)
    odd = "\ufeff" + CONLLU + "\n" + _treebank(0, 0) + _treebank(0, 0, 1) + respelled
    sentences = read_annotated(write(tmp_path, "a.conllu", odd))
    assert sentences[0].name == "letters-1"
    sizes, changed = capsys.readouterr().err.splitlines()
    assert sizes.endswith("a.conllu: sentences 5, words 12; targets: dep 12, pos 12, upos 12")
    assert changed.endswith(
        "a.conllu: sentences without `# text`, spelled from their tokens: 3; sentences whose `# text` has other "
        "words, spelled from their tokens: 1; sentences with several roots: 2; empty nodes left out: 1"
    )


@pytest.mark.parametrize(
    ("text", "odd"),
    [
        (TREEBANK * 2, {"repeated_names": 1}),
        (TREEBANK.replace("\tacl", "\tadjunct"), {"unknown_relations": 1}),
        (TREEBANK.replace("VERB", "VB"), {"unknown_tags": 1}),
        (
            _cut(TREEBANK).replace("# text = The cat sleeps\n", ""),
            {"unended": 1, "without_text": 1},
        ),
        (TREEBANK.rstrip("\n"), {}),
    ],
)
def test_what_is_odd_in_a_treebank_is_counted(tmp_path, text, odd):
    (tmp_path / "a.conllu").write_text(text)
    reading = read_file(tmp_path / "a.conllu")
    assert {kind: n for kind, n in reading.odd.items() if n} == odd


def test_a_header_of_words_and_labels_is_refused(tmp_path):
    with pytest.raises(InputError, match="the first line names columns"):
        read_file(write(tmp_path, "own.tsv", "word\tlabel\nRome\tcity\n\n"))
    sentences, _ = read_file(write(tmp_path, "own.tsv", "word\tnoun\nRome\tcity\n\n"))
    assert sentences[0].words == ("word", "Rome")
