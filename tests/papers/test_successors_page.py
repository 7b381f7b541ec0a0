"""The model plug-in of the page on plug-ins: a stranger's file is trained, answers, and is decomposed by the commands there."""

import re
from pathlib import Path

from planted.installed import install, run_commands

PAGE = (Path(__file__).parents[2] / "docs/plugins.md").read_text("utf-8")
POINTS = "[tprprobe.models]\nfast-gru = fast_gru:FastGRU\n"
FEWER = ["--set", "stages.0.steps=30", "--set", "batch_size=16"]


def test_a_strangers_model_is_trained_extracted_and_decomposed_as_the_page_says(tmp_path):
    files = dict(re.findall(r'title="(fast_gru\.\w+)"\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL))
    assert len(files) == 2
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert POINTS.splitlines()[1].split(" = ")[1] in PAGE
    install(tmp_path, "fast-gru", POINTS)
    commands = re.findall(r"^tprprobe (\w+ .*fast[-_]gru.*)$", PAGE, re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["train", "eval", "extract", "decompose"]
    train, _, extract, decompose = [command.replace('"', "").split() for command in commands]
    lines = [[*train, *FEWER], [word.replace("1000", "200") for word in extract], decompose]
    results = run_commands(tmp_path, *lines)
    assert [code for code, *_ in results] == [0] * 3, results
    assert re.search(r"shares of variance: fillers .*, bindings [+-]0\.\d+", results[-1][1])
