"""What a notebook passes to a public function: what its signature names, or one line."""

import inspect
import pickle
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from planted.questions import plant

import tprprobe as tp

STUB = (Path(tp.__file__).parent / "__init__.pyi").read_text()
FUNCTIONS = [
    name
    for name in re.findall(r" as (\w+)$", STUB, re.M)
    if inspect.isfunction(getattr(tp, name)) and inspect.signature(getattr(tp, name)).parameters
]
SITE = "encoder.-1.hidden"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_argument_of_another_type_is_one_line_that_names_it(name):
    function = getattr(tp, name)
    parameters = inspect.signature(function).parameters.values()
    typed = [parameter for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD and parameter.annotation not in ("Any", "object", Any, object)]  # fmt: skip
    for parameter in typed:
        for wrong in (object(), b"x", [b"x"], {3: None}):
            with pytest.raises(
                tp.InputError, match=rf"^tp\.{name}: {parameter.name} is .*, not "
            ) as error:
                function(**{parameter.name: wrong})
            assert "\n" not in str(error.value)
    assert typed


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("cluster", {"k": "3"}, "k is a whole number, not '3'"),
        ("cluster", {"k": True}, "k is a whole number, not True"),
        ("cluster", {"seed": -1}, "seed is a whole number, not -1"),
        ("open_store", {"path": None}, "path is a text or a path, not None"),
        ("open_store", {"path": tp.attach(torch.nn.Linear(4, 2), {"encoder.0.hidden": ""})}, "path is a text or a path, not a module with sites (tp.attach)"),
    ],
)  # fmt: skip
def test_the_line_says_what_is_accepted(name, arguments, message):
    with pytest.raises(tp.InputError) as error:
        getattr(tp, name)(**arguments)
    assert str(error.value) == f"tp.{name}: {message}"


def test_data_may_be_what_data_are_loaded_from(make_model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "texts.txt"
    file.write_text("1+2\n3-4\n")
    tables = []
    for i, data in enumerate([tp.load_data(file), "texts.txt", file, ["1+2", "3-4"]]):
        store = tp.extract(make_model(), data, SITE, out=tmp_path / str(i), control=False)
        tables.append(store.tokens)
    assert all(table.equals(tables[0]) for table in tables)


@pytest.mark.parametrize("data", ["no-such-file.txt", Path("no-such-file.txt"), []])
def test_data_that_are_not_there_are_one_line(data, make_model, tmp_path):
    with pytest.raises(tp.InputError):
        tp.extract(make_model(), data, SITE, out=tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_an_empty_list_is_one_line(tmp_path, make_model, make_data):
    store = plant(tmp_path / "store", 4)
    with pytest.raises(tp.InputError, match="no role scheme"):
        tp.decompose(store, SITE, [])
    with pytest.raises(tp.InputError, match="no task"):
        tp.probe(store, [])
    with pytest.raises(tp.InputError, match="no site to export"):
        tp.export_store(store, tmp_path / "a.npz", [])
    with pytest.raises(tp.InputError, match="pool is empty"):
        tp.extract(make_model(), ["1+1"], SITE, tmp_path / "b", pool="")
    with pytest.raises(tp.InputError, match="no fit"):
        tp.substitute(make_model(), make_data([("1", "1")]), [])


def test_public_functions_travel_to_other_processes():
    assert pickle.loads(pickle.dumps(tp.cluster)) is tp.cluster
