"""What a paper's folder is made of: checkpoints, commands, and the figures that they feed."""

import hashlib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from pydantic import Field

from tprprobe.errors import InputError, unknown
from tprprobe.files import assets, hub
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.settings import Settings, parse, read_toml

PAPERS = ("schlag", "jiang", "huang")
FIRST_CHECKPOINT, EACH_CHECKPOINT, RECIPE_FILE = "{first}", "{each}", "{recipe}"
RESUMED = {"extract", "probe", "intervene"}  # commands that go on with --resume


class Contents(Settings):
    """The tables and figures of a paper (``NAME.toml`` beside this module).

    ``commands`` make what figures are drawn from; a figure's entry names the commands that it needs.
    ``recipes`` are of interventions. What ``people`` make, no command does.
    """

    checkpoints: Annotated[list[str], Field(min_length=1)]
    architectures: list[str]
    commands: dict[str, str]
    recipes: dict[str, str]
    figures: dict[str, list[str]]
    people: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True)
class Command:
    """A command line of tprprobe without ``--out``, and the folder that it makes."""

    words: tuple[str, ...]
    out: Path

    @property
    def line(self) -> str:
        """The command as it is typed."""
        return shlex.join(["tprprobe", *self.words, "--out", str(self.out)])

    @property
    def is_resumed(self) -> bool:
        """True if a run that was cut off goes on with --resume."""
        return self.words[0] in RESUMED


def read_contents(paper: str) -> Contents:
    """The contents of a paper: schlag, jiang or huang.

    Raises:
        InputError: another name.
    """
    if paper not in PAPERS:
        raise unknown("paper", paper, (*PAPERS, "all"))
    path = Path(str(files("tprpapers.paper") / f"{paper}.toml"))
    return parse(Contents, read_toml(path), path.name)


def share_checkpoints(papers: Sequence[str], checkpoints: Sequence[str]) -> dict[str, list[str]]:
    """The checkpoints of every paper: those given whose architecture is the paper's, else its own.

    Raises:
        InputError: a checkpoint that is not found, or is of none of these papers.
    """
    contents = {paper: read_contents(paper) for paper in papers}
    shared: dict[str, list[str]] = {paper: [] for paper in papers}
    for ckpt in checkpoints:
        config = assets.find("models", ckpt) / "config.json"
        kind = read_json(config).get("architecture") if config.is_file() else None
        owners = [paper for paper in papers if kind in contents[paper].architectures]
        if not owners:
            accepted = ", ".join(
                architecture for paper in papers for architecture in contents[paper].architectures
            )
            what = (
                f"a {kind}, which is not of {' or '.join(papers)}"
                if kind
                else "no checkpoint of tprprobe"
            )
            raise InputError(f"{ckpt} is {what} (accepted: {accepted})")
        shared[owners[0]].append(ckpt)
    return {
        paper: shared_checkpoints or contents[paper].checkpoints
        for paper, shared_checkpoints in shared.items()
    }


def hash_weights(ckpt: str) -> str:
    """The sha256 of a checkpoint's weights; says so where it is not found."""
    try:
        weights = assets.find("models", ckpt) / hub.WEIGHTS
    except InputError:
        return "not found here"
    return hashlib.sha256(weights.read_bytes()).hexdigest()


def list_commands(
    contents: Contents, checkpoints: Sequence[str], work_folder: Path
) -> dict[str, list[Command]]:
    """The commands by the name that figures know them by; their folders lie in ``made``."""
    return {
        name: list(_commands(name, line, checkpoints, work_folder))
        for name, line in contents.commands.items()
    }


def _commands(
    name: str, line: str, checkpoints: Sequence[str], work_folder: Path
) -> Iterator[Command]:
    values = {FIRST_CHECKPOINT: checkpoints[0], RECIPE_FILE: str(work_folder / f"{name}.toml")}
    if EACH_CHECKPOINT not in line:
        yield Command(_fill(line, values, work_folder), work_folder / name)
        return
    for number, ckpt in enumerate(checkpoints):
        folder = work_folder / name / f"{number}-{Path(ckpt).name}"
        yield Command(_fill(line, values | {EACH_CHECKPOINT: ckpt}, work_folder), folder)


def _fill(line: str, values: Mapping[str, str], work_folder: Path) -> tuple[str, ...]:
    """The words of a command, with what stands for others replaced (folders below ``made/`` too)."""
    words = [values.get(word, word) for word in shlex.split(line)]
    return tuple(
        str(work_folder / word[5:]) if word.startswith("made/") else word for word in words
    )
