"""Reports: a document of several sentences and the one-sentence summary that it determines.

`sample` is a pure function of its arguments, and its reports have no end. Which split a report
belongs to is decided by a hash of its main event, whatever the seed and the knobs: nothing that is
done by somebody to somebody in dev or test, and so no document, is ever trained on.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

from tprpapers.worlds.english.annotation import analyze
from tprpapers.worlds.english.cast import Cast
from tprpapers.worlds.english.chance import Chance
from tprpapers.worlds.english.constructions import HELD_OUT, pairs
from tprpapers.worlds.english.discourse import read
from tprpapers.worlds.english.documents import narrate
from tprpapers.worlds.english.headlines import possible_topics, summarize
from tprpapers.worlds.english.labelling import label_sentences
from tprpapers.worlds.english.narration import Narrator
from tprpapers.worlds.english.parsing import parse, parse_tree
from tprpapers.worlds.english.planning import Planner
from tprpapers.worlds.english.reference import Referrer
from tprpapers.worlds.english.sentences import Sentence, tokenize
from tprpapers.worlds.english.story import Event, Story
from tprpapers.worlds.english.truth import holds
from tprprobe.data.dataset import Labels, split_by_hash
from tprprobe.errors import InputError, unknown

SPLITS = {"train": range(192), "dev": range(192, 224), "test": range(224, 256)}  # first byte
COMPOSITIONAL = "compositional"
NAMES = 24, 60  # the fewest and the most names of a kind
VERSIONS = (1, 2)  # a change of what is drawn is a new one: shipped models keep their data


@dataclass(frozen=True, slots=True)
class ReportKnobs:
    """The difficulty of reports."""

    sentences: tuple[int, int] = (4, 8)  # fewest and most in a document
    depth: int = 2  # how deep statements are put into each other
    names: int = 60  # how many names of each kind are in use
    ambiguity: float = 0.75  # how often a name could be that of something else
    pronouns: float = 0.5  # how often a pronoun is used where it can be
    version: int = VERSIONS[
        -1
    ]  # of the generator: 2 words nothing that English does not (see Cast)

    @classmethod
    def of(cls, knobs: Mapping[str, object]) -> "ReportKnobs":
        """The default knobs with the given ones changed."""
        for name in knobs:
            if name not in asdict(cls()):
                raise unknown("knob", name, asdict(cls()))
        return cls(**knobs)  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        if self.version not in VERSIONS:
            accepted = ", ".join(map(str, VERSIONS))
            raise InputError(
                f"version = {self.version}; versions of the generated English: {accepted}"
            )
        low, high = self.sentences
        if not 4 <= low <= high <= 12:
            raise InputError(
                f"sentences = {self.sentences}; give two numbers from 4 to 12, in order"
            )
        if self.depth < 1 or not NAMES[0] <= self.names <= NAMES[1]:
            values = f"depth = {self.depth}, names = {self.names}"
            raise InputError(f"{values}; depth is at least 1, names {NAMES[0]} to {NAMES[1]}")
        if not (0 <= self.ambiguity <= 1 and 0 <= self.pronouns <= 1):
            values = f"ambiguity = {self.ambiguity}, pronouns = {self.pronouns}"
            raise InputError(f"{values}; both are probabilities from 0 to 1")


@dataclass(frozen=True)
class Report:
    """A document, its summary, and the labels of every word of both."""

    document: tuple[Sentence, ...]
    summary: Sentence
    has_one_answer, document_name, module = False, None, ""

    @property
    def source(self) -> str:
        return " ".join(sentence.text for sentence in self.document)

    @property
    def target(self) -> str:
        return self.summary.text

    @property
    def offsets(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """The start and end of the words of every sentence in `source`, in characters."""
        offsets, start = [], 0
        for sentence in self.document:
            offsets.append(tuple((start + a, start + b) for a, b in sentence.offsets))
            start += len(sentence.text) + 1
        return tuple(offsets)

    def labels(self, text: str | None) -> Labels:
        """The labels of all sentences; for a written text, of that text if it is a sentence of the
        language.
        """
        sentence = self.summary if text is None else parse(tokenize(text))
        return label_sentences(self.document), sentence and label_sentences([sentence])

    @cached_property
    def facts(self) -> Story:
        """The story that the document tells, read off its words."""
        return read_story([sentence.forms for sentence in self.document])


def read_story(sentences: Sequence[Sequence[str]]) -> Story:
    """The story that sentences tell; words that are no sentence tell nothing."""
    return read(tree for words in sentences if (tree := parse_tree(words)))


def is_true(summary: Sequence[str], document: Report) -> bool:
    """True if the words are a sentence of the language and the document makes it true."""
    tree = parse_tree(summary)
    return tree is not None and holds(tree, document.facts)


def check_split(split: str) -> None:
    """Checks that there is such a split.

    Raises: InputError.
    """
    if split not in (*SPLITS, COMPOSITIONAL):
        raise unknown("split", split, (*SPLITS, COMPOSITIONAL))


def sample(index: int, seed: int = 0, split: str = "train", **knobs: object) -> Report:
    """Report number `index` of a split: always the same for the same arguments.

    `knobs` are the fields of `Knobs`. In `compositional` every summary has a pair of argument
    structure and construction that the other splits never have.
    Raises: InputError for an unknown split or knob, or a knob out of its range.
    """
    check_split(split)
    chance, report_knobs = Chance(f"{seed}/{split}/{index}"), ReportKnobs.of(knobs)
    while not (report := _attempt(chance, split, report_knobs)):
        pass
    return report


def _attempt(chance: Chance, split: str, knobs: ReportKnobs) -> Report | None:
    """A report; None if the drawn story does not belong to the split."""
    cast = Cast(chance, knobs.names, knobs.ambiguity, careful=knobs.version > 1)
    planner = Planner(chance, cast)
    main = planner.main()
    if split != COMPOSITIONAL and split_of(Story(tuple(cast.referents), (main,))) != split:
        return None
    story = _with_deeds(chance, planner, main)
    tree = summarize(story)
    if HELD_OUT.isdisjoint(pairs(tree)) == (split == COMPOSITIONAL):
        return None
    referrer = Referrer(chance, cast, knobs.pronouns)
    narrator = Narrator(chance, planner, referrer, knobs.depth, ALLOWED[split == COMPOSITIONAL])
    low, high = knobs.sentences
    trees = narrate(narrator, story, low + chance.below(high - low + 1), high)
    if not trees or cast.exhausted:
        return None
    return Report(tuple(analyze(t).sentence() for t in trees), analyze(tree).sentence())


def _with_deeds(chance: Chance, planner: Planner, main: Event) -> Story:
    """The main event, and what else its topic does."""
    topic, _ = chance.pick(possible_topics(main))
    events = [main]
    after = chance.pick(("past", "future")) if main.tense == "past" else "future"
    for tense, probability in (("earlier", 0.5), (after, 0.45)):
        is_allowed = tense == "earlier" or main.verb.frame != "clausal"
        if is_allowed and chance.happens(probability) and (deed := planner.follow(topic, tense)):
            events.append(deed)
    return Story(tuple(planner.cast.referents), tuple(events))


ALLOWED = {False: lambda tree: HELD_OUT.isdisjoint(pairs(tree)), True: lambda tree: True}


def split_of(story: Story) -> str:
    """The split of all reports with this main event: its verb, and who takes part by name."""
    return split_by_hash("/".join(_fingerprint(story.events[0], story)), SPLITS)


def _fingerprint(event: Event, story: Story) -> Iterator[str]:
    yield event.lexeme
    for role in "sor":
        for who in getattr(event, role):
            yield f"{role} {' '.join(story.referents[who].name) or story.referents[who].noun}"
    if event.c:
        yield from _fingerprint(event.c, story)
