"""Role clusters over questions (schlag Fig 2)."""

from collections.abc import Sequence

import pandas as pd

from tprprobe.analyses.attention.gold_maps import gold_tokens
from tprprobe.analyses.clustering import Clusters
from tprprobe.errors import InputError
from tprprobe.figures.overlay import mark_polarity, marks_legend
from tprprobe.figures.strips import Strip, draw_strips
from tprprobe.figures.style import MUTED, WRONG, Drawing, palette
from tprprobe.store import Store


def role_clusters(
    store: Store,
    roles: Clusters,
    n_rows: int = 12,
    correct_only: bool = True,
    samples: Sequence[int] | None = None,
    gold: bool = False,
) -> Drawing:
    """A figure of questions as rows of colored squares, the cluster's number below every character.

    Args:
        store: The store.
        roles: Clusters of a site of it.
        n_rows: How many questions are drawn, from the first on.
        correct_only: Whether only questions are drawn that the model answers correctly.
        samples: Numbers of the samples that are drawn; default: chosen by ``n_rows`` and ``correct_only``.
        gold: Whether numbers are framed as numerators and denominators, by value, not by hand. Up to half of the
            questions that are then chosen have a number whose neighboring '/' alone would mislead.

    Returns:
        The figure.

    Raises:
        InputError: Clusters of another store, no correctly answered question, or no such sample.

    Source: schlag Fig. 2.

    Examples:
        >>> tp.figures.role_clusters(store, roles, samples=[0, 1]).savefig("roles.pdf")
    """
    tokens = store.tokens_of(roles.site)
    if len(tokens) != len(roles.labels):
        raise InputError(
            f"{len(roles.labels)} labels for the {len(tokens)} tokens of {roles.site} in "
            f"{store.path}: these clusters are of another store"
        )
    tokens = tokens.assign(label=roles.labels)
    if not store.has_answers:
        tokens = tokens.drop(columns=["prediction", "correct"], errors="ignore")
    overlay = gold_tokens(store, samples) if gold else None
    if samples is None:
        chosen = _choose(store, tokens, correct_only)
        chosen = (chosen if overlay is None else _mixed(chosen, overlay, n_rows))[:n_rows]
    else:
        chosen = list(samples)
    groups = dict(list(tokens.groupby("sample")))
    if missing := [sample for sample in chosen if sample not in groups]:
        raise InputError(f"no sample {missing[0]} in {store.path}: it has {store.samples}, from 0")
    colors = palette(roles.k)
    strips = [_strip(groups[sample], colors, overlay) for sample in chosen]
    place = roles.site if roles.head is None else f"{roles.site}, head {roles.head}"
    caption = (
        f"k-means, k = {roles.k}, {'raw' if roles.raw else 'standardized'} vectors · agreement of "
        f"{roles.n_seeds} seeds (ARI) {roles.stability:.2f} · # start, % end"
    )
    legend = marks_legend((letter for strip in strips for letter in strip.gold), framed=True)
    return draw_strips(
        strips, f"Role clusters: {place}", "\n".join(filter(None, [caption, legend]))
    )


def _choose(store: Store, tokens: pd.DataFrame, correct_only: bool) -> list[int]:
    judged = correct_only and "correct" in tokens  # what has no answers is neither right nor wrong
    shown = tokens.loc[tokens["correct"].astype(bool)] if judged else tokens
    if shown.empty:
        raise InputError(
            f"{store.path} has no question that was answered right: ask for all, by --every or correct_only=False"
        )
    return shown["sample"].unique().tolist()


def _mixed(samples: list[int], overlay: pd.DataFrame, n_rows: int) -> list[int]:
    """``n_rows`` samples in order, up to half of them with a discordant number."""
    misled = overlay["discordant"].fillna(False).to_numpy(bool)
    hard = [sample for sample in samples if sample in {*overlay.loc[misled, "sample"]}]
    hard = hard[: (n_rows + 1) // 2]
    others = [sample for sample in samples if sample not in hard]
    return sorted([*hard, *others[: n_rows - len(hard)]])


def _strip(
    question: pd.DataFrame, colors: Sequence[tuple[float, ...]], overlay: pd.DataFrame | None
) -> Strip:
    first = question.iloc[0]
    after, color = _answer_text(first)
    frames, letters = (), ()
    if overlay is not None:
        frames, letters = mark_polarity(overlay[overlay["sample"] == first["sample"]])
    return Strip(
        tokens=question["token"].astype(str).tolist(),
        colors=[colors[label] for label in question["label"]],
        notes=question["label"].astype(str).tolist(),
        after=after,
        after_color=color,
        frames=frames,
        gold=letters,
    )


def _answer_text(first: pd.Series) -> tuple[str, str]:
    """What stands behind a question, and its color; nothing where the store has no answers."""
    if "prediction" not in first:
        return "", MUTED
    if first["correct"] or not str(first["answer"]):
        return f"→ {first['prediction']}", MUTED
    return f"✗ {first['prediction']}  (right: {first['answer']})", WRONG
