"""Fields that every text has without labels: where a token stands, counted from the left and from the right, and which it is."""

from collections.abc import Mapping

import pandas as pd

from tprprobe.analyses.naming.fields import Field, describe
from tprprobe.estimators.clusters.names import Lattice, build_lattice
from tprprobe.gold.labels import WORD
from tprprobe.store.token_texts import SPECIAL, sign

MAX_PLACE, MAX_TOKENS = 20, 40  # places from an end, and most frequent tokens, that have a name
SIDES = ("left", "right")
MARK = {"mark": Field(("mark",))}  # a special token such as <eos> stands at no place
TEXTS = {"text": Field(("text",), "‘{}’")}


def read_places(tokens: pd.DataFrame) -> pd.DataFrame:
    """The special token, or the places from the left and from the right (from 1), of the tokens of a side; of words where these are numbered."""
    texts = tokens["token"].astype(str).reset_index(drop=True)
    samples = tokens["sample"].reset_index(drop=True)
    is_special = texts.str.fullmatch(SPECIAL)
    if WORD in tokens and tokens[WORD].max() >= 0:
        words = tokens[WORD].reset_index(drop=True).astype("Int64")
        n_left = words.where(words >= 0) + 1
    else:
        n_left = (~is_special).astype("Int64").groupby(samples).cumsum().where(~is_special)
    right = n_left.groupby(samples).transform("max") - n_left + 1
    places = {side: n.where(n <= MAX_PLACE) for side, n in zip(SIDES, (n_left, right), strict=True)}
    return pd.DataFrame({"mark": texts.where(is_special & n_left.isna()), **places})


def build_places(tokens: pd.DataFrame) -> Lattice:
    """Predicates of places."""
    return build_lattice(describe(read_places(tokens), MARK | _list_fields(tokens)))


def _list_fields(tokens: pd.DataFrame) -> dict[str, Field]:
    """The places from both sides: of words, where some have several tokens, else of tokens."""
    has_pieces = WORD in tokens and tokens[tokens[WORD] >= 0].duplicated(["sample", WORD]).any()
    unit = "word" if has_pieces else "place"
    return {side: Field((side,), f"{unit} {{}} from the {side}") for side in SIDES}


def build_tokens(tokens: pd.DataFrame) -> Lattice:
    """Predicates of the most frequent tokens."""
    return build_lattice(describe(pd.DataFrame({"text": _read_frequent(tokens)}), TEXTS))


def build_tokens_at_places(tokens: pd.DataFrame) -> Lattice:
    """Predicates of places, of the most frequent tokens, and of both."""
    tokens_at_places = read_places(tokens).assign(text=_read_frequent(tokens))
    return build_lattice(describe(tokens_at_places, MARK | _list_fields(tokens) | TEXTS))


def _read_frequent(tokens: pd.DataFrame) -> pd.Series:
    """The tokens that are frequent enough for a name, but special ones."""
    is_mark = read_places(tokens)["mark"].notna()
    texts = tokens["token"].astype(object).map(sign).reset_index(drop=True).mask(is_mark)
    return texts.where(texts.isin(texts.value_counts().index[:MAX_TOKENS]))


def count_places(names: "pd.Series[str]") -> int:
    """How many names say where a token stands."""
    return int(names.astype(str).str.contains(r"\b(?:place|word) \d+ from the ").sum())


def compare_places(n_places: int, of_baselines: Mapping[str, int]) -> str:
    """How many names say where a token stands, in a model and its baseline models; empty if none does."""
    if not n_places and not any(of_baselines.values()):
        return ""
    baselines = "".join(
        f", {n or 'none'} of the baseline model’s ({model})" for model, n in of_baselines.items()
    )
    return f"{n_places or 'None'} of the names {'says' if n_places == 1 else 'say'} where a token stands{baselines}."
