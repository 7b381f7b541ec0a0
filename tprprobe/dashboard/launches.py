"""Analyses that are started from the dashboard: the very commands, as lists of arguments that no shell reads, beside a store."""

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
from typing import Any

import tomli_w

from tprprobe.dashboard.contents import list_contents, list_vectors
from tprprobe.dashboard.folders import Runs, is_within
from tprprobe.errors import InputError, unknown
from tprprobe.files.hub import CONFIG
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.writing import write_file
from tprprobe.store import Store
from tprprobe.store.token_texts import visible

CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")  # of a terminal
LAYERS = re.compile(r"\.\d+\.")
COUNTS = re.compile(r"[\d:/. -]+")  # of a bar
MAX_LINES = 8  # of output that are shown
TERMINAL = {"TTY_COMPATIBLE": "1", "TTY_INTERACTIVE": "1", "NO_COLOR": "1", "COLUMNS": "100"}
NO_MODEL = "the model of this store is neither shipped nor below the folder: put it there"
AGAIN = "labels were added to its data: extract it again with them"
STORE, RECIPE = "<store>", "<recipe>"  # where paths stand in arguments
EDITED = {"n": 60, "reference": 60, "heads": "each"}
EDITED |= {"sites": ["encoder.*.self.role"], "edits": ["zero", "mean"]}
SWAPPED = {"n": 100, "swaps": ["polarity", "argument"]}


@dataclass(frozen=True)
class Launch:
    """A command with its real paths, and the files that are written before it is run."""

    title: str
    arguments: tuple[str, ...]
    out: Path
    files: Mapping[Path, str] = field(default_factory=dict)

    @property
    def command(self) -> str:
        """What does the same in a terminal."""
        files = [(shlex.quote(str(path)), text) for path, text in self.files.items()]
        writing = [f"cat > {path} <<'END'\n{text}END" for path, text in files]
        return "\n".join([*writing, shlex.join(["tprprobe", *self.arguments])])


@dataclass(frozen=True)
class Job:
    """A launch that was started, and the file that its output goes to."""

    launch: Launch
    process: subprocess.Popen
    log: Path

    @property
    def outcome(self) -> int | None:
        return self.process.poll()

    def read_output(self) -> str:
        """The last lines of its output, as text."""
        output = CODES.sub("", self.log.read_text("utf-8", errors="replace"))
        lines = [visible(line.strip(), 400) for line in re.split(r"\s*[\r\n]\s*", output) if line]
        latest = {COUNTS.sub("", line): line for line in lines}  # of a bar the last state
        return "\n".join([*latest.values()][-MAX_LINES:])

    def stop(self) -> None:
        """Interrupts it, as Ctrl-C does."""
        if self.outcome is None:
            self.process.send_signal(signal.SIGINT)


def plan(runs: Runs, store: Store, kind: str) -> Launch:
    """The launch of a kind (of LAUNCHES) for a store below the root."""
    if kind not in LAUNCHES:
        raise unknown("analysis", kind, LAUNCHES)
    path = store.path
    is_below = path != runs.root and is_within(path.parent, runs.root)
    out = _free(path.parent if is_below else runs.root, f"{path.name}-{kind}")
    title, make, _ = LAUNCHES[kind]
    arguments, recipe = make(runs, store)
    files = {out.with_suffix(".toml"): recipe} if recipe else {}
    paths = {STORE: str(path), RECIPE: str(out.with_suffix(".toml"))}
    words = [paths.get(word, word) for word in arguments]
    return Launch(title, (*words, "--out", str(out)), out, files)


def start(launch: Launch) -> Job:
    """The job of a launch, started as `python -m tprprobe …`."""
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
    path, number = folder / name, 2
    while path.exists() or path.with_suffix(".toml").exists():
        path, number = folder / f"{name}-{number}", number + 1
    return path


Plan = tuple[tuple[str, ...], str]  # arguments, and the recipe that they need


def _names(_: Runs, store: Store) -> Plan:
    endings = (".role",) if list_contents(store).arithmetic else (".role", ".hidden")
    has_vectors = any(site.endswith(endings) for site in list_vectors(store))
    _require(has_vectors, f"this store has no *{' or *'.join(endings)} to name: extract them")
    return ("name", STORE), ""


def _probes(_: Runs, store: Store) -> Plan:
    why = "this store has no words with labels (pos, dep, srl, nel): extract with --labels"
    contents = list_contents(store)
    _require(contents.exact or contents.guessed, why)
    return ("probe", "all", STORE, *_states(store, "--sites")), ""


def _decomposition(_: Runs, store: Store) -> Plan:
    sites = list_vectors(store)
    _require(sites, "this store has no vectors to decompose")
    states = _states(store, "--site") or ("--site", sites[-1])
    return ("decompose", STORE, *states, "--roles", "left", "--roles", "right"), ""


def _states(store: Store, option: str) -> tuple[str, ...]:
    stacks = [site.partition(".")[0] for site in list_vectors(store) if site.endswith(".hidden")]
    return (option, f"{stacks[0]}.*.hidden") if stacks else ()


def _require(condition: object, why: str) -> None:
    if not condition:
        raise InputError(why)


def _attention(runs: Runs, store: Store) -> Plan:
    """The extraction of a store anew, with attention maps beside the sites that it has."""
    origin, name = store.facts.data, runs.find_model(store)
    _require(name, NO_MODEL)
    settings = {"--ckpt": name, "--data": origin.name or "DATA", "--split": origin.split}
    settings |= {"-n": origin.n, "--seed": origin.seed or None, "--target": store.facts.target}
    options = {option: str(value) for option, value in settings.items() if value is not None}
    words = [word for setting in options.items() for word in setting]
    words += ["--spaced"] * (getattr(origin, "rows", [0, 1]) != [0, 1])
    sites = dict.fromkeys(LAYERS.sub(".*.", name) for name in (*store.sites, "*.attention"))
    words += [word for pattern in sites for word in ("--sites", pattern)]
    command = shlex.join(["tprprobe", "extract", *words, "--labels", "LABELS", "--out", "STORE"])
    other_files = {*origin.files} - {Path(str(origin.name)).name}
    is_labeled = store.facts.labels or len(other_files) < len(origin.files) > 1
    _require(not is_labeled, f"{AGAIN}: {command}")
    return ("extract", *words), ""


def _swaps(runs: Runs, store: Store) -> Plan:
    is_arithmetic = list_contents(store).arithmetic
    _require(is_arithmetic, "numbers can be exchanged in questions of arithmetic only")
    return _intervene(runs, store, SWAPPED)


def _pairs(runs: Runs, store: Store) -> Plan:
    name = runs.find_model(store) or ""
    why = "edits of minimal pairs need a model of transformers with a head, below the folder or on the hub"
    _require(name.startswith("hf:"), why)
    config = Path(name.removeprefix("hf:")) / CONFIG
    kinds = read_json(config).get("architectures") or [] if config.is_file() else []
    has_head = not kinds or any(not kind.endswith("Model") for kind in kinds)
    _require(has_head, f"{why}: this one has none")
    return ("intervene", "--data", "pairs:active+passive,asked", "--ckpt", name), ""


def _intervene(runs: Runs, store: Store, edits: Mapping[str, Any] = EDITED) -> Plan:
    name, data = runs.find_model(store), store.facts.data
    has_roles = any(site.startswith("encoder.") and site.endswith(".role") for site in store.sites)
    _require(has_roles, "this store has no roles of an encoder to edit")
    _require(name, NO_MODEL)
    _require(data.name, "this store does not record its data")
    recipe = {"data": data.name, "split": data.split or "test", **edits}
    return ("intervene", RECIPE, "--ckpt", str(name)), tomli_w.dumps(recipe)


LAUNCHES: dict[str, tuple[str, Callable[[Runs, Store], Plan], tuple[str, ...]]] = {
    "names": ("Name the clusters", _names, ("names", "word-names")),
    "probes": ("Train linear probes", _probes, ("probes",)),
    "decomposition": ("Decompose the states", _decomposition, ("decompositions",)),
    "pairs": ("Exchange two words of minimal pairs, layer by layer", _pairs, ("behaviors",)),
    "sweep": ("Replace every head's roles, one head at a time", _intervene, ("interventions",)),
    "swaps": ("Exchange the vectors of two numbers", _swaps, ()),
    "attention": ("Extract again with attention maps", _attention, ()),
}


def list_missing(runs: Runs, store: Store) -> list[str]:
    """The analyses of a store that left no result yet."""
    kinds = {kind: results for kind, (_, _, results) in LAUNCHES.items() if results}
    return [kind for kind, results in kinds.items() if not runs.beside(store, *results)]
