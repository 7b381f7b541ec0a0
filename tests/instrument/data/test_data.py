import gzip
import json
from itertools import zip_longest

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tprprobe.data import load_data
from tprprobe.data.vocabularies.characters import Vocabulary
from tprprobe.errors import InputError
from tprprobe.files.lines import STRIDE

MODULES = ["arithmetic__div", "arithmetic__mixed", "numbers__gcd"]


@pytest.mark.parametrize("spec", ["nothing", "mathematic:all", "nowhere:arithmetic__mixed"])
def test_what_is_no_data(spec):
    with pytest.raises(InputError, match="mathematics:MODULE"):
        load_data(spec)


def write(path, lines, suffix=".txt"):
    path.parent.mkdir(parents=True, exist_ok=True)
    content = "".join(f"{line}\n" for line in lines).encode()
    content = gzip.compress(content) if suffix.endswith(".gz") else content
    path.with_name(path.name + suffix).write_bytes(content)


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 3 * STRIDE), min_size=3, max_size=3),
    suffix=st.sampled_from([".txt", ".txt.gz"]),
    step=st.sampled_from([-5, -1, 1, 2, 70]),
    n=st.integers(1, 40),
)
def test_published_files_in_turn(tmp_path_factory, sizes, suffix, step, n):
    folder = tmp_path_factory.mktemp("published")
    counts = zip(MODULES, sizes, strict=True)
    pairs = [[(f"{name} {i}?", str(i)) for i in range(size)] for name, size in counts]
    for name, rows in zip(MODULES, pairs, strict=True):
        write(folder / "interpolate" / name, [line for pair in rows for line in pair], suffix)
    expected = [pair for turn in zip_longest(*pairs) for pair in turn if pair is not None]
    data = load_data(str(folder))
    assert len(data) == sum(sizes)
    assert [(q.question, q.answer) for q in data] == expected
    assert all(q.question.startswith(f"{q.module} ") for q in data)
    assert [(q.question, q.answer) for q in data[::step]] == expected[::step]
    n = min(n, len(expected))
    assert [q.question for q in load_data(str(folder), n=n)] == [q for q, _ in expected[:n]]


def test_published_train_mixes_the_difficulties(tmp_path):
    for level in ("train-easy", "train-medium", "train-hard"):
        write(tmp_path / level / MODULES[0], [f"{level} 1", "1", f"{level} 2", "2"])
    data = load_data(f"{tmp_path}:{MODULES[0]}", "train")
    words = [question.question for question in data]
    levels = ["train-easy", "train-medium", "train-hard"]
    assert words == [f"{level} {i}" for i in (1, 2) for level in levels]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["1+1", "2", "1+2"], "line 3"),
        (["1+1", "2", "1+é", "2"], "line 3"),
        (["1+1", "2", "1" * 161, "2"], "line 3: question of 161"),
        (["1+1", "2" * 31], "line 2: answer of 31"),
        ([], "is empty"),
    ],
)
def test_bad_published_files(tmp_path, lines, words):
    write(tmp_path / "interpolate" / MODULES[1], lines)
    with pytest.raises(InputError, match=words) as error:
        load_data(f"{tmp_path}:{MODULES[1]}")
    assert f"{MODULES[1]}.txt" in str(error.value)


@pytest.mark.parametrize(
    ("module", "split", "words"),
    [
        (MODULES[1], "train-easy", "no folder 'train-easy'"),
        (MODULES[1], "small", "unknown split"),
        (MODULES[2], "interpolate", "has no split"),
        ("arithmetic__mxed", "interpolate", "did you mean"),
        (MODULES[1], "extrapolate", "has no split"),
    ],
)
def test_what_a_published_folder_lacks(tmp_path, module, split, words):
    write(tmp_path / "interpolate" / MODULES[1], ["1+1", "2"])
    write(tmp_path / "extrapolate" / "arithmetic__div_big", ["4/2", "2"])
    with pytest.raises(InputError, match=words):
        load_data(f"{tmp_path}:{module}", split)


def test_reads_what_the_authors_read(shared):
    """The eval batches of the authors' own loader, decoded, are our pairs (sorted by length)."""
    expected = json.loads((shared / "fixtures/dm_math_expected.json").read_text())
    for module in ("arithmetic__mixed", "arithmetic__add_or_sub"):
        vocabulary = Vocabulary(tuple(expected[module]["full_itos"]))
        batches = expected[module]["full_eval_batches"]
        pairs = [
            (vocabulary.decode(source), vocabulary.decode(target))
            for batch in batches
            for source, target in zip(batch["src"], batch["trg"], strict=True)
        ]
        data = load_data(f"{shared / 'fixtures/dm_math_raw/v1.0'}:{module}")
        assert sorted((q.question, q.answer) for q in data) == sorted(pairs)
        train = load_data(f"{shared / 'fixtures/dm_math_raw/v1.0'}:{module}", "train")
        assert len(train) == expected[module]["n_train"]
        assert {c for q in train for c in q.question} == set(vocabulary.symbols[4:])
