"""A format of dumps and an operation, as the page on plug-ins has them, work by what the page says of them."""

import json
import re
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

import tprprobe as tp
from tprprobe import plugins
from tprprobe.estimators.bindings.operations import Additive
from tprprobe.estimators.bindings.operations_base import as_operation, complete

PAGE = (Path(__file__).parents[3] / "docs/plugins.md").read_text("utf-8")


def write_module(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (text,) = re.findall(rf'^```python title="{name}\.py"\n(.*?)^```', PAGE, re.M | re.S)
    (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder))


def test_lines_of_json_become_a_store(tmp_path, monkeypatch):
    write_module(tmp_path, "json_lines", monkeypatch)
    point = EntryPoint("json-lines", "json_lines:FORMAT", "tprprobe.formats")
    plugin = plugins.Plugin("json-lines", "", point)
    monkeypatch.setattr(plugins, "find", lambda _: {"json-lines": plugin})
    vectors = np.random.default_rng(0).normal(size=(2, 2, 3, 4)).astype("float32")
    records = [{"tokens": list("abc"), "vectors": sample.tolist()} for sample in vectors]
    (tmp_path / "v.jsonl").write_text("\n".join(map(json.dumps, records)))
    store = tp.import_store(tmp_path / "v.jsonl", tmp_path / "store", format="json-lines")
    assert list(store.sites) == ["layers.0.hidden", "layers.1.hidden"]
    assert store.tokens["token"].tolist() == list("abcabc")
    np.testing.assert_array_equal(store.read("layers.1.hidden"), vectors[:, 1].reshape(6, 4))


def test_a_role_that_is_a_number_completes_a_table_of_scaled_fillers(tmp_path, monkeypatch):
    write_module(tmp_path, "scaling", monkeypatch)
    from scaling import Scaling  # pyright: ignore[reportMissingImports]

    rng = np.random.default_rng(0)
    table = rng.normal(size=(12, 1, 6)) * rng.normal(size=(1, 5, 1))
    table -= table.mean((0, 1))
    weights = np.where(rng.random((12, 5)) < 0.15, 0.0, 1.0)
    errors = {}
    for kind in (as_operation(Scaling, "scaling"), Additive):
        _, completed = complete(kind, table, weights)
        errors[kind.title] = np.square(completed - table)[weights == 0].mean() / table.var()
    assert errors["scaling"] < 0.05 < errors["additive"]
