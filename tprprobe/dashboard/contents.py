"""What a store holds: its sites, samples, labels and twins, and so what a sentence about it may name."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pandas as pd
from rich.filesize import decimal

from tprprobe.analyses.attention.gold_maps import gold_tokens
from tprprobe.analyses.attention.head_relations import list_maps as list_maps
from tprprobe.analyses.naming.fields import LABELS, list_exact
from tprprobe.dashboard.statements import Statement
from tprprobe.errors import InputError
from tprprobe.evaluation.splits import TEST, TRAIN
from tprprobe.files import hub
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.settings import Document, parse, read_toml
from tprprobe.gold.labels import WORD
from tprprobe.site.patterns import first_role as first_role
from tprprobe.site.patterns import like as like
from tprprobe.statistics import Interval, interval_text
from tprprobe.store import Store
from tprprobe.store.layout import SAMPLE, SIDES, twins_in
from tprprobe.store.manifests import Origin
from tprprobe.store.samples import find_samples as find_samples
from tprprobe.store.samples import read_texts as read_texts
from tprprobe.store.samples import score_answers
from tprprobe.store.token_texts import visible

EXAMINATION = "examination.json"  # of `tprprobe examine`
EXAMINED = {"heads": "attention", "decoder": "attention"}  # pages that show its tables
EXAMINED |= {"clusters": "roles", "roles": "roles", "probes": "probes"}


@dataclass(frozen=True)
class Contents:
    """The share of answers that are right (None: not known), of the ``test`` split where the model was trained on some samples;
    whether samples are ``arithmetic``; the ``exact`` labels of words and those that a tagger ``guessed``; the ``twins``.
    """

    score: Interval | None
    test: frozenset[int] | None
    arithmetic: bool
    exact: tuple[str, ...]
    guessed: tuple[str, ...]
    twins: tuple[str, ...]


@lru_cache(maxsize=64)
def list_contents(store: Store) -> Contents:
    """What a store holds."""
    known = (*LABELS, "upos", "role", "place")
    labels = [name for name in known if {WORD, name} <= {*store.tokens}]
    gold_labels = [name for name in labels if name not in store.facts.labels]
    exact = tuple(dict.fromkeys([*list_exact(store), *gold_labels]))
    guessed = tuple(name for name in labels if name not in exact)
    sample = store.tokens["sample"].iloc[:1].tolist()
    is_arithmetic = store.has_questions and gold_tokens(store, sample) is not None
    test = _find_test(store) if store.has_answers else None
    score = score_answers(store, is_arithmetic, test or None)
    return Contents(score, test, is_arithmetic, exact, guessed, tuple(twins_in(store.path)))


def _find_test(store: Store) -> frozenset[int] | None:
    """The samples in the test split, where the recipe of the model names these data as what it was trained on; else None."""
    data, folder = store.facts.data, Path(store.facts.model_folder or "")
    moved = [parent / folder.name for parent in store.path.parents[:3] if folder.name]
    recipes = [path / hub.RECIPE for path in (folder, *moved)]  # of a run that lies elsewhere now
    recipe = next(filter(Path.is_file, recipes), recipes[0])
    try:
        mixes = [mix for stage in read_toml(recipe)["stages"] for mix in stage["mix"]]
        names = [Path(mix["data"]).name for mix in mixes if mix["split"] == TRAIN]
        seed = mixes[0].get("seed", 0)
    except (InputError, LookupError, TypeError, AttributeError):
        return None
    if Path(data.name or "").name not in names or data.split not in {None, "all", TRAIN}:
        return None
    from tprprobe.data.dataset import split_by_hash  # with all that reads data

    texts = read_texts(store)
    return frozenset(int(n) for n in texts.index if split_by_hash(f"{seed}/{texts[n]}") == TEST)


def describe_store(store: Store) -> dict[str, str]:
    """Model, data and sizes of a store in words; nothing of its tokens is read for these."""
    lengths, rows = store.facts.lengths, " ".join(spec.rows for spec in store.specs.values())
    sides = [side for side in SIDES if lengths.get(side) and (side in rows or SAMPLE in rows)]
    tokens = [f"{lengths[side]:,} {side}" for side in sides]
    return {
        "model": _name(store.facts.model, store.facts.model_folder),
        "data": _name(store.facts.data),
        "samples": f"{store.samples:,}",
        "tokens": tokens[0].split()[0] if len(tokens) == 1 else " + ".join(tokens) or "0",
        "sites": f"{len(store.sites)}",
        "size": decimal(int(store.summary["bytes"].sum())),
        "baseline": ", ".join(twins_in(store.path)) or "none",
    }


def _name(origin: Origin, folder: str | None = None) -> str:
    """The name of a model or of data, of a path its last part, and the split; of ``model`` in the folder of a run, the run's."""
    name = origin.name or ""
    name = name.rsplit("/", 1)[-1] if name.startswith(("/", ".")) else name
    if name == "model" and folder:
        name = Path(folder).parent.name
    parts = [part for part in (name, origin.split) if part and part != "all"]
    return visible(" · ".join(parts) or "–", 80)


def summarize_store(store: Store) -> Statement:
    """What was read, how well it was answered where that is known, which labels and twins the store has."""
    facts, contents = describe_store(store), list_contents(store)
    text = f"{facts['samples']} samples ({facts['tokens']} tokens) of {facts['data']}"
    is_imported = "imported" in store.manifest
    text = f"Imported vectors: {text}" if is_imported else f"{facts['model']} read {text}"
    if score := contents.score:
        verdict = "answered right" if contents.arithmetic else "written exactly as the reference"
        of_test, test = "", contents.test
        if test is not None:
            training = f"the other {store.samples - len(test):,} were used to train it"
            of_test = f" of the {len(test):,} test samples ({training})"
            of_test = of_test if test else " of these samples, on all of which it was trained,"
        text += f"; {interval_text(score, '.1f', 100, ' %')}{of_test} were {verdict}"
    names = {
        "Labels of words: ": contents.exact,
        "Labels that a tagger guessed: ": contents.guessed,
    }
    sentences = [f"{origin}{', '.join(labels)}" for origin, labels in names.items() if labels]
    twins = " and ".join(f"{twin} weights" for twin in contents.twins)
    sentences += [f"Controls: the same network with {twins} (baseline model)"] * bool(twins)
    return Statement(". ".join([text, *sentences]) + ".")


class ExaminedQuestion(Document):
    """A section of the page of `tprprobe examine`."""

    heading: str
    text: str
    lack: str
    picture: str


class _Examination(Document):
    sections: tuple[ExaminedQuestion, ...] = ()


def read_examination(store: Store) -> list[tuple[ExaminedQuestion, Path | None]]:
    """The questions that `tprprobe examine` asked of a store's model, each with the file of its picture."""
    folder = store.path.parent
    file = folder / EXAMINATION
    if not file.is_file():
        return []
    pictures = {f"figures/{path.name}": path for path in folder.glob("figures/*.png")}
    questions = parse(_Examination, read_json(file), file).sections
    return [(question, pictures.get(question.picture)) for question in questions]


def list_sites(store: Store) -> pd.DataFrame:
    cells = store.summary[["site", "axes", "shape", "dtype", "bytes"]]
    shapes = [" × ".join(f"{n:,}" for n in shape) for shape in cells["shape"]]
    return cells.assign(shape=shapes, bytes=cells["bytes"].map(decimal))


def list_vectors(store: Store) -> list[str]:
    return [name for name, spec in store.specs.items() if not spec.is_attention]


def count_heads(store: Store, site: str) -> int:
    """The number of heads of a site, 0 for a site without heads."""
    return store.specs[site].heads or 0
