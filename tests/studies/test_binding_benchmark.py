"""The benchmark of binding: subjects are what they say, and cells are kept."""

import shutil

import numpy as np
import pandas as pd
import pytest

from benchmarks.binding import methods, runner
from benchmarks.binding.schemes import SCHEMES
from benchmarks.binding.scores import judge_edits
from benchmarks.binding.structure import Structure
from benchmarks.binding.subject import draw
from benchmarks.binding.subjects import compiled, planted

PLANTED = {subject.name: subject for subject in planted.SUBJECTS}
BOUND = [subject.name for subject in planted.SUBJECTS if subject.binding]


@pytest.mark.parametrize("name", [*compiled.ROLES])
def test_a_compiled_program_is_right_on_all_its_inputs(name):
    program, inputs = compiled.compile_program(name), compiled.all_inputs(name)
    outputs = compiled.read_out(program, name, program.encode(inputs), inputs)
    assert outputs == [tuple(sorted(s)) if name == "sort" else s for s in inputs]


def unexplained(design: np.ndarray, vectors: np.ndarray) -> float:
    """The share of vectors that the best linear map of a design leaves."""
    design, vectors = design - design.mean(0), vectors - vectors.mean(0)
    residual = vectors - design @ np.linalg.lstsq(design, vectors, rcond=None)[0]
    return float((residual**2).sum() / (vectors**2).sum())


@pytest.mark.parametrize("name", BOUND)
def test_planted_vectors_are_sums_of_the_pairs_that_they_are_said_to_be_of(name):
    subject = PLANTED[name]
    world = subject.make(0)
    structure = Structure(world.sequences, SCHEMES[subject.scheme], subject.shares)
    clean = world.run(world.sequences)
    assert unexplained(structure.count(structure.known), clean) < 1e-12
    noise = ((world.states - clean) ** 2).sum() / ((world.states - world.states.mean(0)) ** 2).sum()
    share = 0.2 if "uneven" in name else planted.NOISE
    assert noise == pytest.approx(share, abs=0.01)


def test_edits_are_judged_by_all_symbols_and_withheld_pairs_are_never_fitted():
    case = draw(PLANTED["planted left"], 0)
    swaps = case.swaps["withheld"]
    fitted_pairs = case.structure.rows(case.train).known
    assert not any(pair_after in fitted_pairs for _, pair_after in swaps.pairs)
    assert not any(pair in fitted_pairs for swap in swaps.pairs for pair in swap[1:])
    right, any_symbol = judge_edits(case, swaps.targets, swaps)
    assert right > 0.8
    assert any_symbol >= right
    assert judge_edits(case, swaps.states, swaps)[0] == 0  # nothing was edited
    assert judge_edits(case, swaps.states, swaps)[1] > 0.8


METHOD_SOURCE = '''
"""A method that knows the mean alone."""
from benchmarks.binding.structure import Fitted
TITLE, PRIMARY, GRID = "mean", "states", {}
CANNOT = {"interchange": "edits nothing"}

def fit(states, structure, _swaps, _seed):
    return Fitted(lambda found, _: 0 * found + states.mean(0), None, states.shape[1])
'''


def test_a_file_is_a_method_and_a_run_that_was_cut_off_goes_on(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(METHOD_SOURCE)
    monkeypatch.setattr(methods, "__path__", [*methods.__path__, str(tmp_path)])
    monkeypatch.syspath_prepend(str(tmp_path))
    every = runner.list_methods()
    chosen = runner.choose(every, ["mean_difference", "mine"], "method")
    subjects = runner.choose(runner.list_subjects(), ["planted left", "null bag"], "subject")
    out, measured = tmp_path / "run", []
    measure = runner.measure
    count = lambda *case: measured.append(case) or measure(*case)  # noqa: E731
    monkeypatch.setattr(runner, "measure", count)
    cells = runner.run(out, subjects, chosen, 1)
    assert len(cells) == len(measured) == 4
    added = cells[cells["method"] == "mine"]
    assert added["r2"].abs().max() < 0.02
    assert added["interchange"].isna().all()
    assert (added["claims_chance"] == 0).all()
    shutil.rmtree(out / "parts/null_bag-mine-0")
    resumed = runner.run(out, subjects, chosen, 1)
    assert len(measured) == 5
    pd.testing.assert_frame_equal(resumed.drop(columns="seconds"), cells.drop(columns="seconds"))
