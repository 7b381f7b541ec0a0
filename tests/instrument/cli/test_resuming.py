"""Every command that keeps the parts of a run goes on where it was cut off, to the same files, and only with its own settings."""

from pathlib import Path

import pytest
from planted.faults import COMMANDS, call_main, plant_each
from planted.word_models import FRAME, save_words

from tprprobe.files.runs import PARTS_FOLDER, Part
from tprprobe.models.checkpoint import save_pretrained

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
RECIPE = """
data = "DATA:arithmetic__mixed"
n = 6
reference = 6
sites = ["encoder.*.self.role"]
edits = ["zero", "mean"]
"""
WORDS = {  # a command, an option of another run, and what the refusal names
    "name": (COMMANDS["name"], ["--raw"], "raw"),
    "decompose": ([*COMMANDS["decompose"], "--roles", "right", "--family", "additive"], ["--rank", "3x2"], "rank"),
    "probe": ([*COMMANDS["probe"], "--sites", "encoder.*.role"], ["--most", 90], "most"),
    "sweep": (["intervene", "RECIPE", "--ckpt", "CKPT", "--out", "OUT"], ["--ckpt", "OTHER"], "weights"),
    "pairs": (["intervene", "--data", "PAIRS", "-n", 8, "--ckpt", "MODEL", "--out", "OUT"], ["--seed", 1], "seed"),
    "trajectory": (["trajectory", "CKPT", "OTHER", "--ask", "eval --data ASKED -n 2", "--out", "OUT"], ["--ask", "eval --data ASKED -n 3"], "ask"),
}  # fmt: skip


@pytest.fixture(scope="module")
def places(checkpoint, questions, make_model, tmp_path_factory) -> dict[str, Path | str]:
    folder = tmp_path_factory.mktemp("resumed")
    (folder / "seeing.toml").write_text(FRAME)
    (folder / "recipe.toml").write_text(RECIPE.replace("DATA", questions))
    return {
        "STORE": plant_each(folder)("none"),
        "RECIPE": folder / "recipe.toml",
        "PAIRS": f"pairs:{folder / 'seeing.toml'}",
        "MODEL": f"hf:{save_words(folder / 'llama')}",
        "CKPT": checkpoint,
        "OTHER": save_pretrained(make_model(seed=1), folder / "other"),
        "ASKED": f"{questions}:arithmetic__mixed",
    }


def contents(folder: Path) -> dict[str, bytes]:
    """Every file, the same wherever the folder lies."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    own = str(folder).encode()
    return {str(p.relative_to(folder)): p.read_bytes().replace(own, b"") for p in files}


@pytest.mark.parametrize("name", WORDS)
def test_a_run_that_was_cut_off_goes_on(name, places, tmp_path, monkeypatch, capsys):
    words, change, changed = WORDS[name]

    def call(out: str, *options: object) -> tuple[int, list[str]]:
        full = [str(word) for word in (*words, *options)]
        for placeholder, place in {**places, "OUT": tmp_path / out}.items():
            full = [word.replace(placeholder, str(place)) for word in full]
        return call_main(full, monkeypatch, capsys)

    assert call("whole") == (0, [])
    finish, finished = Part.finish, []

    def cut(part: Part) -> None:
        if len(finished) == 1:
            raise KeyboardInterrupt
        finished.append(part)
        finish(part)

    with monkeypatch.context() as patch:
        patch.setattr(Part, "finish", cut)
        assert call("cut")[0] == 130
    assert len([*(tmp_path / "cut" / PARTS_FOLDER).iterdir()]) == 1
    code, (line,) = call("cut")
    assert code == 2
    assert "--resume" in line
    code, (line,) = call("cut", *change, "--resume")
    assert code == 2
    assert changed in line
    assert call("cut", "--resume") == (0, [])
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")
