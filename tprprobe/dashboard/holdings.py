"""What a store holds, and so what a sentence about it may name."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tprprobe.analyses.attention.gold_maps import gold_tokens
from tprprobe.analyses.naming.word_labels import LABELS, list_exact
from tprprobe.dashboard.safe_text import visible
from tprprobe.gold.labels import WORD
from tprprobe.statistics import Interval, wilson
from tprprobe.store import Store
from tprprobe.store.layout import SIDES, twins_in


@dataclass(frozen=True)
class Holdings:
    """Whether a store's model ``writes``; the share of its answers that are right (None where that is not
    known); whether its samples are arithmetic; the ``exact`` labels of its words and those that a tagger
    ``guessed``; its twins.
    """

    writes: bool
    score: Interval | None
    arithmetic: bool
    exact: tuple[str, ...]
    guessed: tuple[str, ...]
    twins: tuple[str, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        return (*self.exact, *self.guessed)


@lru_cache(maxsize=64)
def list_holdings(store: Store) -> Holdings:
    """What a store holds."""
    is_labelled = WORD in store.tokens
    exact = tuple(list_exact(store)) if is_labelled else ()
    known = tuple(each for each in LABELS if is_labelled and each in store.tokens)
    guessed = tuple(each for each in known if each not in exact)
    return Holdings(
        store.has_answers,
        _score(store),
        _is_arithmetic(store),
        exact,
        guessed,
        tuple(twins_in(store.path)),
    )


def _score(store: Store) -> Interval | None:
    if not store.has_answers or not {"correct", "answer"} <= {*store.tokens}:
        return None
    first = store.tokens[["sample", "answer", "correct"]].drop_duplicates("sample").dropna()
    judged = first.loc[first["answer"].astype(str) != "", "correct"].astype(bool)
    return wilson(int(judged.sum()), len(judged)) if len(judged) else None


def _is_arithmetic(store: Store) -> bool:
    if not store.has_questions:
        return False
    first = np.unique(store.tokens["sample"].to_numpy())[:1].tolist()
    return gold_tokens(store, first) is not None


def describe_store(store: Store) -> dict[str, str]:
    """Model, data and sizes of a store in words; nothing of its tokens is read for these."""
    manifest = store.manifest
    lengths = manifest["lengths"]
    return {
        "model": _name(manifest.get("model")),
        "data": _name(manifest.get("data")),
        "samples": f"{store.samples:,}",
        "tokens": " + ".join(f"{lengths[side]:,}" for side in SIDES if lengths.get(side)) or "0",
        "sites": f"{len(store.sites)}",
        "size": write_size(int(store.summary["bytes"].sum())),
        "twins": ", ".join(twins_in(store.path)) or "none",
    }


def _name(value: object) -> str:
    """The name of a model or of data in a manifest, whatever is stored there; of a path its last part."""
    if isinstance(value, dict):
        name, split = str(value.get("name") or ""), value.get("split")
        name = name.rsplit("/", 1)[-1] if name.startswith(("/", ".")) else name
        value = " · ".join(str(each) for each in (name, split) if each and each != "all")
    return visible(value if value else "–", 80)


def write_size(n: float) -> str:
    """A number of bytes with its unit."""
    for unit in ("B", "kB", "MB", "GB"):
        if n < 1000:
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:.3g} TB"
