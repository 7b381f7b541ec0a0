"""Telling: the sentences in which a document gives its story away piece by piece."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from tprpapers.worlds.english.atoms import mask
from tprpapers.worlds.english.building import build, plain, word
from tprpapers.worlds.english.chance import Chance
from tprpapers.worlds.english.grammar import Node
from tprpapers.worlds.english.parsing import fragment
from tprpapers.worlds.english.phrases import definite, indefinite
from tprpapers.worlds.english.planning import Planner
from tprpapers.worlds.english.reference import Referrer
from tprpapers.worlds.english.story import Actors, Event, Referent
from tprpapers.worlds.english.verbgroups import Manner, verb_group
from tprpapers.worlds.english.wording import clause, related, sentence

TRIES = 6  # how often a sentence that the split does not allow is worded anew
DISTRACTIONS = {"statement": 0.22, "undone": 0.16, "habit": 0.3, "affair": 0.16, "intent": 0.08}
DISTRACTIONS |= {"reaction": 0.14}
HAPPENINGS = {"occurrence:take": 0.7, "happening:happen": 0.15, "happening:occur": 0.15}
PASSIVES = {
    "transitive": "O",
    "reaction": "O",
    "ditransitive": "OR",
    "donation": "O",
    "causative": "O",
}


@dataclass
class Narrator:
    """Words sentences, each a draw of its own."""

    chance: Chance
    planner: Planner
    referrer: Referrer
    depth: int  # how many complements a statement can have below it
    allows: Callable[[Node], bool]

    def narrate(self, move: Callable[[], Node]) -> Node | None:
        """A sentence that the split allows, or None if none is found."""
        for _ in range(TRIES):
            before = self.referrer.state
            tree = move()
            if self.allows(tree):
                self.referrer.end()
                return tree
            self.referrer.state = before
        return None

    def event(
        self, happening: Event, continuation: Event | None = None, late: bool = False
    ) -> Node:
        """An event in a sentence: active or passive, the time in front or behind."""
        gap = "S" if continuation else self._gap(happening)
        content, front = happening, None
        if (
            happening.time
            and happening.time[0] == "on"
            and not (continuation or late)
            and self.chance.happens(0.25)
        ):
            content, front = replace(happening, time=()), fragment("time", happening.time)
        perfect = self.chance.happens(0.5) and not late
        if front and self.planner.cast.careful:
            perfect = False
        manner = Manner(self.chance.happens(0.7), late, perfect)
        after = (continuation, "S") if continuation else None
        return sentence(clause(content, gap, self.referrer, manner, None, after), front)

    def _gap(self, event: Event) -> str:
        """The role of the subject: more often the one who acts."""
        passives = [g for g in PASSIVES.get(event.verb.frame, "") if getattr(event, g.lower())]
        if event.s and (not passives or self.chance.happens(0.55)):
            return "S"
        return self.chance.pick(passives)

    def happening(self, event: Event) -> Node:
        """`The sale happened in Paris.`"""
        noun = self._nominal(event)
        verb = "happening:come" if event.verb.comes else self.chance.weighted(HAPPENINGS)
        happened = Event(verb, event.tense, s=(noun,), place=event.place, time=event.time)
        return self.event(happened)

    def _nominal(self, event: Event) -> int:
        """The noun for an event, as something that readers know of."""
        noun = self.planner.cast.append(Referent(mask("event"), event.verb.noun, gender="neuter"))
        self.referrer.knowledge[noun] = frozenset(["kind"])
        return noun

    def identity(self, who: int, deed: Event | None = None) -> Node:
        """`The lawyer, who had left Ford, is Anna Kim.`"""
        referent, referrer = self.planner.cast.referents[who], self.referrer
        referrer.subject = (who,)
        subject = plain(definite(referent))
        if deed:
            gap = deed.role_of(who).upper()
            subject = related(definite(referent), deed, gap, referrer, self.chance.happens(0.4))
        name = fragment("name", referent.name, referent.type)
        referrer.learn(who, "name", "surname")
        style = "copula" if deed else self.chance.pick(("copula", "passive", "active"))
        if style == "copula":
            children = {"ARG1": subject, "cop": word("copula", "is"), "ARG2": name}
            return sentence(build("clause.identity", children))
        return self._identified(subject, build("label.as", {"*": name}), style)

    def _identified(self, whom: Node, label: Node, style: str) -> Node:
        """`The lawyer was identified as Kim`, `officials identified the lawyer as Kim`."""
        group = verb_group("naming:identify", "past", style, False, style == "active", Manner())
        children = {"*": group, "R": label, "O": whom}
        suffix = ".passive" if style == "passive" else ""
        predicate = build("predicate.single", {"*": build(f"vp.naming{suffix}", children)})
        if style == "passive":
            return sentence(build("clause.passive", {"nsubj:pass": whom, "*": predicate}))
        (people,) = self.planner.people()
        self.referrer.subject = (people,)
        subject = plain(indefinite(self.planner.cast.referents[people]))
        return sentence(build("clause.active", {"nsubj": subject, "*": predicate}))

    def renaming(self, who: int) -> Node:
        """`The carmaker was renamed Lincoln.`"""
        referent, referrer = self.planner.cast.referents[who], self.referrer
        subject = referrer.refer((who,), "nominative", referent.type, False)
        referrer.renamed |= {who}
        group = verb_group("renaming:rename", "past", "passive", False, False, Manner())
        when = self.planner.time("past", 0.6)
        symbol = "span" if when and when[0] == "last" else "time"
        name = fragment("name", referent.name, referent.type)
        children = {"*": group, "R": name, "ARGM-TMP": fragment(symbol, when) if when else None}
        predicate = build("predicate.single", {"*": build("vp.renaming.passive", children)})
        return sentence(build("clause.passive", {"nsubj:pass": subject, "*": predicate}))

    def distraction(self, main: Event, participants: Actors) -> Node:
        """A sentence on something that the summary leaves out."""
        who = self.chance.pick(participants)
        match self.chance.weighted(DISTRACTIONS):
            case "reaction" if main.verb.noun:
                return self._reaction(main)
            case "statement":
                return self._statement(who)
            case "undone":
                return self._undone(who)
            case "habit":
                return self._habit(who)
            case "affair":
                return self.event(*self.planner.affair(who))
            case _:
                return self.event(self.planner.intent())

    def _statement(self, who: int) -> Node:
        """A sentence on what somebody says, maybe of a participant."""
        content = None
        if self.chance.happens(0.6):
            content = self.planner.follow(who, self.chance.pick(("past", "future")))
        if content:
            content = replace(content, negative=self.chance.happens(0.3))
        return self.event(self.planner.statement(1 + self.chance.below(self.depth), content))

    def _undone(self, who: int) -> Node:
        """A sentence on what a participant did not do, or may do."""
        tense = self.chance.pick(("past", "possible"))
        event = self.planner.follow(who, tense) or self.planner.deed(tense, {})
        return self.event(replace(event, negative=tense == "past"))

    def _reaction(self, main: Event) -> Node:
        """A sentence on what somebody says about the main event."""
        people = self.planner.people() if self.chance.happens(0.6) else ()
        fixed = {"o": (self._nominal(main),)} | ({"s": people} if people else {})
        tense = self.chance.pick(("past", "present"))
        return self.event(self.planner.fill(self.planner.verb("reaction"), tense, fixed))

    def _habit(self, who: int) -> Node:
        """A sentence on what a participant, or people, do all the time."""
        habit = self.planner.habit((who,) if self.chance.happens(0.6) else self.planner.people())
        repetition = self.planner.habit(habit.s) if self.chance.happens(0.4) else None
        return self.event(habit, repetition)
