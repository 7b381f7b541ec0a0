"""Commands that read vectors out of models and describe models and stores."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

import typer

from tprprobe.cli import options as common
from tprprobe.cli.generated_options import options_of
from tprprobe.errors import InputError

HF = "hf:"  # before the name of a model of transformers


@common.of_model
@options_of(
    "extraction.blocks:extract",
    without=["out", "target", "control", "vocabulary", "labellers"],
    twins="twin",
)
def extract(
    ckpt: common.Ckpt,
    data: common.Data = None,
    split: common.Split = None,
    n: common.Number = None,
    spaced: common.Spaced = False,
    seed: common.Seed = 0,
    source: Annotated[
        Literal["same", "document", "empty"] | None,
        typer.Option(help="The encoder's input for an annotated file."),
    ] = None,
    target: Annotated[
        Literal["reference", "generated"],
        typer.Option(help="The decoder's input: the reference, or what the model writes."),
    ] = "reference",
    labels: Annotated[
        list[str] | None,
        typer.Option(
            help="Labels of words: TASK=FILE for an annotated file; pos,dep,nel=spacy:PIPELINE and srl=rules for any text."
        ),
    ] = None,
    no_control: Annotated[bool, typer.Option("--no-control", help="As --twin none.")] = False,
    out: common.Out = None,
    device: common.Device = "cpu",
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Print what the extraction will take (sites, bytes, passes, time, memory), by shapes and a trial on 128 samples.",
        ),
    ] = False,
    scheduler: common.Scheduler = None,
    as_json: common.Json = False,
    loading: common.Loading = None,
    **options: Any,
) -> None:
    """Write the vectors of a model's sites on a dataset into a store; under torchrun or srun, on all their processes."""
    from tprprobe.extraction import extract as run
    from tprprobe.extraction.pooling import Pooling
    from tprprobe.files.processes import Ranks
    from tprprobe.gold.labels import list_tasks
    from tprprobe.site.patterns import check_possible
    from tprprobe.store.dask_workers import scheduled
    from tprprobe.store.manifests import read_begun

    ranks, out = Ranks.of(), out or common.default_folder("", ckpt)
    if not (ranks.rank or dry_run):
        common.check_folder(out, resume=True)
        read_begun(out, bool(options.get("resume")))
    Pooling(options.get("pool"), options.get("words"))
    if HF in ckpt:
        check_possible(options.get("sites") or ())
    model, examples, labellers = common.model_and_data(
        ckpt, data, split, n, seed, ranks.place(device), loading, spaced, labels, source
    )
    if options.get("twins") == ["none"]:
        no_control = bool(options.pop("twins"))
    options |= {"target": target, "control": not no_control, "labellers": labellers}
    if dry_run:
        from tprprobe.extraction.forecasts import forecast

        options.pop("resume", None)
        expected = forecast(model, examples, **options)
        return common.show(as_json, expected.as_dict(), expected.as_text)
    with scheduled(scheduler):
        store = run(model, examples, out=out, **options)
    if not ranks.rank:
        documents = store.tokens["document"].nunique() if "document" in store.tokens else 0
        counts = f", documents {documents}" * bool(documents)
        common.say(f"samples {store.samples}, sites {len(store.sites)}{counts}: {out}")
        tasks = list_tasks(name.partition(".")[2] for name in store.facts.counts)
        command = f"probe {tasks[0]}" if tasks else ""
        values = [name for name in store.sites if name.endswith(".self.value")]
        if any(not name.startswith("decoder.") for name in values):
            command = "reconstruct"  # what these sites are for
        following = f"tprprobe {command} {out}, or " if command else ""
        common.say(f"next: {following}tprprobe app {out}")
        common.say_first(store, n, spaced)
    return None


def inspect(
    what: Annotated[str, typer.Argument(help="A store, a checkpoint, or the name of data.")],
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Read every file of a store, or a run's tables and weights, and list what is damaged.",
        ),
    ] = False,
    as_json: common.Json = False,
) -> None:
    """Describe a store, a corpus or a checkpoint; check a checkpoint against its paper's equations."""
    if verify:
        return _verify(what, as_json)
    from tprprobe.cli.overview import inspect as run

    overview = run(what)
    return common.show(as_json, overview.as_dict(), overview.as_text)


def _verify(name: str, as_json: bool) -> None:
    from tprprobe.files.hub import locate_dataset
    from tprprobe.files.kinds import finished_in, verify_run
    from tprprobe.store.kinds import STORE
    from tprprobe.store.verification import verify

    if name.startswith(HF):
        raise InputError(f"the hub's client checks its cache: hf cache verify {name[len(HF) :]}")
    folder = locate_dataset(name)
    if finished_in(folder) and not STORE.is_in(folder):
        run = verify_run(folder)
        listed = ", ".join(f"{place} ({kind})" for place, kind in run["kinds"].items())
        text = f"{name}: {listed} can be read, {run['files']} tables are undamaged"
        return common.show(as_json, run, lambda: text)
    result = verify(folder)
    if as_json:
        facts = {"store": str(folder), "checksums": not result.unchecked}
        common.print_json(asdict(result) | facts)
    if result.damage:
        raise InputError(str(result))
    return None if as_json else typer.echo(str(result))
