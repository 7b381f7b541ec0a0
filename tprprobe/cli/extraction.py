"""Commands that read vectors out of models, and what a model or a store is."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tprprobe.cli.options import (
    Ckpt,
    Data,
    Device,
    Json,
    Number,
    Out,
    Resume,
    Seed,
    Split,
    model_and_data,
    pairs,
    print_json,
    say,
)


class Context(StrEnum):
    """What the encoder reads while the decoder is forced to write an annotated sentence."""

    same = "same"
    document = "document"
    empty = "empty"


class Decoded(StrEnum):
    """What the decoder reads while vectors are extracted."""

    reference = "reference"
    generated = "generated"


def extract(
    ckpt: Ckpt,
    data: Data = None,
    split: Split = None,
    n: Number = None,
    seed: Seed = 0,
    sites: Annotated[
        list[str] | None, typer.Option(help="Site patterns: 'encoder.*.role', 'decoder.-1.*'.")
    ] = None,
    attention_samples: Annotated[
        int, typer.Option(help="First samples with attention maps.")
    ] = 128,
    source: Annotated[
        Context | None, typer.Option(help="What the encoder reads of an annotated file.")
    ] = None,
    target: Annotated[Decoded, typer.Option(help="What the decoder reads.")] = Decoded.reference,
    labels: Annotated[
        list[str] | None,
        typer.Option(
            help="TASK=FILE of an annotated file; of any text pos,dep,nel=spacy:PIPELINE, srl=rules."
        ),
    ] = None,
    no_control: Annotated[bool, typer.Option("--no-control", help="No untrained twin.")] = False,
    out: Out = None,
    resume: Resume = False,
    device: Device = "cpu",
) -> None:
    """Write every vector of the chosen sites into a store."""
    from tprprobe.data.annotated.sentencesets import join_labels, set_source
    from tprprobe.extraction import extract as run
    from tprprobe.gold.labellers import find_labellers, is_labeller

    sources = pairs(labels or [])
    files = {task: source for task, source in sources.items() if not is_labeller(source)}
    labellers = find_labellers({k: v for k, v in sources.items() if k not in files})
    model, examples = model_and_data(ckpt, data, split, n, seed, device)
    if source:
        examples = set_source(examples, source.value)
    if files:
        examples = join_labels(examples, files)
    out = out or Path("runs") / model.name.replace(":", "-")
    settings = {"resume": resume, "labellers": labellers}
    store = run(
        model, examples, sites, out, attention_samples, target.value, not no_control, **settings
    )
    say(f"{store.samples} samples, {len(store.sites)} sites: {out}")


def inspect(what: str, as_json: Json = False) -> None:
    """What a checkpoint, a store or a corpus holds, and whether a checkpoint obeys its equations."""
    from tprprobe.figures.report.overview import inspect as run

    overview = run(what)
    if as_json:
        return print_json(overview.as_dict())
    typer.echo(overview.as_text())
    return None
