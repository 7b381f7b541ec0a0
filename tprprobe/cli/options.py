"""Options that several commands share, and the output of commands."""

import json
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tprprobe.cli.generated_options import options_of
from tprprobe.errors import InputError

if TYPE_CHECKING:
    from tprprobe.data.annotated.sentencesets import Source
    from tprprobe.data.dataset import Dataset
    from tprprobe.gold.labellers import Labeller
    from tprprobe.models.protocol import Readable
    from tprprobe.store import Store

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document to stdout.")]
Ckpt = Annotated[
    str,
    typer.Option(
        help="The model: a shipped name, a folder, a hub id or hf:PATH; or its twin: untrained:NAME, permuted:NAME or rescaled:NAME."
    ),
]
Data = Annotated[str | None, typer.Option(help="mathematics:MODULE, english, a folder, a file …")]
StoreFolder = Annotated[Path, typer.Argument(help="A store, as `tprprobe extract` writes it.")]
Split = Annotated[str | None, typer.Option(help="The split of the data.")]
Number = Annotated[int | None, typer.Option("-n", help="How many examples.")]
Spaced = Annotated[
    bool,
    typer.Option("--spaced", help="Take -n examples at equal distances, not the first."),
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of random choices.")]
Device = Annotated[str, typer.Option(help="The device: cpu, cuda, cuda:1, …")]
Out = Annotated[Path | None, typer.Option(help="The file or folder to write results to.")]
Scheduler = Annotated[
    str | None,
    typer.Option(
        help="A Dask scheduler (tcp://HOST:8786), whose workers write or read the store in parts."
    ),
]
Loading = dict[str, Any] | None  # further arguments of load_model
of_model = options_of(
    "models.loading:load_model",
    only=["dtype", "device_map", "max_memory", "quantization"],
    panel="Weights",
    into="loading",
)
Resume = Annotated[bool, typer.Option("--resume", help="Resume an interrupted run.")]


def model_and_data(
    ckpt: str,
    data: str | None,
    split: str | None,
    n: int | None,
    seed: int,
    device: str,
    loading: Loading,
    spaced: bool = False,
    labels: list[str] | None = None,
    source: "Source | None" = None,
    task: str = "",
) -> "tuple[Readable, Dataset, list[Labeller]]":
    """The model; n examples (``spaced``: from all over the data) with the labels of files, or those of texts in a column ``task``;
    and what labels them otherwise. The data are read before the weights, which takes longest; of data that the model was trained on a part of, the test split.
    """
    from tprprobe.analyses.probing.task import check_tasks
    from tprprobe.data import load_data
    from tprprobe.data.annotated.sentencesets import label_data, label_texts, set_source
    from tprprobe.models import load_model
    from tprprobe.models.checkpoint import TRANSFORMERS, default_data, trained_data

    if data is None and ckpt.rpartition(TRANSFORMERS)[1]:
        raise InputError(f"{ckpt} names no data: give --data")
    trained = trained_data(Path(ckpt))
    if trained and data in (None, trained["data"]) and Path(trained["data"]).exists():
        seed = trained["seed"]  # by which the file was divided
    if split is None and trained.get("data") == data is not None:
        split = trained["split"]
        say(
            f"{ckpt} was trained on a part of {data}: reads its test split; --split all: everything"
        )

    def read(name: str, split: str | None) -> "tuple[Dataset, list[Labeller]]":
        examples = load_data(name, split=split, n=None if spaced else n, seed=seed)
        columns = examples.report.get("columns")
        if not trained and columns in (["text", task], ["sentence", task]):
            examples = label_texts(examples, task)
        if spaced and n:
            examples = examples.spaced(n)
        examples = set_source(examples, source) if source else examples
        examples, labellers = label_data(examples, split_labels(labels))
        if task and (examples.tasks or columns):
            labelled = [
                *examples.tasks,
                *(name for pipeline in labellers for name in pipeline.tasks),
            ]
            check_tasks(task.split(","), labelled)
        return examples, labellers

    examples = read(data, split) if data is not None else None
    model = load_model(ckpt, device=device, **loading or {})
    return model, *(examples or read(*default_data(model, split)))


def say_first(store: "Store", n: int | None, spaced: bool) -> None:
    """Says of how few documents the first n samples are."""
    documents = store.tokens["document"].nunique() if "document" in store.tokens else 0
    if n and documents and not spaced:
        say(
            f"-n {n} took the first samples, of {documents} documents; --spaced takes them from all over the data"
        )


def default_folder(command: str, ckpt: str, **question: object) -> Path:
    """The folder of results without --out: of a command, a model, and where it is asked several things the question."""
    *kinds, path = ckpt.split(":")
    name = "-".join([*filter(None, [command]), *kinds, Path(path).name])
    asked = sorted((key, str(value)) for key, value in question.items() if value is not None)
    if asked:
        name += f"-{zlib.crc32(repr(asked).encode()):08x}"
    return Path("runs") / name


def check_folder(folder: Path, resume: bool) -> None:
    """Checks that results can be written into a folder, before anything is computed."""
    from tprprobe.files.writing import alone, is_partial

    missing = [parent for parent in folder.absolute().parents if not parent.exists()]
    with alone(folder):
        is_free = not folder.exists() or all(map(is_partial, folder.iterdir()))
    for parent in missing:
        parent.rmdir()
    if not resume and not is_free:
        raise InputError(f"{folder} is not empty: give --resume, or another folder")


def split_labels(
    labels: list[str] | None,
    option: str = "--labels",
    form: str = "TASK=FILE, for example nel=entities.iob2",
) -> dict[str, str]:
    """The sources of ``--labels TASK=FILE`` by task, or the values of another option of that form."""
    if wrong := [label for label in labels or () if "=" not in label]:
        raise InputError(f"{option} {wrong[0]!r}: give {form}")
    return dict(label.split("=", 1) for label in labels or ())


def read_numbers(option: str, text: str, kind: type, form: str) -> list[Any]:
    """The numbers of an option, which commas divide."""
    try:
        return [kind(number) for number in text.split(",")]
    except ValueError as error:
        raise InputError(f"{option} {text}: give {form}") from error


def print_json(content: Any) -> None:
    if hasattr(content, "to_json"):
        content = json.loads(content.to_json(orient="records"))
    sys.stdout.write(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def show(as_json: bool, content: object, text: Callable[[], str]) -> None:
    print_json(content) if as_json else typer.echo(text())


def say(message: str) -> None:
    typer.echo(message, err=True)
