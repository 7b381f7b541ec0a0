"""Files and folders appear whole or not at all, and nothing is left beside them."""

from pathlib import Path

import pytest

from tprprobe.errors import InputError
from tprprobe.files.writing import partial_of, whole, write_file, write_folder


def there(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def cut_off(path: Path, error: BaseException) -> None:
    def write() -> None:
        with whole(path) as partial:
            partial.write_bytes(b"half")
            raise error

    with pytest.raises(type(error)):
        write()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("no"), SystemExit(1)])
def test_a_file_is_the_new_one_or_the_old_one(error, tmp_path):
    path = tmp_path / "state.json"
    cut_off(path, error)
    assert there(tmp_path) == {}
    assert write_file(path, "old").read_bytes() == b"old"
    cut_off(path, error)
    assert there(tmp_path) == {"state.json": b"old"}
    write_file(path, "né")
    assert there(tmp_path) == {"state.json": "né".encode()}


def test_what_a_killed_process_left_is_removed(tmp_path):
    path = tmp_path / "folder"
    partial_of(path).mkdir()
    (partial_of(path) / "left").touch()
    write_folder(path, {"a": "1", "b/c": b"2"})
    partial_of(path / "a").write_bytes(b"left")
    write_file(path / "a", "3")
    assert there(tmp_path) == {"folder/a": b"3", "folder/b/c": b"2"}
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]


def test_the_ending_of_what_is_written_says_its_format(tmp_path):
    with whole(tmp_path / "roles.pdf") as partial:
        assert partial.suffix == ".pdf"
        partial.touch()


def test_a_folder_that_is_there_is_left_alone(tmp_path):
    write_folder(tmp_path / "one", {})
    with pytest.raises(InputError, match="one exists already: give another folder or remove it"):
        write_folder(tmp_path / "one", {"a": "1"})
    assert there(tmp_path) == {}


def test_what_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot write .*below: File exists"):
        write_file(tmp_path / "file" / "below", "")
    with pytest.raises(InputError, match=r"cannot write .*file: "), whole(tmp_path / "file"):
        pass
    assert there(tmp_path) == {"file": b""}
