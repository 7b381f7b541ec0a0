"""Texts that nobody annotated: files, tables, lists, hub data sets, and what is said of wrong names."""

import csv
import gzip
import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tprprobe.cli.overview import inspect
from tprprobe.data import load_data
from tprprobe.errors import InputError

LINES = ["Dogs see cats.", "Cats, they say, see dogs.", 'She said "go".', "Nobody went."]
BROKEN = [LINES[:2], LINES[2:]]  # into paragraphs


def texts_of(data):
    pairs = [(example.source, example.target) for example in data]
    assert all(source == target for source, target in pairs)
    return [source for source, _ in pairs]


@pytest.fixture
def write(tmp_path):
    def written(name, content) -> str:
        raw = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return str(tmp_path / name)

    return written


@pytest.mark.parametrize("name", ["own.txt", "own.txt.gz"])
def test_a_line_is_a_sample_and_an_empty_line_parts_documents(write, name, capsys):
    path = write(
        name, "\n\n" + "\n\n \n".join("\n".join(paragraph) for paragraph in BROKEN) + "\n\n"
    )
    data = load_data(path)
    assert (
        f"{path}: 4 texts, the lines of the file ({path}:paragraphs reads"
        in capsys.readouterr().err
    )
    assert texts_of(data) == LINES
    assert [example.document_name for example in data] == ["paragraph 1"] * 2 + ["paragraph 2"] * 2
    assert texts_of(data[::-1]) == LINES[::-1]
    assert texts_of(load_data(f"{path}:paragraphs")) == [
        " ".join(paragraph) for paragraph in BROKEN
    ]
    assert "2 texts, the paragraphs" in capsys.readouterr().err
    assert texts_of(load_data(path, n=3)) == LINES[:3]
    with pytest.raises(InputError, match="unknown unit"):
        load_data(f"{path}:words")


def test_splits_of_a_text_keep_documents_whole(write):
    paragraphs = ["\n".join(f"line {i} of {j}" for i in range(3)) for j in range(60)]
    path = write("own.txt", "\n\n".join(paragraphs))
    split = {name: load_data(path, split=name) for name in ("train", "dev", "test")}
    assert sum(map(len, split.values())) == 180
    names = [{example.document_name for example in data} for data in split.values()]
    assert not names[0] & names[1] | names[0] & names[2] | names[1] & names[2]


def rows(column):
    return [{"number": i, column: text} for i, text in enumerate(LINES)]


@pytest.mark.parametrize("column", ["text", "sentence"])
@pytest.mark.parametrize("kind", [".jsonl", ".jsonl.gz", ".csv", ".tsv", ".csv.gz", ".parquet"])
def test_a_column_of_a_table(write, tmp_path, kind, column):
    import pandas as pd

    if kind == ".parquet":
        path = str(tmp_path / "own.parquet")
        pq.write_table(pa.Table.from_pylist(rows(column)), path)
    elif "json" in kind:
        path = write(f"own{kind}", "".join(json.dumps(row) + "\n" for row in rows(column)))
    else:
        table = pd.DataFrame(rows(column))
        unquoted = {"sep": "\t", "quoting": csv.QUOTE_NONE} if "tsv" in kind else {}
        path = write(f"own{kind}", table.to_csv(index=False, **unquoted))
    if column == "text":
        assert texts_of(load_data(path)) == LINES
    else:
        with pytest.raises(InputError, match="FILE:COLUMN"):
            list(load_data(path))
    data = load_data(f"{path}:{column}")
    assert texts_of(data) == LINES
    assert texts_of(data[2:0:-1]) == LINES[2:0:-1]
    assert texts_of(load_data(f"{path}:{column}", n=2)) == LINES[:2]
    with pytest.raises(InputError, match="has no column 'words'"):
        list(load_data(f"{path}:words"))


def test_the_only_column_needs_no_name(write):
    quoted = '"' + LINES[2].replace('"', '""') + '"'
    path = write("own.csv", f'said\n"two\nlines, one text"\n{quoted}\n')
    assert texts_of(load_data(path)) == ["two\nlines, one text", LINES[2]]


def test_a_list_of_strings(capsys):
    data = load_data([*LINES, " "])
    assert "1 example was left out" in capsys.readouterr().err
    assert texts_of(data) == LINES
    assert texts_of(load_data(iter(LINES), n=2)) == LINES[:2]
    assert data.name != load_data(LINES[:3]).name
    with pytest.raises(InputError, match="text 1 of the list is 7"):
        load_data(iter(["a", 7]))  # pyright: ignore
    with pytest.raises(InputError, match=r"n = 9 of the list, which has 4"):
        load_data(LINES, n=9)


def test_any_set_of_the_hub(tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    for split in ("train", "test"):
        content = "".join(json.dumps({"text": f"{split} {text}"}) + "\n" for text in LINES)
        (tmp_path / "own").mkdir(exist_ok=True)
        (tmp_path / "own" / f"{split}.jsonl").write_text(content)
    spec = f"datasets:{tmp_path / 'own'}"
    assert texts_of(load_data(spec)) == [f"test {text}" for text in LINES]
    assert texts_of(load_data(f"{spec}:text", split="train", n=1)) == [f"train {LINES[0]}"]
    with pytest.raises(InputError, match="has no column 'sentence'"):
        load_data(f"{spec}:sentence")

    def refuse(*arguments):
        raise ConnectionError(f"asked for {arguments}")

    monkeypatch.setattr(datasets, "load_dataset", refuse)
    with pytest.raises(InputError, match=r"could not be had \(asked for \('owner/set', 'config'\)"):
        load_data("datasets:owner/set,config")


@pytest.mark.parametrize("kind", ["own.txt", "the list"])
def test_a_split_that_there_is_not_is_refused(write, kind):
    data = write("own.txt", "a\nb\n") if kind == "own.txt" else ["a", "b"]
    with pytest.raises(InputError, match=r"'validation' \(accepted: all, train, dev, test\)$"):
        load_data(data, split="validation")


def test_a_folder_of_texts_by_split(tmp_path):
    for name in ("train", "val", "README"):
        (tmp_path / f"{name}.txt").write_text(f"{name} one\n{name} two\n")
    assert texts_of(load_data(tmp_path, split="dev")) == ["val one", "val two"]
    with pytest.raises(InputError, match=r"accepted: train, val\)"):
        load_data(tmp_path)


TREEBANK = """# newdoc id = d1
1\tDogs\t_\tNOUN\tNNS\t_\t2\tnsubj\t_\t_
2\tsee\t_\tVERB\tVBP\t_\t0\troot\t_\t_
3\tcats\t_\tNOUN\tNNS\t_\t2\tobj\t_\t_

1\tGo\t_\tVERB\tVB\t_\t0\troot\t_\t_

# newdoc id = d2
1\tCats\t_\tNOUN\tNNS\t_\t2\tnsubj\t_\t_
2\tsleep\t_\tVERB\tVBP\t_\t0\troot\t_\t_

"""


def test_inspect_tells_what_a_treebank_holds(write):
    overview = inspect(write("own.conllu", TREEBANK)).as_dict()
    assert (overview["sentences"], overview["tokens"], overview["documents"]) == (3, 6, 2)
    assert overview["lengths"] == [
        {"of": "tokens of a sentence", "mean": 2.0, "low": 1, "high": 2, "most": 3, "n": 3}
    ]
    tasks = {row["task"]: row for row in overview["labels"]}
    assert (tasks["dep"]["targets"], tasks["dep"]["labels"]) == (6, 3)
    assert tasks["pos"]["commonest"] == "NNS 3, VBP 2, VB 1"
    assert "extractiveness" not in overview


def test_inspect_tells_how_long_texts_are(write):
    overview = inspect(write("own.txt", "a b c\n\nd\n")).as_dict()
    assert (overview["examples"], overview["documents"]) == (2, 2)
    assert overview["lengths"][0]["mean"] == 2.0
    assert "extractiveness" not in overview
    pairs = '{"document": "a b", "summary": "a"}\n'
    assert "extractiveness" in inspect(write("own.jsonl", pairs)).as_dict()


def test_parts_of_a_file_are_told_apart_and_may_be_from_all_over_it(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"line {i}\n" for i in range(100)))
    data = load_data(str(path))
    assert data.origin == data[:10].origin
    assert "rows" not in data.origin
    assert data[10:20].origin["rows"] == [10, 1]
    spaced = data.spaced(10)
    assert (len(spaced), spaced.origin["rows"]) == (10, [0, 10])
    assert next(iter(spaced[9:])).source == "line 90"
    assert len(data.spaced(1000)) == 100
    lines = [example.source for example in data.spaced(60)]  # not the first 60
    assert lines == [f"line {i * 100 // 60}" for i in range(60)]
    pd.DataFrame({"text": [f"line {i}" for i in range(100)]}).to_parquet(tmp_path / "a.parquet")
    parquet = load_data(str(tmp_path / "a.parquet")).spaced(60)
    assert [example.source for example in parquet] == lines
    assert [example.source for example in parquet[::-1]] == lines[::-1]
    assert parquet[10:30].origin["rows"] == [16, pytest.approx(32 / 19)]
    assert parquet[:0].origin["rows"] == [0, 0]
