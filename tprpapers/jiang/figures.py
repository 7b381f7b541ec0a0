"""jiang's discrete roles: how peaked they are, and what making them one-hot costs."""

from dataclasses import replace

import numpy as np
import pandas as pd

from tprpapers.jiang.discreteness import SUFFIX, measure_roles, share_of_peaks
from tprpapers.jiang.discreteness_drawings import role_peaks
from tprpapers.jiang.probe_table4 import table4 as table4
from tprpapers.jiang.summary_folders import find_scored, load_matches, load_summaries, load_votes
from tprpapers.jiang.summary_tables import table2, table3, unsupported_table
from tprpapers.verdicts import judge_cases, with_verdicts
from tprprobe.analyses.kinds import PROBES
from tprprobe.errors import InputError
from tprprobe.figures.attention import name_origin
from tprprobe.figures.catalogue import Input, Maker
from tprprobe.figures.catalogue.loaders import load_probes
from tprprobe.figures.scenes import Grid
from tprprobe.figures.tables import write_minus
from tprprobe.store import Store

DOCUMENTS = 100  # on which roles are made one-hot


def draw_discreteness(store: Store) -> Grid:
    """The figure of a store's role weights, with the cost of one-hot roles if the store's model is
    found.
    """
    sites = _weights(store)
    weights = {site: store.read(site) for site in sites}
    heads = measure_roles(weights)
    names = dict(zip(heads["site"], heads["sublayer"], strict=True))
    peaks = {
        str(name): np.concatenate([weights[s].max(-1).ravel() for s in sites if names[s] == name])
        for name in dict.fromkeys(names.values())
    }
    figure = role_peaks(heads, peaks, _find_cost(store))
    figure = replace(figure, note=write_minus(f"{figure.note}\n{name_origin(store)}"))
    cases = {"jiang-discrete": {"": share_of_peaks(store)}}
    return with_verdicts(figure, judge_cases(cases, "document", store.samples))


def _find_cost(store: Store) -> pd.DataFrame | None:
    from tprpapers.jiang.snapping import measure_snapping
    from tprprobe.data import load_data  # here, for what is made of the store alone
    from tprprobe.models import load_model
    from tprprobe.models.checkpoint import default_data
    from tprprobe.models.protocol import require_model

    try:
        loaded = require_model(
            load_model(str(store.facts.model.name)), "whose roles are not ours to edit"
        )
        data, split = default_data(loaded)
        examples = load_data(data, split=split, n=DOCUMENTS)
    except InputError:
        return None
    return measure_snapping(loaded, [(example.source, example.target) for example in examples])


def _weights(store: Store) -> list[str]:
    sites = [site for site in store.sites if site.endswith(SUFFIX)]
    if not sites:
        raise InputError(
            f"{store.path} has no role weights: extract them from a model with a dictionary of roles "
            f"(`--sites '*{SUFFIX}'`)"
        )
    return sites


SUMMARIES = Input(
    "summaries: give --ckpt with folders of `eval --out` of documents",
    load_summaries,
    lambda folders: find_scored(folders)["summaries"],
)
VOTES = Input(
    "sheets of votes: give --ckpt with files that `sheet` wrote, filled in",
    load_votes,
    lambda folders: find_scored(folders)["votes"],
)
MATCHES = Input(
    "summaries or sheets of facts: give --ckpt with these",
    load_matches,
    lambda folders: find_scored(folders)["matches"],
)
PROBED = Input(
    "probes: give --ckpt with folders of `probe all --ckpt MODEL --out` of tpt-d-english, t5-english or another model of the family",
    load_probes,
    PROBES.find_finished,
)

TABLE2 = Maker(table2, inputs={"summaries": SUMMARIES})
TABLE3 = Maker(table3, inputs={"votes": VOTES})
UNFAITHFUL = Maker(unsupported_table, inputs={"matches": MATCHES})
TABLE4 = Maker(table4, inputs={"probes": PROBED})
DISCRETENESS = Maker(draw_discreteness, ("*.role_weights",))
