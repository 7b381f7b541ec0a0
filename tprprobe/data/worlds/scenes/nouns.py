"""The words of the scenes."""

from typing import NamedTuple


class Kind(NamedTuple):
    """A noun's category in a scene, and its plural."""

    category: str  # person, animal, thing (can be held), support (others are on or under it)
    plural: str


class Verb(NamedTuple):
    """A verb's forms (sits, sit), and the kinds that it can have as subject and object."""

    third: str
    base: str
    subjects: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()


class Place(NamedTuple):
    """A place's preposition (`in`, `on`) and article, as people use them."""

    preposition: str
    article: str


KINDS = {
    "man": Kind("person", "men"),
    "woman": Kind("person", "women"),
    "boy": Kind("person", "boys"),
    "girl": Kind("person", "girls"),
    "child": Kind("person", "children"),
    "dog": Kind("animal", "dogs"),
    "cat": Kind("animal", "cats"),
    "horse": Kind("animal", "horses"),
    "cow": Kind("animal", "cows"),
    "bird": Kind("animal", "birds"),
    "elephant": Kind("animal", "elephants"),
    "ball": Kind("thing", "balls"),
    "book": Kind("thing", "books"),
    "umbrella": Kind("thing", "umbrellas"),
    "bag": Kind("thing", "bags"),
    "kite": Kind("thing", "kites"),
    "table": Kind("support", "tables"),
    "bench": Kind("support", "benches"),
    "bed": Kind("support", "beds"),
    "box": Kind("support", "boxes"),
    "car": Kind("support", "cars"),
    "tree": Kind("support", "trees"),
}
COLOURS = ("white", "black", "brown", "red", "blue", "green", "orange")
SIZES = ("small", "large", "old")
COUNTS = ("a", "two", "three", "several")
ADVERBS = ("quietly", "happily", "slowly", "together")
POSTURES = {
    "sitting": Verb("sits", "sit"),
    "standing": Verb("stands", "stand"),
    "lying": Verb("lies", "lie"),
    "waiting": Verb("waits", "wait"),
    "playing": Verb("plays", "play"),
}
BOTH, HELD = ("person", "animal"), ("thing",)
VERBS = {
    "holding": Verb("holds", "hold", ("person",), HELD),
    "carrying": Verb("carries", "carry", BOTH, HELD),
    "buying": Verb("buys", "buy", ("person",), HELD),
    "washing": Verb("washes", "wash", ("person",), ("animal", "support")),
    "watching": Verb("watches", "watch", BOTH, (*BOTH, "thing")),
    "chasing": Verb("chases", "chase", BOTH, (*BOTH, "thing")),
    "following": Verb("follows", "follow", BOTH, BOTH),
}
PREPOSITIONS = {  # with what they go
    "on": ("support",),
    "under": ("support",),
    "behind": ("support", "thing"),
    "near": ("support", "thing"),
    "beside": ("support", "thing"),
}
PLACES = {
    "park": Place("in", "the"),
    "kitchen": Place("in", "a"),
    "beach": Place("on", "the"),
    "street": Place("on", "a"),
    "field": Place("in", "a"),
    "garden": Place("in", "the"),
    "room": Place("in", "a"),
    "water": Place("in", "the"),
}
