"""Commands that train probes on labels and predict by them."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tprprobe.cli.options import (
    Data,
    Device,
    Json,
    Number,
    Out,
    Resume,
    Seed,
    Split,
    model_and_data,
    print_json,
)
from tprprobe.errors import InputError

if TYPE_CHECKING:
    from tprprobe.store import Store

BILINEAR = "bilinear"
PROBED, PROBED_N = "tpt-d-english", 300  # what `probe` reads without a store


def probe(
    task: Annotated[
        str, typer.Argument(help="A task: a folder of probes/ (pos dep srl nel …), or all.")
    ],
    store: Annotated[Path | None, typer.Argument(help="A store with labels.")] = None,
    ckpt: Annotated[
        str | None, typer.Option(help="A checkpoint to extract from, in place of a store.")
    ] = None,
    data: Data = None,
    split: Split = None,
    n: Number = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--probe",
            help="linear (logistic regression, cross-fitted; the default), span-conv (Tenney et al. "
            "2019; the default with --seeds, --schedule or --loss sigmoid), or bilinear (Lee et al. 2026: which "
            "label stands at which place of a sample, read from one state; TASK may be a column too).",
        ),
    ] = None,
    rank: Annotated[
        str | None,
        typer.Option(help="Of bilinear probes: auto, or places x labels such as 8x4."),
    ] = None,
    refine: Annotated[
        bool,
        typer.Option(
            "--refine",
            help="Then train span-conv probes of the sites that linear ones find beyond their controls.",
        ),
    ] = False,
    most: Annotated[
        int | None,
        typer.Option(
            help="Targets that a probe learns from, 0 for all; default: 2048 of linear, all of span-conv."
        ),
    ] = None,
    sites: Annotated[
        list[str] | None,
        typer.Option(help="Sites to probe, as patterns; default: role, filler, tpr and hidden."),
    ] = None,
    heads: Annotated[bool, typer.Option("--heads", help="Train one probe per head.")] = False,
    seeds: Annotated[int, typer.Option(help="How many seeds to train each probe with.")] = 1,
    control: Annotated[
        list[str] | None,
        typer.Option(
            help="Controls: control, prefix, shuffled, untrained, previous, dictionary; default: all."
        ),
    ] = None,
    span_mode: Annotated[
        str | None,
        typer.Option(help="States read for a span: first_state, all_states or last_state."),
    ] = None,
    kernel: Annotated[int, typer.Option(help="Width of the span convolution.")] = 1,
    causal: Annotated[
        bool | None,
        typer.Option(
            "--causal/--no-causal",
            help="Whether the kernel only looks back; default: yes in a decoder.",
            show_default=False,
        ),
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(help="sigmoid (default of span-conv) or softmax (linear has no other)."),
    ] = None,
    schedule: Annotated[
        str, typer.Option(help="Training schedule: short, or tenney (Tenney et al. 2019).")
    ] = "short",
    information: Annotated[
        bool | None,
        typer.Option(
            "--information/--no-information",
            help="Codelengths and usable information; default: yes of span-conv.",
            show_default=False,
        ),
    ] = None,
    budget: Annotated[float, typer.Option(help="GB of memory for probes and vectors.")] = 2.0,
    test: Annotated[
        Path | None, typer.Option(help="Another store, whose labels the probes are tested on.")
    ] = None,
    seed: Seed = 0,
    device: Device = "cpu",
    out: Out = None,
    resume: Resume = False,
    as_json: Json = False,
) -> None:
    """Train probes on the vectors of every site of a labelled store, beside their controls."""
    import pandas as pd

    from tprprobe.analyses.probing import probe as run
    from tprprobe.analyses.probing.probed_sites import needed_sites
    from tprprobe.analyses.probing.screens import NOTE, screen, worth_refining
    from tprprobe.analyses.probing.settings import SITES
    from tprprobe.store import open_store

    asked = {"--ckpt": ckpt, "--data": data, "--split": split, "-n": n}
    if store is not None:
        if given := [name for name, value in asked.items() if value is not None]:
            raise InputError(
                f"{', '.join(given)}: of a checkpoint, not of a store; leave out either"
            )
        opened = open_store(store)
    else:
        from tprprobe.extraction import extract as run_extract
        from tprprobe.site.hooks import find_sites

        n = n or (PROBED_N if data is None else None)
        model, examples = model_and_data(ckpt or PROBED, data, split, n, seed, device)
        out = out or Path("runs") / f"probe-{model.name}".replace(":", "-")
        needed = needed_sites(sites or SITES, list(find_sites(model)))
        opened = run_extract(model, examples, needed, out / "store", 0, resume=resume)
    if kind == BILINEAR:
        strange = {"--refine": refine, "--heads": heads, "--seeds": seeds != 1, "--test": test}
        strange |= {"--loss": loss, "--schedule": schedule != "short", "--kernel": kernel != 1}
        strange |= {"--information": information, "--most": most, "--causal": causal}
        if given := [name for name, value in strange.items() if value]:
            raise InputError(f"{', '.join(given)}: not of bilinear probes; leave it out")
        return _probe_places(
            opened, task, sites, rank, span_mode, control, seed, out, resume, as_json
        )
    if rank is not None:
        raise InputError("--rank: only of --probe bilinear")
    if refine and kind == "span-conv":
        raise InputError("--refine goes on from linear probes: leave out --probe span-conv")
    settings: dict[str, Any] = {
        "test": None if test is None else open_store(test),
        "resume": resume,
        "device": device,
        "heads": heads,
        "controls": control,
        "span_mode": span_mode,
        "kernel": kernel,
        "causal": causal,
        "information": information,
        "most": most,
        "budget": int(budget * 2**30),
        "seed": seed,
    }
    deep = {"seeds": seeds, "loss": loss, "schedule": schedule}
    if not refine:
        rows = run(opened, task, out=out, sites=sites, probe=kind, **settings, **deep)
    else:
        rows = run(opened, task, out=out, sites=sites, probe="linear", **settings)
        if worth := worth_refining(rows):
            further = None if out is None else out / "span-conv"
            settings |= {"sites": worth, "out": further, "probe": "span-conv"}
            rows = pd.concat([rows, run(opened, task, **settings, **deep)], ignore_index=True)
    if as_json:
        return print_json(json.loads(rows.to_json(orient="records")))
    typer.echo(f"{NOTE}\n{screen(rows).to_string(index=False)}")
    return None


def _probe_places(
    store: "Store",
    task: str,
    sites: list[str] | None,
    rank: str | None,
    span_mode: str | None,
    controls: list[str] | None,
    seed: int,
    out: Path | None,
    resume: bool,
    as_json: bool,
) -> None:
    from tprprobe.analyses.probing.place_probes import probe_places
    from tprprobe.console import track

    rows = probe_places(
        store,
        task,
        sites,
        rank or "auto",
        span_mode or "last_state",
        controls,
        seed,
        out,
        resume,
        progress=lambda parts: track(parts, "probing", len(parts)),
    )
    if as_json:
        return print_json(json.loads(rows.to_json(orient="records")))
    shown = ["site", "probe", "control", "rank", "accuracy", "accuracy_low", "accuracy_high"]
    shown += [name for name in ("beyond_linear", "beyond_svd", "beyond_control") if name in rows]
    typer.echo(rows[shown].round(3).to_string(index=False, na_rep="–"))
    return None


def predict(
    what: Annotated[
        str,
        typer.Argument(
            help="A text, with --ckpt; or a kept probe: a folder of OUT/probes of `tprprobe probe --out OUT`."
        ),
    ],
    store: Annotated[
        Path | None,
        typer.Argument(help="With a probe: a store of the same model, with labels or without."),
    ] = None,
    ckpt: Annotated[
        str | None, typer.Option(help="The model that reads the text: a name, a folder or hf:PATH.")
    ] = None,
    k: Annotated[int, typer.Option("-k", help="How many next words of a text.")] = 10,
    device: Device = "cpu",
    out: Annotated[
        Path | None, typer.Option(help="The table to write: a .csv or .parquet file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Predict the next words of a typed text by a model, or labels of a store's words by a trained probe."""
    from tprprobe.files.runs import write_table

    if out is not None and out.suffix not in (".csv", ".parquet"):
        raise InputError(f"--out {out}: give a file that ends in .csv or .parquet")
    if (store is None) == (ckpt is None):
        raise InputError(
            "give a text with --ckpt MODEL (what comes next), or a probe and a store (labels of words)"
        )
    if ckpt is not None:
        from tprprobe.models import load_model
        from tprprobe.models.next_words import next_words
        from tprprobe.models.protocol import require_head

        model = require_head(load_model(ckpt, device=device), "a prediction of words")
        found = next_words(model, what, k)
    else:
        from tprprobe.analyses.probing import load_probe
        from tprprobe.store import open_store

        found = load_probe(Path(what)).predict(open_store(Path(str(store))))
    if out is not None:
        write_table(out, found)
    if as_json:
        return print_json(json.loads(found.to_json(orient="records")))
    if out is None:
        typer.echo(found.to_string(index=False))
    return None
