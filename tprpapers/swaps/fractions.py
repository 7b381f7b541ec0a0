"""The binding problem in a trained model: do states at its fraction bars tell which digit divides
which?

(a/b)/(c/d) and (a/d)/(c/b) hold the same symbols, each b and d as often as the other. A probe that
reads which digit divides a, and is then asked to choose between b and d, is right on both questions
of a pair only where the state binds digits to their places.
Source: schlag Sec. 6.2, as a question that has one right answer.
"""

from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tprprobe.data.pairs import Pairs, encode_texts
from tprprobe.errors import InputError
from tprprobe.models.answers import exact_matches
from tprprobe.models.checkpoint import untrained_twin
from tprprobe.models.protocol import Model, Readable, require_model, require_vocabulary
from tprprobe.site.hooks import capture, find_sites
from tprprobe.site.patterns import layer_of
from tprprobe.statistics import bootstrap_mean

EXPRESSION = "({}/{})/({}/{})"
TEMPLATES = ("{}", "What is {}?", "Evaluate {}.", "Calculate {}.", "What is the value of {}?")
BARS = ("first", "middle", "last")
BATCH, FOLDS, LONGEST_FIT = 256, 5, 2000

States = Float[np.ndarray, "question bar d_model"]
Right = Float[np.ndarray, " question"]  # 1, or ½ where the probe cannot choose


def ask_pairs(n_pairs: int = 600, seed: int = 0) -> pd.DataFrame:
    """Two rows a pair, (a/b)/(c/d) and (a/d)/(c/b): pair, group, question, answer, divisor, other.

    a, b, c, d are different digits from 1 to 9; ``divisor`` divides a, ``other`` divides c, and
    ``group`` numbers the unordered {b, d}. There are 1,512 such pairs. Both questions of a pair are
    in the same of the dataset's templates, drawn at random: no position tells the divisor.

    Raises:
        InputError: fewer than 1 or more than all pairs are asked for.
    """
    digits = range(1, 10)
    groups = list(combinations(digits, 2))
    candidates = [
        (group, a, c)
        for group, denominators in enumerate(groups)
        for a, c in permutations(set(digits) - set(denominators), 2)
    ]
    if not 1 <= n_pairs <= len(candidates):
        raise InputError(
            f"n_pairs is {n_pairs}: there are {len(candidates)} pairs, give 1 to that many"
        )
    rng = np.random.default_rng(seed)
    pair_ids = rng.permutation(len(candidates))[:n_pairs]
    rows = []
    for pair, (group, a, c) in enumerate(candidates[index] for index in pair_ids):
        template = TEMPLATES[rng.integers(len(TEMPLATES))]
        for b, d in permutations(groups[group]):
            question = template.format(EXPRESSION.format(a, b, c, d))
            rows.append((pair, group, question, str(Fraction(a * d, b * c)), b, d))
    return pd.DataFrame(rows, columns=["pair", "group", "question", "answer", "divisor", "other"])


def binding_probe(
    model: Readable, n_pairs: int = 600, seed: int = 0, control: bool = True
) -> pd.DataFrame:
    """One row per model (itself, its untrained twin), site and fraction bar.

    Columns: model, untrained, site, depth (0 before any attention), bar, then accuracy,
    paired_accuracy and exact_match (the model's own, on these questions) with 95 % intervals (_low,
    _high; the bootstrap draws unordered {b, d}), n_pairs. The digit is read by logistic regression
    on the bar's standardized state; no {b, d} of a test question is in the training questions.
    Chance is an accuracy of ½; paired, of 0 for a state that is the same for both questions of a
    pair, ¼ for independent guesses.

    Raises:
        InputError: the vocabulary is unknown or lacks a symbol, the model has no encoder.
    """
    model = require_model(model, "of which no symbol is known to be a fraction bar")
    table = ask_pairs(n_pairs, seed)
    models = [(model, False)]
    if control:
        models.append((untrained_twin(model, seed), True))
    tables = [
        _probe(probed_model, table, seed).assign(
            model=model.name, untrained=is_untrained, n_pairs=n_pairs
        )
        for probed_model, is_untrained in models
    ]
    return pd.concat(tables, ignore_index=True)


def _probe(model: Model, table: pd.DataFrame, seed: int) -> pd.DataFrame:
    questions, answers = table["question"].tolist(), table["answer"].tolist()
    pairs = encode_texts(questions, answers, require_vocabulary(model))
    solved = _score("exact_match", exact_matches(model, pairs)[0], table["group"])
    rows = []
    for site, states in _read(model, pairs).items():
        for bar, name in enumerate(BARS):
            is_right = choose(states[:, bar], table, seed)
            pair_is_right = is_right.reshape(-1, 2).min(1) == 1
            rows.append(
                {"site": site, "depth": _depth(site), "bar": name}
                | _score("accuracy", is_right, table["group"])
                | _score("paired_accuracy", pair_is_right, table["group"][::2])
                | solved
            )
    return pd.DataFrame(rows)


def choose(states: Float[np.ndarray, "question d_model"], table: pd.DataFrame, seed: int) -> Right:
    """True where a probe, trained without the question's {b, d}, ranks the divisor above the other."""
    divisor, other_divisor = (table[name].to_numpy() for name in ("divisor", "other"))
    is_right = np.empty(len(table))
    folds = GroupKFold(FOLDS, shuffle=True, random_state=seed)
    for train, test in folds.split(states, divisor, table["group"]):
        probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=LONGEST_FIT))
        probe.fit(states[train], divisor[train])
        score = np.full((len(test), 10), -np.inf)
        score[:, probe.classes_] = probe.predict_log_proba(states[test])
        margin = (
            score[range(len(test)), divisor[test]] - score[range(len(test)), other_divisor[test]]
        )
        is_right[test] = (np.sign(margin) + 1) / 2
    return is_right


def _score(name: str, values: np.ndarray, groups: Any) -> dict[str, float]:
    return bootstrap_mean(values.astype(float), np.asarray(groups), lowest=0).columns(name)


@torch.no_grad()
def _read(model: Model, pairs: Pairs) -> dict[str, States]:
    """The states of the three fraction bars at every depth of the encoder, by site."""
    names = [name for name in find_sites(model) if _depth(name) is not None]
    if not names:
        raise InputError(f"{model.name} has no encoder to read")
    bar, device = require_vocabulary(model).encode("/")[0], model.device
    states_by_site: dict[str, list[np.ndarray]] = {name: [] for name in names}
    model.eval()
    for indices in torch.arange(len(pairs)).split(BATCH):
        source, target = (ids.to(device) for ids in pairs.batch(indices, model.config.pad))
        with capture(model, names) as acts:
            model(source, target[:, :1])
        for name, states in acts.items():
            at_bars = states[source == bar].unflatten(0, (-1, len(BARS)))
            states_by_site[name].append(at_bars.double().cpu().numpy())
    return {name: np.concatenate(blocks) for name, blocks in states_by_site.items()}


def _depth(site: str) -> int | None:
    """0 for the first layer's input, l + 1 for the output of encoder layer l, else None."""
    if site == "encoder.0.self.input":
        return 0
    layer = layer_of(site)
    return layer + 1 if layer is not None and site == f"encoder.{layer}.hidden" else None
