"""Role clusters over questions (schlag Fig 2)."""

import re
from collections.abc import Mapping, Sequence
from textwrap import wrap

import pandas as pd

from tprprobe.analyses.attention.gold_maps import gold_tokens
from tprprobe.analyses.clustering import Clusters
from tprprobe.analyses.clustering.clusters import list_tokens
from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.errors import InputError
from tprprobe.figures.colors import palette
from tprprobe.figures.dots import render
from tprprobe.figures.labels import site_label
from tprprobe.figures.look import current_look
from tprprobe.figures.overlay import mark_polarity, marks_legend
from tprprobe.figures.strips import COLUMNS, Color, Strip, Strips, count_slots, write_token
from tprprobe.figures.style import MUTED, WRONG, Drawing
from tprprobe.store import Store
from tprprobe.store.token_texts import visible

KEY_LENGTH, NARROW = 34, 4  # characters of what a color means; inches
NARROW_KEY = 21  # characters of a line of it in a narrow figure
SHARE = re.compile(r" \d+%(, |$)")  # of a token in its cluster
PRECISION_SHOWN = re.compile(r" \([\d.]+\)$")
NAME_LENGTH, WHITE = 52, (1.0, 1.0, 1.0)  # characters of two places; the square between two texts
N_TEXTS, MAX_TOKENS = 6, 60  # texts that are drawn of any kind, and tokens of each


def role_clusters(
    store: Store,
    roles: Clusters,
    n_rows: int = 12,
    correct_only: bool = True,
    samples: Sequence[int] | None = None,
    gold: bool = False,
    names: pd.DataFrame | None = None,
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
        names: The table of :func:`tprprobe.name_roles`, whose names the legend writes with their precision, as
            ``tprprobe figure roles`` does; default: most frequent tokens.

    Returns:
        The figure.

    Raises:
        InputError: Clusters of another store, no correctly answered question, or no such sample.

    Source: schlag Fig. 2.

    Examples:
        >>> tp.figures.role_clusters(store, roles, samples=[0, 1]).savefig("roles.pdf")
    """
    labels = {} if names is None else label_named(names)
    return render(cluster_strips(store, roles, n_rows, correct_only, samples, gold, labels))


def quote_sign(name: str) -> str:
    """The name, in quotation marks if it has no letter, as those of punctuation."""
    return name if any(map(str.isalnum, name)) or name.startswith("‘") else f"‘{name}’"


def label_named(names: pd.DataFrame) -> dict[int, str]:
    """The name of every cluster that has one, with its precision: `IN (.90)`."""
    named = names[names["name"] != UNNAMED].to_dict("records")
    return {
        row[
            "cluster"
        ]: f"{quote_sign(visible(row['name'], KEY_LENGTH))} ({row['precision']:.2f})".replace(
            "(0.", "(."
        )
        for row in named
    }


def cluster_strips(
    store: Store,
    roles: Clusters,
    n_rows: int = 12,
    correct_only: bool = True,
    samples: Sequence[int] | None = None,
    gold: bool = False,
    names: Mapping[int, str] | None = None,
) -> Strips:
    """The scene of :func:`role_clusters`; below it the name or the most frequent tokens of every cluster that is drawn."""
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
        samples = _list_samples(store, tokens, correct_only)
        samples = (samples if overlay is None else _mix(samples, overlay, n_rows))[:n_rows]
    groups = dict(list(tokens.groupby("sample")))
    if missing := [sample for sample in samples if sample not in groups]:
        raise InputError(f"no sample {missing[0]} in {store.path}: it has {store.samples}, from 0")
    colors = palette(roles.k)
    strips = [_strip(groups[sample], colors, overlay) for sample in samples]
    vectors = "raw" if roles.raw else "standardized"
    caption = f"k-means, k = {roles.k}, {vectors} vectors, ARI of {roles.n_seeds} seeds {roles.stability:.2f}"
    if any("<sos>" in strip.tokens for strip in strips):
        caption += " · # start, % end"
    legend = marks_legend(letter for strip in strips for letter in strip.gold)
    labels = {label for sample in samples for label in groups[sample]["label"]}
    texts = describe_clusters(roles, names or {})
    is_narrow = (current_look().inches or NARROW) < NARROW
    if is_narrow:  # two entries stand side by side
        names = names or {}
        texts = {
            i: "\n".join(wrap(text, NARROW_KEY)) if i in names else visible(text, NARROW_KEY)
            for i, text in texts.items()
        }
    key = [(colors[i], text) for i, text in texts.items() if i in labels]
    scored = " · (.90): held-out precision" if names else ""
    note = " · ".join(filter(None, [f"{caption}{scored}", legend]))
    kind = "Role clusters" if roles.site.endswith("role") else "Clusters"
    return Strips(strips, key, title=f"{kind}: {site_label(roles.site, roles.head)}", note=note)


def text_strips(store: Store, roles: Clusters, names: Mapping[int, str]) -> Strips:
    """Some texts of any kind, with the cluster below every token, short ones beside each other; clusters without a name are
    described by their tokens.
    """
    tokens = store.tokens_of(roles.site).assign(label=roles.labels)
    tokens = tokens.drop(columns="prediction", errors="ignore")
    samples = [rows.head(MAX_TOKENS) for _, rows in tokens.groupby("sample") if len(rows) > 1]
    longest = max((len(rows) for rows in samples), default=1)
    n_across = max(1, COLUMNS // (longest + 1)) if is_of_letters(tokens) else 1
    step, colors = max(1, len(samples) // (N_TEXTS * n_across)), palette(roles.k)
    strips = [_strip(rows, colors, None) for rows in samples[::step][: N_TEXTS * n_across]]
    lines = [join_strips(strips[i : i + n_across]) for i in range(0, len(strips), n_across)]
    texts = describe_clusters(roles, names)
    return Strips(lines, [(colors[label], text) for label, text in texts.items()])


def is_of_letters(tokens: pd.DataFrame) -> bool:
    """Whether every token takes one square."""
    return all(count_slots(write_token(token)) == 1 for token in tokens["token"].unique())


def join_strips(strips: Sequence[Strip]) -> Strip:
    """Texts in one line, an empty square between them."""
    texts, colors, notes = [], [], []
    for strip in strips:
        texts += [*strip.tokens, " "]
        colors += [*strip.colors, WHITE]
        notes += [*strip.notes, ""]
    return Strip(texts[:-1], colors[:-1], notes[:-1])


def explain_ends(store: Store) -> str:
    """What the signs of start and end are, where texts have them."""
    return "# start, % end. " if store.tokens["token"].eq("<sos>").any() else ""


def describe_stability(roles: Clusters) -> str:
    """Into how many groups k-means divides the tokens, and how well other random starts agree."""
    return (
        f"k-means divides the tokens at {site_label(roles.site, roles.head)} into {roles.k} groups. From different random starts it finds groups that agree with "
        f"these to {roles.stability:.2f} (adjusted Rand index; 1: the same, 0: chance)."
    )


def describe_clusters(roles: Clusters, names: Mapping[int, str]) -> dict[int, str]:
    """Every cluster's number and its name; in parentheses its most frequent tokens, where it has no name or shares it with another one."""
    rows = zip(roles.summary["cluster"], map(list_tokens, roles.summary["top"]), strict=True)
    tokens = {int(label): SHARE.sub(" · ", top).removesuffix(" · ") for label, top in rows}
    named = {label: f"{label}: {name}" for label, name in names.items()}
    plain = {label: PRECISION_SHOWN.sub("", name) for label, name in names.items()}
    same = [label for label in named if list(plain.values()).count(plain[label]) > 1]
    named |= {label: f"{named[label]} ({tokens[label].split(' · ')[0]}" for label in same}
    return {
        label: visible(named[label], NAME_LENGTH) + ")" * (label in same)
        if label in names
        else visible(f"{label}: {'(' * bool(names)}{top}", KEY_LENGTH) + ")" * bool(names)
        for label, top in tokens.items()
    }


def _list_samples(store: Store, tokens: pd.DataFrame, correct_only: bool) -> list[int]:
    is_judged = correct_only and "correct" in tokens  # without answers nothing is right or wrong
    tokens = tokens.loc[tokens["correct"].astype(bool)] if is_judged else tokens
    if tokens.empty:
        raise InputError(
            f"{store.path} has no question that was answered right: ask for all, by --every or correct_only=False"
        )
    return tokens["sample"].unique().tolist()


def _mix(samples: list[int], overlay: pd.DataFrame, n_rows: int) -> list[int]:
    """``n_rows`` samples in order, up to half of them with a discordant number."""
    is_discordant = overlay["discordant"].fillna(False).to_numpy(bool)
    hard = [sample for sample in samples if sample in {*overlay.loc[is_discordant, "sample"]}]
    hard = hard[: (n_rows + 1) // 2]
    easy = [sample for sample in samples if sample not in hard]
    return sorted([*hard, *easy[: n_rows - len(hard)]])


def _strip(question: pd.DataFrame, colors: Sequence[Color], overlay: pd.DataFrame | None) -> Strip:
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
    )


def _answer_text(token: pd.Series) -> tuple[str, str]:
    """What stands behind a question, and its color; nothing where the store has no answers."""
    if "prediction" not in token:
        return "", MUTED
    if token["correct"] or not str(token["answer"]):
        return f"→ {token['prediction']}", MUTED
    return f"✗ {token['prediction']}  (right: {token['answer']})", WRONG
