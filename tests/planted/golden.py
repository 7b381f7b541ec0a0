"""The tables of commands on small planted stores: each analysis once, as it was when its numbers were last checked.

``python tests/planted/golden.py`` writes them anew, which only a change on purpose justifies.
"""

import io
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

os.environ |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}  # as in the tests

import numpy as np
import pandas as pd

TABLES = Path(__file__).parents[1] / "golden" / "tables"
MACHINE = TABLES / "machine.txt"  # where they were made
Tables = Iterator[tuple[str, pd.DataFrame]]


def probe_linear(folder: Path) -> Tables:
    """Linear probes of two tasks, all controls; of heads; of another store; what one predicts."""
    from planted.sentences import FILLER, ROLE, STATE, plant

    import tprprobe as tp
    from tprprobe.estimators.probes import linear

    plant(folder / "store", 30)
    plant(folder / "test", 8, seed=3, control=False)
    sites = (ROLE, FILLER, STATE)
    with patch.object(linear, "PENALTIES", (1e-1,)):  # near ties hang on the processor's rounding
        tp.probe(folder / "store", ["pos", "dep"], sites=sites, out=folder / "probes")
        heads = tp.probe(folder / "store", "nel", heads=True, sites=ROLE)
        elsewhere = tp.probe(folder / "store", "pos", test=folder / "test", sites=FILLER)
    for name in ("rows", "differences"):
        yield name, pd.read_csv(folder / "probes" / f"{name}.csv")
    yield "documents", pd.read_parquet(folder / "probes" / "documents.parquet")
    yield "heads", heads
    yield "elsewhere", elsewhere
    saved = tp.load_probe(folder / "probes" / "probes" / f"pos.{FILLER}.seed0")
    yield "predictions", saved.predict(tp.open_store(folder / "test"))


def probe_span_conv(folder: Path) -> Tables:
    """Trained probes of two seeds with their controls, of a label each and of several."""
    from planted.sentences import FILLER, STATE, plant

    import tprprobe as tp
    from tprprobe.analyses.probing import Schedule

    plant(folder / "store", 40)
    quick = Schedule(limit=2, learning_rate=3e-3)
    run = {"estimator": "span-conv", "schedule": quick, "out": folder / "probes"}
    tp.probe(folder / "store", ["pos", "srl"], sites=(FILLER, STATE), seeds=2, kernel=3, **run)
    for name in ("rows", "differences", "curves"):
        yield name, pd.read_csv(folder / "probes" / f"{name}.csv")


def cluster(folder: Path) -> Tables:
    """Clusters of a head, and their names."""
    from planted.questions import plant_roles

    import tprprobe as tp

    store = plant_roles(folder / "store", "polarity", samples=60)
    roles = tp.cluster(store, "encoder.0.self.role", head=0, k=8, n_seeds=3)
    yield "summary", roles.summary.assign(inertia=roles.inertia, stability=roles.stability)
    yield "names", tp.name_roles(store, roles)


def name(folder: Path) -> Tables:
    """Names of all heads and of their controls."""
    from planted.questions import plant_roles

    from tprprobe.analyses.naming import name_all

    store = plant_roles(folder / "store", "polarity", samples=40)
    result = name_all(store, k=6, projections=1)
    for table in ("names", "agreement", "decoding", "summary"):
        yield table, getattr(result, table)


def decompose(folder: Path) -> Tables:
    """Two schemes of roles in one vector a sample, with a twin."""
    from planted.bindings import STATE, plant_bindings

    import tprprobe as tp

    store = plant_bindings(folder / "store", n=200, twin=True)
    yield "scores", tp.decompose(store, STATE, ["left*right", "left"], rank=(4, 3)).scores


def roles(folder: Path) -> Tables:
    """The search for a scheme."""
    from planted.bindings import STATE, left, plant_bindings

    import tprprobe as tp

    store = plant_bindings(folder / "store", left, n=200, noise=0.7)
    yield "schemes", tp.search_roles(store, STATE, ["left", "right"]).schemes


def reconstruct(folder: Path) -> Tables:
    """Affine maps of values to states, beside an untrained twin."""
    from instrument.analyses.test_reconstruction import draw, made

    import tprprobe as tp

    rows, maps, lengths = draw(n=80)
    made(folder / "store", rows, maps, lengths, control=rows[::-1])
    yield "layers", tp.reconstruct(folder / "store")


def attention(folder: Path) -> Tables:
    """Heads that follow relations between words."""
    from planted.relations import plant_relations

    from tprprobe.analyses.attention.head_relations import (
        follow_relations,
        pick_heads,
        score_relation,
        score_sharpness,
    )

    store = plant_relations(folder / "store", 40)
    followed = follow_relations(store)
    yield "relations", score_relation(followed)
    yield "heads", pick_heads(followed)
    yield "sharpness", score_sharpness(store)


def examine(folder: Path) -> Tables:
    """The whole question of a tiny language model."""
    from planted.word_models import FRAME, save_words

    from tprprobe.data import load_data
    from tprprobe.examination import examine
    from tprprobe.models import load_model

    frame = folder / "seeing.toml"
    frame.write_text(FRAME)
    model = load_model(f"hf:{save_words(folder / 'llama')}")
    result = examine(model, data=load_data(f"pairs:{frame}"), out=folder / "run", layers=2)
    yield from result.tables.items()


def figures(folder: Path) -> Tables:
    """The table of a figure of probes."""
    from planted.sentences import FILLER, ROLE, plant

    import tprprobe as tp
    from tprprobe.analyses.probing import screen
    from tprprobe.figures.probes import probe_table

    store = plant(folder / "store", 40)
    rows = tp.probe(store, "pos", sites=(ROLE, FILLER), controls=("control", "untrained"))
    yield "probes", probe_table(rows.assign(model="planted")).rows
    yield "screen", screen(rows)


LONG = ("name", "decompose", "roles", "examine")  # of `make soak`
RUNS: dict[str, Callable[[Path], Tables]] = {
    run.__name__: run
    for run in (
        probe_linear, probe_span_conv, cluster, name, decompose, roles, reconstruct, attention, examine,
        figures,
    )
}  # fmt: skip


def run_tables(run: str, folder: Path) -> dict[str, pd.DataFrame]:
    """The tables of a run by name, as they come back from a file."""
    return {f"{run}-{name}": _read(_write(table)) for name, table in RUNS[run](folder)}


def stored_tables(run: str) -> dict[str, pd.DataFrame]:
    """The golden tables of a run by name."""
    files = sorted(TABLES.glob(f"{run}-*.csv.gz"))
    return {file.name.removesuffix(".csv.gz"): pd.read_csv(file) for file in files}


def compare(golden: pd.DataFrame, table: pd.DataFrame) -> None:
    """Raises an AssertionError where a column is missing or a number differs by more than 1e-9 (on other processors, which
    round float32 sums otherwise, by more than 1e-3).
    """
    tolerance = 1e-9 if describe_machine() == MACHINE.read_text().strip() else 1e-3
    table = table[[*golden, *(name for name in table if name not in golden)]]
    pd.testing.assert_frame_equal(golden, table, check_dtype=False, rtol=tolerance, atol=tolerance)


def describe_machine() -> str:
    """What the last digits of a float32 sum depend on."""
    import torch

    capability, info = torch.backends.cpu.get_cpu_capability(), Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    family = [
        line.partition(": ")[2] for line in lines if line.startswith(("cpu family", "model\t"))
    ]
    versions = f"torch {torch.__version__} numpy {np.__version__}"
    return f"{platform.machine()} {' '.join(family[:2])} {capability} {versions}"


def _write(table: pd.DataFrame) -> bytes:
    floats = table.select_dtypes("float").columns
    return (
        table.assign(**{name: table[name].round(12) for name in floats})
        .to_csv(index=False)
        .encode()
    )


def _read(content: bytes) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(content))


def main() -> None:
    MACHINE.write_text(f"{describe_machine()}\n")
    for run in sys.argv[1:] or RUNS:
        with tempfile.TemporaryDirectory() as folder:
            for name, table in run_tables(run, Path(folder)).items():
                options = {"method": "gzip", "mtime": 0}
                table.to_csv(TABLES / f"{name}.csv.gz", index=False, compression=options)
                print(name, table.shape)


if __name__ == "__main__":
    tests = Path(__file__).parents[1]
    sys.path[:1] = [str(tests), str(tests / "instrument")]  # not the folder of this file
    main()
