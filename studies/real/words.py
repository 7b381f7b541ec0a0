"""Word forms of a treebank with their lemmas, and how a network pronounces them, letter by letter."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from tprprobe.errors import InputError
from tprprobe.gold.blocks import read_blocks, rows

WORD, STRESS = re.compile(r"[a-z]{2,14}"), re.compile(r"\d")
TREEBANK = "conllu/en_ewt-ud-{split}.conllu.gz"
ROUNDS, MAX_PHONEMES = 6, 2  # of the alignment; phonemes of a letter
MIN_PROBABILITY = 1e-4  # the probability of what a letter was never seen to sound like


@dataclass(frozen=True)
class Words:
    """Word forms, the lemma of every one, and their pronunciation by a network."""

    forms: list[str]
    lemmas: list[str]
    sounds: list[str]  # phonemes with blanks between

    def __len__(self) -> int:
        return len(self.forms)

    @cached_property
    def lengths(self) -> np.ndarray:
        """The number of letters of every word."""
        return np.array([len(form) for form in self.forms])

    @cached_property
    def groups(self) -> np.ndarray:
        """The lemma of every word, as a number."""
        return np.unique(self.lemmas, return_inverse=True)[1]

    @cached_property
    def aligned(self) -> list[list[str]]:
        """The phonemes of every letter of every word."""
        return align(self.forms, [sound.split() for sound in self.sounds])

    @cached_property
    def syllables(self) -> list[list[str]]:
        """The place of every letter of every word in its syllables."""
        onsets = _onsets(self.sounds)
        return [place_in_syllables(letters, onsets) for letters in self.aligned]

    @cached_property
    def regular(self) -> np.ndarray:
        """True for a word whose every letter sounds (stress aside) as it mostly does between these neighbors,
        in words of other lemmas."""
        counts: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        cells = [
            [(pad[i : i + 3], STRESS.sub("", sound)) for i, sound in enumerate(letters)]
            for pad, letters in zip((f"#{f}#" for f in self.forms), self.aligned, strict=True)
        ]
        for word, lemma in zip(cells, self.lemmas, strict=True):
            for context, sound in word:
                counts[context][sound, lemma] += 1
        return np.array(
            [
                all(sound == _commonest(counts[context], lemma) for context, sound in word)
                for word, lemma in zip(cells, self.lemmas, strict=True)
            ]
        )


def _commonest(counts: Counter[tuple[str, str]], lemma: str) -> str | None:
    """The commonest sound of a letter among words of other lemmas."""
    counts_elsewhere: Counter[str] = Counter()
    for (sound, owner), n in counts.items():
        if owner != lemma:
            counts_elsewhere[sound] += n
    return (
        max(sorted(counts_elsewhere), key=counts_elsewhere.__getitem__)
        if counts_elsewhere
        else None
    )


def read_forms(folder: Path, split: str = "train") -> tuple[list[str], list[str]]:
    """The word forms of a treebank (lower case, 2 to 14 letters), sorted, and the commonest lemma of every one.

    Raises:
        InputError: the folder has no such file.
    """
    path = Path(folder) / TREEBANK.format(split=split)
    if not path.is_file():
        raise InputError(f"no {path}: give the folder of the English Web Treebank by --treebank")
    lemmas: dict[str, Counter[str]] = defaultdict(Counter)
    for block in read_blocks(path):
        for _, line in rows(block):
            cells = line.split("\t")
            form = cells[1].lower()
            if cells[0].isdigit() and WORD.fullmatch(form):
                lemmas[form][cells[2].lower()] += 1
    forms = sorted(lemmas)
    return forms, [max(sorted(lemmas[f]), key=lemmas[f].__getitem__) for f in forms]


def align(words: Sequence[str], sounds: Sequence[Sequence[str]]) -> list[list[str]]:
    """The phonemes of every letter (none, one or two, with blanks between), in order.

    The likeliest alignment, where a letter's probabilities are those of the alignments before; the first
    goes along the diagonal.
    """
    costs: Mapping[str, Mapping[str, float]] | None = None
    alignments: list[list[str]] = []
    for _ in range(ROUNDS):
        alignments = [_best(w, s, costs) for w, s in zip(words, sounds, strict=True)]
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for word, letters in zip(words, alignments, strict=True):
            for letter, sound in zip(word, letters, strict=True):
                counts[letter][sound] += 1
        costs = {
            letter: {
                s: -float(np.log(n / sounds_of_letter.total())) for s, n in sounds_of_letter.items()
            }
            for letter, sounds_of_letter in counts.items()
        }
    return alignments


def _best(
    word: str, sounds: Sequence[str], costs: Mapping[str, Mapping[str, float]] | None
) -> list[str]:
    """The cheapest way to share the phonemes of a word among its letters."""
    n, limit, never = (
        len(sounds),
        max(MAX_PHONEMES, -(-len(sounds) // len(word))),
        -float(np.log(MIN_PROBABILITY)),
    )
    total, steps = {0: 0.0}, []
    for i, letter in enumerate(word):
        costs_of, reached, step = costs[letter] if costs else {}, {}, {}
        for j, cost in total.items():
            for k in range(min(limit, n - j) + 1):
                if costs is None:  # the middle of the phonemes beside that of the letter
                    added = abs((j + k / 2) / n - (i + 0.5) / len(word)) + 0.5 * abs(k - 1)
                else:
                    added = costs_of.get(" ".join(sounds[j : j + k]), never * max(1, k))
                if cost + added < reached.get(j + k, np.inf):
                    reached[j + k], step[j + k] = cost + added, k
        total, steps = reached, [*steps, step]
    shares, position = [], n
    for step in reversed(steps):
        k = step[position]
        shares.append(" ".join(sounds[position - k : position]))
        position -= k
    return shares[::-1]


def is_vowel(phoneme: str) -> bool:
    """True for phonemes that make a syllable."""
    return phoneme[-1].isdigit() or phoneme == "UW"


def _onsets(sounds: Sequence[str]) -> set[tuple[str, ...]]:
    """The groups of consonants that begin a word."""
    onsets: set[tuple[str, ...]] = {()}
    for word in sounds:
        phonemes = word.split()
        vowel_index = next((i for i, p in enumerate(phonemes) if is_vowel(p)), 0)
        onsets.add(tuple(phonemes[:vowel_index]))
    return onsets


def place_in_syllables(letters: Sequence[str], onsets: set[tuple[str, ...]]) -> list[str]:
    """Syllable (from the left) and onset, nucleus or coda of every letter, from its phonemes.

    Between two vowels the longest group of consonants that can begin a word belongs to the second. A silent
    letter goes with the one before it, a first one with the onset.
    """
    flat = [(p, i) for i, sound in enumerate(letters) for p in sound.split()]
    nuclei = [k for k, (p, _) in enumerate(flat) if is_vowel(p)]
    places: dict[int, str] = {}
    for k, (_, letter) in enumerate(flat):
        before = sum(nucleus <= k for nucleus in nuclei)
        if k in nuclei:
            places[letter] = f"{before - 1}.nucleus"
        elif letter not in places:
            after = next((nucleus for nucleus in nuclei if nucleus > k), None)
            start = max((nucleus + 1 for nucleus in nuclei if nucleus < k), default=0)
            if after is None:
                slot = f"{max(before - 1, 0)}.coda"
            else:
                group = tuple(p for p, _ in flat[start:after])
                coda_length = next(
                    c for c in range(len(group) + 1) if c == len(group) or group[c:] in onsets
                )
                is_onset = k - start >= coda_length or not before
                slot = f"{before}.onset" if is_onset else f"{before - 1}.coda"
            places[letter] = slot
    place, places_of_letters = "0.onset", []
    for i in range(len(letters)):
        place = places.get(i, place)
        places_of_letters.append(place)
    return places_of_letters
