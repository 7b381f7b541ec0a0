"""Behavior on minimal pairs: what a model expects next after the states of two words are edited.

One number is the text's own answer against the other text's: logit(other answer) − logit(answer). With it
stand whether the next token is that of the other text, and KL(other text ‖ edited text). The other text itself is
the ceiling, the unedited one the floor.
"""

import os
from collections.abc import Sequence
from functools import cached_property, partial

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tprprobe.data.frames.pairsets import MinimalPairs
from tprprobe.data.frames.pairsets import pair_of_text as pair_of_text
from tprprobe.errors import unknown
from tprprobe.evaluation.results import FILE, melt
from tprprobe.files.checksums import sum_bytes
from tprprobe.files.runs import KeptRun, keep_table, kept
from tprprobe.interventions import word_edits
from tprprobe.interventions.batched_edits import rows_per_pass
from tprprobe.interventions.folders import begin_run, measure_parts, run_origin
from tprprobe.interventions.kinds import BEHAVIORS
from tprprobe.interventions.pair_trials import NOWHERE, Trials, make_trials
from tprprobe.models.protocol import Language, require_vocabulary
from tprprobe.site.hooks import capture, find_sites, intervene
from tprprobe.site.patterns import layer_of, match, select, side_of
from tprprobe.statistics import Interval, adjust, bootstrap_mean, sign_test

TABLE, TRIALS = BEHAVIORS.file, "trials.parquet"
SITES = ("*.embedding", "*.hidden")
EDITS, ITEMS = ("exchange",), 32  # by default
NONE, CEILING = "none", "other text"
PLACE = ["site", "layer", "edit", "control"]
MEASURES = ("agrees", "difference", "kl", "p_answer", "p_other")
LOWEST = {"agrees": 0.0}  # the measures that are shares
LIKELY = 0.2  # of the probability of the most probable token


def measure_pairs(
    model: Language,
    data: MinimalPairs,
    sites: str | Sequence[str] | None = None,
    edits: Sequence[str] = EDITS,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    seed: int = 0,
) -> pd.DataFrame:
    """The effect of edits of two words' states on the next token, site by site, beside controls.

    Args:
        model: Any model with a head, ours or one of transformers.
        data: Minimal pairs, ``tp.load_data("pairs:FRAME,asked")`` or :func:`pair_of_text`.
        sites: Sites of pairs' edits, as patterns; default: what the first layer reads, and every layer's output,
            of the source's side.
        edits: exchange (default), substitute, surgery or erase, of pairs.
        out: A new folder for behavior.csv and trials.parquet (every trial); default: nothing is written.
        resume: Go on with that folder.
        seed: Seed of random directions, and of the draws of intervals.

    Returns:
        One row per site, edit and control (site and edit "none": nothing is edited; "other text": the ceiling), with 95 %
        intervals over items; see [columns](interventions.md#columns-of-behavior-on-pairs).

    Raises:
        InputError: No such site or edit, no item that can be asked, or a folder of another run.

    Source: Geiger et al. 2021, interchange interventions.

    Examples:
        >>> tp.interventions.measure_pairs(model, tp.load_data("pairs:agents,asked", n=4), edits=["swop"])
        Traceback (most recent call last):
        tprprobe.errors.InputError: ...
    """
    if strange := [edit for edit in edits if edit not in word_edits.EDITS]:
        raise unknown("edit of pairs", strange[0], word_edits.EDITS)
    names = select_source_sites(model, sites)
    texts = "\n".join(example.source for example in data)
    settings = run_origin(model, data) | {"texts": sum_bytes(texts.encode())}
    settings |= {"sites": names, "edits": list(edits), "seed": seed}
    trials = make_trials(model, data)  # refused before anything is written
    with kept(out) as folder:
        run = begin_run(folder, settings, resume)

        def measure(run: KeptRun) -> pd.DataFrame:
            pairs = PairMeasurement(model.eval(), trials, names, seed)
            edited = [partial(pairs.edited, name, edits) for name in names]
            return measure_parts(run, [pairs.unedited, *edited], "intervening")

        summarize = partial(summarize_pairs, seed=seed)
        table = keep_table(run, (TRIALS, TABLE), measure, summarize, list_results)
        return table.fillna({"control": word_edits.REAL})  # which a CSV does not tell from nothing


def select_source_sites(model: Language, sites: str | Sequence[str] | None) -> list[str]:
    """The sites of the source's side that match; by default what the first layer reads, and every layer's output."""
    source = [name for name in find_sites(model) if side_of(name) == "source"]
    names = select(sites, source) if sites else [n for p in SITES for n in match(p, source)]
    return sorted(names, key=source.index)


class PairMeasurement:
    """A model with its trials: what it says of both texts, and the states of their words at all sites."""

    def __init__(self, model: Language, trials: Trials, names: Sequence[str], seed: int):
        self.model, self.names, self.seed = model, list(names), seed
        self.trials = trials

    @cached_property
    def states(self) -> dict[str, tuple[Tensor, Tensor, Tensor, Tensor]]:
        """By site: the states of both texts at the words (x, y), and at the tokens beside them."""
        (texts, _), (other_texts, _) = self._read_both
        return {
            name: (text[:, :2], other_texts[name][:, :2], text[:, 2:], other_texts[name][:, 2:])
            for name, text in texts.items()
        }

    @cached_property
    def log_probabilities(self) -> tuple[Float[Tensor, "item vocab"], Float[Tensor, "item vocab"]]:
        """The log-distributions of the next token of the texts, and of the other texts."""
        (_, logs), (_, other_logs) = self._read_both
        return logs, other_logs

    @cached_property
    def answers(self) -> Int[Tensor, "item answer"]:
        """The two answers; where they are not said, what the model itself expects: the text's most probable
        token, and of those that are likely in the other text the one that gains most there.
        """
        logs, other_logs = self.log_probabilities
        is_unlikely = other_logs.exp() < LIKELY * other_logs.exp().amax(-1, keepdim=True)
        gain = (other_logs - logs).masked_fill(is_unlikely, -1e9)
        likeliest = logs.argmax(-1)
        instead = gain.scatter(-1, likeliest[:, None], -1e9).argmax(-1)
        expected = torch.stack([likeliest, instead], 1)
        return torch.where(self.trials.answers == NOWHERE, expected, self.trials.answers)

    def unedited(self) -> pd.DataFrame:
        logs = zip((NONE, CEILING), self.log_probabilities, strict=True)
        rows = [self._rows(NONE, edit, word_edits.REAL, values) for edit, values in logs]
        return pd.concat(rows, ignore_index=True)

    def edited(self, name: str, edits: Sequence[str]) -> pd.DataFrame:
        """The trials of a site's edits, and of their controls; those that cannot be made have no numbers."""
        trials = self.trials
        exchanged = [item.text.exchanged for item in trials.items]
        word_pairs = tuple((a.word, b.word) for a, b in exchanged)
        places, states = (trials.places, trials.aside), self.states[name]
        words = word_edits.WordStates(word_pairs, *places, *states, self.seed)
        variants = list(word_edits.list_edits(words, edits))
        rows = [
            self._rows(name, variant.edit, variant.control, logs, variant.is_possible)
            for variant, logs in zip(variants, self._edit(name, variants), strict=True)
        ]
        return pd.concat(rows, ignore_index=True)

    def _edit(
        self, name: str, variants: Sequence[word_edits.EditVariant]
    ) -> Float[Tensor, "way item vocab"]:
        columns = zip(*(variant[2:] for variant in variants), strict=True)
        is_possible, positions, states = (torch.stack(column) for column in columns)
        out = torch.full((*is_possible.shape, self.log_probabilities[0].shape[1]), torch.nan)
        for indices in torch.nonzero(is_possible).split(self._batch):
            variant, item = indices.unbind(1)
            edit = word_edits.SetAt(positions[variant, item], states[variant, item])
            with intervene(self.model, {name: edit}):
                out[variant, item] = self._logs(self.trials.source[item])
        return out

    @property
    def _batch(self) -> int:
        return rows_per_pass(self.model.device, self.trials.source.shape[1])

    def _logs(self, source: Int[Tensor, "item seq"]) -> Float[Tensor, "item vocab"]:
        return self.model.predict(source.to(self.model.device)).clamp_min(1e-38).log().cpu()

    @cached_property
    def _read_both(self) -> list[tuple[dict[str, Tensor], Float[Tensor, "item vocab"]]]:
        return [self._read(ids) for ids in (self.trials.source, self.trials.other_source)]

    def _read(
        self, source: Int[Tensor, "item seq"]
    ) -> tuple[dict[str, Tensor], Float[Tensor, "item vocab"]]:
        """The states of all sites at the words and beside them, [item, 4, *shape], and the log-distributions."""
        positions = torch.cat([self.trials.places, self.trials.aside.clamp_min(0)], 1)
        blocks: dict[str, list[Tensor]] = {name: [] for name in self.names}
        logs: list[Tensor] = []
        for rows in torch.arange(len(source)).split(self._batch):
            with capture(self.model, self.names) as acts:
                logs.append(self._logs(source[rows]))
            for name in self.names:
                states, row = acts[name].float().cpu(), torch.arange(len(rows))[:, None]
                blocks[name].append(states[row, positions[rows]])
        return {name: torch.cat(tensors) for name, tensors in blocks.items()}, torch.cat(logs)

    def _rows(
        self,
        site: str,
        edit: str,
        control: str,
        logs: Float[Tensor, "item vocab"],
        is_possible: Bool[Tensor, " item"] | None = None,
    ) -> pd.DataFrame:
        """One row per item: the measures, NaN where the edit cannot be made."""
        other_logs = self.log_probabilities[1]
        answer, instead = logs.gather(-1, self.answers).unbind(1)
        layer = layer_of(site)
        values = {
            "agrees": (logs.argmax(-1) == other_logs.argmax(-1)).float(),
            "difference": instead - answer,
            "kl": (other_logs.exp() * (other_logs - logs)).sum(-1),
            "p_answer": answer.exp(),
            "p_other": instead.exp(),
        }
        is_made = np.ones(len(logs), bool) if is_possible is None else is_possible.numpy()
        spell = require_vocabulary(self.model).spell
        texts = [[spell([i]).strip() for i in ids] for ids in self.answers.T.tolist()]
        columns = {
            "site": site,
            "layer": -1 if layer is None else layer,
            "edit": edit,
            "control": control,
            "item": [item.name for item in self.trials.items],
            "answer": texts[0],
            "other": texts[1],
            "made": is_made,
        }
        numbers = {name: np.where(is_made, value.numpy(), np.nan) for name, value in values.items()}
        left_out = sum(self.trials.left_out.values())
        return pd.DataFrame({**columns, **numbers, "left_out": left_out})


def summarize_pairs(trials: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """The table of :func:`measure_pairs` from its trials."""
    floor = trials[trials["edit"] == NONE].set_index("item")["difference"]
    trials = trials.assign(change=trials["difference"] - trials["item"].map(floor))
    rows = []
    for key, group in trials.groupby(PLACE, sort=False):
        possible = group[group["made"]]
        missing = len(group) - len(possible) + int(group["left_out"].iloc[0])
        row: dict[str, object] = dict(zip(PLACE, key, strict=True))
        row |= {"n": len(possible), "missing": missing}
        for name in ("answer", "other"):  # where all items have the same
            row[name] = group[name].iloc[0] if group[name].nunique() == 1 else None
        for name in (*MEASURES, "change"):
            mean = _mean(possible[name], seed, LOWEST.get(name)) if len(possible) else None
            row |= mean.columns(name) if mean else {name: np.nan}
        rows.append(row)
    table = pd.DataFrame(rows)
    is_edit = ~table["edit"].isin((NONE, CEILING, word_edits.ANY))
    real = table[(table["control"] == word_edits.REAL) & is_edit].index
    beyond = [_beyond(trials, table.loc[index], seed) for index in real]
    table = table.join(pd.DataFrame(beyond, index=real))
    for _, group in table.loc[real].groupby("edit"):
        rows_with_p = group.index[group["p"].notna()]
        table.loc[rows_with_p, "p"] = adjust(table.loc[rows_with_p, "p"].to_numpy(float), "holm")
    return table


def list_results(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The file of the long table of :func:`measure_pairs`."""
    columns = {"edit": "estimator", "against": "rival"}
    names = {name: name for name in ("site", "layer", "estimator", "control")}
    return {FILE: melt(table.rename(columns=columns), names, (*MEASURES, "change"))}


def _mean(values: pd.Series, seed: int, lowest: float | None = None) -> Interval:
    return bootstrap_mean(values.to_numpy(float), np.arange(len(values)), seed=seed, lowest=lowest)


def _beyond(trials: pd.DataFrame, row: pd.Series, seed: int) -> dict[str, object]:
    """The change of an edit at a site beside that of its strongest control, on the items that have both."""
    is_edit = trials["edit"].isin((row["edit"], word_edits.ANY))
    trials_at_site = trials[(trials["site"] == row["site"]) & is_edit & trials["made"]]
    wide = trials_at_site.pivot_table(index="item", columns="control", values="change")
    if word_edits.REAL not in wide or len(wide.columns) < 2:
        return {"against": None, "beyond": np.nan, "p": np.nan}
    control_means = wide.drop(columns=word_edits.REAL).mean()
    strongest = str(control_means.idxmax())
    gap = (wide[word_edits.REAL] - wide[strongest]).dropna()
    p = sign_test(int((gap > 0).sum()), int((gap < 0).sum()))
    return {"against": strongest, **_mean(gap, seed).columns("beyond"), "p": p}
