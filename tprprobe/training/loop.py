"""Training by recipe: one loop for one core, one GPU or many processes under torchrun.

An interrupted run that is resumed equals an uninterrupted one: batches, learning rates and dropout
are functions of the step, and everything else is in ``state.pt``.
"""

import dataclasses
import math
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from tprprobe import plugins
from tprprobe.console import note, progress, stderr
from tprprobe.data.pairs import Pairs
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.errors import InputError
from tprprobe.files.file_errors import as_input_error
from tprprobe.files.hub import STATE
from tprprobe.files.writing import alone, whole
from tprprobe.models import build
from tprprobe.models.answers import CAPTIONS, exact_matches, find_scores
from tprprobe.models.architectures import expand, find_architecture
from tprprobe.models.checkpoint import check_vocabulary, save_pretrained
from tprprobe.models.protocol import CaptionModel, Model
from tprprobe.statistics import interval_text, wilson
from tprprobe.training.early_stopping import Score, has_stalled, is_best
from tprprobe.training.logs import Log
from tprprobe.training.losses import summed_loss
from tprprobe.training.pools import Pool, load_pairs, make_codec
from tprprobe.training.recipes import Mix, Optimizer, Recipe, Stage
from tprprobe.training.workers import Worker

MODEL, STEPS, BEST = "model", "steps", "best.pt"
CONSTANT_STEPS, OFFSET = 30_000, 20_000  # of jiang's schedule
PROGRESS = ("step", "seconds", "tokens", "window", "scores")  # what of a run its state keeps
LoadPool = Callable[[list[Mix], Codec, torch.device], Pool]
REPORT_EVERY = 50  # steps between two figures of the loss; what else is done waits for one


def learning_rate(stage: Stage, step: int) -> float:
    """The rate at a step of a stage: linear warm-up, then constant or a cosine down to a tenth; or jiang's schedule."""
    if stage.decay == "adafactor":
        return stage.learning_rate * relative_step(step + 1)
    rate = stage.learning_rate * min(1.0, (step + 1) / (stage.warmup + 1))
    if stage.decay == "constant":
        return rate
    progress = max(0.0, (step - stage.warmup) / max(1, stage.steps - stage.warmup))
    return rate * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * progress)))


def relative_step(step: int) -> float:
    """jiang's schedule for steps from 1 (github.com/jiangycTarheel/TPT-Summ): 0.01 up to 30,000, then 1 / √(step − 20,000)."""
    return 1e-2 if step <= CONSTANT_STEPS else (step - OFFSET) ** -0.5


def place_of(recipe: Recipe, step: int) -> tuple[int, int]:
    for number, stage in enumerate(recipe.stages):
        if step < stage.steps:
            return number, step
        step -= stage.steps
    raise ValueError(f"the recipe has {recipe.steps} steps")


def make_optimizers(
    model: nn.Module, settings: Optimizer
) -> list[tuple[torch.optim.Optimizer, float]]:
    if (plugin := plugins.find("optimizers").get(settings.name)) is not None:
        return plugin.load()(model, settings)
    return [(make_adam(model.parameters(), settings), 1.0)]


def make_adam(weights: Iterable[Tensor], settings: Optimizer) -> torch.optim.Optimizer:
    kind = torch.optim.Adam if settings.name == "adam" else torch.optim.AdamW
    options = {"betas": settings.betas, "eps": settings.eps, "weight_decay": settings.weight_decay}
    return kind([*weights], fused=True, **options)


def fold(*numbers: int) -> int:
    """One seed made of several numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


class Run:
    def __init__(self, recipe: Recipe, worker: Worker, load_pool: LoadPool = Pool.load):
        self.recipe, self.worker, self.step, self.seconds = recipe, worker, 0, 0.0
        self.load_pool = load_pool
        self.tokens = 0
        self.vocabulary = make_codec(recipe)
        settings = _with_ids(recipe.model, self.vocabulary)
        self.model = build(settings, seed=recipe.seed).to(worker.device)
        if recipe.words or isinstance(self.model, CaptionModel):
            find_scores(CAPTIONS).prepare(self.model, self.vocabulary, recipe.words)
        where = f"the vocabulary of {recipe.name}'s data"
        check_vocabulary(self.vocabulary, self.model.config, where)
        self.model.vocabulary = self.vocabulary
        self.parallel = DistributedDataParallel(self.model) if worker.world > 1 else self.model
        self.optimizers = make_optimizers(self.model, recipe.optimizer)
        self.window = torch.zeros(2, device=worker.device)  # summed loss, symbols of targets
        self.scores: list[Score] = []  # of the first held-out mix

    def update(self, pool: Pool, indices: Tensor, rate: float) -> None:
        """One optimizer step on a batch, shared among the processes (too small a one is everybody's)."""
        pad, worker = self.model.config.pad, self.worker
        torch.manual_seed(fold(self.recipe.seed, self.step, worker.rank))  # of dropout
        is_shared = len(indices) >= worker.world
        shard = indices[worker.rank :: worker.world] if is_shared else indices
        source, target = pool.pairs.batch(shard, pad)
        count = worker.total((target[:, 1:] != pad).sum())
        bf16 = self.recipe.precision == "bf16"
        with torch.autocast(worker.device.type, torch.bfloat16, enabled=bf16):
            logits = self.parallel(source, target[:, :-1])
        loss = summed_loss(logits, target[:, 1:], pad, self.recipe.label_smoothing)
        (loss * (worker.world / count)).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.optimizer.clip)
        for optimizer, share in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate * share
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self.window += torch.stack([loss.detach(), count / worker.world])
        self.tokens += pool.pairs.tokens(indices)
        self.step += 1

    def begin(self, mixes: list[Mix]) -> Pool:
        pool = self.load_pool(mixes, self.vocabulary, self.worker.device)
        if isinstance(self.model, CaptionModel):
            self.model.begin(pool.pairs.source.values, is_first=self.step == 0)
        if self.worker.rank == 0 and any(pool.pairs.cut):
            note(cut_note(pool.pairs, self.vocabulary))
        return pool

    @cached_property
    def watched(self) -> list[tuple[Mix, Pairs]]:
        mixes = self.recipe.evaluate
        return [(mix, load_pairs(mix, self.vocabulary).to(self.worker.device)) for mix in mixes]

    @property
    def is_over(self) -> bool:
        """Whether all steps are taken, or the held-out score no longer gets better."""
        is_last = self.step >= self.recipe.steps
        return is_last or has_stalled(self.scores, self.recipe.patience)

    @property
    def at(self) -> dict[str, float]:
        examples, seconds = self.step * self.recipe.batch_size, round(self.seconds, 1)
        counts = {"examples": examples, "tokens": self.tokens}
        return {"step": self.step, "seconds": seconds, **counts}

    def save(self, path: Path) -> None:
        state = {name: getattr(self, name) for name in PROGRESS} | {
            "recipe": self.recipe.model_dump_json(),
            "files": self.recipe.files,
            "model": self.model.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer, _ in self.optimizers],
        }
        with whole(path) as partial, open(partial, "wb") as stream:
            torch.save(state, stream)

    def load(self, path: Path) -> None:
        state = _read_state(path, self.recipe, self.worker.device)
        self.model.load_state_dict(state["model"])
        for (optimizer, _), saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        for name in PROGRESS:
            setattr(self, name, state.get(name, getattr(self, name)))  # older states have no scores


def _with_ids(settings: dict[str, object], vocabulary: Codec) -> dict[str, object]:
    architecture, _ = find_architecture(expand(settings)["architecture"])
    options = {field.name for field in dataclasses.fields(architecture.config_class)}
    ids = {name: getattr(vocabulary, name) for name in ("pad", "sos", "eos") if name in options}
    return {"vocab_size": len(vocabulary)} | ids | settings


def _read_state(path: Path, recipe: Recipe, device: torch.device) -> dict[str, Any]:
    with as_input_error(f"{path} is damaged", "remove it, or give another --out"):
        state = torch.load(path, map_location=device, weights_only=True)
        before = Recipe.model_validate_json(state["recipe"])
    if before.training != recipe.training:
        raise InputError(f"{path} is of another recipe: resume with the same, or change --out")
    for file, digest in state.get("files", {}).items():  # of older states none is known
        if recipe.files.get(file, digest) != digest:
            raise InputError(f"{path} was begun with another {file}: put that back")
    return state


def train(
    recipe: Recipe,
    out: str | os.PathLike[str],
    resume: bool = False,
    device: str = "cpu",
    load_pool: LoadPool = Pool.load,
) -> Path:
    """The folder ``OUT/model``; beside it lie the log, the state, and checkpoints of steps. A finished run that is resumed does nothing."""
    out, worker = Path(out), Worker.join(device)
    if (out / MODEL).exists():
        if not resume or not (out / STATE).exists():
            raise InputError(f"{out / MODEL} is a finished run: give another --out")
        _read_state(out / STATE, recipe, worker.device)
        return out / MODEL
    if (out / STATE).exists() and not resume:
        raise InputError(f"{out} holds an unfinished run: --resume continues it")
    run = Run(recipe, worker, load_pool)
    with nullcontext() if worker.rank else alone(out):
        _train(run, out)
    return out / MODEL


def _train(run: Run, out: Path) -> None:
    recipe = run.recipe
    if (out / STATE).exists():
        run.load(out / STATE)
    out.mkdir(parents=True, exist_ok=True)
    log = Log(out, run.step) if run.worker.rank == 0 else None
    with progress(is_shown=log is not None) as bars:
        bar = bars.add_task(out.resolve().name, total=recipe.steps, completed=run.step, note="")
        for rate, loss in _steps(run, out / STEPS):
            n_scores = len(run.scores)
            if log:
                log.add("loss", round(loss, 5), run.at)
                log.add("learning_rate", rate, run.at)
                _after(run, log, out)
            if recipe.patience is not None and run.worker.world > 1:
                shared = [run.scores]  # of the first process decide how long all train
                torch.distributed.broadcast_object_list(shared)
                run.scores = shared[0]
            speed = f"{run.tokens / run.seconds:,.0f} tokens/s"
            line = f"loss {loss:.3f} · {_write_score(run) or speed}"
            total = run.step if run.is_over else recipe.steps
            bars.update(bar, completed=run.step, total=total, note=line)
            if log and not stderr.is_terminal and len(run.scores) > n_scores:  # a bar cannot move
                note(f"step {run.step:,} of {recipe.steps:,}: {line}")
    if log:
        log.close()
        if run.step < recipe.steps:
            patience = f"{recipe.patience} more evaluation{'s' * (recipe.patience != 1)}"
            note(
                f"stopped after {run.step:,} of {recipe.steps:,} steps: no better held-out score in {patience}. "
                "To take all steps, leave patience out of the recipe."
            )
        best = out / BEST
        if best.exists():
            weights = torch.load(best, map_location=run.worker.device, weights_only=True)
            run.model.load_state_dict(weights)
        _keep(run, out / MODEL)
        best.unlink(missing_ok=True)


def _write_score(run: Run) -> str:
    """The last held-out score; empty before the first."""
    if not run.scores:
        return ""
    match, loss = run.scores[-1]
    n = len(run.watched[0][1])
    matches = f"match {interval_text(wilson(round(match * n), n))}"
    score = f"loss {loss:.3f}" if run.recipe.words else matches
    return f"{run.recipe.evaluate[0].split or 'held-out'} {score}"


def _keep(run: Run, folder: Path) -> None:
    save_pretrained(run.model, folder, recipe=run.recipe.model_dump(exclude_none=True))


def cut_note(pairs: Pairs, vocabulary: Codec) -> str:
    assert vocabulary.most is not None
    (n_sources, n_targets), (max_source, max_target) = pairs.cut, vocabulary.most
    cuts = f"{n_sources:,} sources cut to {max_source} sub-words, {n_targets:,} targets cut to {max_target} sub-words"
    return f"of {len(pairs):,} examples {cuts}"


def _steps(run: Run, folder: Path) -> Iterator[tuple[float, float]]:
    """The learning rate and mean loss of every REPORT_EVERY steps, while it trains and keeps checkpoints on the way."""
    checkpoint_steps = set() if run.worker.rank else run.recipe.kept_steps
    recipe, began = run.recipe, time.perf_counter() - run.seconds
    number, pool, batches, rate = -1, None, iter(()), 0.0
    while not run.is_over:
        now, step = place_of(recipe, run.step)
        if now != number:
            number = now
            pool = run.begin(recipe.stages[number].mix)
            batches = pool.batches(recipe.batch_size, recipe.seed, step)
        assert pool is not None
        rate = learning_rate(recipe.stages[number], step)
        run.update(pool, next(batches), rate)
        if run.step in checkpoint_steps:
            shutil.rmtree(folder / str(run.step), ignore_errors=True)  # of a run that was cut off
            _keep(run, folder / str(run.step))
        if run.step % REPORT_EVERY == 0 or run.step == recipe.steps:
            total, count = run.worker.total(run.window.clone()).tolist()
            run.window.zero_()
            run.seconds = time.perf_counter() - began
            yield rate, total / count


@torch.no_grad()
def held_out_loss(model: Model, pairs: Pairs, batch_size: int = 256) -> float:
    """The mean cross-entropy a symbol of the targets, in nats; without smoothing."""
    pad, total, count = model.config.pad, 0.0, 0
    for indices in pairs.by_length(batch_size):
        source, target = pairs.batch(indices, pad)
        logits = model(source, target[:, :-1])
        total += float(summed_loss(logits, target[:, 1:], pad))
        count += int((target[:, 1:] != pad).sum())
    return total / count


def _after(run: Run, log: Log, out: Path) -> None:
    recipe = run.recipe
    if run.step == recipe.steps or run.step % recipe.evaluate_every < REPORT_EVERY:
        run.model.eval()
        for i, (mix, pairs) in enumerate(run.watched):
            origin, match = (mix.data, mix.split or ""), 0.0
            if recipe.words is None:  # a caption is one of many that are right
                match = float(exact_matches(run.model, pairs)[0].mean())
                log.add("exact_match", match, run.at, *origin)
            loss = round(held_out_loss(run.model, pairs), 5)
            log.add("held_out_loss", loss, run.at, *origin)
            if i == 0:
                run.scores.append((match, loss))
                if recipe.patience is not None and is_best(run.scores):
                    with whole(out / BEST) as partial, open(partial, "wb") as stream:
                        torch.save(run.model.state_dict(), stream)
        run.model.train()
    if run.is_over or run.step % recipe.save_every < REPORT_EVERY:
        run.save(out / STATE)
