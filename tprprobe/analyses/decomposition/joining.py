"""Trees over any sequence of symbols with an order: the smallest is joined with its neighbour."""

from collections.abc import Sequence


def join_smallest(fillers: Sequence[str]) -> list[str]:
    """The way from the root to every filler, as 0 (left) and 1 (right).

    Again and again the smallest filler (the leftmost of equals, never the last) is joined with the
    one after it; the pair bears the value of its second. Numbers are ordered as numbers.
    Source: McCoy et al. 2019, App. B.

    >>> join_smallest(["5", "1", "3"])
    ['0', '10', '11']
    """
    values = _ordered(fillers)
    spans = [[i] for i in range(len(fillers))]
    ways = [""] * len(fillers)
    while len(spans) > 1:
        first = min(range(len(spans) - 1), key=values.__getitem__)
        for turn, span in zip("01", spans[first : first + 2], strict=True):
            for i in span:
                ways[i] = turn + ways[i]
        spans[first : first + 2] = [spans[first] + spans[first + 1]]
        del values[first]
    return ways


def _ordered(fillers: Sequence[str]) -> list[float] | list[str]:
    try:
        return [float(each) for each in fillers]
    except ValueError:
        return list(fillers)
