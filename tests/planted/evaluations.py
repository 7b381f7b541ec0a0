"""Exact matches of two models on modules of several splits, as `eval` tabulates them."""

import numpy as np
import pandas as pd

COLUMNS = ["model", "parameters", "split", "module", "n", "exact_match", "low", "high"]


def plant_evaluations() -> pd.DataFrame:
    rows = [
        ("big", 2e6, "interpolate", "a", 100, 0.96, 0.90, 0.98),
        ("big", 2e6, "interpolate", "b", 100, 0.50, 0.40, 0.60),
        ("big", 2e6, "extrapolate", "a_big", 100, 0.25, 0.20, 0.30),
        ("big", 2e6, "train-easy", "a", 100, 1.00, 0.96, 1.00),
        ("big", 2e6, "train-hard", "a", 100, 0.50, 0.40, 0.60),
        ("big", 2e6, "train-easy", "b", 100, 0.25, 0.20, 0.35),
        ("small", np.nan, "interpolate", "a", 100, 0.10, 0.05, 0.15),
    ]
    return pd.DataFrame(rows, columns=COLUMNS)
