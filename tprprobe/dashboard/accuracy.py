"""The share of a store's answers that are right."""

from tprprobe.statistics import Interval, wilson
from tprprobe.store import Store


def tell_score(store: Store) -> Interval | None:
    """The share of right answers with its 95 % interval; None where answers are not known."""
    tokens = store.tokens
    if "correct" not in tokens:
        return None
    first = tokens.drop_duplicates("sample")["correct"].dropna().astype(bool)
    if first.empty:
        return None
    return wilson(int(first.sum()), len(first))
