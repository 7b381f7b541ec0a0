"""Files and folders appear whole or not at all, and nothing is left beside them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tprprobe.errors import InputError
from tprprobe.files.writing import whole, write_file, write_folder


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


KILLED = """
import os, sys
from tprprobe.files.writing import whole
with whole(sys.argv[1]) as partial:
    partial.mkdir() if sys.argv[2] else None
    (partial / sys.argv[2]).write_text("left")
    os._exit(9)
"""
PAIR = """
import sys
from pathlib import Path
from tprprobe.errors import InputError
from tprprobe.files.writing import write_file, write_folder
own = sys.argv[3]
print("ready", flush=True)
sys.stdin.read()
for number in range(int(sys.argv[2])):
    write_file(Path(sys.argv[1]) / f"{number}.npz", own * 300_000)
    try:
        write_folder(Path(sys.argv[1]) / str(number), {name: own * 20_000 for name in "abcdef"})
        print("wrote", number)
    except InputError as error:
        print(error)
"""


def run(code: str, *words: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_writes_is_not(tmp_path):
    path = tmp_path / "folder"
    for name in ("left", ""):
        process = subprocess.run([sys.executable, "-c", KILLED, str(path), name], check=False)
        assert process.returncode == 9
        assert [entry.name[:9] for entry in tmp_path.iterdir()] == [".partial."]
    with whole(path) as living:
        living.mkdir()
        write_file(path.with_name("other"), "")
        write_folder(path, {"a": "1", "b/c": b"2"})
        assert sorted(entry.name for entry in tmp_path.iterdir()) == [
            living.name,
            "folder",
            "other",
        ]
        (path / "a").unlink()
        with (
            pytest.raises(InputError, match=r"another process wrote .*folder meanwhile"),
            whole(path) as second,
        ):
            second.mkdir()
        living.rmdir()
        living.touch()
        path.rename(tmp_path / "away")
    assert there(tmp_path) == {"folder": b"", "other": b"", "away/b/c": b"2"}


@pytest.mark.parametrize("pairs", [10])
def test_of_two_writers_of_a_path_one_stays_whole(tmp_path, pairs):
    writers = [run(PAIR, tmp_path, pairs, letter) for letter in "xy"]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.close()
    messages = []
    for writer in writers:
        with writer:
            messages += writer.stdout or ()
    assert [writer.returncode for writer in writers] == [0, 0]
    files = there(tmp_path)
    assert len(files) == 7 * pairs
    assert sum(line.startswith("wrote") for line in messages) == pairs
    assert (
        sum("another process wrote" in line or "exists already" in line for line in messages)
        == pairs
    )
    for number in range(pairs):
        assert len({*files[f"{number}.npz"]}) == 1
        assert len({byte for name in "abcdef" for byte in files[f"{number}/{name}"]}) == 1


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


def test_what_is_no_file_is_not_replaced(tmp_path):
    os.mkfifo(pipe := tmp_path / "pipe")
    with pytest.raises(InputError, match="is no file"):
        write_file(pipe, "text")
    assert pipe.is_fifo()
