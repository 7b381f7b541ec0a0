"""Role clusters over questions (schlag Fig 2)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import ascii_letters
from types import MappingProxyType
from typing import Any

import pandas as pd
from matplotlib.typing import ColorType
from sklearn.metrics import adjusted_rand_score

from tprprobe.analyses.attention.gold_maps import gold_tokens
from tprprobe.analyses.clustering import Clusters
from tprprobe.analyses.naming.fields import list_exact
from tprprobe.errors import InputError
from tprprobe.figures.cluster_labels import (
    KEY_LENGTH,
    color_clusters,
    describe_clusters,
    explain_signs,
    label_named,
)
from tprprobe.figures.dots import render
from tprprobe.figures.labels import site_label
from tprprobe.figures.look import current_look
from tprprobe.figures.strips import (
    COLUMNS,
    Color,
    Strip,
    StripFrame,
    Strips,
    count_slots,
    join_strips,
    measure_page,
    write_token,
)
from tprprobe.figures.style import MUTED, WRONG, Drawing
from tprprobe.store import Store

N_TEXTS, MAX_TOKENS = 6, 60  # texts that are drawn of any kind, and tokens of each
N_TRIED = 300  # texts, of which one fits small axes
N_NARROW = 24  # tokens of a text in a column of a paper
ROOM = 6.4  # inches, two thirds of a page
LOOKS = {"numerator": ("#0072B2", "solid"), "denominator": ("#B34700", "dashed")}
LETTERS = {"n": "n numerator", "d": "d denominator", "s": "s sign"}
DISCORDANT = " (capital: the symbol before misleads)"
UNMATCHED_COLOR = (0.88, 0.88, 0.88)  # of the baseline's clusters that are like none of the model


def role_clusters(
    store: Store,
    roles: Clusters,
    n_rows: int | None = None,
    correct_only: bool = True,
    samples: Sequence[int] | None = None,
    gold: bool = False,
    names: pd.DataFrame | None = None,
    baseline: Clusters | None = None,
) -> Drawing:
    """A figure of questions as rows of colored squares, the cluster's number below every character.

    Args:
        store: The store.
        roles: Clusters of a site of it.
        n_rows: How many questions are drawn: first those with most clusters that no other one has, then the first ones;
            default: 12, or as many as have every cluster, but in a figure of given width or height only those that it
            has room for.
        correct_only: Whether only questions are drawn that the model answers correctly.
        samples: Numbers of the samples that are drawn; default: chosen by ``n_rows`` and ``correct_only``.
        gold: Whether numbers are framed as numerators and denominators, by value, not by hand. Up to half of the
            questions that are then chosen have a number whose neighboring '/' alone would mislead.
        names: The table of :func:`tprprobe.name_roles`, whose names the legend writes with their precision, as
            ``tprprobe figure roles`` does; default: most frequent tokens.
        baseline: Clusters of the same tokens in the baseline model (``store.control``), which are drawn as bars below: with
            the number of the model's cluster that they share most of their tokens with, others gray with a letter.

    Returns:
        The figure.

    Raises:
        InputError: Clusters of another store, no correctly answered question, or no such sample.

    Source: schlag Fig. 2.

    Examples:
        >>> tp.figures.role_clusters(store, roles, samples=[0, 1]).savefig("roles.pdf")
    """
    labels = {} if names is None else label_named(names)
    scene = cluster_strips(store, roles, n_rows, correct_only, samples, gold, labels, baseline)
    return render(scene)


def cluster_strips(
    store: Store,
    roles: Clusters,
    n_rows: int | None = None,
    correct_only: bool = True,
    samples: Sequence[int] | None = None,
    gold: bool = False,
    names: Mapping[int, str] | None = None,
    baseline: Clusters | None = None,
    baseline_names: Mapping[int, str] | None = None,
) -> Strips:
    """The scene of :func:`role_clusters`; below it the name or the most frequent tokens of every cluster that is drawn."""
    tokens = store.tokens_of(roles.site)
    if len(tokens) != len(roles.labels):
        raise InputError(
            f"{len(roles.labels)} labels for the {len(tokens)} tokens of {roles.site} in "
            f"{store.path}: these clusters are of another store"
        )
    if n_rows is not None and n_rows < 1:
        raise InputError(f"n_rows {n_rows}: draw 1 text or more, or leave it out")
    tokens = tokens.assign(label=roles.labels)
    likeness, like = math.nan, dict[int, int]()
    if baseline is not None:
        tokens, like = _put_beside(tokens, store, baseline)
        label_pairs = tokens.dropna(subset="beside")[["label", "beside"]].to_numpy(int)
        likeness = adjusted_rand_score(*label_pairs.T)
    if not store.has_answers:
        tokens = tokens.drop(columns=["prediction", "correct"], errors="ignore")
    overlay = gold_tokens(store, samples) if gold else None
    look, candidates, ids = current_look(), [], list(samples or ())
    if samples is None:
        candidates = _list_samples(store, tokens, correct_only)
        if look.is_narrow and not store.has_answers:
            tokens = _shorten(tokens)
        ids = _choose_samples(tokens, candidates, overlay, n_rows or 12, n_rows is None)
    groups = dict(list(tokens.groupby("sample")))
    if missing := [sample for sample in ids if sample not in groups]:
        raise InputError(f"no sample {missing[0]} in {store.path}: it has {store.samples}, from 0")
    colors, texts = color_clusters(roles), describe_clusters(roles, names or {})
    marks = {label: (colors[i], str(i)) for label, i in like.items()}
    key_of_own = {i: f"{_letter(i)}: {name}" for i, name in (baseline_names or {}).items()}
    kind = "Role clusters" if roles.site.endswith("role") else "Clusters"
    vectors = "raw" if roles.raw else "standardized"

    def build(ids: Sequence[int]) -> Strips:
        strips = [_strip(groups[sample], colors, overlay, marks) for sample in ids]
        rows = pd.concat([groups[sample] for sample in ids])
        labels = {*rows["label"]}
        key: list[tuple[ColorType, str]] = [
            (colors[i], text) for i, text in texts.items() if i in labels
        ]
        if baseline is not None:
            unmatched = sorted({*rows["beside"].dropna().astype(int)} - like.keys())
            ids_in_key = [i for i in unmatched if i in key_of_own and not look.is_narrow]
            entries = [key_of_own[i] for i in ids_in_key]
            if letters := [_letter(i) for i in unmatched if i not in ids_in_key]:
                entries.append(f"{letters[0]}…: others of the baseline model")
            key += [(UNMATCHED_COLOR, entry) for entry in entries]
        notes = [
            f"Model: {store.facts.model.name}" * bool(store.facts.model.name),
            f"data: {Path(str(store.facts.data.name)).name}" * bool(store.facts.data.name),
            f"k-means, k = {roles.k}, {vectors} vectors, stability {roles.stability:.2f} (ARI of {roles.n_seeds} seeds)",
        ]
        if samples is None:
            n, noun = len(candidates), "questions" if store.has_answers else "texts"
            noun += " that were answered right" * (correct_only and "correct" in tokens)
            n_clusters = tokens.loc[tokens["sample"].isin(candidates), "label"].nunique()
            notes.append(
                f"{len(ids)} of the {n} {noun}, chosen to show many clusters: {len(labels)} of {n_clusters}"
            )
        if baseline is not None:
            bars = (
                "bars: clusters of the baseline model, in color where like the one of that number"
            )
            notes.append(f"{bars} (ARI of all {likeness:.2f})")
        notes.append("⊢ start, ⊣ end" * any("<sos>" in strip.tokens for strip in strips))
        if names:
            meanings = [text.partition(": ")[2] for _, text in key]
            notes.append("numbers after names: held-out precision")
            notes += explain_signs(meanings, list_exact(store))
        notes.append(marks_legend(letter for strip in strips for letter in strip.gold))
        title = f"{kind}: {site_label(roles.site, roles.head)}"
        return Strips(strips, key, title=title, note=" · ".join(filter(None, notes)))

    room = look.height or (ROOM if look.width else math.inf)
    if samples is not None:
        return build(ids)
    if n_rows is None and measure_page(build(ids)) > room:  # those that fit, then others
        richest = sorted(candidates[:N_TRIED], key=lambda i: -groups[i]["label"].nunique())
        ids, ranked = [], dict.fromkeys([*ids, *richest])
        for i in ranked:
            if len(ids) < 12 and measure_page(build([*ids, i])) <= room:
                ids.append(i)
        ids = ids or [min(richest, key=lambda i: measure_page(build([i])))]
    return build(sorted(ids))


def _shorten(tokens: pd.DataFrame) -> pd.DataFrame:
    """The first tokens of every text, the last of them with a sign that more follow."""
    texts = tokens.groupby("sample")["token"]
    is_cut = texts.transform("size") > N_NARROW
    return tokens.assign(is_cut=is_cut)[texts.cumcount() < N_NARROW]


def _letter(label: int) -> str:
    """The sign of a cluster of the baseline model."""
    return ascii_letters[label % len(ascii_letters)]


def _put_beside(
    tokens: pd.DataFrame, store: Store, baseline: Clusters
) -> tuple[pd.DataFrame, dict[int, int]]:
    """The tokens with their cluster in the baseline model; for those of its clusters that have most of their tokens in
    common with one of the model (a Jaccard index above a half), that one.
    """
    assert store.control is not None
    places = store.control.tokens_of(baseline.site)[["sample", "position"]]
    tokens = tokens.merge(places.assign(beside=baseline.labels), how="left")
    pairs = tokens.dropna(subset="beside").astype({"beside": int})
    shared = pd.crosstab(pairs["beside"], pairs["label"])
    either = -shared.sub(shared.sum(axis=1), axis=0).sub(shared.sum(axis=0), axis=1)
    alike: Any = (shared / either).stack()
    return tokens, dict(alike[alike > 0.5].index)


def _choose_samples(
    tokens: pd.DataFrame,
    candidates: list[int],
    overlay: pd.DataFrame | None,
    n_rows: int,
    needs_all: bool = True,
) -> list[int]:
    """As many samples as are asked for, or as all clusters need, the best first; up to half of them have a discordant number."""
    labels: Any = tokens.groupby("sample")["label"].agg(set).loc[candidates].to_dict()
    unseen, hard = set[int]().union(*labels.values()), set[int]()
    if overlay is not None:
        hard = {*overlay.loc[overlay["discordant"].eq(True), "sample"]}
    chosen: list[int] = []
    while labels and ((unseen and needs_all) or len(chosen) < n_rows):
        of_half = {*labels} & hard if len(chosen) < n_rows // 2 else set()
        best = max(of_half or labels, key=lambda sample: (len(labels[sample] & unseen), -sample))
        unseen -= labels.pop(best)
        chosen.append(best)
    return chosen


def text_strips(store: Store, roles: Clusters, names: Mapping[int, str]) -> Strips:
    """Texts of any kind in which every cluster is seen, its number below every token, short ones beside each other; clusters without
    a name are described by the tokens that are most their own.
    """
    tokens = store.tokens_of(roles.site).assign(label=roles.labels)
    texts = describe_clusters(roles, names, KEY_LENGTH)
    tokens = tokens.drop(columns="prediction", errors="ignore")
    tokens = tokens.groupby("sample").head(MAX_TOKENS)
    sizes = tokens["sample"].value_counts(sort=False)
    longest_token = max(count_slots(write_token(token)) for token in tokens["token"].unique())
    samples = sizes[sizes > 1].index.tolist()
    n_across = max(1, COLUMNS // int(sizes.median() + 1)) if longest_token == 1 else 1
    samples = sorted(_choose_samples(tokens, samples, None, N_TEXTS * n_across))
    colors = color_clusters(roles)
    strips = [_strip(tokens[tokens["sample"] == sample], colors, None) for sample in samples]
    lines = [strips[:1]]
    for strip in strips[1:]:
        n_slots = sum(len(text.tokens) + 1 for text in [*lines[-1], strip]) - 1
        if n_across > 1 and n_slots <= COLUMNS:
            lines[-1].append(strip)
        else:
            lines.append([strip])
    return Strips([*map(join_strips, lines)], [(colors[i], text) for i, text in texts.items()])


def explain_ends(store: Store) -> str:
    """What the signs of start and end are, where texts have them."""
    return "⊢ start, ⊣ end. " if store.tokens["token"].eq("<sos>").any() else ""


def _list_samples(store: Store, tokens: pd.DataFrame, correct_only: bool) -> list[int]:
    is_judged = correct_only and "correct" in tokens  # without answers nothing is right or wrong
    tokens = tokens.loc[tokens["correct"].astype(bool)] if is_judged else tokens
    if tokens.empty:
        raise InputError(
            f"{store.path} has no question that was answered right: ask for all, by --every or correct_only=False"
        )
    return tokens["sample"].unique().tolist()


def _strip(
    question: pd.DataFrame,
    colors: Sequence[Color],
    overlay: pd.DataFrame | None,
    marks: Mapping[int, tuple[Color, str]] = MappingProxyType({}),
) -> Strip:
    token = question.iloc[0]
    after, color = _answer_text(token)
    frames, letters = (), ()
    if overlay is not None:
        frames, letters = mark_polarity(overlay[overlay["sample"] == token["sample"]])
    return Strip(
        tokens=question["token"].astype(str).tolist(),
        colors=[colors[label] for label in question["label"]],
        notes=question["label"].astype(str).tolist(),
        after=after,
        after_color=color,
        frames=frames,
        gold=letters,
        beside=[marks.get(i, (UNMATCHED_COLOR, _letter(i))) for i in question["beside"].astype(int)]
        if "beside" in question and question["beside"].notna().all()
        else (),
    )


def _answer_text(token: pd.Series) -> tuple[str, str]:
    """What stands behind a question, and its color; nothing where the store has no answers."""
    if "prediction" not in token:
        return "…" * bool(token.get("is_cut")), MUTED
    if token["correct"] or not str(token["answer"]):
        return f"→ {token['prediction']}", MUTED
    return f"✗ {token['prediction']}  (right: {token['answer']})", WRONG


def marks_legend(letters: Iterable[str]) -> str:
    """The legend of the letters that are drawn; empty without letters."""
    present = {letter for letter in letters if letter}
    names = [name for letter, name in LETTERS.items() if {letter, letter.upper()} & present]
    return ", ".join(names) + DISCORDANT * any(letter.isupper() for letter in present)


def mark_polarity(question: pd.DataFrame) -> tuple[list[StripFrame], list[str]]:
    """Frames around the numbers of one question's tokens, and a letter under each character."""
    question = question.reset_index(drop=True)
    polar = question[question["polarity"].notna()]
    if polar.empty:
        return [], []
    frames = [
        StripFrame(rows[0], rows[-1] + 1, *LOOKS[str(polar.at[rows[0], "polarity"])])
        for _, digits in polar.groupby("number")
        for rows in [digits.index.tolist()]
    ]
    letters = question["polarity"].astype(object).map(lambda name: name[0], na_action="ignore")
    is_discordant = question["discordant"].fillna(False).to_numpy(bool)
    letters = letters.where(~is_discordant, letters.str.upper())
    return frames, letters.where(question["kind"] != "sign", "s").fillna("").tolist()
