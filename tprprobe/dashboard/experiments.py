"""Experiments: a change of what was asked, and the new answer beside the old and the predicted one.

What is predicted is arithmetic where the text is a question of it, else what the model itself writes of the
changed text; of a caption it is the same exchange of its words.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from tprprobe.dashboard.example_edits import Change
from tprprobe.dashboard.live_example import Posed, exact_answer, write_share
from tprprobe.dashboard.safe_text import visible
from tprprobe.data.pairs import encode_texts
from tprprobe.errors import InputError
from tprprobe.gold import evaluate
from tprprobe.models.protocol import require_vocabulary

ARITHMETIC, MODEL = "arithmetic", "the model’s answer to the changed text"
WORDS = "the exchange of the words"
SAYS = {
    ARITHMETIC: "Arithmetic gives",
    MODEL: "The model answers the changed text with",
    WORDS: "Exchanging the words gives",
}


def try_change(posed: Posed, change: Change) -> dict[str, Any]:
    """One row: the old answer, the new one and the predicted one, with their probabilities before and after."""
    new = posed.write(posed.source, change.edits)
    predicted, by = _predict(posed, change)
    answers = [posed.answer, new, *([] if predicted is None else [predicted])]
    shares = (posed.probability(posed.source, answers, edits) for edits in ({}, change.edits))
    before, after = ([*each, float("nan")] for each in shares)
    told = "" if predicted is None else posed.say(predicted)
    return {
        "edit": change.told,
        "old answer": posed.told,
        "its p": before[0],
        "p now": after[0],
        "new answer": posed.say(new),
        "p of it": after[1],
        "predicted": told,
        "by": by,
        "p of the predicted before": before[2],
        "after": after[2],
        "as predicted": None if predicted is None else posed.say(new) == told,
        "asked": visible(posed.text, 120),
    }


def _predict(posed: Posed, change: Change) -> tuple[Tensor | None, str]:
    """The answer that an edit should give, and what says so; None where nothing is predicted."""
    if not change.first:
        return None, ""
    if posed.is_image:
        words = posed.answer.clone()
        one, other = change.first[0] + 1, change.second[0] + 1  # behind the start symbol
        words[0, [one, other]] = words[0, [other, one]]
        return words, WORDS
    if exact_answer(posed):
        try:
            return _calculate(posed, change), ARITHMETIC
        except InputError:  # the changed text is no question: the model is asked
            pass
    source = posed.source.clone()
    source[0, [*change.first, *change.second]] = posed.source[0, [*change.second, *change.first]]
    return posed.write(source, {}), MODEL


def _calculate(posed: Posed, change: Change) -> Tensor:
    """The ids of the exact answer to the changed question.

    Raises:
        InputError: the changed text is no question.
    """
    vocabulary = require_vocabulary(posed.model)
    if vocabulary.has_words:
        raise InputError("tokens are no characters of a question")
    answer = str(evaluate(_changed_text(posed.text, change, int(vocabulary.source_start))))
    ids = encode_texts([""], [answer], vocabulary).target
    return ids.padded(torch.tensor([0]), posed.model.config.pad).to(posed.model.device)


def _changed_text(text: str, change: Change, offset: int) -> str:
    """The text with the symbols exchanged."""
    first, second = ([at - offset for at in each] for each in (change.first, change.second))
    if min(first + second) < 0 or max(first + second) >= len(text):
        raise InputError("a start or end symbol is no part of the text")
    symbols = list(text)
    for one, other in zip(first, second, strict=True):
        symbols[one], symbols[other] = symbols[other], symbols[one]
    return "".join(symbols)


def summarize_experiment(row: Mapping[str, Any]) -> str:
    """What an edit did to the answer, and whether that is what was predicted."""
    edit, old, new = row["edit"][0].upper() + row["edit"][1:], row["old answer"], row["new answer"]
    before, now = write_share(row["its p"]), write_share(row["p now"])
    if new == old:
        told = f"{edit}: the answer stays ‘{old}’ (probability {before}, now {now})"
    else:
        written = write_share(row["p of it"])
        told = f"{edit}: the answer ‘{old}’ (probability {before}, now {now}) becomes ‘{new}’ (now {written})"
    return f"{told}. {_summarize_predicted(row)}"


def _summarize_predicted(row: Mapping[str, Any]) -> str:
    """What was predicted, by what, and whether it came."""
    if not row["by"]:
        return "Nothing predicts an exact answer to this edit."
    hit = "as predicted" if row["as predicted"] else "not as predicted"
    if row["predicted"] == row["old answer"]:
        return f"{SAYS[row['by']]} the old answer, so that nothing should change: {hit}."
    told = f"{SAYS[row['by']]} ‘{row['predicted']}’"
    if row["as predicted"]:
        return f"{told}: {hit}."
    before, after = write_share(row["p of the predicted before"]), write_share(row["after"])
    return f"{told} (probability {before}, now {after}): {hit}."


def tabulate(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Experiments as a table, the newest first."""
    return pd.DataFrame([{"experiment": n, **row} for n, row in enumerate(rows, 1)][::-1])
