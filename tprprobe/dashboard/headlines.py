"""Headlines: what a page answers, in one sentence with numbers, from the results that it shows."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from tprprobe.analyses.attention import score_heads
from tprprobe.analyses.attention.gold_maps import find_maps
from tprprobe.analyses.naming import load_word_names
from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.analyses.naming.word_names import count_names
from tprprobe.dashboard.choices import list_maps
from tprprobe.dashboard.safe_text import visible
from tprprobe.dashboard.scene import Cloud
from tprprobe.dashboard.sentence import Link, Statement
from tprprobe.errors import InputError
from tprprobe.site.patterns import layer_of
from tprprobe.statistics import read_interval
from tprprobe.store import Store

LONG = 90  # characters of a name
NONE_EDIT = "none"
BAG = "bag"  # fillers without roles


def percent(row: Any, name: str, digits: int = 1) -> str:
    """A share with its 95 % interval, in percent: ``78.9 % [71.0, 85.1]``."""
    found = read_interval(row, name)
    low, high = (f"{100 * each:.{digits}f}" for each in (found.low, found.high))
    known = not np.isnan(found.low)
    return f"{100 * found.value:.{digits}f} %" + (f" [{low}, {high}]" if known else "")


def share(value: float) -> str:
    """A share in whole percent."""
    return f"{100 * value:.0f} %"


def link_vectors(site: str, head: Any = None, told: str = "", query: Any = None) -> Link:
    """The page that shows the vectors of a site and head."""
    of_head = {} if head is None or pd.isna(head) or head < 0 else {"head": str(int(head))}
    return Link(
        told or f"Show {place(site, head)}", "roles", {"site": str(site)} | of_head | (query or {})
    )


def _number(row: Any, name: str) -> str:
    found = read_interval(row, name)
    known = not np.isnan(found.low)
    return f"{found.value:.2f}" + (f" [{found.low:.2f}, {found.high:.2f}]" if known else "")


def top(rows: pd.DataFrame, column: str, sign: int = 1) -> Any:
    """The row with the largest value of a column (the smallest for sign −1), the first of several."""
    return rows.iloc[int(np.nanargmax(sign * rows[column].to_numpy(float)))]


def place(site: str, head: Any = None) -> str:
    """A site and a head in words."""
    return str(site) if head is None or pd.isna(head) else f"{site}, head {head}"


def tell_roles(scene: Cloud) -> Statement:
    """Which clusters of a head have a name, and how sure the surest one is."""
    names = scene.names
    if names is None:
        return Statement(
            f"{scene.roles.k} clusters of {len(scene.rows):,} vectors of {scene.place}, alike from seed to seed "
            f"by {scene.roles.stability:.2f} (ARI; 1: the same). These data have no exact structure to name them by."
        )
    known = names[names["name"] != UNNAMED]
    if known.empty:
        return Statement(
            f"None of the {len(names)} clusters of {scene.place} has a name that holds on held-out samples."
        )
    best = top(known, "f05")
    text = (
        f"{len(known)} of {len(names)} clusters of {scene.place} have a name that holds on held-out samples; they cover "
        f"{share(known['coverage'].sum())} of the tokens. Surest: ‘{visible(best['name'], LONG)}’ (cluster "
        f"{best['cluster']}, precision {_number(best, 'precision')}, recall {_number(best, 'recall')})."
    )
    query = {"mark": f"cluster:{best['cluster']}", "k": str(scene.roles.k)}
    told = f"Mark cluster {best['cluster']}"
    return Statement(text, (link_vectors(scene.roles.site, scene.roles.head, told, query),))


def tell_words(folder: Path) -> str:
    """How many clusters of words have a name, beside the untrained twin."""
    counts = count_names(load_word_names(folder))
    told = [
        f"{model} {each['named'].sum()} of {each['clusters'].sum()} (the best head’s cover {share(each['tokens'].max())} of the words)"
        for model, each in counts.groupby("model", sort=False)
    ]
    return f"Clusters of words that exact labels name, held out: {'; '.join(told)}."


def tell_probes(
    rows: pd.DataFrame, task: str, models: Sequence[str], score: str = "f1"
) -> Statement:
    """Where a task's labels are read best, and at how many places beyond every control."""
    real = rows[(rows["task"] == task) & (rows["control"] == "real") & rows["head"].isna()]
    real = real[real["model"].isin(list(models))]
    if real.empty:
        return Statement(f"No vectors were probed for {task}.")
    best = top(real, score)
    name = "F1" if score == "f1" else "accuracy"
    told = (
        f"{task.upper()} is read best from {best['site']}: {name} {percent(best, score)}, held out, "
        f"learnt from {best['n_train']:,} targets"
    )
    if isinstance(best["best_control"], str):
        told += (
            f" (its best control, {best['best_control']}: F1 {100 * best['best_control_f1']:.1f} %)"
        )
    parts = [
        f"{(of['beyond'] == True).sum()} of {len(of)} places of the {side}{_list_beyond(of)}"  # noqa: E712
        for side, of in real.groupby(real["side"].map(SIDES).fillna(real["side"]), sort=False)
    ]
    text = f"{told}. Beyond every control (paired, Holm): {'; '.join(parts)}."
    link = link_vectors(
        best["site"], None, f"Show {best['site']} by {task}", {"colour": f"gold {task}"}
    )
    return Statement(text, (link,))


SIDES = {"source": "encoder", "target": "decoder"}
FEW = 3  # places that are named


def _list_beyond(real: pd.DataFrame) -> str:
    found = real.loc[real["beyond"] == True, "site"].unique().tolist()  # noqa: E712
    more = f" and {len(found) - FEW} more" if len(found) > FEW else ""
    return f" ({', '.join(found[:FEW])}{more})" if found else ""


def tell_reconstruction(results: pd.DataFrame) -> str:
    """How much of a state one head's value keeps, beside random projections and the best code."""
    whole = results[(results["unit"] == "question") & (results["penalty"] == "none")]
    whole = whole[(whole["split"] == "held_out") & ~whole["untrained"]]
    whole = whole[whole["layer"] == whole["layer"].max()]
    if whole.empty:
        return "No reconstruction of a trained model."
    own = whole[whole["n"] == whole["n"].max()].drop_duplicates("predictor").set_index("predictor")
    head = own.loc["heads"]
    over = [
        f"{own.loc[name, 'r2']:.2f} from {told}"
        for name, told in OTHERS.items()
        if name in own.index
    ]
    gain = read_interval(head, "gain")
    verdict = "more than" if gain.low > 0 else "less than" if gain.high < 0 else "no other than"
    return (
        f"One head's value keeps R² {_number(head, 'r2')} of the state in layer {head['layer']}, held out: {verdict} a "
        f"random projection of that width keeps (difference {_number(head, 'gain')}); {', '.join(over)}."
    )


OTHERS = {
    "random": "random projections",
    "pca": "the best linear code (PCA)",
    "all heads": "all heads together",
}


def tell_interventions(rows: pd.DataFrame, name: str) -> Statement:
    """What an edit changed most in the answers, or how often an exchange gave the predicted answer."""
    if "counterfactual" in rows:
        return Statement(_tell_swaps(rows, name))
    edited = rows[rows["edit"] != NONE_EDIT]
    if "change" not in edited or edited.empty:
        return Statement(f"{len(rows)} edits were tried.")
    worst = top(edited, "change", -1)
    sure = edited[(edited["change_low"] > 0) | (edited["change_high"] < 0)]
    where = place(worst["site"], worst["head"] if worst["head"] >= 0 else None)
    text = (
        f"{len(sure)} of {len(edited)} edits change the share of right answers beyond chance. Most does "
        f"‘{worst['edit']}’ at {where}: {100 * worst['change']:+.1f} points "
        f"[{100 * worst['change_low']:+.1f}, {100 * worst['change_high']:+.1f}], of {worst['n']} questions."
    )
    return Statement(
        text, (link_vectors(worst["site"], worst["head"]),) if "*" not in worst["site"] else ()
    )


def _tell_swaps(rows: pd.DataFrame, kind: str) -> str:
    chosen = rows[(rows["subset"] == "answered") & (rows["head"] == -1) & (rows["at"] == "pair")]
    whole = chosen[(chosen["layer"] == -1) & ~chosen["vectors"].isin(["none", "question"])]
    whole = whole[~whole["model"].astype(str).str.startswith("untrained")]
    if whole.empty:
        return f"No pair of {kind} whose two questions the model answers: nothing can be said of exchanges."
    best = top(whole, "counterfactual")
    role = whole[whole["vectors"] == "role"]
    told = f"roles {percent(role.iloc[0], 'counterfactual', 0)}; " if len(role) else ""
    return (
        f"If two numbers exchange vectors ({kind}), the model writes the answer that exact arithmetic predicts: {told}"
        f"most often for {best['vectors']} vectors, {percent(best, 'counterfactual', 0)} of {best['n']} exchanges."
    )


def find_scheme(scores: pd.DataFrame) -> Any:
    """The row of the best scheme that has roles; where there is none, of the best bag."""
    own = scores[scores["control"] == ""]
    has_roles = own[(own["family"] != BAG) & (own["n_roles"] > 1)]
    return top(has_roles if len(has_roles) else own, "r2")


def tell_decomposition(scores: pd.DataFrame, site: str) -> Statement:
    """How much of a state the best scheme with roles explains, beside fillers alone and its controls."""
    of_site = scores[scores["site"] == site]
    best = find_scheme(of_site)
    own = of_site[of_site["control"] == ""]
    controls = of_site[(of_site["control"] != "") & (of_site["roles"] == best["roles"])]
    beside = [
        f"{each['control']} {each['r2']:.2f}"
        for each in controls.sort_values("r2").to_dict("records")
    ]
    text = (
        f"A sum of bindings with the roles ‘{best['roles']}’ ({best['family']}) explains R² {_number(best, 'r2')} of "
        f"{site}, held out"
    )
    bags = own[own["family"] == BAG]
    if len(bags) and best["family"] != BAG:
        bag = top(bags, "r2")
        is_more = best["r2_low"] > bag["r2_high"]
        text += f": {'more' if is_more else 'not surely more'} than fillers alone (a bag) do, {_number(bag, 'r2')}"
    query = {"of": site, "scheme": str(best["roles"])}
    link = Link(f"Show ‘{best['roles']}’", "decomposition", query)
    return Statement(f"{text}. Beside it: {', '.join(beside)}.", (link,))


def tell_agreement(joined: pd.DataFrame, scenes: Sequence[Cloud], names: Sequence[str]) -> str:
    """How far two stores' clusters agree on the same tokens, and how many of each have a name."""
    known = [scene.names for scene in scenes]
    counts = [
        f"{(each['name'] != UNNAMED).sum()} of {len(each)} clusters of {name} have a name"
        for each, name in zip(known, names, strict=True)
        if each is not None
    ]
    rand = adjusted_rand_score(joined["cluster_x"], joined["cluster_y"])
    return (
        f"On the {len(joined):,} tokens that both have, the clusters of {names[0]} and of {names[1]} agree by "
        f"{rand:.2f} (adjusted Rand index; 0: chance, 1: the same clusters)."
        + (f" {', '.join(counts)}." if counts else "")
    )


def tell_heads(store: Store) -> Statement:
    """Which head follows ‘/’ most; of data without such a relation, which is the sharpest."""
    try:
        return tell_attention(score_heads(store), find_maps(store))
    except InputError:
        return tell_sharpest(store, list_maps(store))


def tell_attention(scores: pd.DataFrame, sites: Sequence[str]) -> Statement:
    """Which head follows the gold relation most, beside what needs no head (of ``score_heads``); ``sites`` are those
    with its maps.
    """
    heads = scores[scores["source"] == "head"]
    best = top(heads, "value")
    named = next(each for each in sites if layer_of(each) == best["layer"]), best["head"]
    others = [
        f"{name} {percent(row, 'value', 0)}"
        for name, row in scores[scores["source"] != "head"].set_index("source").iterrows()
    ]
    text = (
        f"Layer {best['layer']}, head {best['head']} follows ‘/’ most: the digits of a denominator give {percent(best, 'value')} of "
        f"their weight to the ‘/’ that divides by them ({best['n']} digits, {best['n_questions']} questions). "
        f"Without a head: {', '.join(others)}."
    )
    return Statement(text, (_link_map(*named),))


def _link_map(site: str, head: Any) -> Link:
    return Link(f"Show {place(site, head)}", "attention", {"maps": site, "head": str(head)})


def tell_sharpest(store: Store, sites: Sequence[str], most: int = 16) -> Statement:
    """The head with the largest weights, where no gold relation is known."""
    found = {
        (site, head): np.mean(values)
        for site in sites
        for head, values in enumerate(
            zip(
                *(
                    store.attention(site, sample).max(-1).mean(-1).tolist()
                    for sample in range(min(most, store.count_maps(site)))
                ),
                strict=True,
            )
        )
    }
    best = max(found, key=lambda at: found[at])
    text = (
        f"Sharpest of {len(found)} heads is {place(*best)}: its largest weight is {share(float(found[best]))} on average. "
        "Of these data no gold relation is known."
    )
    return Statement(text, (_link_map(*best),))
