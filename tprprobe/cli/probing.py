"""Commands that train probes on labels and predict by them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tprprobe.analyses.probing.settings import SITES
from tprprobe.cli import options as common
from tprprobe.cli.generated_options import options_of
from tprprobe.errors import InputError

PROBED_N = 300  # examples of a model's own data that are read
PROBES, MODEL = "Probes", "Without a store"


@common.of_model
@options_of(
    "analyses.probing.settings:ProbeSettings",
    without=["budget", "estimator"],
    panel=PROBES,
    group="estimators",
    controls="control",
)
def probe(
    task: Annotated[
        str,
        typer.Argument(
            help="Any labels of the store (pos dep …), several (pos,dep), or all that ship."
        ),
    ],
    store: Annotated[Path | None, typer.Argument(help="A store with labels.")] = None,
    ckpt: Annotated[
        str | None,
        typer.Option(help="A model to extract from.", rich_help_panel=MODEL),
    ] = None,
    data: common.Data = None,
    split: common.Split = None,
    n: common.Number = None,
    spaced: common.Spaced = False,
    estimator: Annotated[
        str | None,
        typer.Option(
            "--probe",
            help="The kind of the probes: linear, span-conv, or that of a plug-in. Default: linear, or span-conv "
            "where seeds, a schedule or the loss sigmoid are set.",
            rich_help_panel=PROBES,
        ),
    ] = None,
    budget: Annotated[
        float, typer.Option(help="GB of memory for probes and vectors.", rich_help_panel=PROBES)
    ] = 2.0,
    test: Annotated[Path | None, typer.Option(help="Another store to test the probes on.")] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option(
            help="TASK=FILE: labels of the texts; they are added to STORE, where others see them."
        ),
    ] = None,
    device: common.Device = "cpu",
    scheduler: common.Scheduler = None,
    out: common.Out = None,
    resume: common.Resume = False,
    as_json: common.Json = False,
    loading: common.Loading = None,
    **settings: Any,
) -> None:
    """Train probes on the vectors of every site of a labeled store, and compare them with controls."""
    from tprprobe.analyses.probing import probe as run
    from tprprobe.analyses.probing.features import needed_sites
    from tprprobe.analyses.probing.file_labels import add_file_labels
    from tprprobe.analyses.probing.rows import print_rows
    from tprprobe.extraction import extract
    from tprprobe.site.hooks import find_sites
    from tprprobe.store import open_store
    from tprprobe.store.dask_workers import scheduled

    if store is None:
        if ckpt is None:
            raise InputError("give a STORE, or --ckpt MODEL with --data")
        n = n or (PROBED_N if data is None else None)
        seed, out = settings.get("seed", 0), out or common.default_folder("probe", ckpt)
        common.check_folder(out, resume)
        model, examples, labellers = common.model_and_data(
            ckpt, data, split, n, seed, device, loading, spaced, labels, task=task
        )
        sites = needed_sites(settings.get("sites", SITES), list(find_sites(model)))
        opened = extract(
            model, examples, sites, out / "store", 0, resume=resume, labellers=labellers
        )
        common.say_first(opened, n, spaced)
    else:
        of_model = {"--ckpt": ckpt, "--data": data, "--split": split, "-n": n, "--spaced": spaced}
        if names := ", ".join(name for name, value in of_model.items() if value):
            raise InputError(f"{names}: of a checkpoint, not of a store; leave out either")
        opened = open_store(store)
        for own_task, file in common.split_labels(labels).items():
            opened = add_file_labels(opened, own_task, file)
    settings |= {"budget": int(budget * 2**30), "device": device, "resume": resume, "test": test}
    with scheduled(scheduler):
        tasks = task.split(",") if "," in task else task
        rows = run(opened, tasks, estimator=estimator, out=out, **settings)
    common.show(as_json, rows, lambda: print_rows(rows))
    if out is not None:
        common.say(f"next: tprprobe figure probes --ckpt {out} --out probes.pdf")


@common.of_model
def predict(
    what: Annotated[str, typer.Argument(help="A text, with --ckpt; or a folder of OUT/probes.")],
    store: Annotated[
        Path | None, typer.Argument(help="With a probe: a store of the same model, labeled or not.")
    ] = None,
    ckpt: Annotated[
        str | None, typer.Option(help="The model that reads the text: a name, a folder or hf:PATH.")
    ] = None,
    k: Annotated[int, typer.Option("-k", help="The number of next words to print.")] = 10,
    device: common.Device = "cpu",
    out: Annotated[Path | None, typer.Option(help="A .csv or .parquet file to write.")] = None,
    as_json: common.Json = False,
    loading: common.Loading = None,
) -> None:
    """Predict the next words of a text with a model, or the labels of a store's words with a trained probe."""
    from tprprobe.files.runs import write_table
    from tprprobe.store.token_texts import visible

    if out is not None and out.suffix not in (".csv", ".parquet"):
        raise InputError(f"--out {out}: give a file that ends in .csv or .parquet")
    if (store is None) == (ckpt is None):
        raise InputError("give a text with --ckpt MODEL, or a probe and a store (labels of words)")
    if ckpt is not None:
        from tprprobe.models import load_model
        from tprprobe.models.answers import next_words
        from tprprobe.models.protocol import require_head

        model = require_head(load_model(ckpt, device=device, **loading or {}), "a prediction")
        predictions = next_words(model, what, k)
    else:
        from tprprobe.analyses.probing import load_probe
        from tprprobe.store import open_store

        probe = load_probe(Path(what))
        predictions = probe.predict(opened := open_store(Path(str(store))))
        if probe.task.cells not in opened.tokens:
            labels = f"one of its {len(probe.labels)} labels: it has none for words without a label"
            common.say(f"the probe gives every word {labels}")
        if n := predictions["learned"].sum():
            common.say(
                f"{n:,} of {len(predictions):,} targets are in texts that the probe learned from: "
                "measure it on the others (column learned)"
            )
    if out is not None:
        write_table(out, predictions)
    if as_json or out is None:
        printed = predictions.map(
            lambda cell: visible(cell, len(cell)) if isinstance(cell, str) else cell
        )
        common.show(as_json, predictions, lambda: printed.to_string(index=False))
