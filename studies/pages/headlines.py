"""How a page of results begins: question, answer, picture, how sure; below them, folded, how it was measured and its tables."""

import re
import tomllib
from itertools import groupby
from pathlib import Path

OPENINGS = tomllib.loads(Path(__file__).with_name("openings.toml").read_text("utf-8"))
BEGIN, END = "<!-- headline -->", "<!-- end of headline -->"
FOLDED, OPEN = "<!-- end of numbers -->\n</details>", "<details markdown><summary>"
MEASURED = f"{OPEN}How it was measured</summary>"
LONG = 4  # rows of a table that a reader need not see first
TITLED = re.compile(r"^\*\*([^*\n]+)\*\*\n\n((?:\|.*\n)+)\n((?:[^|#<\s].*\n)+)", re.M)


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
    head = (
        f"**Question.** {opening['question']}",
        f"**Answer.** {opening['answer']}",
        picture,
        f"**How sure.** {opening['sure']}",
        *([MEASURED] if body else []),
    )
    below = [body, FOLDED] if body else []
    return "\n\n".join([title, f"{BEGIN}\n" + "\n\n".join(head) + f"\n{END}", *below, sections])


def _part_page(text: str) -> tuple[str, str, str]:
    """The title, what stands before the first section, and the sections, without an earlier opening."""
    text = re.sub(rf"{BEGIN}.*?{END}\n\n", "", text, flags=re.S).replace(f"{FOLDED}\n\n", "")
    title, _, body = text.partition("\n\n")
    match = re.search(r"^## ", body, re.M)
    start = match.start() if match else len(body)
    return title, body[:start].strip(), body[start:]


def fold_tables(text: str) -> str:
    """The text with every table of more than LONG rows, and its note, folded below a line that says what it has."""
    text = TITLED.sub(_fold_titled, text)
    blocks, inside = [], 0
    for is_table, lines in groupby(text.split("\n"), lambda line: line.startswith("|")):
        block = list(lines)
        if is_table and len(block) - 2 > LONG and not inside:
            columns = ", ".join(column.strip() for column in block[0].strip("| ").split("|")[:4])
            summary = f"Table of {len(block) - 2} rows: {columns} …"  # its first columns
            blocks += [f"{OPEN}{summary}</summary>", "", *block, "", "</details>"]
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
