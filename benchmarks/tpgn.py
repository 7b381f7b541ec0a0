"""Training steps of the TPGN beside a CNN-LSTM of about the same size, and beside a literal loop.

    OMP_NUM_THREADS=1 python benchmarks/tpgn.py [--rounds 5] [--batch 64] [--words 12]

Paper sizes (8.7M weights each). A step is forward, cross-entropy and backward; the models run in
turn in one process, in processor time, and a figure is the median over the rounds after one that
is not counted (of the literal loop one round counts). That loop makes the block-diagonal matrix of
Eq. 16 at every word; its logits are the model's.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from tprprobe.models import build, count_parameters

FEATURES = 2048


def literal(
    model: Any, source: Float[Tensor, "batch f"], target: Int[Tensor, "batch seq"]
) -> Float[Tensor, "batch seq vocab"]:
    """The model's logits by a loop over words with the matrix of Eq. 16."""
    d, state = model.config.d_model, model.encode(source)
    (inputs, recurrent, bias, _), h, c = state.weights, state.h, state.c
    logits = []
    for words in model.embedding(target).unbind(1):
        i, f, g, o = (words @ inputs.T + h @ recurrent.T + bias).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        unbinding = torch.tanh(model.word.unbind(h[:, d * d :]))
        tpr, matrix = h[:, : d * d].view(-1, d, d), h.new_zeros(len(h), d * d, d * d)
        for k in range(d):
            matrix[:, d * k : d * k + d, d * k : d * k + d] = tpr
        filler = (matrix @ unbinding[..., None])[..., 0]
        logits.append(F.linear(filler, model.output, model.output_bias))
    return torch.stack(logits, 1)


def step(model: Any, forward: Callable[..., Tensor], source: Tensor, target: Tensor) -> float:
    """Seconds of processor time of one training step, without the optimizer's."""
    began = time.process_time()
    logits = forward(source, target[:, :-1])
    F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten()).backward()
    model.zero_grad()
    return time.process_time() - began


def main(rounds: int, batch: int, words: int) -> None:
    tpgn, lstm = (build({"preset": name}, seed=0) for name in ("tpgn", "cnn-lstm"))
    generator = torch.Generator().manual_seed(0)
    source = torch.randn(batch, FEATURES, generator=generator)
    target = torch.randint(4, 8791, (batch, words + 1), generator=generator)
    with torch.no_grad():
        loop = literal(tpgn, source, target)
        torch.testing.assert_close(loop, tpgn(source, target), atol=2e-4, rtol=1e-3)
    forwards: dict[str, tuple[Any, Callable[..., Tensor]]] = {
        "TPGN": (tpgn, tpgn),
        "CNN-LSTM": (lstm, lstm),
        "TPGN, literal loop": (tpgn, lambda *given: literal(tpgn, *given)),
    }
    seconds: dict[str, list[float]] = {name: [] for name in forwards}
    for number in range(rounds + 1):
        for name, (model, forward) in forwards.items():
            if forward is not model and number > 1:
                continue
            seconds[name].append(step(model, forward, source, target))
    median = {name: statistics.median(each[1:]) for name, each in seconds.items()}
    sizes = {"TPGN": "tpgn", "CNN-LSTM": "cnn-lstm", "TPGN, literal loop": "tpgn"}
    print("| training | weights | captions/s | time of a step, TPGN = 1 |\n|---|---|---|---|")
    for name, each in median.items():
        count = count_parameters({"preset": sizes[name]})
        print(f"| {name} | {count:,} | {batch / each:.1f} | {each / median['TPGN']:.2f} |")
    print(f"\nTPGN takes {median['TPGN'] / median['CNN-LSTM']:.2f} times as long as the CNN-LSTM.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option, default in (("rounds", 5), ("batch", 64), ("words", 12)):
        parser.add_argument(f"--{option}", type=int, default=default)
    main(**vars(parser.parse_args()))
