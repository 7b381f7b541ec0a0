"""Whatever files are drawn anew from the schemas of sound ones, reading them is a result or one line.

The second generator (`planted.schemas`) over the targets of both others.
"""

import pytest
from planted.damage import draw_folders, soak
from properties.test_foreign_files import FEWER, READERS
from properties.test_structures import TARGETS

EVERY = {**READERS, **TARGETS}
QUICK = ["jsonl", "conllu", "npz", "tokenizer", "plans", "checkpoint", "transformers, words"]
ALWAYS, SOAK = range(4), 1000


@pytest.mark.filterwarnings("ignore")  # of libraries about what they read
@pytest.mark.parametrize("name", QUICK)
def test_a_file_of_a_schema_is_a_result_or_one_line(name, tmp_path):
    make, reader = EVERY[name]
    make(tmp_path / "made")
    assert not draw_folders(tmp_path / "made", reader, ALWAYS, name).faults


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EVERY)
def test_thousands_of_files_of_schemas_are_results_or_one_line(name, tmp_path, capsys, soaking):
    make, reader = EVERY[name]
    make(tmp_path / "made")
    report = soak("schemas", tmp_path / "made", reader, name, *soaking(FEWER.get(name, SOAK)))
    with capsys.disabled():
        print(report)
