"""The tag of every word of the scenes' captions: each form has one, so that what a model writes has too."""

from tprpapers.worlds.scenes.nouns import (
    ADVERBS,
    COLORS,
    COUNTS,
    KINDS,
    PLACES,
    POSTURES,
    PREPOSITIONS,
    SIZES,
    VERBS,
)

_ACTIONS = POSTURES | VERBS
_FORMS = {
    "NN": [*KINDS, *PLACES, "hat"],
    "NNS": [*(kind.plural for kind in KINDS.values()), "hats"],
    "JJ": [*COLORS, *SIZES, COUNTS[3]],
    "CD": COUNTS[1:3],
    "RB": ADVERBS,
    "VBG": _ACTIONS,
    "VBZ": [*(verb.third for verb in _ACTIONS.values()), "is"],
    "VBP": [*(verb.base for verb in _ACTIONS.values()), "are"],
    "IN": [*PREPOSITIONS, *(place.preposition for place in PLACES.values()), "with"],
    "DT": ["a", "an", "the"],
    "PRP": ["it", "them"],
    "WDT": ["that"],
    "EX": ["there"],
    "CC": ["and"],
}
LEXICON = {form: tag for tag, forms in _FORMS.items() for form in forms}
