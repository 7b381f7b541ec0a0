"""The categories of words by tag: those of huang's Table 2 and the kinds of its Table 3."""

import pandas as pd
from jaxtyping import Shaped
from numpy import ndarray

NOMINAL, VERBAL = "nominal", "verbal"
SIDES = {  # in the order of Table 2
    "noun": NOMINAL,
    "pronoun": NOMINAL,
    "indefinite article": NOMINAL,
    "definite article": NOMINAL,
    "adjective": NOMINAL,
    "verb": VERBAL,
    "preposition or conjunction": VERBAL,
    "adverb": VERBAL,
}
KINDS = ("noun", "determiner", "adjective", "verb", "preposition", "period", "other")
TAGS = {  # of the Penn Treebank, and universal ones; what is not here is in no category
    "noun": ("NN", "NNS", "NNP", "NNPS", "NOUN", "PROPN"),
    "pronoun": ("PRP", "PRP$", "WP", "WP$", "PRON"),
    "adjective": ("JJ", "JJR", "JJS", "ADJ"),
    "verb": ("VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "MD", "VERB", "AUX"),
    "preposition or conjunction": ("IN", "TO", "CC", "ADP", "CCONJ", "SCONJ"),
    "adverb": ("RB", "RBR", "RBS", "ADV"),
}
ARTICLES = {"a": "indefinite article", "an": "indefinite article", "the": "definite article"}
DETERMINERS, CONJUNCTIONS = ("DT", "PDT", "WDT", "DET"), ("CC", "CCONJ")
PERIODS = (".",)
# Prepositions that say where, or where to or from. Source: ours; huang's list is not printed.
SPATIAL = frozenset(
    [
        "above",
        "across",
        "against",
        "along",
        "alongside",
        "amid",
        "among",
        "around",
        "aside",
        "at",
        "atop",
        "behind",
        "below",
        "beneath",
        "beside",
        "besides",
        "between",
        "beyond",
        "by",
        "down",
        "from",
        "in",
        "inside",
        "into",
        "near",
        "off",
        "on",
        "onto",
        "opposite",
        "out",
        "outside",
        "over",
        "past",
        "through",
        "throughout",
        "toward",
        "towards",
        "under",
        "underneath",
        "up",
        "upon",
        "within",
    ]
)


def categorize(words: Shaped[ndarray, " word"], tags: Shaped[ndarray, " word"]) -> pd.DataFrame:
    """category, side, kind and spatial of tagged words; an empty text for a word that has none.

    category  of Table 2: an article is one by its form. Numerals, existential `there`, relative
              `that`, particles and other determiners are in no category
    side      nominal or verbal, by category
    kind      of Table 3: noun, determiner, adjective, verb, preposition, period, other
    spatial   spatial or other, of prepositions
    """
    word = pd.Series(words, dtype=object).str.lower()
    tag = pd.Series(tags, dtype=object)
    by_tag = {tag_name: name for name, tag_names in TAGS.items() for tag_name in tag_names}
    is_determiner = tag.isin(DETERMINERS)
    category = tag.map(by_tag).where(~is_determiner, word.map(ARTICLES)).fillna("")
    preposition = (category == "preposition or conjunction") & ~tag.isin(CONJUNCTIONS)
    kind = category.where(category.isin(KINDS), "other")
    kind = kind.mask(is_determiner, "determiner").mask(preposition, "preposition")
    kind = kind.mask(tag.isin(PERIODS), "period")
    spatial = word.isin(SPATIAL).map({True: "spatial", False: "other"}).where(preposition, "")
    columns = {"category": category, "side": category.map(SIDES).fillna("")}
    return pd.DataFrame(columns | {"kind": kind, "spatial": spatial})
