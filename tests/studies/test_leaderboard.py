"""The leaderboard: the method of the page on plug-ins is scored and ranked, and a file that is no method is refused in one line."""

import re
from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner

from benchmarks.binding import leaderboard
from tprprobe.errors import InputError

PAGE = (Path(__file__).parents[2] / "docs/plugins.md").read_text("utf-8")
WHOLE = "TITLE, PRIMARY, GRID, CANNOT = 'x', 'states', {}, {}\nfit = print\n"


def test_the_method_of_the_page_is_ranked(tmp_path):
    match = re.search(r'title="ridge.py"\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL)
    assert match is not None
    file = tmp_path / "ridge.py"
    file.write_text(match[1])
    app = Typer()
    app.command()(leaderboard.main)
    words = [str(file), "--out", str(tmp_path), "--subjects", "planted left"]
    ran = CliRunner().invoke(app, words)
    assert ran.exit_code == 0, ran.output
    table = leaderboard.read_table(tmp_path / "ridge.csv").set_index("score")
    assert len(table) == 10
    assert float(table.loc["variance recovered", "yours"]) > 0.8
    assert re.fullmatch(r"\d of \d", table.loc["variance recovered", "rank"])
    assert table.loc["fillers read", "yours"] == "n/a"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("TITLE = 'x'", "lacks PRIMARY, GRID, CANNOT, fit"),
        ("import nowhere_at_all", "cannot be imported: ModuleNotFoundError"),
        (WHOLE.replace("'states'", "'all'"), "PRIMARY is 'all'"),
        (None, "give a Python file"),
    ],
)
def test_what_is_no_method_is_refused_in_a_line(tmp_path, text, message):
    file = tmp_path / "method.py"
    if text is not None:
        file.write_text(text)
    with pytest.raises(InputError, match=message) as error:
        leaderboard.load_method(file)
    assert "\n" not in str(error.value)
