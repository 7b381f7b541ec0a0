"""Analyses that are started from the dashboard: the very commands, run beside a store, and their output.

A launch is one of LAUNCHES; its arguments are a list (no shell reads them), its paths lie below the runs' root.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tprprobe.analyses.naming.word_labels import LABELS, list_exact
from tprprobe.dashboard.choices import list_vectors
from tprprobe.dashboard.folders import Runs, is_within
from tprprobe.dashboard.model_card import find_checkpoint
from tprprobe.dashboard.safe_text import visible
from tprprobe.errors import InputError, unknown
from tprprobe.files.writing import write_file
from tprprobe.store import Store

CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")  # of a terminal
KEPT = 8  # lines of output that are shown
TERMINAL = {"TTY_COMPATIBLE": "1", "TTY_INTERACTIVE": "1", "NO_COLOR": "1", "COLUMNS": "100"}
SWEEP = """data = "{data}"
split = "{split}"
n = 60
reference = 60
"""
EDITED = 'sites = ["encoder.*.self.role"]\nedits = ["zero", "mean"]\nheads = "each"\n'
SWAPPED = 'n = 100\nswaps = ["polarity", "argument"]\n'


@dataclass(frozen=True)
class Launch:
    """A command with its real paths, and the files that are written before it is run."""

    told: str
    arguments: tuple[str, ...]
    out: Path
    files: Mapping[Path, str] = field(default_factory=dict)

    @property
    def command(self) -> str:
        """What does the same in a terminal."""
        made = [
            f"cat > {shlex.quote(str(path))} <<'END'\n{text}END"
            for path, text in self.files.items()
        ]
        return "\n".join([*made, shlex.join(["tprprobe", *self.arguments])])


@dataclass(frozen=True)
class Job:
    """A launch that was started, and the file that its output goes to."""

    launch: Launch
    process: subprocess.Popen
    log: Path

    @property
    def outcome(self) -> int | None:
        """The exit status; None while it runs."""
        return self.process.poll()

    def tell(self) -> str:
        """The last lines of its output, as text."""
        written = CODES.sub("", self.log.read_text("utf-8", errors="replace"))
        lines = [
            visible(each.strip(), 160) for each in re.split(r"[\r\n]+", written) if each.strip()
        ]
        return "\n".join(dict.fromkeys(lines[-4 * KEPT :][-KEPT:]))

    def stop(self) -> None:
        """Interrupts it, as Ctrl-C does."""
        if self.outcome is None:
            self.process.send_signal(signal.SIGINT)


def plan(runs: Runs, name: str, kind: str) -> Launch:
    """The launch of a kind (of LAUNCHES) for the store of that name.

    Raises:
        InputError: there is no such kind, or it cannot be done with this store; says why.
    """
    if kind not in LAUNCHES:
        raise unknown("analysis", kind, LAUNCHES)
    store, told = runs.open(name), LAUNCHES[kind][0]
    path = runs.folder("store", name)
    beside = path.parent if path != runs.root and is_within(path.parent, runs.root) else runs.root
    out = _free(beside, f"{path.name}-{kind}")
    return LAUNCHES[kind][1](told, runs, store, path, out)


def start(launch: Launch) -> Job:
    """The job of a launch, started as `python -m tprprobe …`.

    Raises:
        InputError: its files cannot be written.
    """
    for path, text in launch.files.items():
        write_file(path, text)
    number, log = tempfile.mkstemp(prefix="tprprobe-", suffix=".log")
    with os.fdopen(number, "wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "tprprobe", *launch.arguments],
            stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT, env={**os.environ, **TERMINAL},
        )  # fmt: skip
    return Job(launch, process, Path(log))


def _free(folder: Path, name: str) -> Path:
    """A folder that does not exist yet."""
    found, number = folder / name, 2
    while found.exists() or found.with_suffix(".toml").exists():
        found, number = folder / f"{name}-{number}", number + 1
    return found


def _names(told: str, _: Runs, store: Store, path: Path, out: Path) -> Launch:
    if not (store.has_questions or list_exact(store)):
        raise InputError("names need questions of arithmetic, or words with exact labels")
    roles = [each for each in list_vectors(store) if each.endswith(".role")]
    if not roles:
        raise InputError("this store has no roles to name: extract *.role")
    return Launch(told, ("name", str(path), "--out", str(out)), out)


def _probes(told: str, _: Runs, store: Store, path: Path, out: Path) -> Launch:
    if not any(task in store.tokens for task in LABELS):
        raise InputError(
            "probes need words with labels (pos, dep, srl, nel): extract with --labels"
        )
    return Launch(told, ("probe", "all", str(path), "--out", str(out)), out)


def _reconstruction(told: str, _: Runs, store: Store, path: Path, out: Path) -> Launch:
    store.select(["encoder.-1.self.value", "encoder.-1.self.input"])
    arguments = ("reconstruct", str(path), "--layer", "-1", "--out", str(out))
    return Launch(told, arguments, out)


def _decomposition(told: str, _: Runs, store: Store, path: Path, out: Path) -> Launch:
    sites = list_vectors(store)
    states = [each for each in sites if each.endswith((".hidden", ".tpr"))] or sites
    if not states:
        raise InputError("this store holds no vectors to decompose")
    encoder = [each for each in states if each.startswith("encoder.")] or states
    arguments = (
        "decompose",
        str(path),
        "--site",
        encoder[-1],
        "--roles",
        "left",
        "--roles",
        "right",
    )
    return Launch(told, (*arguments, "--out", str(out)), out)


def _sweep(told: str, runs: Runs, store: Store, path: Path, out: Path) -> Launch:
    return _intervene(told, runs, store, out, EDITED)


def _swaps(told: str, runs: Runs, store: Store, path: Path, out: Path) -> Launch:
    if not store.has_questions:
        raise InputError("numbers change places in questions of arithmetic only")
    return _intervene(told, runs, store, out, SWAPPED)


def _intervene(told: str, runs: Runs, store: Store, out: Path, edits: str) -> Launch:
    folder, data = find_checkpoint(runs, store), store.manifest.get("data")
    if folder is None:
        raise InputError(
            "the model of this store is neither shipped nor below the folder: put its checkpoint there"
        )
    if not isinstance(data, dict) or not data.get("name"):
        raise InputError("this store does not say of which data it is")
    head = SWEEP.format(data=_quoted(data["name"]), split=_quoted(data.get("split") or "test"))
    text = (head if edits is EDITED else head.partition("n = ")[0]) + edits
    if not any(each.startswith("encoder.") and each.endswith(".role") for each in store.sites):
        raise InputError("this store has no roles of an encoder to edit")
    recipe = out.with_suffix(".toml")
    arguments = ("intervene", str(recipe), "--ckpt", str(folder), "--out", str(out))
    return Launch(told, arguments, out, {recipe: text})


def _quoted(value: object) -> str:
    """A text inside quotation marks of TOML.

    Raises:
        InputError: it has characters that no name of data has.
    """
    text = str(value)
    if not re.fullmatch(r"[\w:+/.,=@ -]{1,200}", text):
        raise InputError(f"data of a strange name: {visible(text, 60)}")
    return text


Planner = Callable[[str, Runs, Store, Path, Path], Launch]
LAUNCHES: dict[str, tuple[str, Planner]] = {
    "names": ("Name the clusters", _names),
    "probes": ("Train probes (a linear screen)", _probes),
    "reconstruction": ("Reconstruct the last layer's state", _reconstruction),
    "decomposition": ("Decompose the last layer's state", _decomposition),
    "sweep": ("Replace every head's roles, one head at a time", _sweep),
    "swaps": ("Exchange the vectors of two numbers", _swaps),
}
