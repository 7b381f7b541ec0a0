"""Generated symbol sequences and SCAN: their rules, splits and vocabulary."""

import pytest

import tprprobe as tp
from tprprobe.data.vocabularies.characters import SPECIALS, SymbolTable
from tprprobe.models.checkpoint import READERS

TASKS = {
    "copy": lambda s: s,
    "reverse": lambda s: s[::-1],
    "sort": sorted,
    "interleave": lambda s: s if len(s) < 2 else [s[0], s[-1], *TASKS["interleave"](s[1:-1])],
}


def sources(spec, split, **options):
    return [example.source for example in tp.load_data(spec, split=split, **options)]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("knobs", ["", ",symbols=letters,longest=9"])
def test_answers_follow_the_rule_of_the_task(task, knobs):
    data = tp.load_data(f"sequences:{task}{knobs}", n=300, seed=3)
    for example in data:
        assert example.target.split() == list(TASKS[task](example.source.split()))
    lengths = [len(example.source.split()) for example in data]
    assert max(lengths) == (9 if knobs else 6)
    assert {*"".join(example.source for example in data)} - {" "} <= {*data.symbols}


def test_sequences_of_a_seed_are_different_and_the_same_for_every_task():
    splits = [sources("sequences:copy", split) for split in ("train", "dev", "test")]
    assert list(map(len, splits)) == [40_000, 5_000, 5_000]
    assert len({sequence for split in splits for sequence in split}) == 50_000
    assert sources("sequences:sort", "dev") == splits[1]
    assert sources("sequences:copy", "dev", seed=1) != splits[1]
    assert 900 < sum(len(sequence) < 8 for sequence in splits[2]) < 1_100  # up to four symbols
    data = tp.load_data("sequences:copy", n=9)
    assert list(data[2:7:2]) == [data[2], data[4], data[6]]


def test_scan_has_every_command_once_and_what_it_means():
    meanings = {example.source: example.target for example in tp.load_data("scan", split="all")}
    assert len(meanings) == 20_910
    for command, actions in {
        "jump": "JUMP",
        "jump left": "LTURN JUMP",
        "turn left": "LTURN",
        "turn opposite left": "LTURN LTURN",
        "jump around right": "RTURN JUMP RTURN JUMP RTURN JUMP RTURN JUMP",
        "jump left after walk twice": "WALK WALK LTURN JUMP",
        "jump opposite left and walk thrice": "LTURN LTURN JUMP WALK WALK WALK",
    }.items():  # Lake and Baroni 2018, Fig. 1
        names = actions.replace("LTURN", "TURN_LEFT").replace("RTURN", "TURN_RIGHT").split()
        assert meanings[command].split() == [f"I_{name}" for name in names]
    assert max(len(command.split()) for command in meanings) == 9
    assert max(len(meaning.split()) for meaning in meanings.values()) == 48


def test_splits_of_scan_are_disjoint_and_all_of_it():
    splits = [sources("scan", split) for split in ("train", "dev", "test")]
    assert sum(map(len, splits)) == len(set().union(*splits)) == 20_910
    assert sources("scan", "test") == splits[2] != sources("scan", "test", seed=1)
    assert len(sources("scan", "test", n=5)) == 5


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        ("sequences:copi", {}, "unknown task 'copi'.*copy"),
        ("sequences:copy", {"split": "interpolate"}, "unknown split"),
        ("sequences:copy,longest=3", {}, "1,110 sequences of digits are too few"),
        ("sequences:copy,lengths=3", {}, "unknown knob 'lengths'"),
        ("sequences:copy", {"n": 5_001}, "which has 5000; ask for fewer"),
    ],
)
def test_what_there_is_not_is_told(spec, options, message):
    with pytest.raises(tp.InputError, match=message):
        tp.load_data(spec, **options)


def test_symbols_are_encoded_without_a_frame_and_read_back(tmp_path):
    symbols = SymbolTable((*SPECIALS, "jump", "I_JUMP", "and"))
    ids = symbols.encode("jump and jump")
    assert [symbols.symbols[i] for i in ids] == ["jump", "and", "jump"]
    assert symbols.source_frame == ((), ())
    assert symbols.decode([symbols.sos, *ids, symbols.eos, 4]) == "jump and jump"
    assert symbols.offsets("jump  and jump") == [(0, 4), (6, 9), (10, 14)]
    for name, content in symbols.files().items():
        (tmp_path / name).write_text(content)
        assert READERS[name](tmp_path) == symbols
    with pytest.raises(tp.InputError, match=r"symbol 'run' of 'jump run'.*accepted: jump I_JUMP"):
        symbols.encode("jump run")


@pytest.mark.parametrize("symbols", [("a", "b"), (*SPECIALS, "a", "a"), (*SPECIALS, "a b")])
def test_symbols_that_make_no_vocabulary_are_refused(symbols):
    with pytest.raises(tp.InputError, match="a vocabulary"):
        SymbolTable(symbols)
