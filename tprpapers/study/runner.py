"""Running a study: each run is trained by whichever process takes it first.

The same command may be started several times, on as many cores or machines as share the folder: a
run that another process holds is passed over, and one that was cut off goes on where it was.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import torch
from torch.utils.flop_counter import FlopCounterMode

from tprpapers.scoring import score_summaries
from tprpapers.scoring.predictions import write_summaries
from tprpapers.study.plans import Plan, read_plan
from tprpapers.study.records import ANSWERS, EXACT, PLAN, collect_study, read_records
from tprpapers.study.shared_data import has_one_answer, pools, tested
from tprprobe.data import load_data
from tprprobe.data.pairs import Pairs, encode_texts
from tprprobe.errors import InputError
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.runs import KeptRun
from tprprobe.files.writing import held, write_file
from tprprobe.models.answers import exact_matches
from tprprobe.models.checkpoint import read_checkpoint
from tprprobe.models.protocol import Model, require_vocabulary
from tprprobe.training.loop import MODEL, train
from tprprobe.training.recipes import Recipe

LOCK, COPIED = "lock", "plan.toml"
N_FLOP_EXAMPLES = 64  # examples whose forward and backward pass is counted


def run_study(
    plan: Plan, out: str | os.PathLike[str], resume: bool = False, device: str = "cpu"
) -> Path:
    """The folder of the study: a folder per run, and the tables of those that have finished.

    What other processes hold is not waited for. The folder may be a copy of a plan and its tables:
    runs that stand in them are not trained again. A study that goes on may have more seeds and
    variants than it had.

    Raises:
        InputError: the folder holds another study, or this one and ``resume`` is not asked for.
    """
    out = Path(out)
    with held(out / LOCK):
        _open(plan, out, resume)
    workers = os.cpu_count() or 1
    examples = tested(plan, out, workers)
    has_grammar = not has_one_answer(examples) and load_data(plan.test[0].data).has_grammar
    load = pools(out / "data", plan.longest)
    recorded = set(read_records(out)[0]["run"])
    missing = {name: recipe for name, recipe in plan.runs().items() if name not in recorded}
    for name, recipe in missing.items():
        folder = out / "runs" / name
        with held(folder / "lock", wait=False) as is_locked:
            if is_locked and not (folder / ANSWERS).exists():
                if not (folder / MODEL).exists():
                    train(recipe, folder, resume=True, device=device, load_pool=load)
                _answer(recipe, folder, examples, has_grammar)
    with held(out / LOCK):
        return collect_study(out)


def _open(plan: Plan, out: Path, resume: bool) -> None:
    copied = out / COPIED
    if copied.is_file() and not (out / PLAN).is_file():
        if not resume:
            raise InputError(
                f"{out} holds a study: --resume goes on with it, or give another --out"
            )
        write_file(out / PLAN, read_plan(copied).model_dump_json(indent=1))
    settings = plan.model_dump(mode="json")
    if (out / PLAN).is_file() and plan.trains_alike(
        recorded_recipe := read_json(out / PLAN).get("recipe")
    ):
        settings["recipe"] = recorded_recipe
    KeptRun.open(out, settings, resume, PLAN, PLAN, {LOCK}, growing=("seeds", "variants"))


def _answer(recipe: Recipe, folder: Path, examples: pd.DataFrame, has_grammar: bool) -> None:
    """Writes the scores of a run on every tested example, its size, and the arithmetic of a step."""
    model = read_checkpoint(folder / MODEL).eval()
    vocabulary = require_vocabulary(model)
    sources, targets = list(examples["source"]), list(examples["target"])
    pairs = encode_texts(sources, targets, vocabulary)
    if has_one_answer(examples):
        scores = pd.DataFrame({EXACT: exact_matches(model, pairs)[0]})
    else:
        summaries = write_summaries(model, sources, targets, vocabulary)
        scores = score_summaries(examples.assign(prediction=summaries), has_grammar)
    answers = {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "gigaflops": _count_flops(model, pairs) / 1e9,
        "steps": recipe.steps,
        "scores": {str(name): _values(scores[name]) for name in scores},
    }
    write_file(folder / ANSWERS, json.dumps(answers, indent=1))


def _values(scores: pd.Series) -> Sequence[float | None]:
    """The values of a score as JSON has them: 0 or 1 of what is true or false, None of what lacks it."""
    if scores.dtype == bool:
        return scores.astype(int).tolist()
    return [None if pd.isna(value) else round(value, 4) for value in scores]


def _count_flops(model: Model, pairs: Pairs) -> float:
    """The floating point operations of a forward and backward pass on the first examples."""
    indices = torch.arange(min(N_FLOP_EXAMPLES, len(pairs)))
    source, target = pairs.batch(indices, model.config.pad)
    with FlopCounterMode(display=False) as counter:
        model(source, target[:, :-1]).sum().backward()
    return float(counter.get_total_flops())


def run_plan(
    path: str | os.PathLike[str],
    overrides: Sequence[str],
    out: str | os.PathLike[str] | None,
    resume: bool,
    device: str,
) -> Path:
    """The folder of the study of a plan's file."""
    plan = read_plan(path, overrides)
    return run_study(plan, out or Path("runs") / plan.name, resume, device)
