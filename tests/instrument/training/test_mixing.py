"""A run goes on with the model and the texts that it was begun with, and a control is of its own store."""

import json
import shutil

import pytest
from planted.foreign import save_foreign
from planted.recipes import arithmetic

import tprprobe as tp
from tprprobe.errors import InputError
from tprprobe.models.architectures import describe_origin, sum_origin
from tprprobe.store.verification import verify
from tprprobe.training.loop import train

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
LINES = ["the dog sees the cats", "the cats see the dog", "a dog sleeps", "the cats sleep"]


def set_key(name, **values):
    def change(folder):
        content = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(content | values))

    return change


def change_text(folder):
    (folder.parent / "texts.txt").write_text("\n".join([*LINES[:3], "the cats eat"]) + "\n")


CHANGES = {
    "config.json": set_key("config.json", layer_norm_eps=0.1),
    "tokenizer.json": set_key("tokenizer.json", normalizer={"type": "Lowercase"}),
    "tokenizer_config.json": set_key("tokenizer_config.json", model_max_length=4),
    "vocab.txt": lambda folder: (folder / "vocab.txt").write_text("[PAD]\n"),
    "texts.txt": change_text,
}


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A model, texts and a store of them."""
    root = tmp_path_factory.mktemp("begun")
    save_foreign("bert", root / "bert")
    (root / "texts.txt").write_text("\n".join(LINES) + "\n")
    read(root)
    return root


def read(root, out="store", **options):
    model, data = tp.load_model(f"hf:{root / 'bert'}"), tp.load_data(root / "texts.txt")
    return tp.extract(model, data, "*.hidden", root / out, **options)


@pytest.mark.parametrize("file", CHANGES)
def test_a_run_that_goes_on_with_another_file_is_told_which(begun, tmp_path, file, monkeypatch):
    root = shutil.copytree(begun, tmp_path / "root")
    manifest = json.loads((root / "store" / "manifest.json").read_text())
    manifest["data"]["name"] = str(root / "texts.txt")
    (root / "store" / "manifest.json").unlink()
    (root / "store" / "journal.json").write_text(json.dumps(manifest))
    CHANGES[file](root / "bert")
    room = "data" if file == "texts.txt" else "model"
    with pytest.raises(
        InputError, match=f"was begun with another {file} of the {room}: put that back"
    ):
        read(root, resume=True, control=False)


def test_a_finished_run_of_the_same_files_goes_on_wherever_the_model_lies(begun, tmp_path):
    moved = shutil.copytree(begun / "bert", tmp_path / "bert")
    origins = [describe_origin(tp.load_model(f"hf:{folder}")) for folder in (begun / "bert", moved)]
    assert origins[0] == origins[1]
    assert origins[0]["files"].keys() >= {"config.json", "tokenizer.json", "tokenizer_config.json"}
    assert read(begun, resume=True).path == begun / "store"


def test_weights_that_change_in_memory_are_another_model(begun):
    model = tp.load_model(f"hf:{begun / 'bert'}")
    before = sum_origin(model)
    next(model.parameters()).data[0, 0] += 1
    assert sum_origin(model) != before


def test_a_control_that_is_the_model_or_of_another_store_is_refused(begun, tmp_path):
    sound = tp.open_store(begun / "store")
    assert sound.control is not None
    assert verify(begun / "store").damage == []
    itself = shutil.copytree(begun / "store", tmp_path / "itself")
    shutil.rmtree(itself / "permuted")
    shutil.copytree(begun / "store", itself / "permuted", ignore=shutil.ignore_patterns("permuted"))
    exchanged = shutil.copytree(begun / "store", tmp_path / "other")
    shutil.rmtree(exchanged / "permuted")
    change = begun / "other.txt"
    change.write_text("\n".join(reversed(LINES)) + "\n")
    model = tp.load_model(f"hf:{begun / 'bert'}")
    store = tp.extract(model, tp.load_data(change), "*.hidden", tmp_path / "made")
    shutil.copytree(store.path / "permuted", exchanged / "permuted")
    kind = shutil.copytree(begun / "store", tmp_path / "kind")
    (kind / "permuted").rename(kind / "untrained")
    for path in (itself, exchanged, kind):
        for ask in (lambda folder: tp.open_store(folder).control, verify):
            with pytest.raises(InputError, match=r"is no control of .*: extract it again"):
                ask(path)


def test_a_training_that_goes_on_with_other_questions_is_refused(questions, tmp_path):
    folder = shutil.copytree(questions, tmp_path / "questions")
    recipe = arithmetic(str(folder))
    train(recipe, tmp_path / "run")
    train(arithmetic(str(folder)), tmp_path / "run", resume=True)
    file = next((folder / "train-easy").glob("*.txt"))
    file.write_text(file.read_text().replace("1", "2"))
    with pytest.raises(
        InputError, match=f"was begun with another {file.name} of .*: put that back"
    ):
        train(arithmetic(str(folder)), tmp_path / "run", resume=True)
