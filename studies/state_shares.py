"""``python -m studies.state_shares --treebank FOLDER``: the states of five networks in one table, share by share."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pandas as pd
import typer

import tprprobe as tp
from studies.real.packages import MODELS
from studies.real.pronunciation import attach_pronouncer, read_pronouncer
from studies.real.treebank import read_treebank
from studies.real.words import read_forms
from studies.templates import table
from tprprobe.analyses.decomposition.binding_claims import binds
from tprprobe.analyses.decomposition.designs import SHUFFLED_ROLES
from tprprobe.analyses.decomposition.variance_shares import score_shares
from tprprobe.errors import InputError
from tprprobe.statistics import interval_text, read_interval

RESULTS = Path(__file__).parent / "results" / "state-shares.csv"
SHIPPED = Path("models")
SHORTEST, LONGEST = 3, 20  # words; a model's first token has a state of its own
N_SENTENCES, N_QUESTIONS, N_CAPTIONS = 3000, 2000, 1000
ROLES = "left"
Row = Mapping[Any, Any]


class Subject(NamedTuple):
    """What is measured: a state, its unit, and what fillers and units are called."""

    model: str
    state: str
    site: str
    unit: str
    filler: str
    units: str
    read: Callable[[Path, Path], tuple[Any, Any]]  # models and treebank → model and data


def _sentences(name: str, models: Path, treebank: Path) -> tuple[Any, Any]:
    data = read_treebank(treebank)
    sentences = [s for s in data.sentences if SHORTEST <= len(s.words) <= LONGEST][:N_SENTENCES]
    data = replace(data, sentences=tuple(sentences), rows=range(len(sentences)))
    return tp.load_model(f"hf:{models / name}"), data


def _spelling(models: Path, treebank: Path) -> tuple[Any, Any]:
    return attach_pronouncer(read_pronouncer(models / "g2p")), read_forms(treebank)[0]


def _own(name: str, n: int, _models: Path, _treebank: Path) -> tuple[Any, Any]:
    from tprprobe.examination import choose_data

    model = tp.load_model(str(SHIPPED / name))
    return model, choose_data(model, n, 0)


def list_subjects() -> list[Subject]:
    """The five networks."""
    from functools import partial

    minilm, smollm = (partial(_sentences, name) for name in ("minilm", "smollm2"))
    arithmetic = partial(_own, "tpt-c-arithmetic", N_QUESTIONS)
    captions = partial(_own, "tpgn-scenes", N_CAPTIONS)
    return [
        Subject("MiniLM", "mean over the tokens, last layer", "encoder.5.hidden", "mean", "token", "sentences", minilm),
        Subject("SmolLM2", "last token, middle layer", "layers.15.hidden", "last", "token", "sentences", smollm),
        Subject("g2p", "the encoder's last state", "encoding", "sample", "letter", "words", _spelling),
        Subject("TP-Transformer", "mean over the symbols, last layer", "encoder.2.hidden", "mean", "symbol", "questions", arithmetic),
        Subject("TPGN", "the caption's tensor", "sentence.tpr", "sample", "word", "captions", captions),
    ]  # fmt: skip


def measure(subject: Subject, models: Path, treebank: Path, out: Path) -> Row:
    """The shares of a state as a row."""
    model, data = subject.read(models, treebank)
    store = tp.extract(model, data, [subject.site], out, control=False, resume=True)
    scores = score_shares(store, [subject.site], [ROLES], subject.unit)
    families: Any = [scores[scores["control"] == name].set_index("family").T for name in ("", SHUFFLED_ROLES)]  # fmt: skip
    real, shuffled = families
    shares = {
        "fillers": read_interval(real["bag"], "share"),
        "places": read_interval(real["additive"], "share"),
        "fillers × length": read_interval(real["additive"], "share_by_length"),
        "bindings": read_interval(real["factored"], "share"),
        "shuffled": read_interval(shuffled["factored"], "share"),
    }
    row = {"model": subject.model, "n": store.tokens["sample"].nunique()}
    for name, share in shares.items():
        row |= share.columns(name)
    return row


def say(row: Row, subject: Subject) -> str:
    """The sentence that a row shows."""
    title = f"**{subject.model}** ({subject.units}, {subject.state})"
    columns = read_interval(row, "bindings").columns("share")
    if not binds(columns | read_interval(row, "shuffled").columns("share_shuffled")):
        return f"{title}: no binding is shown. The interval of what depends on which {subject.filler} is at which place holds 0."
    return (
        f"{title}: {row['bindings']:.3f} of the variance depends on which {subject.filler} is at which place, "
        f"beyond every function of the {subject.filler}s alone and of the places alone."
    )


def write_table(rows: pd.DataFrame) -> str:
    """The table and its sentences in Markdown."""
    table_rows, sentences = [], []
    for row, subject in zip(rows.to_dict("records"), list_subjects(), strict=True):
        names = [str(name) for name in rows if f"{name}_low" in rows and name != "shuffled"]
        texts = {name: interval_text(read_interval(row, name), ".3f") for name in (*names, "shuffled")}  # fmt: skip
        residual = 1 - sum(row[name] for name in names)
        table_rows.append({"state of": row["model"], "n": f"{row['n']:,}", **{name: texts[name] for name in names}, "rest": f"{residual:.3f}", "bindings, shuffled places": texts["shuffled"]})  # fmt: skip
        sentences.append(f"- {say(row, subject)}")
    return f"{table(table_rows)}\n\n" + "\n".join(sentences)


def main(
    treebank: Annotated[Path | None, typer.Option(help="The folder of the English Web Treebank; without it the committed table is shown.")] = None,
    models: Annotated[Path, typer.Option(help="The folder of the real models.")] = MODELS,
    runs: Annotated[Path, typer.Option(help="Where states are kept.")] = Path("runs/state-shares"),
) -> None:  # fmt: skip
    """Measure the shares of five networks' states, and show them in one table."""
    if treebank is not None:
        rows = [measure(s, models, treebank, runs / s.model.lower()) for s in list_subjects()]
        pd.DataFrame(rows).round(4).to_csv(RESULTS, index=False)
    typer.echo(write_table(pd.read_csv(RESULTS)))


if __name__ == "__main__":
    try:
        typer.run(main)
    except InputError as error:
        sys.exit(f"studies.state_shares: {error}")
