"""A language model's state at the period of a sentence, as one sum over the sentence's words."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from studies.pages.state_tables import (
    agreement_texts,
    largest,
    measure_once,
    r2_text,
    replaced_rows,
    score_rows,
)
from studies.templates import table
from tprprobe.analyses.decomposition import Decomposition, decompose, search_roles
from tprprobe.data import load_data
from tprprobe.data.dataset import Dataset
from tprprobe.data.pairs import encode_pairs
from tprprobe.extraction import extract
from tprprobe.interventions.decomposed_states import (
    UNEDITED,
    replace_vectors,
)
from tprprobe.interventions.edits import patch
from tprprobe.models.protocol import Model, require_vocabulary
from tprprobe.site.hooks import capture, intervene
from tprprobe.statistics import bootstrap_mean, wilson
from tprprobe.training.recipes import read_recipe

WORDS = "language-model"
STUDY = Path(__file__).parents[1] / WORDS  # its recipe, and the log of its training
OPENINGS = "openings:english:version=2,depth=1,sentences=4-6"
SENTENCES, FOLLOWED = 800, 300  # first sentences that are fitted to; whose next word is asked for
PERIODS = ("decoder.1.hidden",)
PERIOD_SCHEMES = ("svo", "POS")
FIELDS = ("left", "pos", "dep")
BATCH = 64


def measure_periods(model: Model) -> Iterator[pd.DataFrame]:
    """The scores of all schemes at the state of a first sentence's period, the next word that the model
    expects when it is replaced, and the schemes that a search finds.
    """
    texts = load_data(OPENINGS, split="test", n=SENTENCES + FOLLOWED)
    with TemporaryDirectory(prefix="tprprobe-english-") as folder:
        store = extract(
            model, texts[:SENTENCES], PERIODS, Path(folder) / "store", 0, control_samples=SENTENCES
        )
        fits = [decompose(store, site, PERIOD_SCHEMES, unit="sample") for site in store.sites]
        found = [search_roles(store, site, FIELDS, unit="sample") for site in store.sites]
        after = extract(model, texts[SENTENCES:], PERIODS, Path(folder) / "after", 0, control=False)
        encoded = [fit.encode(fit.plan.read(after, fit.site).tokens) for fit in fits]
    yield pd.concat([fit.scores for fit in fits], ignore_index=True)
    tables = [
        expect_next(model, texts[SENTENCES:], fit, vectors)
        for fit, vectors in zip(fits, encoded, strict=True)
    ]
    yield pd.concat(tables, ignore_index=True)
    yield pd.concat(
        [each.curve.assign(site=each.site, searched="") for each in found]
        + [
            each.controls.assign(site=each.site, searched=each.controls["control"])
            for each in found
        ],
        ignore_index=True,
    )


def expect_next(
    model: Model,
    texts: Dataset,
    fit: Decomposition,
    encoded: Float64[np.ndarray, "sample d_model"],
    seed: int = 0,
) -> pd.DataFrame:
    """What a model expects after the last token of texts whose state there is replaced: the share of the
    tokens that it expects most itself, and their probability.
    """
    pairs = encode_pairs(texts, require_vocabulary(model))
    last, pad = pairs.target.lengths - 2, model.config.pad
    own, vectors = _expected(model, pairs, fit.site, last, pad, None)
    first, rng = own.argmax(1), np.random.default_rng(seed)
    ways = {UNEDITED: vectors} | replace_vectors(vectors, encoded, rng)
    rows = []
    for edit, values in ways.items():
        chance, _ = _expected(model, pairs, fit.site, last, pad, values)
        same = chance.argmax(1) == first
        probability = bootstrap_mean(chance[np.arange(len(first)), first], np.arange(len(first)))
        rows.append(
            {"edit": edit, "n": len(first), "site": fit.site, "roles": fit.scheme.name}
            | wilson(int(same.sum()), len(same)).columns("agreement")
            | probability.columns("probability")
        )
    return pd.DataFrame(rows)


@torch.no_grad()
def _expected(
    model: Model,
    pairs: Any,
    site: str,
    last: Int64[Tensor, " sample"],
    pad: int,
    values: Float64[np.ndarray, "sample d_model"] | None,
) -> tuple[Float64[np.ndarray, "sample vocab"], Float64[np.ndarray, "sample d_model"]]:
    """The probabilities of the token after the last one, and the states of the last one at a site, in whose
    place ``values`` were put."""
    config = model.config
    chance, states = (np.empty((len(pairs), n)) for n in (config.vocab_size, config.d_model))
    for rows in pairs.by_length(BATCH):
        source, target = pairs.batch(rows, pad)
        read, at, each = target[:, :-1], last[rows], torch.arange(len(rows))
        edits: dict[str, Any] = {}
        if values is not None:
            there = torch.arange(read.shape[1]) == at[:, None]
            put = torch.zeros(*there.shape, config.d_model)
            put[there] = torch.as_tensor(values[rows.numpy()], dtype=torch.float32)
            edits[site] = patch(put, positions=there)
        with intervene(model, edits), capture(model, site) as seen:
            logits = model(source, read)
        chance[rows.numpy()] = logits[each, at].softmax(-1).numpy()
        states[rows.numpy()] = seen[site][each, at].numpy()
    return chance, states


def summarize_periods(runs: Path) -> dict[str, Any]:
    """The tables of the language model, a line a site, and what was measured."""
    found = measure_once(
        WORDS, ("scores", "replaced", "roles"), runs, measure_periods, runs / WORDS / "model"
    )
    scores, replaced = (found[part].assign(model=WORDS) for part in ("scores", "replaced"))
    roles = found["roles"].astype({"searched": object}).fillna({"searched": ""})
    return {
        "measured": scores,
        "is_earlier": "gain" not in scores,
        "answers": list(_answers(scores, replaced, roles)),
        "scores": table(list(score_rows(scores))),
        "replaced": table(list(replaced_rows(replaced))),
        "roles": table(list(_role_rows(roles))),
        "fitted": SENTENCES,
        "followed": FOLLOWED,
        "steps": read_recipe(STUDY / "recipe.toml").steps,
        **_training(),
    }


def _training() -> dict[str, Any]:
    """How far the language model was trained."""
    log = pd.read_csv(STUDY / "log.csv")
    last = log[log["metric"] == "held_out_loss"].iloc[-1]
    return {"step": int(last["step"]), "loss": last["value"]}


def _answers(scores: pd.DataFrame, replaced: pd.DataFrame, roles: pd.DataFrame) -> Iterator[str]:
    for site, rows in scores.groupby("site", sort=False):
        bag = rows[rows["family"] == "bag"].iloc[0]
        bound, twin = (largest(rows, "factored", control) for control in ("", "untrained"))
        search = roles[(roles["site"] == site) & (roles["searched"] == "") & roles["is_found"]]
        name = f"`{search.iloc[0]['roles']}`" if len(search) else "no structure"
        same = replaced[replaced["site"] == site]
        kept, mean, random, rest = agreement_texts(same)
        yield (
            f"the words of the sentence explain {r2_text(bag)} of the state's variance ({site}). Bindings explain at most {r2_text(bound)} "
            f"(`{bound['roles']}`), and in the untrained twin {r2_text(twin)}. The search finds {name}. If the `{same.iloc[0]['roles']}` "
            f"decomposition replaces the state, the model expects the same next token in {kept} of cases. With the mean state it does so in "
            f"{mean}, after a random move as far in {random}. If the decomposition is removed and the rest kept, it does so in {rest}."
        )


def _role_rows(roles: pd.DataFrame) -> Iterator[dict[str, str]]:
    """What the search found, and what it found in its controls."""
    for row in roles[roles["is_found"] | (roles["searched"] != "")].to_dict("records"):
        yield {
            "site": row["site"],
            "searched": row["searched"] or "the states",
            "found": f"`{row['roles']}`",
            "pairs": "–" if pd.isna(row["pairs"]) else f"{row['pairs']:.0f}",
            "bits": "–" if pd.isna(row["bits"]) else f"{row['bits']:.1f}",
            "R²": "–" if pd.isna(row["r2"]) else f"{row['r2']:.3f}",
        }
