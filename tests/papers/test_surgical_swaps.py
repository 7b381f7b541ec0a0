"""Surgery on the states of two numbers, by a decomposition of them."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from planted.bindings import HIDDEN

import tprprobe as tp
from tprpapers.swaps.exchanges import measure_swaps
from tprpapers.swaps.surgical_swaps import DIRECTION, ROLE, SURGERY, Texts, measure_surgeries


def test_surgery_on_states_gives_the_answer_of_the_exchanged_question(make_model):
    """Where a role is a question and a place, the decomposition of each question is its own states."""
    model = make_model(fluent=True)
    swaps = pd.DataFrame({"question": range(24), "kind": "first and second", "answer": "a"})
    rng = np.random.default_rng(1)
    swaps["text"] = ["".join(rng.choice(list("abc"), 4)) for _ in range(24)]
    swaps["counterfactual"] = [text[1] + text[0] + text[2:] for text in swaps["text"]]
    swaps = swaps.assign(predicted="b", first=[(0,)] * 24, second=[(1,)] * 24, elsewhere=0)
    swaps["alike"] = [((), ())] * 24
    texts = Texts.of([*swaps["text"], *swaps["counterfactual"]], ["a"] * 48)
    with TemporaryDirectory() as folder:
        store = tp.extract(model, texts, [HIDDEN], Path(folder) / "store", control=False)
        fit = tp.decompose(store, HIDDEN, "question*left", family="saturated", rank="2x2")
    rows = pd.concat([measure_swaps(model, swaps, []), measure_surgeries(model, swaps, [fit])])
    asked_rows = rows[rows["vectors"] == "question"].set_index("question")
    moved = rows[rows["at"] == SURGERY].set_index("question")
    changed = swaps["text"] != swaps["counterfactual"]
    expected = asked_rows["p_counterfactual"][changed.to_numpy()]
    close = moved["p_counterfactual"].reindex(expected.index)
    unedited = rows[rows["vectors"] == "none"].set_index("question")["p_counterfactual"]
    miss = (close - expected).abs().mean()
    assert miss < (unedited.reindex(expected.index) - expected).abs().mean()
    controls = {
        place: rows[rows["at"] == place].set_index("question") for place in (DIRECTION, ROLE)
    }
    for control in controls.values():
        assert (control["p_counterfactual"].reindex(expected.index) - expected).abs().mean() > miss
