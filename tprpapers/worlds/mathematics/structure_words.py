"""The words that name clusters of arithmetic: columns of the gold structure of questions."""

from tprprobe.analyses.naming.fields import Field
from tprprobe.gold.structure import ENDS

PLACES = {-1: "decimals", 0: "ones", 1: "tens", 2: "hundreds", 3: "thousands", 4: "ten thousands+"}
SURFACE = {"denominator": "behind ‘/’", "numerator": "not behind ‘/’"}
# The first field is the one every name begins with.
ARITHMETIC = {
    "kind": Field(("kind",), words={kind: token for token, kind in ENDS.items()}),
    "place": Field(("place",), words=PLACES, lowest=-1, highest=4),
    "polarity": Field(("polarity",)),
    "polarity_global": Field(("polarity_global",), "global {}"),
    "flips": Field(("flips",), "{} flips", {1: "1 flip", 2: "2+ flips"}, highest=2),
    "argument": Field(("slot", "parent"), "argument {} of {}"),
    "surface": Field(("surface_polarity",), words=SURFACE),
    "neg": Field(("neg",), words={True: "negative", False: "positive"}),
    "msd": Field(("msd",), words={True: "first digit", False: "later digit"}),
    "char": Field(("char",), "‘{}’", {" ": "‘␣’"}),
    "n_digits": Field(
        ("n_digits",), "of {} digits", {1: "of 1 digit", 4: "of 4+ digits"}, highest=4
    ),
    "number": Field(("number",), "number {}", {3: "number 3+"}, highest=3),
    "bracket_depth": Field(("bracket_depth",), "in {} brackets", {3: "in 3+ brackets"}, highest=3),
    "tree_depth": Field(("tree_depth",), "depth {}", {4: "depth 4+"}, highest=4),
    "word": Field(("word",), "“{}”"),
}
