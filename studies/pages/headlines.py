"""How a page of results begins: question, answer, picture, how sure; below them, folded, its verdicts in numbers and its tables.

The numbers of the verdicts are read from the page's own text, so that they cannot differ from it.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from studies.pages.verdicts import claims_of, read_page
from studies.templates import table
from tprpapers.claims import SCOPES

OPENINGS = tomllib.loads(Path(__file__).with_name("openings.toml").read_text("utf-8"))
BEGIN, END = "<!-- headline -->", "<!-- end of headline -->"
FOLDED, OPEN = "<!-- end of numbers -->\n</details>", "<details markdown><summary>"
IN_NUMBERS = f"{OPEN}The answers in numbers, and how they were measured</summary>"
LONG = 4  # rows of a table that a reader need not see first
ANSWERS = {
    "holds": "Yes",
    "fails": "No",
    "undecided": "Not decided",
    "not comparable": "Not comparable",
    "not decidable here": "Not decidable here",
}

# page → claim → the question that the claim answers with yes, and what its number is
QUESTIONS = {
    "arithmetic": {
        "schlag-structural-clusters": (
            "Do role clusters follow the structure of a fraction?",
            "accuracy in telling numerator from denominator, above the majority's",
        ),
        "schlag-polarity-clusters": (
            "Do they tell numerator from denominator beyond “a '/' stands before it”?",
            "accuracy above that rule's",
        ),
        "schlag-role-specific": (
            "Do roles tell it better than queries, keys, fillers and random projections?",
            "accuracy above the best of these",
        ),
        "schlag-good-approximation": (
            "Do digits of a denominator look at their '/'?",
            "share of them whose largest attention is on it",
        ),
    },
    "captions": {
        "huang-table1": (
            "Does TPGN write better captions than CNN-LSTM, in every metric?",
            "difference of the scores",
        ),
        "huang-pos-prediction": (
            "Do unbinding vectors tell the next word's part of speech better than the words before it?",
            "difference in accuracy",
        ),
        "huang-hybrid-roles": (
            "Do clusters of unbinding vectors mix position and part of speech?",
            "adjusted mutual information with each, above chance",
        ),
        "huang-nominal-verbal": (
            "Do two clusters part nouns from verbs?",
            "share of words on their side",
        ),
    },
    "interventions": {
        "schlag-used": (
            "Does the answer follow when numbers take the roles of the other polarity?",
            "probability of the new answer above that with roles of the same polarity",
        ),
    },
    "probing": {
        "jiang-pos-role": (
            "Do roles know the next word's part of speech?",
            "F1 above the untrained twin's and the overall commonest tag's",
        ),
        "jiang-filler-semantic": (
            "Is a filler ahead of a role more in entities than in parts of speech?",
            "its lead in F1 in entities minus that in parts of speech",
        ),
        "jiang-syntax-in-roles": (
            "Do discrete roles know more of parts of speech than as many bits of a filler?",
            "difference in F1",
        ),
        "jiang-discrete": (
            "Are roles discrete, as the dictionary suggests?",
            "share of role distributions with a maximum above 0.98, where the paper has more than 0.9",
        ),
    },
}
# claim → what a fuller look says beside its number, how the page's table begins that it reads, and the cells
COMPANION_CELLS: dict[str, tuple[str, str, str]] = {
    "schlag-polarity-clusters": (
        "above the rule “after '/', '/(' or '/(-'” at best {most}",
        "| vectors | '/', '/(' or '/(-' |",
        r"^\| role, head \d+ \| (?P<most>[^|]*) \|",
    ),
    "schlag-used": (
        "with roles of the partner's digit P(new) is {other} of the other polarity, {same} of the same",
        "| model | exchanged |",
        r"roles of: other digit, (?P<which>other|same) polarity \|(?:[^|]*\|){4} (?P<cell>[^|]*) \|",
    ),
    "jiang-filler-semantic": (
        "of one model, with the filler quantized to as many bits, {lead}",
        "| model | task | site | F1 | selectivity |",
        r"^\| tpt-d-english \| (?P<which>nel|pos) \| decoder\.1\.cross\.role \|(?:[^|]*\|){5} (?P<filler>[\d.]+) \| (?P<role>[\d.]+) \|",
    ),
}
TITLED = re.compile(r"^\*\*([^*\n]+)\*\*\n\n((?:\|.*\n)+)\n((?:[^|#<\s].*\n)+)", re.M)
CASE = re.compile(r"^(.+) (\S+ \[.*\])$")
TOO_FEW_SEEDS = re.compile(r"(\d+) model seed\(s\), must be at least (\d+)")
REASON_PARTS = re.compile(
    r"(?:least (?P<least>.+?); )?(?:most (?P<most>.+?) )?"
    rf"\((?:(?P<over>{'|'.join(SCOPES.values())}) of|must)"
)


def finish_page(page: str, text: str) -> str:
    """The text of a page with its opening after the title, and its long tables folded."""
    folded = fold_tables(add_headline(page, text))
    return folded.replace("<details><summary>", OPEN)


def add_headline(page: str, text: str) -> str:
    """The text with the page's opening after its title; what stood before its first section is folded below it."""
    if page not in OPENINGS:
        return text
    title, body, sections = _part_page(text)
    opening = OPENINGS[page]
    picture = f"![{opening['shows']}]({opening['picture']})"
    body = re.sub(rf"!\[[^\]]*\]\({re.escape(opening['picture'])}\)\n*", "", body).strip()
    numbers = "\n".join(_answer(page, text))
    head = (
        f"**Question.** {opening['question']}",
        f"**Answer.** {opening['answer']}",
        picture,
        f"**How sure.** {opening['sure']}",
        *([IN_NUMBERS] if numbers or body else []),
        *([numbers] if numbers else []),
    )
    below = [*([body] if body else []), *([FOLDED] if numbers or body else [])]
    return "\n\n".join([title, f"{BEGIN}\n" + "\n\n".join(head) + f"\n{END}", *below, sections])


def _part_page(text: str) -> tuple[str, str, str]:
    """The title, what stands before the first section, and the sections, without an earlier opening."""
    text = re.sub(rf"{BEGIN}.*?{END}\n\n", "", text, flags=re.S).replace(f"{FOLDED}\n\n", "")
    title, _, body = text.partition("\n\n")
    match = re.search(r"^## ", body, re.M)
    start = match.start() if match else len(body)
    return title, body[:start].strip(), body[start:]


def _answer(page: str, text: str) -> Iterator[str]:
    """A table of the claims with a question: what their verdicts on this page say; and how many say what."""
    verdicts = list(read_page(page, text))
    rows = [
        {"question": question}
        | ({"model": model} if model else {})
        | {"answer": ANSWERS[verdict], "measured": _shorten(reason), "what is measured": number}
        | _beside(claim, text)
        for claim, (question, number) in QUESTIONS.get(page, {}).items()
        for name, _, model, verdict, reason in verdicts
        if name == claim
    ]
    if rows:
        yield table(rows)
    if len(claims_of(page)) > 1 and page in QUESTIONS:
        tally = Counter(row[3] for row in verdicts)
        counts = {ANSWERS[outcome]: str(tally[outcome]) for outcome in ANSWERS if tally[outcome]}
        once = ", counted once for each model" if any(row[2] for row in verdicts) else ""
        yield f"\nThe answers to all claims of this page{once}:\n"
        yield table([{"claims": str(len(claims_of(page)))} | counts])


def _beside(claim: str, text: str) -> dict[str, str]:
    """What the page's tables say beside the number of a claim, if they have it."""
    template, begin, cells = COMPANION_CELLS.get(claim, ("", "no table", ""))
    below = text.partition(begin)[2].partition("\n\n")[0]
    rows = [match.groupdict() for match in re.finditer(cells, below, re.M)] if below else []
    if not rows:
        return {}
    if "most" in rows[0]:
        numbers = {"most": max((r["most"] for r in rows), key=lambda m: float(m.split()[0]))}
    elif "cell" in rows[0]:
        numbers = {row["which"]: row["cell"] for row in rows}
    else:
        leads = {row["which"]: (float(row["filler"]) - float(row["role"])) / 100 for row in rows}
        numbers = {"lead": f"{leads['nel'] - leads['pos']:.3f}"}
    return {"a fuller look": template.format(**numbers)}


def _shorten(reason: str) -> str:
    """The numbers of a reason: the best case where some case decides, else the least and the most."""
    match = REASON_PARTS.search(reason)
    if match is None or not match["most"]:
        return re.sub(rf" \((?:{'|'.join(SCOPES.values())}) of .*?\)| \(must be .*?\)", "", reason)
    highest = _part(match["most"])
    if match["over"] == SCOPES["some"]:
        return f"at best {highest}"
    seeds_match = TOO_FEW_SEEDS.search(reason)
    lowest = _part(match["least"].partition("; deciding ")[0])
    return f"from {lowest} to {highest}" + (
        f", {seeds_match[1]} of {seeds_match[2]} seeds" if seeds_match else ""
    )


def _part(case: str) -> str:
    """``head 0 0.31 [0.29, 0.33]`` as ``head 0: 0.31 [0.29, 0.33]``."""
    return CASE.sub(r"\1: \2", case)


def fold_tables(text: str) -> str:
    """The text with every table of more than LONG rows, and its note, folded below a line that says what it has."""
    text = TITLED.sub(_fold_titled, text)
    blocks, inside = [], 0
    for is_table, lines in groupby(text.split("\n"), lambda line: line.startswith("|")):
        block = list(lines)
        if is_table and len(block) - 2 > LONG and not inside:
            blocks += [f"{OPEN}{_summary_of(block)}</summary>", "", *block, "", "</details>"]
        else:
            inside += sum(line.startswith("<details") for line in block)
            inside -= sum(line.startswith("</details") for line in block)
            blocks += block
    return "\n".join(blocks)


def _fold_titled(table: re.Match[str]) -> str:
    """A long table that has a title and a note, folded below its title."""
    title, rows, note = table.groups()
    if (n := rows.count("\n") - 2) <= LONG:
        return table[0]
    return f"{OPEN}{title} ({n} rows)</summary>\n\n{rows}\n{note}\n</details>\n"


def _summary_of(block: list[str]) -> str:
    """What a folded table has: verdicts, or its first columns."""
    if block[0].rstrip().endswith("verdict |"):
        return f"Verdicts on {len(block) - 2} claims"
    columns = ", ".join(column.strip() for column in block[0].strip("| ").split("|")[:4])
    return f"Table of {len(block) - 2} rows: {columns} …"
