"""Training step and decoding of the mathematics models, ours beside the authors' code: a Markdown table.

    python benchmarks/mathematics.py [PATH] [--size paper|small] [--data DATA] [--rounds 5] [--device cuda]

PATH is a checkout of github.com/ischlag/TP-Transformer (5a78b20); without it a line says so. Both sides have the same weights and
batch and run in turn in one process; a time is the median over the rounds, after one that is not
counted. A step is forward, loss, backward, clipping and Adam, theirs as in their ``utils/trainer.py``
without its logging, ours :meth:`tprprobe.training.loop.Run.update`. Decoding writes 30 characters for every
question of the batch (no row may end), both without gradients. bfloat16 is measured where the device
has units for it. With one thread (``OMP_NUM_THREADS=1``) times are processor time.
"""

import argparse
import dataclasses
import importlib.util
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from tprpapers.schlag.transformer_files import published_key
from tprprobe.data import load_data
from tprprobe.data.pairs import Pairs, encode_pairs
from tprprobe.data.vocabularies.characters import characters
from tprprobe.models.decoding.generation import generate
from tprprobe.training.loop import Run
from tprprobe.training.pools import Pool
from tprprobe.training.recipes import Mix, Recipe, Stage
from tprprobe.training.workers import Worker

BATCH, CHARACTERS = 32, 30
RATE = 1e-4
SIZES: dict[str, dict[str, Any]] = {
    "paper": {},
    "small": {"d_model": 64, "n_heads": 4, "n_layers": 2, "d_ff": 128},
}
NAMES = {"tp-transformer": "TP-Transformer", "transformer": "Transformer"}
Action = Callable[[], Any]


def authors_model(path: Path, name: str, config: Any) -> Any:
    """Their freshly built model of our configuration."""
    sys.path.insert(0, str(path))  # their module imports utils.lib
    file = path / "models" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), file)
    if spec is None or spec.loader is None or not file.exists():
        sys.exit(f"{file} does not exist: give a checkout of github.com/ischlag/TP-Transformer")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sizes = SimpleNamespace(
        input_dim=config.vocab_size,
        hidden=config.d_model,
        filter=config.d_ff,
        n_heads=config.n_heads,
        n_layers=config.n_layers[0],
        dropout=config.dropout,
    )
    return module.build_transformer(sizes, config.pad)


def our_run(name: str, sizes: dict[str, Any], precision: Any, device: str) -> Run:
    """A training run of ours that is to take single steps."""
    stage = Stage(
        steps=1,
        learning_rate=RATE,
        mix=[Mix(data="mathematics:arithmetic__mul", split="small-test", n=1)],
    )
    recipe = Recipe(name=name, model={"preset": name, **sizes}, stages=[stage], precision=precision)
    return Run(recipe, Worker(torch.device(device)))


def copy_weights(authors: nn.Module, model: Any) -> None:
    """Their weights into our model."""
    state, options = authors.state_dict(), dataclasses.asdict(model.config)
    model.load_state_dict({key: state[published_key(key, options)] for key in model.state_dict()})


def authors_step(model: nn.Module, source: Tensor, target: Tensor, pad: int) -> Action:
    """One training step of their trainer."""
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, betas=(0.9, 0.995))
    criterion = nn.CrossEntropyLoss(ignore_index=pad)

    def step() -> None:
        logits = model(source, target[:, :-1])
        loss = criterion(
            logits.contiguous().view(-1, logits.shape[-1]), target[:, 1:].contiguous().view(-1)
        )
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.1)
        optimizer.step()
        optimizer.zero_grad()

    return step


def our_step(run: Run, pairs: Pairs) -> Action:
    """One training step of ours."""
    everything = torch.arange(len(pairs))
    pool = Pool(pairs.to(run.worker.device), everything, pairs.source.lengths)
    return lambda: run.update(pool, everything, RATE)


def decoders(authors: Any, model: Any, source: Tensor) -> dict[str, Action]:
    """Greedy decoding by either side, in which no row ends before the last character."""
    authors.eval()
    model.config = dataclasses.replace(model.config, eos=-1)

    @torch.no_grad()
    def decode() -> Tensor:
        sos = model.config.sos
        return authors.greedy_inference(source, sos, -1, CHARACTERS, source.device)

    return {"theirs": decode, "fp32": lambda: generate(model, source, CHARACTERS)}


def agreement(authors: Any, our_model: Any, source: Tensor, target: Tensor) -> str:
    """How alike the two sides answer before any step is taken."""
    with torch.no_grad():
        logits = (model.eval()(source, target[:, :-1]) for model in (authors, our_model))
        difference = torch.sub(*logits).abs().max().item()
    theirs_write, ours_write = (
        decode() for decode in decoders(authors, our_model, source).values()
    )
    share_equal = (theirs_write[:, 1:] == ours_write).float().mean().item()
    authors.train()
    our_model.train()
    return f"logits differ by at most {difference:.1e}, {share_equal:.1%} of the decoded characters are the same"


def compare(actions: dict[str, Action], rounds: int) -> dict[str, float]:
    """The median seconds of each action; they run in turn, and the first round is not counted."""
    seconds: dict[str, list[float]] = {title: [] for title in actions}
    for _ in range(rounds + 1):
        for title, action in actions.items():
            start = now()
            action()
            seconds[title].append(now() - start)
    return {title: statistics.median(times[1:]) for title, times in seconds.items()}


def now() -> float:
    """The time at which all work so far is done: processor time where one thread does it all."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    elif torch.get_num_threads() == 1:
        return time.process_time()  # other work on the machine counts little
    return time.perf_counter()


def row(title: str, seconds: dict[str, float]) -> str:
    """A line of the table: seconds, and ours as parts of theirs."""
    our_seconds = [seconds.get(kind) for kind in ("fp32", "bf16")]
    cells = [
        f"{value:.3f} ({value / seconds['theirs']:.2f}×)" if value else "–" for value in our_seconds
    ]
    return f"| {title} | {seconds['theirs']:.3f} | {' | '.join(cells)} |"


def kinds(device: str) -> list[str]:
    """The precisions that the device has units for; a CPU says so in /proc/cpuinfo, where there is one."""
    cpuinfo = Path("/proc/cpuinfo")
    without = device == "cpu" and cpuinfo.exists() and "_bf16" not in cpuinfo.read_text()
    return ["fp32"] if without else ["fp32", "bf16"]


def measure(name: str, arguments: argparse.Namespace) -> Iterator[str]:
    """The lines of one model."""
    data = load_data(arguments.data, split="train-medium", n=BATCH)
    pairs = encode_pairs(data, characters())
    runs = {
        kind: our_run(name, SIZES[arguments.size], kind, arguments.device)
        for kind in kinds(arguments.device)
    }
    model: Any = runs["fp32"].model
    authors = authors_model(arguments.path, name, model.config).to(arguments.device)
    for run in runs.values():
        copy_weights(authors, run.model)
    batch = pairs.batch(torch.arange(len(pairs)), model.config.pad)
    source, target = (ids.to(arguments.device) for ids in batch)
    title = f"{NAMES[name]}, {sum(p.numel() for p in model.parameters()) / 1e6:.1f}M"
    alike = agreement(authors, model, source, target)
    seconds = compare(decoders(authors, model, source), arguments.rounds)
    yield row(f"{title}: decoding {CHARACTERS} characters", seconds)
    authors.train()
    model.train()
    steps = {"theirs": authors_step(authors, source, target, model.config.pad)}
    steps |= {kind: our_step(run, pairs) for kind, run in runs.items()}
    yield row(f"{title}: training step", compare(steps, arguments.rounds))
    print(f"{title}: {alike}; batch {list(source.shape)} → {list(target.shape)}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "path", type=Path, nargs="?", help="a checkout of github.com/ischlag/TP-Transformer"
    )
    parser.add_argument("--size", choices=list(SIZES), default="paper")
    parser.add_argument("--data", default="mathematics:arithmetic__mixed")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    if arguments.path is None:
        print("Mathematics: not measured, give the path of the authors' code.")
        return
    print("| seconds, batch of 32 | theirs, float32 | ours, float32 | ours, bf16 |")
    print("|---|---|---|---|")
    for name in NAMES:
        for line in measure(name, arguments):
            print(line, flush=True)


if __name__ == "__main__":
    main()
