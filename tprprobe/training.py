"""Training by recipe: one loop for one core, one GPU or many processes under torchrun.

An interrupted run that is resumed equals an uninterrupted one: batches and learning rates are
functions of the step, and everything else is in ``state.pt``.
"""

import math
import os
import time
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from tprprobe.console import stderr
from tprprobe.errors import InputError
from tprprobe.evaluation import exact_matches
from tprprobe.logs import Log
from tprprobe.models import build
from tprprobe.models.checkpoint import save_pretrained
from tprprobe.pools import Pool, load_pairs
from tprprobe.recipes import Recipe, Stage
from tprprobe.vocabulary import characters
from tprprobe.workers import Worker

STATE, MODEL = "state.pt", "model"
REPORT_EVERY = 50  # steps between two figures of the training loss


def learning_rate(stage: Stage, step: int) -> float:
    """The rate at a step of a stage: linear warm-up, then constant or a cosine down to a tenth."""
    rate = stage.learning_rate * min(1.0, (step + 1) / (stage.warmup + 1))
    if stage.decay == "constant":
        return rate
    progress = max(0.0, (step - stage.warmup) / max(1, stage.steps - stage.warmup))
    return rate * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * progress)))


def place_of(recipe: Recipe, step: int) -> tuple[int, int]:
    """The stage of a step and the step's number within it."""
    for number, stage in enumerate(recipe.stages):
        if step < stage.steps:
            return number, step
        step -= stage.steps
    raise ValueError(f"the recipe has {recipe.steps} steps")


class Run:
    """One training run: the model, its optimizer, and how far it is."""

    def __init__(self, recipe: Recipe, worker: Worker):
        self.recipe, self.worker, self.step, self.seconds = recipe, worker, 0, 0.0
        self.vocabulary = characters()
        self.model: Any = build(recipe.model, seed=recipe.seed).to(worker.device)
        self.model.vocabulary = self.vocabulary
        self.parallel = DistributedDataParallel(self.model) if worker.world > 1 else self.model
        settings = recipe.optimizer
        kind = torch.optim.AdamW if settings.name == "adamw" else torch.optim.Adam
        self.optimizer = kind(
            self.model.parameters(),
            betas=settings.betas,
            eps=settings.eps,
            weight_decay=settings.weight_decay,
            fused=True,
        )
        torch.manual_seed(recipe.seed + worker.rank)

    def update(self, pool: Pool, indices: Tensor, rate: float) -> tuple[Tensor, Tensor]:
        """One optimizer step: the summed loss and the number of symbols of this process's share."""
        pad, worker = self.model.config.pad, self.worker
        mine = indices[worker.rank :: worker.world]
        source, target = pool.pairs.batch(mine, pad)
        count = worker.total((target[:, 1:] != pad).sum())
        bf16 = self.recipe.precision == "bf16"
        with torch.autocast(worker.device.type, torch.bfloat16, enabled=bf16):
            logits = self.parallel(source, target[:, :-1])
        loss = F.cross_entropy(
            logits.float().flatten(0, 1), target[:, 1:].flatten(), ignore_index=pad, reduction="sum"
        )
        (loss * (worker.world / count)).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.optimizer.clip)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach(), count

    def save(self, path: Path) -> None:
        """Everything a resumed run needs, written beside the file and renamed."""
        state = {
            "recipe": self.recipe.model_dump_json(),
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "seconds": self.seconds,
            "generator": torch.get_rng_state(),
        }
        partial = path.with_suffix(".partial")
        torch.save(state, partial)
        partial.rename(path)

    def load(self, path: Path) -> None:
        """Continue where :meth:`save` was.

        Raises:
            InputError: another recipe was trained there.
        """
        state = torch.load(path, map_location=self.worker.device, weights_only=True)
        if state["recipe"] != self.recipe.model_dump_json():
            raise InputError(
                f"{path} is of another recipe: resume with the same one, or give another --out"
            )
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.seconds = state["step"], state["seconds"]
        torch.set_rng_state(state["generator"].cpu())


def train(
    recipe: Recipe, out: str | os.PathLike[str], resume: bool = False, device: str = "cpu"
) -> Path:
    """The folder of the trained checkpoint, ``OUT/model``; beside it the log and the state.

    Raises:
        InputError: OUT holds a run and ``resume`` is not asked for, or a run of another recipe.
    """
    out, worker = Path(out), Worker.join(device)
    if (out / MODEL).exists():
        raise InputError(f"{out / MODEL} is a finished run: give another --out")
    if (out / STATE).exists() and not resume:
        raise InputError(
            f"{out} holds an unfinished run: continue it with --resume or give another --out"
        )
    run = Run(recipe, worker)
    if (out / STATE).exists():
        run.load(out / STATE)
    if worker.rank == 0:
        out.mkdir(parents=True, exist_ok=True)
        _loop(run, out, Log(out, run.step))
    else:
        _loop(run, out, None)
    worker.leave()
    return out / MODEL


def _loop(run: Run, out: Path, log: Log | None) -> None:
    recipe, vocabulary = run.recipe, run.vocabulary
    watched = [(mix, load_pairs(mix, vocabulary)) for mix in recipe.evaluate] if log else []
    pools: dict[int, Any] = {}
    losses: list[tuple[Tensor, Tensor]] = []
    with _progress(log is not None) as progress:
        bar = progress.add_task(recipe.name, total=recipe.steps, completed=run.step, speed="")
        began, seconds = time.perf_counter(), run.seconds
        while run.step < recipe.steps:
            number, step = place_of(recipe, run.step)
            if number not in pools:
                pool = Pool.load(recipe.stages[number].mix, vocabulary, run.worker.device)
                pools = {number: (pool, pool.batches(recipe.batch_size, recipe.seed, step))}
            pool, batches = pools[number]
            losses.append(
                run.update(pool, next(batches), learning_rate(recipe.stages[number], step))
            )
            run.step += 1
            run.seconds = seconds + time.perf_counter() - began
            if log is None:
                losses.clear()
                continue
            at = {
                "step": run.step,
                "seconds": round(run.seconds, 1),
                "examples": run.step * recipe.batch_size,
            }
            if run.step % REPORT_EVERY == 0 or run.step == recipe.steps:
                total, count = (
                    torch.stack(list(part)).sum().item() for part in zip(*losses, strict=True)
                )
                losses.clear()
                log.add("loss", round(total / count, 5), **at)
                speed = f"loss {total / count:.3f} · {at['examples'] / run.seconds:,.0f} examples/s"
                progress.update(bar, completed=run.step, speed=speed)
            if run.step % recipe.evaluate_every == 0 or run.step == recipe.steps:
                for mix, pairs in watched:
                    correct, _ = exact_matches(run.model.eval(), pairs.to(run.worker.device))
                    log.add("exact_match", float(correct.mean()), mix.data, mix.split or "", **at)
                run.model.train()
            if run.step % recipe.save_every == 0 or run.step == recipe.steps:
                run.save(out / STATE)
    if log:
        log.close()
        save_pretrained(run.model, out / MODEL, recipe=recipe.model_dump(exclude_none=True))


def _progress(shown: bool) -> Progress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TextColumn("{task.fields[speed]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=stderr, disable=not shown)
