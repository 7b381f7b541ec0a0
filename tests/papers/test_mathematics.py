import json
import multiprocessing
import os
import re
import subprocess
import sys
from collections.abc import Generator
from fractions import Fraction

import numpy as np
import pytest

from tprpapers.worlds.mathematics.generator import LEVELS, is_test, samplers, samples
from tprpapers.worlds.mathematics.questions import SPLITS, Generated
from tprpapers.worlds.parallel_draws import CHUNK
from tprprobe.data import load_data
from tprprobe.data.vocabularies.characters import characters
from tprprobe.errors import InputError

MIXED = "arithmetic__mixed"
SLOW = {"comparison__sort_more", "probability__swr_p_sequence_more_samples"}  # seconds a question
REQUESTS = [
    (module, split, 2)
    for split in (*LEVELS, "interpolate", "extrapolate", "small", "small-test")
    for module in samplers(split)
    if module not in SLOW
]
BACKWARDS = """
import json, random, sys
import numpy as np
from tprpapers.worlds.mathematics.generator import samples
assert "torch" not in sys.modules
def drawn(): return random.random(), np.random.random()
random.seed(1), np.random.seed(1)
expected = drawn()
random.seed(1), np.random.seed(1)
print(json.dumps(samples(json.load(sys.stdin)[::-1], 3)[::-1]))
assert drawn() == expected, "the global generators are not as they were"
"""


def python(code: str, text: str, hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(
        command, input=text, env=environment, check=True, capture_output=True, text=True
    ).stdout


def test_every_module_of_every_split_is_the_same_in_any_order_and_process():
    forwards = samples(REQUESTS, 3)
    backwards = json.loads(python(BACKWARDS, json.dumps(REQUESTS), "1"))
    assert forwards == [tuple(pair) for pair in backwards]
    vocabulary = characters()
    for question, answer in forwards:
        assert 0 < len(vocabulary.encode(question)) <= 160
        assert 0 < len(vocabulary.encode(answer)) <= 30


def test_a_share_of_entropy_that_must_be_nothing_is_nothing(monkeypatch):
    """Shares drawn with weight 1e-9 are above 0 once in a million; here always."""
    draw = np.random.dirichlet
    monkeypatch.setattr(np.random, "dirichlet", lambda a: draw(a) + 1e-12 * (np.array(a) < 1e-6))
    names = (MIXED, "polynomials__add", "polynomials__expand", "algebra__linear_2d")
    assert samples([(name, "interpolate", i) for name in names for i in range(10)], 0)


def value(question: str) -> str:
    expression = re.sub(r"^(What is the value of|What is|Evaluate|Calculate) ", "", question)
    numbers = re.sub(r"\d+", r"Fraction(\g<0>)", expression.rstrip("?."))
    return str(eval(numbers, {"Fraction": Fraction}))


@pytest.mark.parametrize("split", SPLITS)
def test_answers_are_right(split):
    for question in load_data(f"mathematics:{MIXED}", split, n=20):
        assert value(question.question) == question.answer


def test_no_small_test_question_is_in_small_or_in_training():
    for split in ("small", *LEVELS):
        for module in ("arithmetic__add_or_sub", "arithmetic__div"):
            data = load_data(f"mathematics:{module}", split, n=60)
            assert not any(is_test(question.question) for question in data)
    held_out = load_data("mathematics:arithmetic__div", "small-test", n=60)
    assert all(is_test(question.question) for question in held_out)


def test_mix_takes_its_modules_in_turn_and_train_its_difficulties():
    mix = list(load_data(f"mathematics:numbers__gcd+{MIXED}", "train", n=12, seed=4))
    assert [q.module for q in mix] == ["numbers__gcd", MIXED] * 6
    for place, level in enumerate(LEVELS):
        of_level = list(load_data(f"mathematics:{MIXED}", level, n=2, seed=4))
        assert of_level == mix[2 * place + 1 :: 6]


def test_extrapolation_partners():
    spec = f"mathematics:{MIXED}+numbers__place_value+measurement__conversion"
    names = [q.module for q in load_data(spec, "extrapolate", n=3)]
    assert names == [f"{MIXED}_longer", "numbers__place_value_big", "measurement__conversion"]
    everything = load_data("mathematics:all", "extrapolate", n=15)
    assert isinstance(everything, Generated)
    assert {module for module, _ in everything.module_splits} == set(samplers("extrapolate"))


def test_workers_make_the_same_questions_and_stop_early():
    n = 4 * CHUNK + 5
    without_workers = list(load_data(f"mathematics:{MIXED}+numbers__gcd", n=n))
    together = load_data(f"mathematics:{MIXED}+numbers__gcd", n=n, workers=2)
    assert list(together) == without_workers
    begun = iter(together)
    assert next(begun) == without_workers[0]
    assert isinstance(begun, Generator)
    begun.close()
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(
    ("spec", "split", "words"),
    [
        ("mathematics:arithmetic__mixd", None, "arithmetic__mixed"),
        ("mathematics:", None, "unknown module"),
        (f"mathematics:{MIXED}+{MIXED}", None, "twice"),
        (f"mathematics:{MIXED}", "train-esy", "train-easy"),
        (f"mathematics:{MIXED}+numbers__gcd", "small", "arithmetic__div"),
    ],
)
def test_bad_names(spec, split, words):
    with pytest.raises(InputError) as error:
        load_data(spec, split)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
