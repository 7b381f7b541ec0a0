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
    from tprprobe.training.recipes import Recipe

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
    from tprprobe.files.processes import Ranks
    from tprprobe.files.settings import read_toml
    from tprprobe.training.loop import train as run
    from tprprobe.training.recipes import read_recipe

    if (recipe is None) == (data is None):
        raise InputError("give a recipe (TOML), or --data with pairs of texts: one of the two")
    overrides = set_ or []
    if data is not None:
        out = out or Path("runs") / Path(data).name.split(".")[0]
        recipe = _write_recipe(data, overrides, seed, out, resume)
    assert recipe is not None
    plans = plugins.find("recipes")
    if keys := plans.keys() & read_toml(recipe).keys():
        return common.say(
            f"trained: {plans[min(keys)].load()(recipe, overrides, out, resume, device)}"
        )
    settings = read_recipe(recipe, overrides)
    folder = run(settings, out or Path("runs") / settings.name, resume, device)
    return None if Ranks.of().rank else _report(folder, settings, device)


def _write_recipe(data: str, overrides: list[str], seed: int, out: Path, resume: bool) -> Path:
    """The recipe that is made for pairs, by the first of several processes."""
    from tprprobe.files.processes import Ranks
    from tprprobe.training.pair_recipes import RECIPE, write_recipe

    ranks, path = Ranks.of(), out / RECIPE
    if not (ranks.rank or (resume and path.exists())):
        common.check_folder(out, resume)
        common.say(write_recipe(data, path, seed, overrides))
    ranks.wait(path.exists)
    return path


def _report(folder: Path, recipe: "Recipe", device: str) -> None:
    """Says where a trained model lies, its score on test pairs beside the control where it has such, and the next command."""
    from tprprobe.training.pair_recipes import score_pairs

    common.say(f"trained: {folder}")
    data = recipe.stages[0].mix[0].data
    if score := score_pairs(folder, device):
        common.say(score)
        common.say(
            f"next: tprprobe examine {folder} --data {quote(data)} --out {folder.parent / 'examined'}"
        )
    elif recipe.evaluate:
        data, split = recipe.evaluate[0].data, recipe.evaluate[0].split
        common.say(
            f"next: tprprobe eval --ckpt {folder} --data {quote(data)}{f' --split {split}' if split else ''}"
        )


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
    model, examples, _ = common.model_and_data(ckpt, data, split, n, seed, device, loading)
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
