"""The plan of a report: the main event and the other deeds of its topic."""

from dataclasses import dataclass, field, replace
from functools import cache

from tprpapers.worlds.english.atoms import ANY, mask
from tprpapers.worlds.english.cast import Cast, types_in
from tprpapers.worlds.english.chance import Chance
from tprpapers.worlds.english.lexicon import Verb, forms, lexicon
from tprpapers.worlds.english.phrases import is_single
from tprpapers.worlds.english.story import SIMPLE, Actors, Event

MAIN = {"simple": 0.68, "clausal": 0.12, "control": 0.1, "causative": 0.1}
DEEDS = {"intransitive": 0.17, "transitive": 0.48, "ditransitive": 0.28, "donation": 0.07}
TENSES = {"past": 0.7, "future": 0.2, "possible": 0.1}
SPEECH_TENSES = {"past": 0.45, "future": 0.45, "possible": 0.1}
TIMES = {
    "past": ("day", "day", "part", "part", "hour", "last", "season"),
    "earlier": ("month", "month", "year", "last", "season"),
    "future": ("day", "day", "month", "next", "next", "season"),
    "possible": ("day", "month", "next", "next"),
}
PAIRS = 0.15  # how often two take part instead of one


@cache
def verbs_of(frame: str, s: int = ANY) -> tuple[Verb, ...]:
    """The verbs of a frame that such a subject can have."""
    return tuple(v for v in lexicon().verbs.values() if v.frame == frame and (v.s & s or not v.s))


@cache
def _deeds_of(kind: str) -> tuple[tuple[Verb, str], ...]:
    """The verbs of a single type of subject and object that somebody can be the s or o of."""
    strict = [v for v in lexicon().verbs.values() if v.frame in SIMPLE and v.s.bit_count() == 1]
    roles = [(verb, role) for verb in strict for role in "so"]
    return tuple((verb, role) for verb, role in roles if getattr(verb, role) & mask(kind))


@dataclass
class Planner:
    """Draws events with people of a cast; no two events of a report have the same verb."""

    chance: Chance
    cast: Cast
    used_verbs: set[str] = field(default_factory=set)

    def verb(self, frame: str, s: int = ANY) -> Verb:
        """An unused verb of a frame, if there is one."""
        choices = verbs_of(frame, s)
        free = [verb for verb in choices if verb.lexeme not in self.used_verbs]
        return self._take(self.chance.pick(free or choices))

    def _take(self, verb: Verb) -> Verb:
        self.used_verbs.add(verb.lexeme)
        self.cast.reserve(verb.noun)
        self.cast.reserve(verb.lexeme.partition(":")[2])
        return verb

    def deed(self, tense: str, fixed: dict[str, Actors], s: int = ANY) -> Event:
        """Something that somebody does; `fixed` are the actors that are given."""
        frame = self.chance.weighted(DEEDS)
        if not verbs_of(frame, s):
            frame = "transitive"
        return self.fill(self.verb(frame, s), tense, fixed)

    def fill(self, verb: Verb, tense: str, fixed: dict[str, Actors]) -> Event:
        """An event with new actors in the roles that are not given."""
        s, o, r = (fixed.get(role) or self._actors(verb, role) for role in "sor")
        return Event(verb.lexeme, tense, s=s, o=o, r=r)

    def _actors(self, verb: Verb, role: str) -> Actors:
        if not getattr(verb, role):
            return ()
        if role == "o" and verb.goods:
            return (self.cast.add_goods(verb.goods),)
        kinds = types_in(getattr(verb, role))
        actor = self.cast.add(self.chance.pick(kinds))
        if role == "o" and kinds == ("person",) and self.chance.happens(PAIRS):
            return actor, self.cast.add("person")
        return (actor,)

    def main(self) -> Event:
        """The event that a report is about, with where and when."""
        frame = self.chance.weighted(MAIN)
        if frame == "simple":
            event = self.deed(self.chance.weighted(TENSES), {})
        else:
            event = getattr(self, f"_{frame}")()
            if event.tense == "present":
                return event
        place = self.cast.add_site() if self.chance.happens(0.85) else None
        event = replace(event, place=place, time=self.time(event.tense, 0.9))
        if event.verb.priced and self.chance.happens(0.5):
            figure = self.chance.pick(forms("figure"))
            event = replace(event, price=("for", "$", figure, "million"))
        return event

    def statement(self, depth: int, content: Event | None = None) -> Event:
        """Somebody says that somebody else says … that something is so."""
        event = self.fill(self.verb("clausal"), self._attitude(), {})
        if depth > 1:
            return replace(event, c=self.statement(depth - 1, content))
        return replace(event, c=content or self._draw_content(event.s))

    def _draw_content(self, speaker: Actors) -> Event:
        """Something that somebody does, or somebody else."""
        kind = self.cast.referents[speaker[0]].type
        is_speaker = self.chance.happens(0.4)
        tense = self.chance.weighted(SPEECH_TENSES)
        event = self.deed(tense, {"s": speaker} if is_speaker else {}, kind if is_speaker else ANY)
        return replace(event, negative=self.chance.happens(0.25))

    def _clausal(self) -> Event:
        return self.statement(1)

    def _control(self) -> Event:
        content = self.deed("base", {})
        verb = self.verb("control", self.cast.referents[content.s[0]].type)
        return Event(verb.lexeme, self._attitude(), s=content.s, c=content)

    def _causative(self) -> Event:
        content = self.deed("base", {})
        event = self.fill(self.verb("causative"), self._attitude(), {"o": content.s})
        return replace(event, c=content)

    def _attitude(self) -> str:
        """The tense of what is said, planned or asked."""
        return "past" if self.chance.happens(0.55) else "present"

    def habit(self, who: Actors) -> Event:
        """An event that somebody repeats all the time."""
        kind = self.cast.referents[who[0]].type
        return self.fill(self.verb("habitual", kind), "present", {"s": who})

    def people(self) -> Actors:
        """Some people at large."""
        return (self.cast.add("people"),)

    def affair(self, who: int) -> tuple[Event, Event | None]:
        """Events of others: one or two of them, one thing or two; or somebody's people."""
        tense = self.chance.pick(("past", "past", "future"))
        owned = {"s": (self.cast.add_relation(who),)} if self.chance.happens(0.6) else {}
        event = self.deed(tense, owned, mask("person") if owned else ANY)
        if event.o and event.verb.o == mask("person") and self.chance.happens(0.6):
            event = replace(event, o=(self.cast.add_relation(who, neighbors=event.s),))
        event = replace(event, time=self.time(tense, 0.4))
        kind = self.cast.referents[event.s[0]].type
        if not owned and self.chance.happens(PAIRS) and is_single(event.slot("s")):
            event = replace(event, s=(*event.s, self.cast.add(types_in(kind)[0])))
        if self.chance.happens(0.7) or len(event.s) > 1:
            return event, None
        return event, self.deed(tense, {"s": event.s}, kind)

    def intent(self) -> Event:
        """An event that somebody plans, or is asked, to bring about."""
        return self._control() if self.chance.happens(0.5) else self._causative()

    def follow(self, who: int, tense: str) -> Event | None:
        """Another deed of the topic, done or suffered, or None where no verb is left."""
        kinds = types_in(self.cast.referents[who].type)
        free = [(v, role) for v, role in _deeds_of(kinds[0]) if v.lexeme not in self.used_verbs]
        if not free:
            return None
        verb, role = self.chance.pick(free)
        event = self.fill(self._take(verb), tense, {role: (who,)})
        return replace(event, time=self.time(tense, 0.6))

    def time(self, tense: str, probability: float) -> tuple[str, ...]:
        """The time at which something happened or will happen; or no time."""
        if not self.chance.happens(probability):
            return ()
        pick = self.chance.pick
        match pick(TIMES[tense]):
            case "day":
                return "on", pick(forms("weekday"))
            case "part":
                return "on", pick(forms("weekday")), pick(forms("daypart"))
            case "season":
                return "over", "the", pick(forms("season"))
            case "hour":
                return "at", pick(forms("clock"))
            case "month":
                return "in", pick(forms("monthname"))
            case "year":
                return "in", pick(forms("yearnumber"))
            case direction:
                return direction, pick(forms("period"))
