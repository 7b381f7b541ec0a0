"""The page of one model: a section a question, with a sentence, a figure, its control, and the command that goes deeper."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.analyses.attention.head_patterns import FIRST, MARGIN
from tprprobe.analyses.decomposition import binds
from tprprobe.analyses.decomposition.designs import SHUFFLED_ROLES
from tprprobe.analyses.naming.fields import count_places
from tprprobe.analyses.naming.name_counts import (
    TRAINED,
    count_marks,
    select_named,
)
from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.analyses.probing.rows import TIE, name_score, rank_layers
from tprprobe.figures.behavior import behavior_scene, describe_change
from tprprobe.figures.cluster_labels import describe_stability, quote_label
from tprprobe.figures.clusters import explain_ends, text_strips
from tprprobe.figures.component_page import (
    BEYOND,
    DECODER,
    ROLES,
    count_clusters,
    describe_rival,
    list_relations,
    percent,
    show_decoder,
    show_roles,
    top,
)
from tprprobe.figures.dots import render
from tprprobe.figures.heads import relation_squares
from tprprobe.figures.labels import CONTROLS, site_label
from tprprobe.figures.probe_captions import TITLES
from tprprobe.figures.probes import probe_table
from tprprobe.figures.report.sections import Section
from tprprobe.figures.state_shares import PLACE, STATES, UNITS, keep_settled, share_bars
from tprprobe.figures.tables import write_minus
from tprprobe.statistics import write_interval
from tprprobe.store.layout import TWINS

FURTHER = " Why a share is not the R² of `tprprobe decompose`: `tprprobe docs share`."
GENERATED = "generated sentences, each a second time with two words exchanged; "
UNKNOWN = "These texts do not settle"
FEW = 50  # examples that a probe learned from, below which its scores are not drawn
SMALL = 0.1  # the upper end of a share of bindings that texts show not to be there
ROLE = {"role": "role (agent, patient …)"}
QUESTIONS = {
    "nested": "What are its states made of?",
    "heads": "What do its heads look at?",
    "decoder": DECODER,
    "clusters": "Which tokens does a late layer group?",
    "roles": ROLES,
    "probes": "What can be read from its states?",
    "behavior": "What changes its answer when two words change places?",
}


def describe_run(subject: Any) -> str:
    """What was read, in what order, and what numbers in brackets and the baseline model are."""
    unit = UNITS.get(subject.unit, "one vector")
    baseline = ", ".join(subject.store.twins)
    name = subject.data.name
    name = name.rpartition("/")[2] if name.startswith(("/", ".")) else name
    name = f"{GENERATED}{name}" if name.startswith("pairs:") else name
    data = "" if name.startswith("texts ") else f" ({name})"  # texts in memory have no name
    count = ""
    if subject.groups == "documents":
        count = f" of {subject.store.tokens['document'].nunique():,} documents"
    n_texts = f"{len(subject.data):,}"
    if subject.n_texts > len(subject.data):
        n_texts += f" of {subject.n_texts:,}"
    sources = subject.store.facts.guessed.items()
    guesses = ", ".join(f"{TITLES.get(task, task)} by {source}" for task, source in sources)
    labels = f" Labels of words are guesses, right or wrong: {guesses}." * bool(guesses)
    start, end = site_label(subject.sites[0]), site_label(subject.sites[-1])
    sites = (
        f"{len(subject.sites)} sites were recorded, from {start} to {end}"
        if start != end
        else f"the site {end} was recorded"
    )
    return (
        f"{subject.name} read {n_texts} text{'s' * (n_texts != '1')}{count}{data}{subject.say_trained()}; {sites}. The state of a text is {unit}.{labels}\n"
        f"In brackets: 95 % intervals over {subject.groups}. Baseline model: the same network with {baseline} weights (the "
        "numbers of every matrix in random order)."
    )


def offer_texts(subject: Any) -> str:
    """How to read all texts, where the data have more than were read."""
    n = subject.n_texts
    return f" (the data have {n:,}: -n {n})" if n > len(subject.data) else ""


def explain_lack(name: str, reason: str, subject: Any) -> Section:
    """The section of a question that cannot be asked of this model or these texts, in one grey line."""
    reason = re.sub("document", subject.groups.removesuffix("s"), reason)
    reason += offer_texts(subject) if re.search(r"read (more|\d)", reason) else ""
    return Section(QUESTIONS[name], lack=f"Not measured: {reason}.")


def _section(
    name: str, text: str, figure: Any, deeper: str, note: str = "", lack: str = ""
) -> Section:
    figures, lack = {write_minus(note): figure}, write_minus(lack)
    return Section(QUESTIONS[name], write_minus(text), figures, lack=lack, deeper=deeper, name=name)


def show_states(table: pd.DataFrame, subject: Any) -> Section:
    """Stacked shares of variance by layer, of the model beside its baseline."""
    scene = share_bars(table, subject.name)
    site = subject.sites[-1]
    settled = keep_settled(table[table["roles"] == PLACE])
    is_bag = (settled["family"] == "bag") & (settled["site"] == site)
    bags: dict[str, Any] = settled[is_bag].set_index("control").to_dict("index")
    words, baseline = bags[""], bags[TWINS[0]]
    due = f"of the variance of {STATES[subject.unit]} is due to which tokens a text has, wherever they stand"
    rival = f"{percent(baseline, 'share')} in the baseline model; difference in percentage points: {write_interval(words, 'share_learned', '+.1f', 100)}"
    if np.isnan(baseline["share"]):
        rival = "these texts do not settle it in the baseline model"
    text = f"At {site_label(site)}, an estimated {percent(words, 'share')} {due} ({rival})."
    if np.isnan(words["share"]):
        text = f"At {site_label(site)}, these texts do not settle how much {due}{offer_texts(subject)}."
    bound, unbound = describe_bindings(table)
    if subject.unit == "last":
        last = subject.store.tokens_of(site).groupby("sample")["token"].last().value_counts()
        text += f" The last token is ‘{last.index[0]}’ in {last.iloc[0]:,} of {last.sum():,} texts."
    deeper = (
        f"tprprobe decompose {subject.store.path} --site {site} --roles left --unit {subject.unit}"
    )
    figure, text = render(replace(scene, note="")), f"{text} {bound}".strip()
    return _section("nested", text, figure, deeper, scene.note + FURTHER, unbound)


def describe_bindings(table: pd.DataFrame) -> tuple[str, str]:
    """At how many sites states bind tokens to places, of those where that is settled; and where none does, whether it is."""
    table = keep_settled(table)
    is_state = ~table["site"].str.endswith(".embedding")
    factored = table[(table["family"] == "factored") & (table["roles"] == PLACE) & is_state]
    real, of_twins = (factored[factored["control"].isin(names)] for names in ([""], TWINS))
    if real.empty:
        return "", ""
    name = "tokens to places (counted from the left)"
    records, baselines = (
        part.dropna(subset="share").to_dict("records") for part in (real, of_twins)
    )
    if not records:
        return "", f"{UNKNOWN} a binding of {name}."
    bound = [row for row in records if binds(row)]
    best = max(bound or records, key=lambda row: row["share"])
    where, share = site_label(best["site"]), percent(best, "share", 1)
    if bound:
        there_too = [percent(row, "share", 1) for row in baselines if row["site"] == best["site"]]
        there = "".join(f" ({rival} in the baseline model)" for rival in there_too)
        if len(records) == 1:
            return f"At {where}, states bind {name}: {share} of the variance{there}.", ""
        largest = f"; the largest share of these is {share} of the variance, at {where}{there}"
        beside = f" ({sum(map(binds, baselines))} of {len(baselines)} in the baseline model)"
        settled = " where that is settled" * (len(records) < len(real))
        n = f"{len(bound)} of {len(records)} sites{settled}{beside * bool(baselines)}"
        return f"{n} bind{'s' * (len(bound) == 1)} {name}{largest}.", ""
    is_settled = len(records) == len(real)
    is_none = is_settled and bool(best["share_low"] > 0 or (real["share_high"] < SMALL).all())
    verdict = f"No binding of {name} was found" if is_none else f"{UNKNOWN} a binding of {name}"
    shuffled = f"{percent(best, 'share_shuffled', 1)} with {SHUFFLED_ROLES}"
    largest = f"; the largest estimate is {share} ({shuffled}), at {where}"
    return "", f"{verdict}{largest}."


def show_heads(table: pd.DataFrame, subject: Any) -> Section:
    """A grid of layers and heads, each square in the color of the relation that the head follows; in the text, how many of the baseline model follow one,
    and beside them those that look at the first word or token.
    """
    is_real, is_clear = table["model"] == TRAINED, table["beyond_low"] > MARGIN
    at_first = is_clear & table["relation"].isin(FIRST)
    follows = is_clear & ~at_first
    n, n_first = (int((heads & is_real).sum()) for heads in (follows, at_first))
    n_baseline, n_baseline_first = ((heads & ~is_real).sum() for heads in (follows, at_first))
    deeper = f"tprprobe app {subject.folder}    # page Attention"
    text = (
        f"On {subject.store.facts.attention_samples} of the texts, {n} of {is_real.sum()} heads look{'s' * (n == 1)} at a related word or token more often "
        f"than a control, a random choice or a fixed distance, {BEYOND} ({n_baseline} in the baseline model)"
    )
    first = f", beside {n_first} ({n_baseline_first}) that look{'s' * (n_first == 1)} at the first one, as heads with nothing else to look at often do"
    text += first * bool(n_first + n_baseline_first)
    if not n:
        return Section(QUESTIONS["heads"], lack=f"{text}.", deeper=deeper)
    scene = relation_squares(table)
    best = top(table[follows & is_real], "beyond")
    where, share = site_label(best["site"], best["head"]), percent(best, "value")
    text += (
        f"; by best relation: {list_relations(table.loc[follows & is_real, 'relation'])}. Farthest beyond its control is {where} "
        f"({best['relation']}): it looks most at the related one in {share} of {best['n']:,} cases, against {describe_rival(best)}."
    )
    return _section("heads", text, render(replace(scene, note="")), deeper, scene.note)


def show_clusters(table: pd.DataFrame, subject: Any) -> Section:
    """Texts whose tokens have the color of their cluster, and what the clusters are called."""
    roles, site = subject.clusters, subject.sites[-1]
    names = table.get("name", pd.Series(UNNAMED, table.index)).fillna(UNNAMED)
    of_model = table.assign(name=names, model=TRAINED)
    with_names = select_named(of_model)
    labels = dict(
        zip(with_names["cluster"].astype(int), with_names["name"].map(quote_label), strict=True)
    )
    if "name" not in table:
        comparison = (
            "No group has a name: that needs labels, or for places and tokens four texts or more."
        )
    else:
        n_named, n_places = (
            int(table[f"{name}_{TWINS[0]}"].iloc[0]) for name in ("named", "places")
        )
        counts = {TRAINED: (len(with_names), len(table)), TWINS[0]: (n_named, len(table))}
        places = {TRAINED: count_places(with_names["name"]), TWINS[0]: n_places}
        comparison = f"{count_clusters(counts, places, site_label(site))}{count_marks(of_model)}"
    text, lack = describe_stability(roles), "" if len(with_names) else comparison
    if len(with_names):
        best = top(with_names, "f05")
        text += (
            f" {comparison} The clearest is {quote_label(best['name'])} (cluster {best['cluster']}: precision {percent(best, 'precision')}, recall "
            f"{percent(best, 'recall')})."
        )
    deeper = f"tprprobe name {subject.store.path} --site {site} --k {roles.k} --seed {subject.seed}"
    note = f"{explain_ends(subject.store)}The number of its group stands under every token; in parentheses, its most typical tokens where it has no name, shares it, or is named by a place of words."
    figure = render(text_strips(subject.store, roles, labels))
    return _section("clusters", text, figure, deeper, note, lack)


def show_probes(table: pd.DataFrame, subject: Any) -> Section:
    """Scores of probes by layer beside the strongest control."""
    guessed = subject.store.facts.guessed
    names = {
        task: f"{(TITLES | ROLE).get(task, task)}{' (guessed)' * (task in guessed)}"
        for task in table["task"].unique()
    }
    deeper = f"tprprobe probe {table['task'].iloc[0]} {subject.store.path}"
    table = table.assign(task=table["task"].map(names))
    real = table[table["control"] == "real"]
    n_learned = real.groupby("task", sort=False)["n_train"].max()
    few = n_learned[n_learned < FEW] if n_learned.max() >= FEW else n_learned[:0]
    table, real = (rows[~rows["task"].isin(few.index)] for rows in (table, real))
    clauses, unread = [], []
    for task, rows in real.groupby("task", sort=False):
        best = top(rows, "f1")
        control = CONTROLS.get(best["best_control"], best["best_control"])
        score = f"{name_score(rows)} {percent(best, 'f1', 1)}"
        control_score = f"strongest control: {control}, {100 * best['best_control_f1']:.1f}\u00a0%"
        rank = next(iter(rank_layers(rows).values()), "")
        rank = rank if TIE in rank else rank.partition("; ")[-1]
        training = f"learned from {best['n_train']:,.0f} examples"
        clause = f"{task} best at {site_label(best['site'])}, {score} ({'; '.join(filter(None, (training, control_score, rank)))})"
        is_read = str(best["beats_controls"]) == "True"  # of a table that was read again, a text
        (clauses if is_read else unread).append(clause)
    text = f"Linear probes, tested on texts that they did not see, read {'; '.join(clauses)}."
    text *= bool(clauses)
    lack = f"Not read better than by every control: {'; '.join(unread)}. " if unread else ""
    counts = ", ".join(f"{task} ({n:,.0f})" for task, n in few.items())
    lack += f"Not shown, as probes learned from fewer than {FEW} examples: {counts}." * bool(counts)
    figure = render(replace(probe_table(table.assign(model=subject.name)).scene, note=""))
    note = (
        "Colored bands: 95\u00a0% intervals. Gray: the strongest of the controls (input embeddings, the baseline model, the most frequent label of the word). "
        "Filled marks: above every control (paired tests, corrected by Holm)."
    )
    return _section("probes", text, figure, deeper, note, lack.strip())


def show_behavior(table: pd.DataFrame, subject: Any) -> Section:
    """How far the answer moves when two words' states change places, by layer, beside controls."""
    text, moves = describe_change(table, "exchange")
    text, lack = (text, "") if moves else ("", text)
    deeper = f"tprprobe intervene --data {subject.data.name} --ckpt {subject.checkpoint}"
    return _section("behavior", text, render(behavior_scene(table)), deeper, "", lack)


SECTIONS: dict[str, Callable[[pd.DataFrame, Any], Section]] = {
    "nested": show_states,
    "heads": show_heads,
    "decoder": show_decoder,
    "clusters": show_clusters,
    "roles": show_roles,
    "probes": show_probes,
    "behavior": show_behavior,
}
