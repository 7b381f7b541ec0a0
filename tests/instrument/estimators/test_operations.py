"""Binding operations: planted ones come back and are named, free tables and noise are not; a plug-in adds one."""

from string import ascii_letters

import numpy as np
import pandas as pd
import pytest
from planted.cli import run_command

import tprprobe as tp
from benchmarks.binding.operations import FILLERS, ROLES, draw_basis
from benchmarks.binding.operations import plant as plant_operation
from tprprobe.analyses.decomposition.operation_tables import find_operations
from tprprobe.dashboard import decompositions
from tprprobe.errors import InputError
from tprprobe.estimators.bindings.operations_base import bind_all, complete, draw_cells

TRUTHS = {"additive": "additive", "outer": "outer product 4×3", "hadamard": "Hadamard product"}
TRUTHS |= {"convolution": "circular convolution", "rotation": "orthogonal maps"}
TRUTHS |= {"matrix": "matrix a role", "free": "free table"}
SEEDS = (0, 1)


def plant(name, seed):
    """The table V[f, r] of an operation, or a free one."""
    return plant_operation(TRUTHS[name], np.random.default_rng((seed, 4)))


def write_store(folder, table, seed=0, n=1000, noise=0.3):
    """A store of sums of bindings to places from the left, with noise."""
    rng = np.random.default_rng((seed, 5))
    samples = [rng.integers(FILLERS, size=rng.integers(2, ROLES + 1)) for _ in range(n)]
    states = np.array([table[fillers, np.arange(len(fillers))].sum(0) for fillers in samples])
    states += rng.normal(size=states.shape) * noise * states.std()
    np.savez(folder / "states.npz", state=states.astype(np.float32))
    texts = [" ".join(ascii_letters[i] for i in fillers) for fillers in samples]
    pd.DataFrame({"sample": range(n), "sequence": texts}).to_csv(folder / "states.csv", index=False)
    return tp.import_store(folder / "states.npz", folder / "store")


@pytest.mark.parametrize("name", [name for name in TRUTHS if name != "free"])
@pytest.mark.parametrize("seed", SEEDS)
def test_an_operation_completes_the_table_that_it_made(name, seed):
    truth = plant(name, seed)
    truth = truth - truth.mean((0, 1))
    unseen = draw_cells(np.ones(truth.shape[:2], bool), 0.15, np.random.default_rng(seed))
    weights = np.where(unseen, 0.0, 1.0)
    operation, completed = complete(
        find_operations([name])[name], truth * weights[..., None], weights
    )
    errors = np.sum((completed - truth)[unseen] ** 2)
    assert errors < 0.1 * np.sum(truth[unseen] ** 2), operation.form
    assert bind_all(operation).shape[:2] == truth.shape[:2]


BASES = {"hadamard": "Hadamard product", "convolution": "circular convolution"}
BASES |= {"rotation": "rotation of planes"}


@pytest.mark.parametrize(("name", "truth"), BASES.items())
def test_a_product_in_a_rotated_basis_is_learned(name, truth):
    rng = np.random.default_rng(6)
    table = plant_operation(truth, rng) @ draw_basis("rotated", rng)
    table = table - table.mean((0, 1))
    unseen = draw_cells(np.ones(table.shape[:2], bool), 0.15, rng)
    noisy, weights = table + 0.3 * table.std() * rng.normal(size=table.shape), 1.0 - unseen
    errors = {}
    for kind in (name, "matrix"):
        completed = complete(find_operations([kind])[kind], noisy * weights[..., None], weights)[1]
        errors[kind] = np.sum((completed - table)[unseen] ** 2) / np.sum(table[unseen] ** 2)
    assert errors[name] < 0.12
    assert errors[name] < 0.7 * errors["matrix"]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("hadamard", "Hadamard product"),
        pytest.param("convolution", "circular convolution", marks=pytest.mark.soak),
        ("additive", "additive"),
        ("free", ""),
    ],
)
def test_an_operation_is_named_only_where_it_binds(tmp_path, name, title):
    table = tp.compare_operations(write_store(tmp_path, plant(name, 3), 3), "state")
    assert "".join(table.loc[table["is_named"], "operation"]) == title, table
    if name == "hadamard":
        best = table[table["is_named"]].iloc[0]
        assert 0.8 < best["r2_low"] <= best["r2"] < 1.1
        assert (table.loc[~table["is_named"], "behind_low"] > 0).all()


def test_noise_has_no_operation(tmp_path):
    store = write_store(tmp_path, 1e-6 * plant("free", 0), noise=1e6)
    table = tp.compare_operations(store, "state", operations=["additive", "hadamard"])
    assert not table["is_named"].any()


def test_few_pairs_are_refused_in_a_line(tmp_path):
    store = write_store(tmp_path, plant("additive", 0), n=30)
    with pytest.raises(InputError, match="give more samples"):
        tp.compare_operations(store, "state")
    with pytest.raises(InputError, match="operation"):
        tp.compare_operations(store, "state", operations=["multiplication"])


def test_the_estimator_takes_an_operation(tmp_path):
    rng, table = np.random.default_rng(1), plant("hadamard", 1)
    unseen = draw_cells(np.ones(table.shape[:2], bool), 0.1, rng)
    samples = [rng.integers(FILLERS, size=rng.integers(2, ROLES + 1)) for _ in range(700)]
    pairs = [[(int(f), role) for role, f in enumerate(sample)] for sample in samples]
    states = np.array([sum(table[pair] for pair in sample) for sample in pairs])
    is_new = np.array([any(unseen[pair] for pair in sample) for sample in pairs])
    seen_pairs, new_pairs = (
        [pairs[i] for i in np.flatnonzero(is_new == new)] for new in (False, True)
    )
    fit = tp.TPDecomposition(operation="hadamard", random_state=0).fit(seen_pairs, states[~is_new])
    assert fit.score(new_pairs, states[is_new]) > 0.97
    assert fit.operation_.title == "Hadamard product"


def test_the_command_keeps_a_table_that_the_figure_draws(tmp_path):
    write_store(tmp_path, plant("hadamard", 2), 2)
    out = tmp_path / "out"
    words = f"decompose {tmp_path}/store --site state --operations --out {out}".split()
    result = run_command(*words)
    assert "bound by the operation ‘Hadamard product’" in result.stdout
    run_command("figure", "operations", "--ckpt", out, "--out", tmp_path / "a.svg")
    table = decompositions.read_scores([out], decompositions.OPERATIONS)
    view = decompositions.show_operations(table)
    assert "Hadamard product" in view.title
    assert len(view.data) == 6
    with pytest.raises(tp.InputError, match="takes no --rank"):
        run_command(*words, "--rank", 3)
