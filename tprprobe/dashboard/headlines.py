"""Headlines: what a page answers, in one sentence with numbers, from the tables that the page shows.

A sentence names only what the store, or the result beside it, holds.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.dashboard.holdings import describe_store, list_holdings
from tprprobe.dashboard.safe_text import visible
from tprprobe.dashboard.scene import Cloud
from tprprobe.dashboard.sentence import Link, Statement
from tprprobe.statistics import Interval, interval_text, read_interval
from tprprobe.store import Store

LONG = 90  # characters of a name
FEW = 3  # places that are named
NONE_EDIT = "none"
BAG, ADDITIVE, FACTORED = "bag", "additive", "factored"
STEPS = {BAG: "fillers alone", ADDITIVE: "roles", FACTORED: "bindings"}


def percent(row: Any, name: str = "value", digits: int = 1) -> str:
    """A share with its 95 % interval, in percent: ``78.9 % [71.0, 85.1]``."""
    return interval_text(read_interval(row, name), f".{digits}f", 100, " %")


def number(row: Any, name: str, form: str = ".3f") -> str:
    """A number with its 95 % interval: ``0.752 [0.741, 0.763]``."""
    return interval_text(read_interval(row, name), form)


def top(rows: pd.DataFrame, column: str, sign: int = 1) -> Any:
    """The row with the largest value of a column (the smallest for sign −1), the first of several."""
    return rows.iloc[int(np.nanargmax(sign * rows[column].to_numpy(float)))]


def place(site: str, head: Any = None) -> str:
    """A site and a head in words."""
    return str(site) if head is None or pd.isna(head) or head < 0 else f"{site}, head {int(head)}"


def link_vectors(site: str, head: Any = None, told: str = "", query: Any = None) -> Link:
    """The page that shows the vectors of a site and head."""
    of_head = {} if head is None or pd.isna(head) or head < 0 else {"head": str(int(head))}
    return Link(
        told or f"Show {place(site, head)}", "roles", {"site": str(site)} | of_head | (query or {})
    )


def tell_store(store: Store) -> Statement:
    """What was read, how well it was answered where that is known, which labels and twins the store has."""
    facts, holds = describe_store(store), list_holdings(store)
    told = f"{facts['samples']} samples ({facts['tokens']} tokens) of {facts['data']}"
    told = (
        f"{facts['model']} read {told}"
        if "imported" not in store.manifest
        else f"Imported vectors: {told}"
    )
    if holds.score is not None:
        right = (
            "answered right" if holds.arithmetic else "written as the reference is, word for word"
        )
        told += f"; {percent({'value': holds.score.value, 'low': holds.score.low, 'high': holds.score.high})} were {right}"
    parts = [f"Labels of words: {', '.join(holds.exact)}"] if holds.exact else []
    parts += [f"Labels that a tagger guessed: {', '.join(holds.guessed)}"] if holds.guessed else []
    parts += (
        [f"Controls: the {', '.join(holds.twins)} twin{'s' * (len(holds.twins) > 1)}"]
        if holds.twins
        else []
    )
    return Statement(". ".join([told, *parts]) + ".")


def tell_roles(scene: Cloud) -> Statement:
    """Which clusters of a head have a name, and how sure the surest one is."""
    names = scene.names
    if names is None:
        return Statement(
            f"{scene.roles.k} clusters of {len(scene.rows):,} vectors of {scene.place}, alike from seed to seed "
            f"by {scene.roles.stability:.2f} (ARI; 1: the same)."
        )
    known = names[names["name"] != UNNAMED]
    if known.empty:
        return Statement(
            f"None of the {len(names)} clusters of {scene.place} has a name that holds on held-out samples."
        )
    best = top(known, "f05")
    text = (
        f"{len(known)} of {len(names)} clusters of {scene.place} have a name that holds on held-out samples; they cover "
        f"{100 * known['coverage'].sum():.0f} % of the tokens. Surest: ‘{visible(best['name'], LONG)}’ (cluster "
        f"{best['cluster']}, precision {number(best, 'precision', '.2f')}, recall {number(best, 'recall', '.2f')})."
    )
    query = {"mark": f"cluster:{best['cluster']}", "k": str(scene.roles.k)}
    told = f"Mark cluster {best['cluster']}"
    return Statement(text, (link_vectors(scene.roles.site, scene.roles.head, told, query),))


def tell_probes(
    rows: pd.DataFrame, task: str, models: Sequence[str], score: str = "f1"
) -> Statement:
    """Where a task's labels are read best, and at how many places beyond every control."""
    real = rows[(rows["task"] == task) & (rows["control"] == "real") & rows["head"].isna()]
    real = real[real["model"].isin(list(models))]
    if real.empty:
        return Statement(f"No vectors were probed for {task}.")
    best, name = top(real, score), "F1" if score == "f1" else "accuracy"
    told = (
        f"{task.upper()} is read best from {best['site']}: {name} {percent(best, score)}, held out, "
        f"learnt from {best['n_train']:,} targets"
    )
    if isinstance(best["best_control"], str):
        told += (
            f"; its best control, {best['best_control']}: F1 {100 * best['best_control_f1']:.1f} %"
        )
    tested = real[real["beyond"].notna()]
    parts = [
        f"{(of['beyond'] == True).sum()} of {len(of)} sites of the {stack}{_list_beyond(of)}"  # noqa: E712
        for stack, of in tested.groupby(
            tested["site"].astype(str).str.split(".").str[0], sort=False
        )
    ]
    text = f"{told}." + (
        f" Beyond every control (paired, Holm): {'; '.join(parts)}." if parts else ""
    )
    link = link_vectors(
        best["site"], None, f"Show {best['site']} by {task}", {"colour": f"gold {task}"}
    )
    return Statement(text, (link,))


def _list_beyond(real: pd.DataFrame) -> str:
    found = real.loc[real["beyond"] == True, "site"].unique().tolist()  # noqa: E712
    more = f" and {len(found) - FEW} more" if len(found) > FEW else ""
    return f" ({', '.join(found[:FEW])}{more})" if found else ""


def tell_interventions(rows: pd.DataFrame, name: str) -> Statement:
    """What an edit changed most in the answers, or how often an exchange gave the predicted answer."""
    if "counterfactual" in rows:
        return Statement(_tell_swaps(rows, name))
    edited = rows[rows["edit"] != NONE_EDIT]
    if "change" not in edited or edited["change"].isna().all():
        return Statement(f"{len(rows)} edits were tried.")
    worst = top(edited, "change", -1)
    sure = edited[(edited["change_low"] > 0) | (edited["change_high"] < 0)]
    text = (
        f"{len(sure)} of {len(edited)} edits change the share of right answers beyond chance. Most does "
        f"‘{worst['edit']}’ at {place(worst['site'], worst['head'])}: {100 * worst['change']:+.1f} points "
        f"[{100 * worst['change_low']:+.1f}, {100 * worst['change_high']:+.1f}], of {worst['n']} questions."
    )
    is_one = "*" not in worst["site"]
    return Statement(text, (link_vectors(worst["site"], worst["head"]),) if is_one else ())


def _tell_swaps(rows: pd.DataFrame, kind: str) -> str:
    chosen = rows[(rows["subset"] == "answered") & (rows["head"] == -1) & (rows["at"] == "pair")]
    whole = chosen[(chosen["layer"] == -1) & ~chosen["vectors"].isin(["none", "question"])]
    whole = whole[~whole["model"].astype(str).str.startswith("untrained")]
    if whole.empty:
        return f"No pair of {kind} whose two questions the model answers: nothing can be said of exchanges."
    best = top(whole, "counterfactual")
    return (
        f"If two numbers exchange {best['vectors']} vectors ({kind}), the model writes the answer that exact arithmetic "
        f"predicts in {percent(best, 'counterfactual', 0)} of {best['n']} exchanges, most of {len(whole)} kinds of vectors."
    )


def tell_behaviour(rows: pd.DataFrame) -> Statement:
    """At which site an edit of two words moves what is expected next furthest, beside its strongest control."""
    edited = rows[
        (rows["control"] == "real") & rows.get("beyond", pd.Series(np.nan, rows.index)).notna()
    ]
    if edited.empty:
        return Statement(f"{len(rows)} rows of edits of pairs; none stands beside a control.")
    best = top(edited, "beyond")
    text = (
        f"‘{best['edit']}’ at {best['site']} moves what is expected next furthest towards the other text: by "
        f"{number(best, 'change', '.2f')} nats, {number(best, 'beyond', '.2f')} more than its strongest control "
        f"({best['against']}); the next token is then that of the other text in {percent(best, 'agrees', 0)} of {best['n']} trials."
    )
    return Statement(text, (link_vectors(best["site"]),))


def find_scheme(scores: pd.DataFrame) -> Any:
    """The row of the best scheme that has roles; where there is none, of the best bag."""
    own = scores[scores["control"] == ""]
    has_roles = own[~own["family"].isin([BAG, "roles"]) & (own["n_roles"] > 1)]
    asked = has_roles[has_roles["family"] == FACTORED]
    return top(next(each for each in (asked, has_roles, own) if len(each)), "r2")


def tell_decomposition(scores: pd.DataFrame, site: str, roles: str = "") -> Statement:
    """What fillers, then roles, then bindings explain of a state, step by step, and controls of the last step."""
    of_site = scores[scores["site"] == site]
    roles = roles or str(find_scheme(of_site)["roles"])
    own = of_site[(of_site["roles"] == roles) & (of_site["control"] == "")]
    rows = {row["family"]: row for row in own.to_dict("records")}
    steps = [name for name in STEPS if name in rows] or list(rows)[:1]
    told = [_tell_step(rows[name], name, is_first=name == steps[0]) for name in steps]
    text = f"{site}, roles ‘{roles}’, held out: {'; '.join(told)}."
    controls = of_site[(of_site["control"] != "") & (of_site["roles"] == roles)]
    controls = controls[controls["family"] == steps[-1]].sort_values("r2")
    if len(controls):
        beside = ", ".join(
            f"{row['control']} {row['r2']:.3f}" for row in controls.to_dict("records")
        )
        text += f" The same fit ({steps[-1]}) of controls: {beside}."
    link = Link(f"Show ‘{roles}’", "decomposition", {"of": site, "scheme": roles})
    return Statement(text, (link,))


def _tell_step(row: dict[Any, Any], name: str, is_first: bool) -> str:
    """One step: its R², what it adds to the step below, and how much of that is learnt."""
    word, r2 = STEPS.get(name, name), f"R² {number(row, 'r2')}"
    if is_first:
        return f"{word} {r2}"
    gain = read_interval(row, "gain") if "gain" in row else Interval(np.nan, np.nan, np.nan)
    if np.isnan(gain.value):
        return f"with {word} {r2}"
    surely = "add" if gain.low > 0 else "lose" if gain.high < 0 else "add nothing sure,"
    learnt = row.get("learnt", np.nan)
    of_it = (
        f", of which learnt (beyond the {row['twin']} twin) {number(row, 'learnt', '+.3f')}"
        if learnt == learnt
        else ""
    )
    return f"{word} {surely} {interval_text(gain, '+.3f')} ({r2}){of_it}"


def tell_agreement(
    joined: pd.DataFrame, scenes: Sequence[Cloud], names: Sequence[str]
) -> Statement:
    """How far two stores' clusters agree on the same tokens, and how many of each have a name."""
    counts = [
        f"{(scene.names['name'] != UNNAMED).sum()} of {len(scene.names)} clusters of {name} have a name"
        for scene, name in zip(scenes, names, strict=True)
        if scene.names is not None
    ]
    rand = adjusted_rand_score(joined["cluster_x"], joined["cluster_y"])
    text = (
        f"On the {len(joined):,} tokens that both have, the clusters of {names[0]} and of {names[1]} agree by "
        f"{rand:.2f} (adjusted Rand index; 0: chance, 1: the same clusters)."
    )
    return Statement(text + (f" {', '.join(counts)}." if counts else ""))


def tell_attention(scores: pd.DataFrame) -> Statement:
    """Which head follows a gold relation most, beside what needs no head; scores have a column ``follows``, and of heads
    source, site, head, value.
    """
    heads, others = scores[scores["source"] == "head"], scores[scores["source"] != "head"]
    best = top(heads, "value")
    beside = ", ".join(f"{row['source']} {percent(row)}" for row in others.to_dict("records"))
    text = f"{place(best['site'], best['head'])} is the best of {len(heads)} heads: {percent(best)} of {best['follows']} (n = {best['n']:,})."
    text += f" Without a head: {beside}." if beside else ""
    return Statement(text, (_link_map(best["site"], best["head"]),))


def tell_sharpest(scores: pd.DataFrame) -> Statement:
    """The head with the largest weights, of samples without a gold relation."""
    best = top(scores, "value")
    text = (
        f"Sharpest of {len(scores)} heads is {place(best['site'], best['head'])}: its largest weight is "
        f"{percent(best, digits=0)} on average over the queries of {best['n']} samples."
    )
    return Statement(text, (_link_map(best["site"], best["head"]),))


def _link_map(site: str, head: Any) -> Link:
    return Link(f"Show {place(site, head)}", "attention", {"maps": site, "head": str(head)})
