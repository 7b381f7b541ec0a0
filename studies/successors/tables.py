"""The tables of the study: a row for every share, and a row for every trained model."""

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

import tprprobe as tp
from studies.successors.measures import (
    N_ANSWERED,
    RoleSwap,
    Sample,
    measure_accuracy,
    measure_shares,
    measure_swap,
)
from studies.successors.trainings import PLAN, Training, list_trainings
from tprprobe.files.writing import write_file
from tprprobe.models.checkpoint import read_checkpoint
from tprprobe.models.protocol import Model
from tprprobe.store import Store
from tprprobe.training.loop import MODEL

FOLDER = Path(__file__).parent
SHARES, MODELS, MEASURED = FOLDER / "shares.csv", FOLDER / "models.csv", "measured.json"
SHIPPED = FOLDER / "shipped.csv"
MEMORY, N_SEARCHED = "encoder.0.tpr", 1000
PLACES = ("left", "right")
DESIGNED = {"recall": ("before", "after"), "programs": ("before",)} | dict.fromkeys(
    ("reverse", "copy", "trees"), PLACES
)
CONTROLS = ("lstm", "transformer")  # without roles, fillers and bindings by design
UNITS = {"recall": "?"}  # the token behind the last filler; elsewhere the last one


def find_site(model: str) -> str:
    """The site whose states are decomposed: the memory, where there is one."""
    n_layers = PLAN["models"][model].get("n_layers", [1])[0]
    own = {"tree-machine": "machine.2.tpr"} | dict.fromkeys(
        CONTROLS, f"encoder.{n_layers - 1}.hidden"
    )
    return own.get(model, MEMORY)


def measure_all(runs: Path) -> None:
    """Measures what is trained and not yet measured, and writes both tables after each model."""
    for training in list_trainings():
        folder = runs / training.name
        if (folder / MODEL).exists() and not (folder / MEASURED).exists():
            write_file(folder / MEASURED, json.dumps(measure(training, runs), indent=1))
            write_tables(runs)


def measure_shipped(folder: Path = Path("models")) -> None:
    """Writes the shares of bindings of the models that ship, which are of the first seed, by today's estimator."""
    rows = []
    for training in list_trainings():
        place = folder / f"{training.model}-{training.task}"
        if training.seed == PLAN["seeds"][0] and place.is_dir():
            model = read_checkpoint(str(place)).eval()
            sample = Sample.load(training.task, training.data, "dev")
            *_, bindings = _share_rows(training, model, sample, "trained", training.seed)
            rows.append(bindings)
    write_file(SHIPPED, pd.DataFrame(rows).round(4).to_csv(index=False))


def write_tables(runs: Path) -> None:
    """Writes both tables of what is measured."""
    measured = [
        (training, json.loads((runs / training.name / MEASURED).read_text("utf-8")))
        for training in list_trainings()
        if (runs / training.name / MEASURED).exists()
    ]
    shares = [row for _, rows in measured for row in rows["shares"]]
    models = [vars(training) | rows["model"] for training, rows in measured]
    for file, rows in ((SHARES, shares), (MODELS, models)):
        table = pd.DataFrame(rows).drop_duplicates().round(4)
        write_file(file, table.to_csv(index=False))


def measure(training: Training, runs: Path) -> dict[str, Any]:
    """The rows of a trained model; with the first seed also the shares of models with random weights."""
    model, sample = training.load(runs), Sample.load(training.task, training.data, "dev")
    row: dict[str, Any] = {"parameters": sum(weights.numel() for weights in model.parameters())}
    for split in PLAN["tasks"][training.task]["tests"]:
        row[split] = measure_accuracy(model, training.data, split)
    shares = list(_share_rows(training, model, sample, "trained", training.seed))
    if training.seed == PLAN["seeds"][0]:
        row |= measure_shuffled(training, model, sample)
        for seed in PLAN["untrained"]:
            untrained = training.build_untrained(runs, seed)
            shares += _share_rows(training, untrained, sample, "untrained", seed)
    row |= _search(training, model)
    if training.model not in CONTROLS:
        row |= _measure_swaps(model, sample.first(N_ANSWERED))
    return {"model": row, "shares": shares}


def measure_shuffled(training: Training, model: Model, sample: Sample) -> dict[str, float]:
    """The share of bindings to roles that are shuffled within sequences, in the first site after the last filler."""
    site = find_site(training.model)
    *_, final = measure_shares(model, sample, site, is_shuffled=True)
    return {
        f"shuffled{end}": final[name]
        for end, name in (("", "share"), ("_low", "low"), ("_high", "high"))
    }


def _share_rows(
    training: Training, model: Model, sample: Sample, weights: str, seed: int
) -> Iterator[dict[str, Any]]:
    head = {"task": training.task, "model": training.model, "weights": weights, "seed": seed}
    site = find_site(training.model)
    for row in measure_shares(model, sample, site):
        yield head | {"site": site} | row


def _measure_swaps(model: Model, sample: Sample) -> dict[str, Any]:
    n_roles = getattr(model.config, "n_roles", 0)
    swapped = measure_swap(model, RoleSwap(sample, is_asked=True, n_roles=n_roles))
    row = {"algebra": swapped["algebra"], "stays": swapped["stays"], "n_swaps": swapped["n"]}
    if sample.task == "recall":
        row["elsewhere"] = measure_swap(model, RoleSwap(sample, is_asked=False))["stays"]
    return row


def _search(training: Training, model: Model) -> dict[str, Any]:
    """The roles that are found in the first site (of a tree machine, in what it reads), and the operation that binds places."""
    if training.model in CONTROLS or training.task == "stories":  # no scheme names its persons
        return {}
    site = find_site(training.model).replace("machine.2", "encoder.0")
    with tempfile.TemporaryDirectory() as folder:
        data = tp.load_data(training.data, split="dev", n=N_SEARCHED)
        store = tp.extract(model, data, [site], out=Path(folder) / "store", control=False)
        scheme = tp.search_roles(store, site, unit=UNITS.get(training.task, "last")).found
        row = {"roles": scheme, "is_designed": names_role(training.task, scheme)}
        return (
            row
            if training.task == "recall"
            else row | find_operation(store, site, DESIGNED[training.task][0])
        )


def find_operation(store: Store, site: str, scheme: str) -> dict[str, Any]:
    """The operation that binds symbols to roles: that which is named, and that with the largest R²."""
    table = tp.compare_operations(store, site, scheme, unit="last")
    best = table.iloc[int(table["r2"].argmax())]
    operations = table.loc[table["is_named"], "operation"]
    outer = table.set_index("operation").loc["outer product"]
    return {
        "operation": operations.iloc[0] if len(operations) else "",
        "best": best["operation"],
        "best_r2": best["r2"],
        "outer_r2": outer["r2"],
        "outer_behind": outer["behind"],
    }


def names_role(task: str, scheme: str) -> bool:
    """Whether a scheme has a role of the designed kind that binds fillers (in parentheses, roles have none).

    >>> names_role("reverse", "(before)+left"), names_role("reverse", "before+(left)")
    (True, False)
    """
    bound = re.sub(r"\([^)]*\)", "", scheme)
    return any(field in re.split(r"[+*]", bound) for field in DESIGNED[task])
