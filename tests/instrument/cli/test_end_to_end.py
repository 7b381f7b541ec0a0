"""What a shipped model's store holds, and what the command line says of itself."""

import subprocess
import sys

from tprprobe.data import load_data
from tprprobe.extraction import extract
from tprprobe.models import load_model
from tprprobe.models.answers import evaluate
from tprprobe.store import open_store


def test_a_store_has_whose_vectors_they_are(tmp_path):
    data = load_data("mathematics:arithmetic__mixed", split="small-test", n=6)
    store = extract(load_model("tpt-c-arithmetic"), data, "decoder.0.cross.*", tmp_path / "store")
    assert store.side("decoder.0.cross.key") == "source"
    assert store.side("decoder.0.cross.role") == "target"
    assert len(store.read("decoder.0.cross.key")) == sum(store.tokens["side"] == "source")
    assert open_store(tmp_path / "store").control is not None


def test_questions_that_are_all_answered_right_are_stored_too(tmp_path):
    data = load_data("mathematics:arithmetic__mul", split="small-test", n=400)
    model = load_model("tpt-c-arithmetic")
    right = [i for i, is_right in enumerate(evaluate(model, data)["correct"]) if is_right]
    single = data[right[0] : right[0] + 1]
    store = extract(model, single, "encoder.-1.self.role", tmp_path / "store")
    assert store.tokens["correct"].all()
    assert (store.tokens["prediction"] == store.tokens["answer"].astype(str)).all()


def test_the_exit_code_is_that_of_the_process(tmp_path):
    command = [sys.executable, "-m", "tprprobe", "cluster", "nothing", "--site", "x", "--k", "3"]
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert process.returncode == 2
    assert len(process.stderr.splitlines()) == 1, process.stderr
