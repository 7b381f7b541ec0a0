"""Loaders of the inputs of figures: stores, evaluations, logs of training runs."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd

from tprprobe.analyses.attention.cross_places import mean_map
from tprprobe.analyses.decomposition import RoleSearch
from tprprobe.analyses.kinds import DECOMPOSITIONS, NAMES, OPERATIONS, PROBES, ROLES, WORD_NAMES
from tprprobe.analyses.naming import load_named
from tprprobe.errors import InputError
from tprprobe.figures.catalogue.inputs import Input
from tprprobe.figures.heads import find_clearest
from tprprobe.figures.kinds import DECODER, HEADS, STATE_SHARES
from tprprobe.figures.state_shares import UNITS
from tprprobe.files import assets
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.kinds import Kind
from tprprobe.files.settings import Document, parse
from tprprobe.files.tables import check_columns, columns
from tprprobe.interventions.kinds import BEHAVIORS, PATCHINGS, SWEEPS
from tprprobe.site.patterns import is_causal
from tprprobe.store.kinds import STORE
from tprprobe.store.reader import Source, as_store
from tprprobe.training.kinds import RUNS
from tprprobe.training.logs import read_log

PROBED, EXAMINED = "settings.json", "examination.json"  # of `probe` and `examine`
LOGGED = columns(number="value", whole="step")


def load_tables(sources: Iterable[Source], kind: Kind) -> pd.DataFrame:
    """The tables of a kind, one folder after another, with the name of each."""
    folders = [Path(path) for path in sources]
    tables = [kind.load(path).assign(name=path.resolve().name) for path in folders]
    joined = pd.concat(tables, ignore_index=True)
    joined.attrs["origin"] = " ".join(map(_name_origin, folders)).strip()
    return joined


def _name_origin(folder: Path) -> str:
    """The model and the data of a decomposition's folder, in words; of other folders nothing."""
    file = folder / DECOMPOSITIONS.file
    settings = read_json(file) if file.is_file() else {}
    if "model" not in settings:
        return ""
    return f"Model: {settings['model']}. Data: {settings['data'].rpartition('/')[2]}, {settings['n']:,} texts."


def load_single(sources: Iterable[Source], kind: Kind) -> pd.DataFrame:
    """The table in one folder."""
    return load_tables([take_single(sources)], kind).fillna({"control": ""})


def load_examined(sources: Iterable[Source], kind: Kind) -> pd.DataFrame:
    """A table of a page of ``examine``, with the model's name and what its notes say of model, texts and states."""
    folder = Path(take_single(sources))
    table, file = load_single([folder], kind), folder / EXAMINED
    if file.is_file():
        page = read_json(file)
        unit = page.get("unit", "last" if is_causal(page["sites"][-1]) else "mean")
        texts = f"{page['data'].rpartition('/')[2]}, {page['n']:,} texts"
        state = f" The state of a text is {UNITS.get(unit, 'one vector')}." * (kind is STATE_SHARES)
        if kind is not STATE_SHARES and STORE.is_in(folder / "store"):
            texts += (
                f" (attention: the first {as_store(folder / 'store').facts.attention_samples:,})"
            )
        table = table.assign(name=page["model"])
        table.attrs["origin"] = f"Model: {page['model']}. Data: {texts}.{state}"
    return table


def load_decoder(sources: Iterable[Source], kind: Kind) -> pd.DataFrame:
    """The heads of a decoder of a page of ``examine``, with the mean map of the clearest one."""
    folder = Path(take_single(sources))
    table = load_examined([folder], kind)
    best = find_clearest(table)
    table.attrs["map"] = mean_map(as_store(folder / "store"), best["site"], int(best["head"]))
    return table


def take_single(sources: Iterable[Source]) -> Source:
    """The one folder that the figure is made of."""
    folder, *others = sources
    if others:
        raise InputError(
            f"the figure is made of one folder, not {1 + len(others)}: give one --ckpt"
        )
    return folder


def load_names_of(sources: Iterable[Source]) -> pd.DataFrame:
    """The clusters of one run of ``name``."""
    return load_named(take_single(sources))


def load_searches(sources: Iterable[Source], kind: Kind) -> list[tuple[str, RoleSearch]]:
    """What searches of roles found, site by site, with the name of the folder."""
    return [(Path(path).resolve().name, row) for path in sources for row in kind.load(path)]


@dataclass(frozen=True)
class Loaded:
    """An input that is in memory already."""

    value: object


def name_result(key: str, result: object) -> object:
    """A result in memory as the input of that name: a table with the columns that folders would name it by."""
    if key == "roles":
        return [("", result)]
    if key == "runs":
        return {"run": result} if isinstance(result, pd.DataFrame) else result
    table = getattr(result, "scores", result)
    if not isinstance(table, pd.DataFrame):
        raise InputError(f"no table in {type(result).__name__}: give a store, a result or a folder")
    columns = {"name": "", "model": "model"}
    return table.assign(**{name: text for name, text in columns.items() if name not in table})


def load_evaluations(sources: Iterable[Source]) -> pd.DataFrame:
    """The evaluations that ``tprprobe eval --out`` wrote: one row per model, split and module."""
    rows = [row for source in sources for row in _read_evaluations(_find(source))]
    names = ["model", "parameters", "split", "module", "n", "exact_match", "low", "high"]
    return pd.DataFrame(rows, columns=names)


def _read_evaluations(path: Path) -> list[tuple[object, ...]]:
    files = sorted([*path.glob("*.json"), *path.glob("*/*.json")]) if path.is_dir() else [path]
    evaluations = [*filter(None, map(_read_evaluation, files))]
    if not evaluations:
        raise InputError(
            f"{path} holds no evaluation: make one with `tprprobe eval --ckpt … --out FOLDER`, or finish that of a paper "
            "with `tprprobe paper … --resume`"
        )
    rows = []
    for run in evaluations:
        for module, row in run.modules.items():
            place = run.model, run.parameters, run.split, module
            rows.append((*place, row.n, row.exact_match, *row.exact_match_interval))
    return rows


class _Matched(Document):
    n: int
    exact_match: float
    exact_match_interval: tuple[float, float]


class _Evaluation(Document):
    model: str
    split: str
    modules: dict[str, _Matched]
    parameters: float = math.nan


def _read_evaluation(file: Path) -> _Evaluation | None:
    """The evaluation in a file; None if the file is something else."""
    try:
        content = read_json(file)
    except InputError:
        return None
    if not content.keys() >= {"model", "split", "modules"}:
        return None
    modules = content["modules"] or {str(content.get("data", "")): content}  # pairs have none
    return parse(_Evaluation, {**content, "modules": modules}, file)


def load_runs(sources: Iterable[Source], kind: Kind) -> dict[str, pd.DataFrame]:
    """The logs of training runs by name, with step and value as numbers."""
    folders = [_find(source) for source in sources]
    names = [folder.resolve().name for folder in folders]
    keys = names if len(set(names)) == len(names) else [str(folder) for folder in folders]
    logs = [pd.DataFrame(read_log(folder) if folder.is_dir() else []) for folder in folders]
    if empty := [folder for folder, log in zip(folders, logs, strict=True) if log.empty]:
        raise InputError(f"{empty[0]} holds no {kind.file} of a training run")
    return {
        key: check_columns(log, LOGGED, folder / kind.file, "train again")
        for key, folder, log in zip(keys, folders, logs, strict=True)
    }


def load_probes(sources: Iterable[Source], kind: Kind = PROBES) -> pd.DataFrame:
    """The rows of ``tprprobe probe --out``, one folder after another, with the model of each.

    Two folders of one model are two protocols, not more seeds: their models are named by folder too.
    """
    folders = [Path(source) for source in sources]
    tables = [kind.load(folder) for folder in folders]
    names = [_probed(folder, "model") for folder in folders]
    labels = [
        name if names.count(name) == 1 else f"{name} ({folder.resolve().name})"
        for name, folder in zip(names, folders, strict=True)
    ]
    data = [_describe_data(folder) for folder in folders]
    tables = [
        rows.assign(model=name, data=texts, **_read_tasks(folder, rows["task"]))
        for name, texts, rows, folder in zip(labels, data, tables, folders, strict=True)
    ]
    return pd.concat(tables, ignore_index=True)


def _read_tasks(folder: Path, tasks: pd.Series) -> dict[str, pd.Series]:
    """Which tasks of a run have labels that a pipeline guessed, and which are read at the states of a decoder's own tokens."""
    settings = read_json(folder / PROBED)
    columns_by_setting = {"guessed": "is_guessed", "at_tokens": "is_at_token"}
    return {
        column: tasks.isin([*settings.get(setting, ())])
        for setting, column in columns_by_setting.items()
    }


def _describe_data(folder: Path) -> str:
    """The data of a run and the files of its labels, how many of its texts were read, and whether at equal distances."""
    store, name = read_json(folder / PROBED)["store"], _probed(folder, "data").rpartition("/")[2]
    if not isinstance(store.get("data"), dict):
        return name
    files = store["data"].get("files", {})
    name = ", ".join([name, *(file for file in files if file != name)]) if name in files else name
    spaced = ", spaced" * (store["data"].get("rows", [0, 1])[1] != 1)
    return f"{name}, {store['samples']:,} texts{spaced}"


def _probed(folder: Path, kind: str) -> str:
    """The name of the model, or the data, of a run; the folder's where it tells none."""
    origin = read_json(folder / PROBED)["store"].get(kind)
    name = origin.get("name") if isinstance(origin, dict) else origin
    return str(name or folder.resolve().name)


def _find(source: Source) -> Path:
    """A path that exists, or the folder of a shipped checkpoint."""
    return Path(source) if Path(source).exists() else assets.find("models", source)


def find_files(parse_file: Callable[[Path], object]) -> Callable[[Sequence[Path]], list[Path]]:
    """What finds the folders with a JSON file that can be read so."""
    return lambda folders: [path for path in folders if any(map(parse_file, path.glob("*.json")))]


def _in_folders(
    title: str, command: str, kind: Kind, load: Callable[..., object] = load_tables
) -> Input:
    """An input from the folders of a kind that a command writes."""
    text = f"{title}: give --ckpt with folders of `{command} --out`"
    return Input(text, partial(load, kind=kind), kind.find_finished)


INPUTS = {
    "store": Input("a store: give --store STORE", as_store, STORE.find_finished),
    "evaluations": Input(
        "evaluations: give --ckpt with folders of `eval --out`",
        load_evaluations,
        find_files(_read_evaluation),
    ),
    "runs": _in_folders("logs of training", "train", RUNS, load_runs),
    "sweeps": _in_folders("sweeps", "intervene", SWEEPS),
    "behaviors": _in_folders(
        "edits of minimal pairs", "intervene --data pairs:FRAME", BEHAVIORS, load_single
    ),
    "patchings": _in_folders(
        "patching of two texts", "intervene --text --against", PATCHINGS, load_single
    ),
    "examined_states": _in_folders("shares of states", "examine", STATE_SHARES, load_examined),
    "examined_heads": _in_folders("heads", "examine", HEADS, load_examined),
    "examined_decoder": _in_folders("heads of a decoder", "examine", DECODER, load_decoder),
    "probes": _in_folders("probes", "probe", PROBES, load_probes),
    "cluster_names": Input(
        "a run of `name`: give --ckpt with its folder (`tprprobe name STORE --out FOLDER`)",
        load_names_of,
        lambda folders: [*NAMES.find_finished(folders), *WORD_NAMES.find_finished(folders)],
    ),
    "decompositions": _in_folders("decompositions", "decompose", DECOMPOSITIONS),
    "operations": _in_folders("operations", "decompose --operations", OPERATIONS),
    "roles": _in_folders("a search of roles", "roles", ROLES, load_searches),
}
