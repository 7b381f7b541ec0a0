"""What a file means is decided by its format's own rules: treebanks, column files, tables, texts. Cases that people
reported of other readers.
"""

import pandas as pd
import pytest

from tprprobe.analyses.probing import read_task
from tprprobe.analyses.probing.labelled_words import read_words
from tprprobe.data import load_data
from tprprobe.errors import InputError
from tprprobe.gold.annotations import read_annotated
from tprprobe.gold.labels import Labelled, Target, count_aligned, report_counts, token_columns


def row(number, form, misc="_"):
    head, relation = (0, "root") if str(number) == "1" else (1, "dep")
    if "-" in str(number) or "." in str(number):
        return f"{number}\t{form}" + "\t_" * 7 + f"\t{misc}\n"
    return f"{number}\t{form}\t_\tX\tX{number}\t_\t{head}\t{relation}\t_\t{misc}\n"


def write(folder, name, text):
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def words_at(sentence):
    return [sentence.text[start:end] for start, end in sentence.offsets]


SURFACES = {  # by language or report: rows, the text, what stands at every word
    "French": (
        [(1, "Il"), (2, "va"), ("3-4", "au"), (3, "à"), (4, "le"), (5, "marché", "SpaceAfter=No"), (6, ".")],
        "Il va au marché.",
        ["Il", "va", "au", "au", "marché", "."],
    ),
    "Spanish": (
        [("1-3", "Dámelo", "SpaceAfter=No"), (1, "da"), (2, "me"), (3, "lo"), (4, "ya")],
        "Dámeloya",
        ["Dámelo", "Dámelo", "Dámelo", "ya"],
    ),
    "German": (
        [(1, "Er"), (2, "isst"), ("3-4", "am"), (3, "an"), (4, "dem"), (5, "Hamburger"), (6, "Dom")],
        "Er isst am Hamburger Dom",
        ["Er", "isst", "am", "am", "Hamburger", "Dom"],
    ),
    "Arabic": (
        [("1-3", "وبالكتاب"), (1, "و"), (2, "ب"), (3, "الكتاب"), (4, "قال", "SpaceAfter=No"), (5, ".")],
        "وبالكتاب قال.",
        ["و", "ب", "الكتاب", "قال", "."],
    ),
    "Portuguese": (
        [("1-2", "Fazê-lo"), (1, "Fazer"), (2, "o"), ("3-4", "naquela"), (3, "em"), (4, "aquela"), (5, "casa")],
        "Fazê-lo naquela casa",
        ["Fazê-lo", "Fazê-lo", "naquela", "naquela", "casa"],
    ),
    "Chinese": (
        [(i, form, "SpaceAfter=No") for i, form in enumerate(["我", "喜歡", "看書", "。"], 1)],
        "我喜歡看書。",
        ["我", "喜歡", "看書", "。"],
    ),
    "Vietnamese": ([(1, "phổ thông"), (2, "cho", "SpaceAfter=No"), (3, ".")], "phổ thông cho.", ["phổ thông", "cho", "."]),
    "Swedish": ([(1, "10\u00a0000"), (2, "kronor")], "10\u00a0000 kronor", ["10\u00a0000", "kronor"]),
    "Turkish, MISC of the token": (
        [("1-2", "dolardır", "SpaceAfter=No"), (1, "dolar"), (2, "dır"), (3, ".")],
        "dolardır.",
        ["dolar", "dır", "."],
    ),
    "MISC of its words": (
        [("1-2", "It's"), (1, "It", "SpaceAfter=No"), (2, "'s", "SpaceAfter=No"), (3, "so")],
        "It's so",
        ["It", "'s", "so"],
    ),
    "several blanks": (
        [(1, "BLAST", "SpacesBefore=\\s|SpacesAfter=\\s\\t"), (2, "and", "SpacesAfter=\\u00A0"), (3, "a", "SpacesAfter=\\n")],
        "BLAST \tand\u00a0a",
        ["BLAST", "and", "a"],
    ),
    "blanks in a token": ([(1, "a b", "SpacesInToken=a\\s\\sb"), (2, "c")], "a  b c", ["a  b", "c"]),
    "empty nodes": ([("0.1", "ghost"), (1, "a"), ("1.1", "ghost"), (2, "b")], "a b", ["a", "b"]),
    "underscores": ([(1, "_"), (2, "x")], "_ x", ["_", "x"]),
}  # fmt: skip


@pytest.mark.parametrize("has_text", [False, True])
@pytest.mark.parametrize("case", SURFACES)
def test_the_text_of_a_treebank_is_that_of_its_tokens(tmp_path, case, has_text):
    rows, text, places = SURFACES[case]
    head = f"# text = {text}\n" if has_text else ""
    path = write(tmp_path, "a.conllu", head + "".join(row(*fields) for fields in rows) + "\n")
    (sentence,) = read_annotated(path)
    assert sentence.text == text
    assert words_at(sentence) == places


def test_words_share_the_pieces_of_their_token(tmp_path, capsys):
    rows, _, _ = SURFACES["French"]
    path = write(tmp_path, "a.conllu", "".join(row(*fields) for fields in rows) + "\n")
    (sentence,) = read_annotated(path)
    messages = capsys.readouterr().err.splitlines()
    assert len(messages) == 2
    assert messages[0].endswith("a.conllu: sentences 1, words 6; targets: dep 6, pos 6, upos 6")
    assert "whose tokens they share: 1; sentences without `# text`" in messages[1]
    places = [(0, 2), (3, 5), (6, 7), (7, 8), (9, 15), (15, 16)]
    columns = token_columns(sentence, places)
    assert columns["word"] == [0, 1, 2, 2, 4, 5]
    assert columns["last_word"] == [0, 1, 3, 3, 4, 5]
    assert columns["pos"] == ["X1", "X2", "X3 X4[3,4)", "X3 X4[3,4)", "X5", "X6"]
    assert columns["dep"][3] == "dep[2,3)[0,1) dep[3,4)[0,1)"
    long_token = token_columns(
        sentence, [(0, 2), (3, 16)]
    )  # a token of several words is of all that have none else
    assert (long_token["word"], long_token["last_word"]) == ([0, 1], [0, 5])


def test_no_target_is_lost_where_a_later_piece_of_a_word_holds_the_next_word():
    targets = (Target("VB", (0, 1)), Target("RB", (1, 2)))
    sentence = Labelled("1", "a", ("wo", "nt"), "wont", {"pos": targets})
    columns = token_columns(sentence, [(0, 1), (1, 4)])
    assert columns["pos"] == ["VB", "VB RB[1,2)"]
    table = pd.DataFrame(columns | {"sample": [0, 0], "token": ["w", "ont"]})
    words = read_words(table, [read_task("pos")])
    assert words.cells["pos"].tolist() == ["VB RB[1,2)", ""]
    assert words.rows.tolist() == [[0, 2], [1, 2]]


def test_documents_begin_where_the_format_says_so(tmp_path):
    heads = [
        "",
        "# newpar id = p\n",
        "",
        "# newdoc id = a\n",
        "# newpar\n",
        "# newdoc\n",
        "",
        "#newdoc id=b\n",
    ]
    text = "".join(head + row(1, "x") + "\n" for head in heads)
    documents = [
        sentence.document for sentence in read_annotated(write(tmp_path, "a.conllu", text))
    ]
    assert documents == ["1", "p", "p", "a", "a", "document 3", "document 3", "b"]


COLUMNS = {  # by report: lines, words, entities
    "WNUT": ("I\tO\n#WNUT\tB-event\n\t\n#Yes\tO\nJohn\tB-per\n", ["I", "#WNUT", "#Yes", "John"], ["event 1-2", "per 1-2"]),
    "CoNLL 2003": ("-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\n1 CD I-NP O\n", ["EU", "rejects", "1"], ["ORG 0-1"]),
    "IOB1": ("a I-PER\nb I-PER\nc B-PER\nd I-LOC\ne O\n", list("abcde"), ["PER 0-2", "PER 2-3", "LOC 3-4"]),
    "BIOES": ("a B-X\nb I-X\nc E-X\nd S-X\ne S-Y\n", list("abcde"), ["X 0-3", "X 3-4", "Y 4-5"]),
    "BILOU": ("a B-X\nb L-X\nc U-X\nd B-X\ne L-X\n", list("abcde"), ["X 0-2", "X 2-3", "X 3-5"]),
    "BMES": ("我 S-P\n上 B-L\n海 M-L\n市 E-L\n", list("我上海市"), ["P 0-1", "L 1-4"]),
    "MultiCoNER": ("# id 5b8a\tdomain=en\nthe _ _ O\npark _ _ B-LOC\n", ["the", "park"], ["LOC 1-2"]),
    "GermEval": ("#\thttp://x.de [2009-10-17]\n1\tAm\tO\tO\n2\tRhein\tB-LOC\tO\n", ["Am", "Rhein"], ["LOC 1-2"]),
    "numbers": ("1 O\n2 O\n7 B-X\n", ["1", "2", "7"], ["X 2-3"]),
    "U+00A0": ("10\u00a0000 B-N\nx O\n", ["10\u00a0000", "x"], ["N 0-1"]),
    "two marks": ("\ufeffa O\n\ufeffb B-X\n", ["a", "b"], ["X 1-2"]),
    "a tab as a word": ("went O\n\t O\nLee B-X\n", ["went", "", "Lee"], ["X 2-3"]),
    "labels without tags": ("The\tdef\ndog\tO\n\nA\tbare\n", ["The", "dog", "A"], ["def 0-1", "bare 0-1"]),
    "a number sign": ("#\tO\n# text = a\tO\n", ["#", "# text = a"], []),
}  # fmt: skip


@pytest.mark.parametrize("case", COLUMNS)
def test_column_files_are_read_by_their_own_rules(tmp_path, case):
    text, words, entities = COLUMNS[case]
    sentences = read_annotated(write(tmp_path, "a.conll", text))
    assert [word for sentence in sentences for word in sentence.words] == words
    targets = [target for sentence in sentences for target in sentence.targets["nel"]]
    assert [f"{label} {start}-{end}" for label, (start, end), _ in targets] == entities
    assert all(sentence.offsets for sentence in sentences)


WRONG = {
    "a.conllu": [
        (row(1, "a") + row("1-2", "ab") + row(2, "b"), "line 2: multi-word token 1-2 after word 1"),
        (row("2-1", "ab") + row(1, "a"), "line 1: multi-word token 2-1"),
        (row("1-2", "ab") + row(1, "a") + row("2-3", "bc") + row(2, "b"), "line 3: multi-word token 2-3"),
        (row("1-3", "ab") + row(1, "a") + row(2, "b"), "line 3: .*ends with word 3, the sentence with 2"),
        ("# text = a\n" + row(1, "_") + row(2, "_"), "all words are _: this treebank comes without its text"),
        (row(1, "a") + "2\t\n\n", "line 2: 2 columns between tabs instead of 10"),
    ],
    "a.iob2": [
        ("a B-X\nb O\nc I-X\n", "line 3: tag 'I-X' after 'O'"),
        ("a S-X\nb E-X\n", "line 2: tag 'E-X' after 'S-X'"),
        ("a O\n#b X\n", r"line 2: tag 'X': a tag is O, or B-, I-, E-, S-, L-, U- and a type"),
        ("It O +\n", r"line 1: tag '\+'"),
    ],
    "a.csv": [
        ("text,label\na,b,c\n", r"line 2: 3 fields for 2 columns \(text, label\)"),
        ('text,label\n"a "b",c\n', "line 2: .*a quote in them is doubled"),
        ("id,premise,hypothesis,label\n1,a,b,c\n", "'id', 'premise', 'hypothesis', 'label', but no 'text'"),
    ],
    "a.jsonl": [
        ('{"text": "a", "label": "b"}\n{"text": "c"}\n', "line 2 has no 'label', which the first line has"),
        ('{"text": "a", "label": [1, 2]}\n', r"line 1: the label is \[1, 2\], not a text: give FILE:COLUMN"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "message"), [(name, *case) for name, cases in WRONG.items() for case in cases]
)
def test_what_breaks_a_rule_is_refused_with_its_line(tmp_path, name, text, message):
    with pytest.raises(InputError, match=message) as error:
        list(load_data(write(tmp_path, name, text)))
    assert "\n" not in str(error.value)


TABLES = {  # by report: name, content, pairs, what is said
    "quotes in a .tsv": ("a.tsv", 'sentence\tlabel\n"a\t1\nb" c\t0\n', [('"a', "1"), ('b" c', "0")], "rows 2; read: sentence and label"),
    "quotes around": ("a.tsv", 'text\n"a ""b"""\n', [('"a ""b"""',) * 2], "; 1 texts keep the quotes around them"),
    "labels": ("a.csv", "text,label\na,01\nb,1\n", [("a", "01"), ("b", "1")], "read: text and label"),
    "summaries": ("a.csv", "id,document,summary\n1,d,s\n", [("d", "s")], "read: document and summary; not read: id"),
    "bars": ("a.csv", b"id|text\n1|a, b\n", [("a, b", "a, b")], "read: text; not read: id"),
    "Excel's separator": ("a.csv", b"sep=;\r\ntext;label\r\na, b;c\r\n", [("a, b", "c")], "read: text and label"),
    "mark, semicolons": ("a.csv", b"\xef\xbb\xbftext;label\r\na, b;c\r\n", [("a, b", "c")], "read: text and label"),
    "null, NA": ("a.csv", "text,id\nnull,1\nNA,2\n\n", [("null",) * 2, ("NA",) * 2], "rows 2; read: text; not read: id"),
    "numbers": ("a.jsonl", '{"text": "a", "label": 1}\n{"text": "b", "label": 0}\n', [("a", "1"), ("b", "0")], "read: text and label"),
    "questions": ("a.jsonl", '{"context": "c", "question": "q", "answer": "a"}\n', [("q", "a")], "not read: context"),
    "a carriage return": ("a.txt", "a\rb\r\nc\u2028d\x85e\n", [("a\rb",) * 2, ("c\u2028d\x85e",) * 2], "2 texts"),
    "long": ("a.csv", "text\n" + "x " * 100_000 + "\n", [("x " * 100_000,) * 2], "rows 1; read: text"),
}  # fmt: skip


@pytest.mark.parametrize("case", TABLES)
def test_tables_are_read_by_their_own_rules(tmp_path, capsys, case):
    name, content, pairs, message = TABLES[case]
    data = load_data(write(tmp_path, name, content))
    assert [(example.source, example.target) for example in data] == pairs
    assert message in (lines := capsys.readouterr().err)
    assert len(lines.splitlines()) <= 2


def test_a_table_of_words_is_told_from_one_of_texts(tmp_path):
    words = write(tmp_path, "a.tsv", "They\tplur\ncome\tO\n\nOne\tsing\n")
    assert [example.source for example in load_data(words)] == ["They come", "One"]
    for text in ("text\tlabel\na\tb\n\n", "source\ttarget\na\tb\n", "text\tlabel\na b\tc\n"):
        assert load_data(write(tmp_path, "b.tsv", text))[0].target != ""
        assert load_data(tmp_path / "b.tsv").tasks == ()


def test_a_word_is_the_same_in_the_pieces_of_every_model():
    tokens = {
        "uncased": ["the", "cafe", "##s", "."],
        "bytes": ["The", "ĠCaf", "Ã©s", "."],
        "sentencepiece": ["▁The", "▁Café", "s", "."],
        "plain": ["The", "Cafés", "."],
    }
    hashes = []
    for listed in tokens.values():
        numbers = [0, 1, 1, 2] if len(listed) == 4 else [0, 1, 2]
        table = pd.DataFrame({"sample": 0, "token": listed, "word": numbers})
        hashes.append(read_words(table, []).hashes.tolist())
    assert hashes == [hashes[0]] * len(tokens)
    assert len({*hashes[0]}) == 3


def test_words_behind_the_cut_and_dropped_ones_are_counted():
    words = ("a", "\u200b", "", "b", "c")
    targets = {
        "x": (Target("P", (1, 2)), Target("P", (0, 2)), Target("P", (3, 5)), Target("P", (3, 4)))
    }
    sentence = Labelled("s", "d", words, "a \u200b  b c", targets)
    counts = count_aligned(sentence, token_columns(sentence, [(0, 0), (0, 1), (5, 6)]))
    assert counts == {"words": 5, "words_without_token": 3, "x": 4, "x_without_token": 3}
    message = report_counts({f"source.{name}": n for name, n in counts.items()}, "source")
    assert message == (
        "source: 0 tokens, 5 words; targets: x 4; left out 3 words that have no token, and 3 targets of x with them"
    )
