"""Corpora of articles: the same examples in every format, splits, and bad files named by line."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from tprprobe.data import load_data
from tprprobe.data.documents import articlefiles
from tprprobe.data.pairs import encode_mix, encode_pairs
from tprprobe.data.vocabularies.subwords import train_subwords
from tprprobe.errors import InputError
from tprprobe.files.lines import STRIDE

N = 3 * STRIDE + 5
PAIRS = [(f"Document {i} – naïve.", f"summary {i}") for i in range(N)]


def save(folder: Path, kind: str, pairs=PAIRS, name: str = "train") -> Path:
    """A corpus in a folder; the file to give."""
    path = folder / f"{name}{kind}"
    opened = gzip.open if kind.endswith(".gz") else open
    if kind.endswith(".parquet"):
        columns = {"id": range(len(pairs)), "document": [p[0] for p in pairs]}
        table = pa.table({**columns, "summary": [p[1] for p in pairs]})
        pq.write_table(table, path, row_group_size=100)
    elif ".jsonl" in kind:
        with opened(path, "wt", encoding="utf-8") as file:
            file.writelines(json.dumps({"document": d, "summary": s}) + "\n" for d, s in pairs)
    else:
        for side, suffix in ((0, ".source"), (1, ".target")):
            with opened(folder / f"{name}{kind}".replace(".source", suffix), "wt") as file:
                file.writelines(f"{pair[side]}\n" for pair in pairs)
    return path


KINDS = [".jsonl", ".jsonl.gz", ".source", ".source.gz", ".parquet"]


@pytest.fixture(params=KINDS)
def file(request, tmp_path, monkeypatch):
    monkeypatch.setattr(articlefiles, "ROWS", 32)
    return save(tmp_path, request.param)


def pairs_of(data):
    return [(example.source, example.target) for example in data]


def test_every_format_gives_the_same_examples_in_any_order(file):
    data = load_data(str(file))
    assert pairs_of(data) == PAIRS
    assert pairs_of(data[130:60:-7]) == PAIRS[130:60:-7]
    assert (data[N - 1].document, data[-2].summary) == (PAIRS[-1][0], PAIRS[-2][1])
    assert [pair for block in data.blocks(50) for pair in zip(*block, strict=True)] == PAIRS
    assert pairs_of(load_data(str(file), n=7)) == PAIRS[:7]
    with pytest.raises(InputError, match=f"has {N}"):
        load_data(str(file), n=N + 1)


def test_a_file_is_divided_by_document(file):
    splits = {split: load_data(str(file), split=split) for split in ("train", "dev", "test")}
    pairs = {name: pairs_of(data) for name, data in splits.items()}
    assert sorted(pair for pairs in pairs.values() for pair in pairs) == sorted(PAIRS)
    assert len(pairs["train"]) > 3 * max(len(pairs["dev"]), len(pairs["test"]))
    assert pairs_of(splits["train"][5:60:9]) == pairs["train"][5:60:9]
    assert pairs_of(load_data(str(file), split="train", seed=1)) != pairs["train"]
    assert pairs_of(load_data(str(file), split="dev", n=2)) == pairs["dev"][:2]


def test_documents_that_are_alike_are_in_one_part(tmp_path):
    path = save(tmp_path, ".jsonl", [(f"d{i % 9}", f"s{i}") for i in range(90)])
    documents = [
        {e.document for e in load_data(str(path), split=s)} for s in ("train", "dev", "test")
    ]
    assert sum(map(len, documents)) == 9


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_has_a_file_a_split(kind, tmp_path):
    save(tmp_path, kind, PAIRS[:9])
    save(tmp_path, kind, PAIRS[9:13], "val")
    save(tmp_path, kind, PAIRS[13:20], "test")
    assert pairs_of(load_data(str(tmp_path), split="train")) == PAIRS[:9]
    assert pairs_of(load_data(str(tmp_path), split="dev")) == PAIRS[9:13]
    assert pairs_of(load_data(str(tmp_path))) == PAIRS[13:20]
    with pytest.raises(InputError, match="split"):
        load_data(str(tmp_path), split="extrapolate")


BAD = {
    "no summary": (b'{"document": "d", "title": "t"}', "line 3 has no 'summary'"),
    "number": (b'{"document": 7, "summary": "s"}', "line 3: the document is 7, not a text"),
    "no JSON": (b'{"document": "d",', "line 3 is not JSON"),
    "no object": (b"[1, 2]", "line 3 is no JSON object, but list"),
    "latin-1": (b'{"document": "na\xefve", "summary": "s"}', "line 3: byte 17 is not UTF-8"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_lines_are_named(case, tmp_path):
    line, message = BAD[case]
    path = save(tmp_path, ".jsonl", PAIRS[:2])
    path.write_bytes(path.read_bytes() + line + b"\n" + path.read_bytes())
    assert pairs_of(load_data(str(path), n=2)) == PAIRS[:2]
    with pytest.raises(InputError, match=rf"train\.jsonl, {message}"):
        load_data(str(path))


def test_documents_and_summaries_that_do_not_match(tmp_path):
    path = save(tmp_path, ".source")
    target = tmp_path / "train.target"
    target.write_text(target.read_text().replace("summary 7\n", ""))
    message = rf"{N} lines, train\.target {N - 1}: from line {N} on"
    with pytest.raises(InputError, match=message):
        load_data(str(path))
    target.unlink()
    with pytest.raises(InputError, match=r"no train\.target"):
        load_data(str(path))


EMPTY = {1: ("", "s"), 70: ("d", " "), 71: ("\t", ""), N - 2: (" ", "s")}
WITH_TEXT = [pair for i, pair in enumerate(PAIRS) if i not in EMPTY]


def without_text(folder: Path, kind: str) -> Path:
    """A corpus of which some examples say nothing."""
    return save(folder, kind, [EMPTY.get(i, pair) for i, pair in enumerate(PAIRS)])


@pytest.mark.parametrize("kind", KINDS)
def test_examples_that_say_nothing_are_left_out_and_counted(kind, tmp_path, capsys):
    path = str(without_text(tmp_path, kind))
    data = load_data(path)
    assert capsys.readouterr().err.endswith(f"{kind}: 4 examples were left out: a text is empty\n")
    assert len(data) == N - 4
    assert pairs_of(data) == WITH_TEXT
    assert pairs_of(data[100:3:-9]) == WITH_TEXT[100:3:-9]
    assert not capsys.readouterr().err  # once
    assert pairs_of(load_data(path, n=5)) == WITH_TEXT[:5]
    assert "1 example was left out" in capsys.readouterr().err
    with pytest.raises(InputError, match=f"has {N - 4}"):
        load_data(path, n=N)
    splits = [pairs_of(load_data(path, split=split)) for split in ("train", "dev", "test")]
    assert sorted(pair for split_pairs in splits for pair in split_pairs) == sorted(WITH_TEXT)


def test_columns_of_parquet(tmp_path):
    table = {"article": ["a", None], "highlights": ["b", "c"]}
    pq.write_table(pa.table(table), tmp_path / "cnn.parquet")
    data = load_data(str(tmp_path / "cnn.parquet"))
    assert pairs_of(data[:1]) == [("a", "b")]
    assert pairs_of(load_data(str(tmp_path / "cnn.parquet"))) == [("a", "b")]  # null: no text
    table = {"article": ["a", "d"], "highlights": [1, 2]}
    pq.write_table(pa.table(table), tmp_path / "numbers.parquet")
    with pytest.raises(InputError, match=r"row 1: the highlights is 1, not a text"):
        load_data(str(tmp_path / "numbers.parquet"))
    pq.write_table(pa.table({"sentence": ["a"]}), tmp_path / "other.parquet")
    with pytest.raises(InputError, match="'sentence', but no 'text' and no pair"):
        load_data(str(tmp_path / "other.parquet"))


HUB = {  # the columns that the hub's data sets have
    "xsum": ("document", "summary", "id"),
    "cnn_dailymail": ("article", "highlights", "id"),
    "arxiv": ("article", "abstract"),
}


@pytest.mark.parametrize("name", HUB)
def test_hub_data_sets_of_a_local_copy(name, tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    copy = tmp_path / "copy"
    copy.mkdir()
    for split, pairs in (("train", PAIRS[:60]), ("validation", PAIRS[60:70]), ("test", PAIRS[70:])):
        columns = [[p[0] for p in pairs], [p[1] for p in pairs], ["x"] * len(pairs)]
        table = dict(zip(HUB[name], columns, strict=False))
        pq.write_table(pa.table(table), copy / f"{split}-00000-of-00001.parquet")
    spec = f"{name}:{copy}"
    assert pairs_of(load_data(spec, split="train")) == PAIRS[:60]
    assert pairs_of(load_data(spec, split="dev", n=4)) == PAIRS[60:64]
    assert pairs_of(load_data(spec)[5:9]) == PAIRS[75:79]
    with pytest.raises(InputError, match="split of"):
        load_data(spec, split="extrapolate")


def test_wikihow_is_divided(tmp_path, monkeypatch, capsys):
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "wikihowAll.csv"
    rows = [f'"{summary}","How to {i}","{text}"' for i, (text, summary) in enumerate(PAIRS)]
    rows.insert(7, '"a summary","How to say nothing",""')
    path.write_text("\n".join(["headline,title,text", *rows]))
    splits = [pairs_of(load_data(f"wikihow:{path}", split=s)) for s in ("train", "dev", "test")]
    assert sorted(pair for split_pairs in splits for pair in split_pairs) == sorted(PAIRS)
    assert "1 example was left out" in capsys.readouterr().err


def test_encoded_corpora_stay_on_the_disk(tmp_path):
    """The ids are those of the texts, one corpus after another, mapped from a file without a name."""
    data = load_data(str(save(tmp_path, ".jsonl")))
    subwords = train_subwords((text for pair in PAIRS for text in pair), 300, 9, 5)
    joined = encode_mix([data, data[:3]], subwords)
    once = encode_pairs(data, subwords)
    assert len(joined) == N + 3
    for i, j in ((0, N), (2, N + 2)):
        index, shifted = torch.tensor([i]), torch.tensor([j])
        for joined_ids, expected in zip(joined.batch(index, 0), once.batch(index, 0), strict=True):
            assert joined_ids.equal(expected)
        for joined_ids, expected in zip(
            joined.batch(shifted, 0), once.batch(index, 0), strict=True
        ):
            assert joined_ids.equal(expected)
    assert joined.cut[0] == once.cut[0] + sum(len(subwords.encode(d)) > 8 for d, _ in PAIRS[:3])
    assert not list(tmp_path.glob("*tmp*"))
