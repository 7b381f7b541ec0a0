"""The papers' commands: every one is a few lines that call one public function."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from tprprobe.cli.options import Device, Json, Out, Resume, Seed, print_json, say
from tprprobe.files.jsonfiles import read_json


def binding(
    ckpt: Annotated[list[str] | None, typer.Option(help="Trained models to test.")] = None,
    seed: Seed = 0,
    device: Device = "cpu",
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Show the binding problem of stacked attention exactly, and test trained models for it."""
    import pandas as pd

    from tprpapers.schlag.binding_drawings import binding_table, demonstration_table
    from tprpapers.schlag.binding_problem import demonstrate, measure_degrees
    from tprpapers.schlag.figures import save_binding
    from tprpapers.swaps.fractions import binding_probe
    from tprprobe.console import track
    from tprprobe.models import load_model
    from tprprobe.models.architectures import fingerprint

    exact = {"demonstration": demonstrate(seed=seed), "degrees": measure_degrees(seed=seed)}
    models = [load_model(name, device=device) for name in ckpt or []]
    probe_tables = [
        binding_probe(model, seed=seed) for model in track(models, "probing", len(models))
    ]
    probed = pd.concat(probe_tables, ignore_index=True) if probe_tables else None
    if out:
        save_binding(exact, probed, out, [fingerprint(model) for model in models])
    if as_json:
        tables = exact | ({} if probed is None else {"probe": probed})
        rows = {name: json.loads(table.to_json(orient="records")) for name, table in tables.items()}
        return print_json(rows)
    typer.echo(demonstration_table(**exact).markdown())
    if probed is not None:
        typer.echo(binding_table(probed).markdown())
    return None


def sheet(
    first: Annotated[Path, typer.Argument(help="An evaluation: a folder of `eval --out`.")],
    second: Annotated[Path, typer.Argument(help="Another evaluation, of the same documents.")],
    out: Annotated[
        Path,
        typer.Option(
            help="The sheet, FILE.csv. FILE.key.json, beside it, says which model wrote which summary."
        ),
    ],
    kind: Annotated[
        str, typer.Option(help="votes (which summary is better) or facts (unsupported facts).")
    ] = "votes",
    n: Annotated[int, typer.Option("-n", help="How many documents.")] = 120,
    seed: Seed = 0,
) -> None:
    """Write a blind sheet on which people compare two models' summaries (folders of `eval --out`)."""
    from tprpapers.jiang.summary_folders import make_sheet

    say(f"fill in: {make_sheet(first, second, out, kind, n, seed)}")


def features(
    images: Annotated[Path, typer.Argument(help="A folder of images.")],
    out: Annotated[
        Path,
        typer.Argument(
            help="The file to write, FILE.parquet, which captions:…,features=FILE reads."
        ),
    ],
    model: Annotated[
        str, typer.Option(help="The ResNet: a folder, or a name in the hub's cache.")
    ] = "microsoft/resnet-152",
    device: Device = "cpu",
    resume: Resume = False,
) -> None:
    """Compute image features for captioning models (needs the extra `images`)."""
    from tprpapers.huang.resnet import compute_features

    bad = compute_features(images, out, model, device, resume)
    say(f"written: {out}" + (f"; left out: {len(bad)} files" if bad else ""))


def paper(
    name: Annotated[str, typer.Argument(help="schlag, jiang, huang or all.")] = "all",
    ckpt: Annotated[
        list[str] | None,
        typer.Option(help="Checkpoints, the most important first; default: the shipped ones."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Its folder; default: runs/NAME.")] = None,
    resume: Resume = False,
) -> None:
    """Make every table and figure of a paper, with the verdicts on its claims, and a report.

    What each is made from, in minutes, is computed before it, into OUT/made.
    """
    from tprpapers.paper.judgements import count_verdicts, word_verdict
    from tprpapers.paper.making import make_papers

    page = make_papers(name, ckpt or [], out, resume, _track_parts)
    names: dict[str, list[str]] = {}
    for path in sorted(page.parent.glob("*.json")):
        if "verdict" in (item := read_json(path)):
            verdict = ", judged on ".join([word_verdict(item), *item.get("judged_on", ())])
            claims = f" ({count_verdicts([item])})" if item["claims"] else ""
            names.setdefault(verdict, []).append(f"{path.stem}{claims}")
    say("Tables and figures, by the least favorable verdict on the paper's claims about them:")
    for verdict, made in sorted(names.items()):
        say(f"  {verdict} ({len(made)}): {', '.join(made)}")
    say(f"open {page}")


def _track_parts(parts: Sequence[Any]) -> Iterator[Any]:
    """The commands or figures of a paper, behind a bar; where errors go to a file, a line for each."""
    from tprprobe.console import note, stderr, track

    for number, part in enumerate(track(parts, "making", len(parts)), 1):
        if not stderr.is_terminal:
            note(
                f"part {number} of {len(parts)}: {part[0] if isinstance(part, tuple) else part.line}"
            )
        yield part


def demo(
    out: Annotated[
        Path, typer.Option(help="The folder of the demo. An earlier demo in it is replaced.")
    ] = Path("runs/demo"),
) -> None:
    """Show the roles of a trained TP-Transformer on fresh questions: a report and its figures."""
    from tprpapers.demo import run_demo

    say(f"open {run_demo(out)}")
