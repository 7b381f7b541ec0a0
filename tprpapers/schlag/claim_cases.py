"""schlag's claims on states and on algebra that the inputs of a figure decide: Secs 6.1, 6.2 and 7."""

from typing import Any

import pandas as pd

from tprpapers.claims import exact
from tprprobe.statistics import Interval, read_interval

Cases = dict[str, dict[str, Interval]]  # claim → case → estimate
ROUTES = ("second head above", "feed-forward between")
TPS = ("as printed", "upper layer bound")


def mean(estimates: list[Interval]) -> Interval:
    """The mean, with the mean of the bounds: right however they depend on each other."""
    rows = pd.DataFrame([(estimate.value, estimate.low, estimate.high) for estimate in estimates])
    return Interval(*rows.mean().tolist())


def of_reconstruction(results: pd.DataFrame) -> Cases:
    """What one head's value keeps of the last layer's state (rows of `reconstruct`), model by model."""
    heads: Any = results[results["layer"] == results["layer"].max()].query(
        "predictor == 'heads' and split == 'held_out' and unit == 'question' and penalty == 'cv' "
        "and not untrained"
    )
    rows = heads.sort_values("n").groupby("model", sort=False).tail(1).to_dict("records")
    return {
        "schlag-full-information": {row["model"]: read_interval(row, "r2") for row in rows},
        "schlag-learned-projection": {row["model"]: read_interval(row, "gain") for row in rows},
    }


def of_capture(captured: pd.DataFrame) -> Cases:
    """What the diagonal keeps in the last encoder layer (rows of `capture_variance`), mean over heads."""
    encoder: Any = captured[(captured["stack"] == "encoder") & captured["head"].notna()]
    own_basis = encoder[encoder["layer"] == encoder["layer"].max()].query(
        "basis == 'own' and not untrained"
    )
    shares = [read_interval(row, "of_best") for row in own_basis.to_dict("records")]
    return {"schlag-hadamard-optimal": {"last layer": mean(shares)}} if shares else {}


def of_demonstration(demonstration: pd.DataFrame) -> Cases:
    """What random networks of integers show exactly (rows of `demonstrate`)."""
    rows = {(row["attention"], row["case"]): row for row in demonstration.to_dict("records")}
    ambiguous = rows["standard", "equal weights"]["largest_difference"]
    return {
        "schlag-standard-ambiguous": {"": exact(ambiguous)},
        "schlag-tp-unambiguous": {case: exact(rows["tp", case]["equal"]) for case in TPS},
        "schlag-standard-routes": {case: exact(rows["standard", case]["equal"]) for case in ROUTES},
    }
