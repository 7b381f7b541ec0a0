"""The words of the scenes."""

from typing import NamedTuple


class NounKind(NamedTuple):
    """A noun's category in a scene, and its plural."""

    category: str  # person, animal, thing (can be held), support (others are on or under it)
    plural: str


class SceneVerb(NamedTuple):
    """A verb's forms (sits, sit), and the kinds that it can have as subject and object."""

    third: str
    base: str
    subjects: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()


class ScenePlace(NamedTuple):
    """A place's preposition (`in`, `on`) and article, as people use them."""

    preposition: str
    article: str


PERSON = "person"
KINDS = {
    "man": NounKind(PERSON, "men"),
    "woman": NounKind(PERSON, "women"),
    "boy": NounKind(PERSON, "boys"),
    "girl": NounKind(PERSON, "girls"),
    "child": NounKind(PERSON, "children"),
    "dog": NounKind("animal", "dogs"),
    "cat": NounKind("animal", "cats"),
    "horse": NounKind("animal", "horses"),
    "cow": NounKind("animal", "cows"),
    "bird": NounKind("animal", "birds"),
    "elephant": NounKind("animal", "elephants"),
    "ball": NounKind("thing", "balls"),
    "book": NounKind("thing", "books"),
    "umbrella": NounKind("thing", "umbrellas"),
    "bag": NounKind("thing", "bags"),
    "kite": NounKind("thing", "kites"),
    "table": NounKind("support", "tables"),
    "bench": NounKind("support", "benches"),
    "bed": NounKind("support", "beds"),
    "box": NounKind("support", "boxes"),
    "car": NounKind("support", "cars"),
    "tree": NounKind("support", "trees"),
}
COLORS = (  # of animals and things, and of the hats of persons
    "white",
    "black",
    "brown",
    "red",
    "blue",
    "green",
    "orange",
)
SIZES = ("small", "large", "old")
COUNTS = ("a", "two", "three", "several")
ADVERBS = ("quietly", "happily", "slowly", "together")
POSTURES = {
    "sitting": SceneVerb("sits", "sit"),
    "standing": SceneVerb("stands", "stand"),
    "lying": SceneVerb("lies", "lie"),
    "waiting": SceneVerb("waits", "wait"),
    "playing": SceneVerb("plays", "play"),
}
ANIMATE, PORTABLE = (PERSON, "animal"), ("thing",)
VERBS = {
    "holding": SceneVerb("holds", "hold", (PERSON,), PORTABLE),
    "carrying": SceneVerb("carries", "carry", ANIMATE, PORTABLE),
    "buying": SceneVerb("buys", "buy", (PERSON,), PORTABLE),
    "washing": SceneVerb("washes", "wash", (PERSON,), ("animal", "support")),
    "watching": SceneVerb("watches", "watch", ANIMATE, (*ANIMATE, "thing")),
    "chasing": SceneVerb("chases", "chase", ANIMATE, (*ANIMATE, "thing")),
    "following": SceneVerb("follows", "follow", ANIMATE, ANIMATE),
}
PREPOSITIONS = {  # with what they go
    "on": ("support",),
    "under": ("support",),
    "behind": ("support", "thing"),
    "near": ("support", "thing"),
    "beside": ("support", "thing"),
}
PLACES = {
    "park": ScenePlace("in", "the"),
    "kitchen": ScenePlace("in", "a"),
    "beach": ScenePlace("on", "the"),
    "street": ScenePlace("on", "a"),
    "field": ScenePlace("in", "a"),
    "garden": ScenePlace("in", "the"),
    "room": ScenePlace("in", "a"),
    "water": ScenePlace("in", "the"),
}
