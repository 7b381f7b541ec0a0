"""Whatever is exchanged, edited or cut in a store, opening or reading it says so, without --verify."""

import shutil

import pytest
from planted import exchanges

from tprprobe.errors import InputError


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """The folder of two stores, and what the first holds."""
    folder = tmp_path_factory.mktemp("stores")
    store, _ = exchanges.plant_two(folder)
    return folder, exchanges.contents(store)


@pytest.mark.parametrize("name", exchanges.WAYS)
def test_what_length_name_axis_or_type_tells_is_told(name, planted, tmp_path):
    folder, expected = planted
    shutil.copytree(folder, tmp_path / "copy")
    store = tmp_path / "copy" / "store"
    exchanges.WAYS[name](store, tmp_path / "copy" / "other")
    try:
        contents = exchanges.contents(store)
    except InputError:
        return
    assert exchanges.are_same(contents, expected)
