"""The page of findings: short, five numbers, and every number is that of the table that it links to."""

import re
from pathlib import Path

import pandas as pd
import pytest

PAGE = Path(__file__).parents[2] / "studies/results/what-we-found.md"
TEXT = PAGE.read_text("utf-8").replace("−", "-")
LINK = re.compile(r'\[([^\]]*)\]\(([^)\s]+)(?:\s+"([^"]*)")?\)')
NUMBER = r"[-+]?\d+(?:\.\d+)?"
EVIDENCE = [link for link in LINK.findall(TEXT) if link[2]]  # its title names a row and a column


def read_tables(path: Path) -> list[pd.DataFrame]:
    """The tables of a CSV file or of a page, all cells as text."""
    text = path.read_text("utf-8").replace("−", "-")
    if path.suffix == ".csv":
        return [pd.read_csv(path, dtype=str, keep_default_na=False)]
    blocks = re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)
    rows = [
        [[cell.strip() for cell in line.strip("|").split(" | ")] for line in block.splitlines()]
        for block in blocks
    ]
    return [pd.DataFrame(body, columns=head) for head, _rule, *body in rows]


def pick(tables: list[pd.DataFrame], where: dict[str, str], column: str) -> pd.DataFrame:
    """The rows that a link names, of all tables that have its columns."""
    columns = {*where, column} - {"rows"}
    candidates = [table for table in tables if columns <= {*table.columns}]
    assert candidates, f"no table has {columns}"
    joined = pd.concat(candidates, ignore_index=True)
    for name, cell in where.items():
        joined = joined[joined[name] == cell]
    return joined


def look_up(path: Path, title: str) -> str:
    """What a table says in the row and column of a link: a word, a number, or one with its interval."""
    conditions, column = title.split(" → ") if " → " in title else ("", title.removeprefix("→ "))
    column, _, case = column.partition(": ")
    where = dict(condition.split("=", 1) for condition in conditions.split("; ") if condition)
    rows = pick(read_tables(path), where, column)
    if column == "rows":
        return str(len(rows))
    assert len(rows) == 1, f"{title}: {len(rows)} rows"
    row = rows.iloc[0]
    if f"{column}_low" in row:
        return " ".join(row[[column, f"{column}_low", f"{column}_high"]])
    return row[column].partition(case)[2] if case else row[column]


def agrees(text: str, cell: str) -> bool:
    """Whether a text shows a cell: the same word, or its first numbers (but those of weights) rounded to as many digits."""
    cell = re.sub(r" \([\d,]+ weights\)", "", cell)
    numbers = re.findall(NUMBER, text)
    if not numbers:
        return text == cell
    cell_numbers = [float(number) for number in re.findall(rf"(?<![\w.]){NUMBER}", cell)]
    digits = [len(digits_text.partition(".")[2]) for digits_text in numbers]
    return len(cell_numbers) >= len(numbers) and all(
        float(f"{value:.{n}f}") == float(digits_text)
        for digits_text, value, n in zip(numbers, cell_numbers, digits, strict=False)
    )


@pytest.mark.parametrize(("text", "target", "title"), EVIDENCE)
def test_a_number_is_that_of_the_table_that_it_links_to(text, target, title):
    cell = look_up(PAGE.parent / target, title)
    assert agrees(text, cell), f"{text} is not {cell} ({target}, {title})"


def test_another_number_is_noticed():
    assert agrees("-0.04 (-0.05 to -0.02)", "-0.038 [-0.052, -0.023] (must be above 0)")
    assert agrees("-0.04", "a (246,848 weights) − b (8 weights) -0.038")
    assert not agrees("-0.04 (-0.06 to -0.02)", "-0.038 [-0.052, -0.023]")
    assert not agrees("0.93", "0.9351 0.9 1.0")
    assert not agrees("fails", "holds")


def test_no_measured_number_stands_without_its_table():
    assert len(EVIDENCE) > 20
    unlinked = LINK.sub(lambda link: "" if link[3] else link[1], TEXT)
    assert not re.findall(r"\d\.\d", unlinked)
