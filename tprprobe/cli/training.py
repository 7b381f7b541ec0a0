"""Commands that train models, convert checkpoints and score them."""

from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tprprobe.cli import options as common
from tprprobe.cli.generated_options import options_of
from tprprobe.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from tprprobe.data.dataset import Dataset

N_WRONG, MAX_SHOWN = 10, 60  # wrong answers that are printed, and characters of each text


def models(as_json: common.Json = False) -> None:
    """List the presets that can be built and the checkpoints that ship, with parameter counts."""
    from tprprobe.models.listing import list_models

    models_by_kind = list_models()
    lines = []
    for kind, rows in models_by_kind.items():
        line = "  {name:26} {architecture:16} {parameters:>12,}"
        lines += [f"{kind}:", *(line.format(**row) for row in rows)]
    common.show(as_json, models_by_kind, lambda: "\n".join(lines))


def train(
    recipe: Annotated[
        Path | None, typer.Argument(help="A recipe or a study's plan (TOML); or give --data.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            help="Pairs to train on instead of a recipe, which is then made: a .tsv, .csv, .jsonl or .parquet file "
            "with the columns source and target, or a folder with train, dev and test."
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a key of the recipe: batch_size=64. May be repeated."),
    ] = None,
    seed: common.Seed = 0,
    out: common.Out = None,
    resume: common.Resume = False,
    device: common.Device = "cpu",
) -> None:
    """Train a model by a recipe or on pairs, or all runs of a study's plan; under torchrun, on all its processes."""
    from tprprobe import plugins
    from tprprobe.files.settings import read_toml
    from tprprobe.training.loop import train as run
    from tprprobe.training.recipes import read_recipe

    if (recipe is None) == (data is None):
        raise InputError("give a recipe (TOML), or --data with pairs of texts: one of the two")
    if recipe is None or data is not None:
        return _train_on_pairs(str(data), set_ or [], seed, out, resume, device)
    keys = plugins.find("recipes").keys() & read_toml(recipe).keys()
    if keys:
        train_plan = plugins.find("recipes")[min(keys)].load()
        folder = train_plan(recipe, set_ or (), out, resume, device)
    else:
        settings = read_recipe(recipe, set_ or ())
        folder = run(settings, out or Path("runs") / settings.name, resume, device)
    return common.say(f"trained: {folder}")


def _train_on_pairs(
    data: str, overrides: list[str], seed: int, out: Path | None, resume: bool, device: str
) -> None:
    """Trains by a recipe that is made for the data, scores the model on its test pairs, and names the next command."""
    from tprprobe.files.processes import Ranks
    from tprprobe.training.loop import train as run
    from tprprobe.training.pair_recipes import RECIPE, score_pairs, write_recipe
    from tprprobe.training.recipes import read_recipe

    ranks, out = Ranks.of(), out or Path("runs") / Path(data).name.split(".")[0]
    path = out / RECIPE
    if not (ranks.rank or (resume and path.exists())):
        common.check_folder(out, resume)
        common.say(write_recipe(data, path, seed, overrides))
    ranks.wait(path.exists)
    folder = run(read_recipe(path, overrides), out, resume, device)
    if ranks.rank:
        return
    common.say(f"trained: {folder}")
    common.say(score_pairs(folder, data, seed, device))
    common.say(f"next: tprprobe examine {folder} --data {quote(data)} --out {out / 'examined'}")


def convert(
    source: Annotated[Path, typer.Argument(help="The file or folder of the published checkpoint.")],
    out: Annotated[Path, typer.Argument(help="The checkpoint folder to write.")],
    config: Annotated[
        str | None,
        typer.Option(help='Options that the source lacks, as JSON or a JSON file: {"n_heads": 4}.'),
    ] = None,
    vocab: Annotated[
        Path | None,
        typer.Option(help="The source's vocabulary: vocab.pt, tokenizer.json or spiece.model."),
    ] = None,
) -> None:
    """Convert a published checkpoint into a checkpoint folder of tprprobe."""
    from tprprobe.models.checkpoint import READERS
    from tprprobe.models.convert import convert as run

    folder = run(source, out, config=config, vocab=vocab)
    has_vocabulary = any((folder / file).is_file() for file in READERS)
    note = "" if has_vocabulary else " (vocabulary: unknown; text needs --vocab, see --help)"
    common.say(f"converted: {folder}{note}")


@common.of_model
@options_of(
    "models.decoding.generation:generate",
    without=["early_stopping", "seed", "temperature"],
    panel="Summaries and captions",
    unset=True,
    beam="beams",
)
def evaluate(
    ckpt: common.Ckpt,
    data: common.Data = None,
    split: common.Split = None,
    n: common.Number = None,
    seed: common.Seed = 0,
    out: common.Out = None,
    device: common.Device = "cpu",
    as_json: common.Json = False,
    loading: common.Loading = None,
    **options: Any,
) -> None:
    """Score a model: exact match of answers, or scores of summaries and captions, with 95 % intervals."""
    from tprprobe.evaluation.results import save_answers
    from tprprobe.models.answers import add_control, is_scored, save_evaluation, summarize
    from tprprobe.models.answers import evaluate as run

    if out:
        common.check_folder(out, resume=True)
    model, examples = common.model_and_data(ckpt, data, split, n, seed, device, loading)
    rows = run(model, examples, **options)
    rows = rows if is_scored(rows) else add_control(rows, examples)
    summary = summarize(rows)
    if out:
        save_evaluation(rows, model, examples, out, options)
        save_answers(summary, (model.name, examples.name, examples.split), out)
    lines = [] if is_scored(rows) else _wrong_lines(rows)
    common.show(as_json, summary, lambda: "\n".join([*_score_lines(summary, examples), *lines]))
    if not is_scored(rows):
        common.say(f"next: tprprobe examine {ckpt} --data {quote(examples.name)}")


def _wrong_lines(rows: "pd.DataFrame") -> Iterator[str]:
    """The first wrong answers, with their questions and the right answers."""
    from tprprobe.store.token_texts import visible

    wrong = rows.loc[~rows["correct"].astype(bool), ["question", "prediction", "answer"]]
    if wrong.empty:
        return
    listed = f"the first {N_WRONG} of {len(wrong):,}" if len(wrong) > N_WRONG else f"{len(wrong)}"
    yield f"wrong answers ({listed}; all are in a folder, with --out):"
    for row in wrong.head(N_WRONG).itertuples(index=False):
        question, prediction, answer = (visible(text, MAX_SHOWN) for text in row)
        yield f"  {question} → {prediction}, expected {answer}"


def _score_lines(summary: dict[str, Any], examples: "Dataset") -> Iterator[str]:
    from tprprobe.data.dataset import ALL
    from tprprobe.statistics import Interval, interval_text, read_interval

    if "scores" in summary:
        for name, row in summary["scores"].items():
            if row["n"]:
                score = interval_text(read_interval(row), ".4f")
                note = "" if row["low"] is not None else " no interval"
                yield f"{name:16} {score}{note}  n {row['n']}"
        return
    total = "all" if summary["modules"] else "exact match"
    for name, row in {**summary["modules"], total: summary}.items():
        score = interval_text(Interval(row["exact_match"], *row["exact_match_interval"]))
        line = f"{name:44} {score}"
        if "control" in row:
            line += f"  control {interval_text(Interval(row['control'], *row['control_interval']))}"
        yield f"{line}  n {row['n']}"
    if "control" in summary:
        split = f"the training split of {examples.name}"
        part = ", whose pairs are among these" if examples.split == ALL else ""
        yield f"control: always the most frequent target of {split}{part}"
