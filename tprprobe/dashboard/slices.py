"""Slices on the pages: those that were saved beside a store, and the part of a map or of the samples that one leaves."""

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tprprobe.analyses.slices import find_slice as find_slice
from tprprobe.analyses.slices import read_side
from tprprobe.analyses.slices import score_slices as score_slices
from tprprobe.errors import InputError
from tprprobe.figures.labels import CONTROLS
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.writing import write_file
from tprprobe.statistics import write_interval
from tprprobe.store import Store
from tprprobe.store.layout import SIDES

if TYPE_CHECKING:
    from tprprobe.analyses.token_maps import Cloud  # with all that clusters vectors

FILE = "views/slices.json"  # of a store
CONTROL = "best_control"
COLUMNS = {"answered_right": "answered right", CONTROL: "strongest control"}
COLUMNS |= {"best_control_accuracy": "its accuracy", "accuracy": "accuracy, held out"}
COLUMNS |= {"beyond": "beyond it, points"}


def find_side(store: Store) -> str:
    """The side whose tokens slices are counted in: the source's where that has vectors, or none but attention maps."""
    rows = [spec.rows for spec in store.specs.values() if not spec.is_attention]
    rows = rows or store.tokens["side"].unique().tolist()
    return next((side for side in SIDES if side in rows), rows[0])


def read_slices(store: Store) -> list[str]:
    """The slices that were saved beside a store; a damaged file has none."""
    try:
        saved = read_json(store.path / FILE).get("slices", [])
    except (InputError, AttributeError):
        return []
    return [where for where in saved if isinstance(where, str)]


def save_slice(store: Store, where: str) -> None:
    """Saves a slice beside the store, or forgets one that is saved."""
    saved = read_slices(store)
    saved = [text for text in saved if text != where] if where in saved else [*saved, where]
    write_file(store.path / FILE, json.dumps({"slices": saved}, ensure_ascii=False))


def list_samples(store: Store, where: str) -> list[int]:
    """The samples that have a token in a slice."""
    side = find_side(store)
    samples = read_side(store, side)["sample"].to_numpy()
    return np.unique(samples[find_slice(store, side, where)]).tolist()


def write_scores(scores: pd.DataFrame) -> pd.DataFrame:
    """Scores of slices in words: shares in percent, with their intervals."""
    rows, table = scores.to_dict("records"), scores.copy()
    for name in (COLUMNS.keys() & {*scores}) - {CONTROL}:
        unit = "" if name == "beyond" else " %"
        table[name] = [write_interval(row, name, ".1f", 100, unit) for row in rows]
    if CONTROL in table:
        table[CONTROL] = table[CONTROL].replace(CONTROLS)
    ends = [name for name in table if str(name).endswith(("_low", "_high"))]
    return table.drop(columns=ends).rename(columns=COLUMNS)


def take_slice(scene: "Cloud", where: str) -> "Cloud":
    """The tokens of a scene that are in a slice; clusters and axes stay those of all."""
    flags = find_slice(scene.store, scene.side, where)[scene.rows]
    if not flags.any():
        raise InputError(f"none of the drawn tokens meets {where!r}")
    plane = replace(scene.plane, points=scene.plane.points[flags], fitted=scene.plane.fitted[flags])
    roles = replace(scene.roles, labels=scene.roles.labels[flags])
    tokens = scene.tokens[flags].reset_index(drop=True)
    rows = scene.rows[flags]
    return replace(scene, plane=plane, roles=roles, tokens=tokens, rows=rows, whole=scene)
