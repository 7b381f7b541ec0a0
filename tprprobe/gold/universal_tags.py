"""Whether a treebank's columns hold what Universal Dependencies say: tags, relations, sentences that are whole.

Source: universaldependencies.org, version 2 of the guidelines.
"""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tprprobe.errors import InputError

TAGS = """
    ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X
"""
RELATIONS = """
    acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse
    dislocated expl fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan
    parataxis punct reparandum root vocative xcomp
"""
UNIVERSAL = ("UPOS", "XPOS", "DEPREL")  # columns


def count_unknown(path: Path, values: Mapping[str, Counter[str]]) -> Counter[str]:
    """How many words have a tag or a relation that is not universal. InputError where UPOS and XPOS were exchanged."""
    total, unknown = Counter[str](), Counter[str]()
    for column, counts in values.items():
        accepted = (RELATIONS if column == "DEPREL" else TAGS).split()
        value_counts = {value: n for value, n in counts.items() if value != "_"}
        total[column] = sum(value_counts.values())
        strange = (n for v, n in value_counts.items() if v.partition(":")[0] not in accepted)
        unknown[column] = sum(strange)
    if 2 * unknown["UPOS"] > total["UPOS"] and 2 * unknown["XPOS"] < total["XPOS"]:
        tag = values["UPOS"].most_common(1)[0][0]
        raise InputError(f"{path}: UPOS has tags like {tag!r}: exchange it with XPOS")
    return Counter(unknown_tags=unknown["UPOS"], unknown_relations=unknown["DEPREL"])


def check_end(path: Path, text: str | None, forms: Sequence[str]) -> Counter[str]:
    """Whether the file may be cut behind the last sentence. InputError where its ``# text`` goes on."""
    if path.suffix == ".gz":  # a cut one cannot be unpacked
        return Counter()
    with path.open("rb") as file:
        file.seek(-min(4, path.stat().st_size), os.SEEK_END)
        if file.read().replace(b"\r", b"").endswith(b"\n\n"):
            return Counter()
    joined, joined_text = ("".join("".join(words).split()) for words in (forms, text or ""))
    if joined_text.startswith(joined) and joined_text != joined:
        end = f"its last sentence ends with {forms[-1]!r}"
        raise InputError(f"{path} is cut: {end}, its `# text` goes on; get it again")
    return Counter(unended=int(joined_text != joined))
