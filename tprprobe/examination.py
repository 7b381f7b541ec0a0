"""One model, examined: are its states sums of bindings, of which roles, is that learnt, known, and used?"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from torch import nn

from tprprobe.analyses.decomposition import (
    binds,
    decompose_all,
    describe_binding,
    measure_exact_gain,
    view_scores,
)
from tprprobe.analyses.probing import probe
from tprprobe.analyses.probing.rows import name_score
from tprprobe.data import as_data, load_data
from tprprobe.data.dataset import Dataset
from tprprobe.data.frames.pairsets import MinimalPairs
from tprprobe.errors import InputError
from tprprobe.extraction import extract
from tprprobe.figures.dots import interval_dots
from tprprobe.figures.report.page import write_report
from tprprobe.figures.report.sections import Section
from tprprobe.files.locks import alone
from tprprobe.files.runs import KeptRun
from tprprobe.interventions.behavior import measure_pairs
from tprprobe.models.architectures import fingerprint
from tprprobe.models.loading import load_model
from tprprobe.models.protocol import Language, Readable
from tprprobe.site.adapters import Adaptable
from tprprobe.site.attachment import Attached
from tprprobe.site.hooks import find_sites
from tprprobe.site.patterns import layer_of, side_of
from tprprobe.statistics import interval_text, measured, read_interval
from tprprobe.store.layout import TWINS

PAIRS = "pairs:active+passive+relative+cleft"  # what a model reads if nothing is asked for
MANIFEST, LAYERS, TEXTS, N_BEHAVIOR = "examination.json", 6, 600, 60
PLACE, ROLES = "left", ("role", "pos")  # schemes: the place of a word, and what labels say
PROBED = ("pos", "dep", "nel", "srl")
WHOLE_TABLE = "The whole table"
AHEAD = "encoder."  # stacks whose tokens see what follows
EXACT = "exact table"  # the control at the input embeddings, where V[token, place] is known


@dataclass(frozen=True, eq=False)
class Examination:
    """What was found of a model: five lines, and tables by name (nested, probes, behavior), where it can be asked.

    ``page`` is the file with lines, figures and tables; every table is a CSV file beside it.
    """

    folder: Path
    lines: list[str]
    tables: Mapping[str, pd.DataFrame]

    @property
    def page(self) -> Path:
        """The page."""
        return self.folder / "report.html"


def examine(
    model: Readable | nn.Module | Adaptable,
    tokenizer: Any = None,
    data: Dataset | str | os.PathLike[str] | Iterable[str] | None = None,
    out: str | os.PathLike[str] = "runs/examined",
    layers: int = LAYERS,
    n: int = TEXTS,
    resume: bool = False,
    seed: int = 0,
) -> Examination:
    """The whole question of one model: what its states of sentences are made of, layer by layer, beside its twin
    with permuted weights; what probes find where words are labelled; what the next token is when two words'
    states change places, where the model has a head.

    Args:
        model: Any model that reads text, or one in memory, as :func:`load_model` takes it.
        tokenizer: The tokenizer of a model in memory; default: the one that it has.
        data: What it reads, as :func:`load_data` takes it; default: minimal pairs of four frames, in which agent and patient change places.
        out: The folder of report.html, the tables as CSV and the stores.
        layers: How many layers' outputs are examined, evenly spaced; default: 6. The input embeddings come first.
        n: How many texts are read.
        resume: Resume an interrupted run.
        seed: Seed of random choices.

    Returns:
        The examination; a state is the mean over a text's tokens, of a model that looks back only its last
        token's. Fillers are the model's tokens where a state is their mean or the text has no words, else words.

    Raises:
        InputError: a model without layers that read a source, too few texts, a folder of something else.

    Examples:
        >>> tp.examine(module, tokenizer, ["Dogs chase cats.", "Rain falls."], out="runs/mine")  # doctest: +SKIP
    """
    if not isinstance(model, Language | Attached):
        model = load_model(model, tokenizer)
    data = load_data(PAIRS, n=n, seed=seed) if data is None else as_data(data)[:n]
    sites, folder = choose_sites(model, layers), Path(out)
    with alone(folder):
        return _examine(model, data, sites, folder, resume, seed)


def _examine(
    model: Any, data: Dataset, sites: list[str], folder: Path, resume: bool, seed: int
) -> Examination:
    """The examination in a folder that no other process writes."""
    settings = {"model": model.name, "weights": fingerprint(model), "data": data.name}
    settings |= {"n": len(data), "sites": sites, "seed": seed, "tprprobe": version("tprprobe")}
    run = KeptRun.open(folder, settings, resume, MANIFEST)
    pool = "mean" if sites[-1].startswith(AHEAD) else "last"
    options: dict[str, Any] = {"twins": [TWINS[0]], "control_samples": len(data), "resume": True}
    words = None if pool == "mean" or not has_words(data) else "last"
    states = extract(model, data, sites, folder / "states", pool=pool, words=words, **options)
    schemes = [PLACE, *(task for task in ROLES if task in data.tasks)]
    nested = view_scores(decompose_all(states, sites, schemes, folder / "nested", True, seed=seed))
    tasks, has_exact_table = [task for task in PROBED if task in data.tasks], is_embedding(sites[0])
    token_sites = sites if tasks else sites[:1]
    tokens = partial(extract, model, data, token_sites, folder / "tokens", **options)
    if has_exact_table:
        gain = measure_exact_gain(tokens(), sites[0], pool)
        exact = {"site": sites[0], "roles": PLACE, "family": "factored", "control": EXACT}
        nested = pd.concat([nested, pd.DataFrame([exact | {"r2": 1.0, "gain": gain}])])
    tables = {"nested": nested}
    if tasks:
        tables["probes"] = probe(tokens(), tasks, out=folder / "probes", resume=True)
    if isinstance(data, MinimalPairs) and getattr(model, "head", None) is not None:
        arguments: Any = (model, replace(data, asked=True)[:N_BEHAVIOR], sites)
        tables["behavior"] = measure_pairs(
            *arguments, out=folder / "behavior", resume=True, seed=seed
        )
    sentences = (tell(tables) for tell in (_words, _bindings, _knowledge, _behavior))
    lines = [_about(model, data, sites, pool, words), *sentences]
    run.finish({f"{name}.csv": table for name, table in tables.items()}, {"lines": lines})
    sections = [SECTIONS[name](table) for name, table in tables.items()]
    write_report(folder, f"{model.name}, examined", "\n".join(lines), sections)
    return Examination(folder, lines, tables)


def choose_sites(model: Readable, layers: int) -> list[str]:
    """The input embeddings where they are a site, and the outputs of layers that are evenly spaced, the last included.

    Raises:
        InputError: no layer's output is a site, or less than one layer is asked for.
    """
    names = [name for name in find_sites(model) if side_of(name) == "source"]
    hidden = [name for name in names if name.endswith(".hidden") and layer_of(name) is not None]
    if not hidden:
        raise InputError(
            f"{model.name} has no site LAYER.hidden: name layers' outputs with tp.attach"
        )
    if layers < 1:
        raise InputError(f"{layers} layers: give one or more")
    layer_index = np.linspace(len(hidden) - 1, 0, min(layers, len(hidden))).round().astype(int)
    embedding = [name for name in names if name.endswith(".embedding")][:1]
    return [*embedding, *(hidden[i] for i in sorted({*layer_index.tolist()}))]


def is_embedding(site: str) -> bool:
    """True of the input embeddings, where no token has seen another one."""
    return site.endswith(".embedding")


def has_words(data: Dataset) -> bool:
    """True if words are labelled, or if most texts have blanks between words."""
    with_blanks = sum(" " in example.source.strip() for example in data)
    return bool(data.tasks) or 2 * with_blanks > len(data)


def _about(
    model: Readable, data: Dataset, sites: Sequence[str], pool: str, words: str | None
) -> str:
    state = "the mean over its tokens" if pool == "mean" else "its last token's"
    return (
        f"{model.name}, {len(data)} texts of {data.name}: the state of a text is {state}, at "
        f"{len(sites)} sites from {sites[0]} to {sites[-1]}; fillers are {'words' if words else 'the model’s tokens'}."
    )


def _real(table: pd.DataFrame, family: str, roles: str = PLACE) -> pd.DataFrame:
    """The rows of a family, controls left out."""
    is_real = (table["family"] == family) & (table["control"] == "") & (table["roles"] == roles)
    return table[is_real]


def _text(row: Any, name: str, form: str = ".3f") -> str:
    return interval_text(read_interval(row, name), form)


def _words(tables: Mapping[str, pd.DataFrame]) -> str:
    rows = _real(tables["nested"], "bag").dropna(subset=["r2"])  # none: all states are the same
    start, end = (_text(rows.iloc[i], "r2") for i in (0, -1))
    return f"Words alone explain R² {start} at {rows['site'].iloc[0]}, {end} at {rows['site'].iloc[-1]}."


def _bindings(tables: Mapping[str, pd.DataFrame]) -> str:
    """Where the state binds most to each scheme of roles; of a scheme that nothing is bound to, where bindings come nearest."""
    lines = []
    for roles in tables["nested"]["roles"].unique():
        rows: Any = _real(tables["nested"], "factored", roles).dropna(subset=["gain"])
        bound = rows[[binds(row) for row in rows.to_dict("records")]]
        best = (bound if len(bound) else rows).sort_values("gain").iloc[-1].to_dict()
        lines.append(
            f"{len(bound)} of {len(rows)} sites bind {roles}; {best['site']}: {describe_binding(best)}."
        )
    return " ".join([*lines, *_calibration(tables["nested"])])


def _calibration(nested: pd.DataFrame) -> Iterator[str]:
    """Whether the bindings that are measured at the input embeddings agree with their exact table."""
    exact = nested[nested["control"] == EXACT]
    for _, row in exact.iterrows():
        measured_row: Any = _real(nested, "factored")
        [bindings] = measured_row[measured_row["site"] == row["site"]].to_dict("records")
        name = "share" if np.isfinite(bindings.get("share_low", np.nan)) else "gain"
        values = f"bindings {_text(bindings, name, '+.3f')}, by its exact table {row['gain']:+.4f}"
        if binds(bindings) and bindings[f"{name}_low"] > row["gain"]:
            yield f"ERROR in calibration: {row['site']} has no context, but bindings are claimed there ({values}): trust no claim of bindings above."
        else:
            yield f"Calibration at {row['site']}, which has no context: {values}."


def _knowledge(tables: Mapping[str, pd.DataFrame]) -> str:
    if "probes" not in tables:
        return "Not probed: no task's labels are in the data (give a treebank, or --labels to extract)."
    rows = tables["probes"]
    clauses = []
    groups: Any = rows[rows["control"] == "real"].groupby("task", sort=False)
    for task, group in groups:
        best = group.loc[group["f1"].idxmax()]
        score = interval_text(read_interval(best, "f1"), ".1%")
        clauses.append(
            f"{task} {name_score(group)} {score} at {best['site']} (control "
            f"{best['best_control']} {best['best_control_f1']:.1%})"
        )
    return f"Known best: {'; '.join(clauses)}."


def _behavior(tables: Mapping[str, pd.DataFrame]) -> str:
    if "behavior" not in tables:
        return "Behavior was not measured: it needs minimal pairs and a model that was saved with a head."
    rows = tables["behavior"]
    exchanges: Any = rows[(rows["edit"] == "exchange") & (rows["control"] == "")]
    best = exchanges.loc[exchanges["change"].idxmax()]
    moves = best["change_low"] > 0 and best["beyond_low"] > 0
    claim = (
        "move the answer most at"
        if moves
        else "are not shown to move the answer; the largest change is at"
    )
    return (
        f"Two words' states exchanged {claim} {best['site']}: "
        f"logit difference {_text(best, 'change', '+.2f')}, "
        f"{_text(best, 'beyond', '+.2f')} beyond the strongest control."
    )


def _show_nested(table: pd.DataFrame) -> Section:
    """Gains of roles and of bindings by site, and what of them is learnt."""
    figures = {}
    for roles in table["roles"].unique():
        steps = [
            measured(rows := _real(table, family, roles), name, name=rows["site"], group=label)
            for family, name, label in (
                ("additive", "gain", "roles over words"),
                ("factored", "gain", "bindings over words and roles"),
                ("factored", "learnt", "of that, learned"),
            )
        ]
        title = f"What {roles} adds to words"
        figures[roles] = interval_dots(pd.concat(steps), title, "gain in held-out R²")
    return Section(
        "What states are made of", "", figures, (), {WHOLE_TABLE: table[table["control"] == ""]}
    )


def _show_probes(table: pd.DataFrame) -> Section:
    rows = table[table["control"] == "real"]
    dots = measured(rows, "f1", name=rows["site"], group=rows["task"])
    figure = interval_dots(dots, "What probes find", f"{name_score(rows)}, held out")
    return Section("What states know", "", {"probes": figure}, (), {WHOLE_TABLE: table})


def _show_behavior(table: pd.DataFrame) -> Section:
    rows = table[table["edit"] == "exchange"]
    ways = rows["control"].replace("", "the two words")
    dots = measured(rows, "difference", name=rows["site"], group=ways)
    label = "logit(other) − logit(answer)"
    figure = interval_dots(dots, "Two words' states exchanged", label)
    return Section("What behavior needs", "", {"behavior": figure}, (), {WHOLE_TABLE: table})


SECTIONS: dict[str, Callable[[pd.DataFrame], Section]] = {
    "nested": _show_nested,
    "probes": _show_probes,
    "behavior": _show_behavior,
}
