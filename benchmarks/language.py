"""Models of transformers read at sites, and writing while a site is edited, beside the library alone.

    python benchmarks/language.py [--models FOLDER] [--texts 64] [--symbols 32] [--rounds 5]

FOLDER (default: $TPRPROBE_REAL, else models/real) has `minilm` and `smollm2`; without them nothing is measured. Reading: the bare
model (without its head) on batches of like length beside `extract`'s own pass over the same batches with all hidden sites kept, laid out as
a store's rows. Writing: transformers' greedy `generate` beside ours with one hidden site edited at every
step (an edit that changes nothing, so that both write the same). In turn, one thread, processor time, medians of the rounds; above 1: ours is faster.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch

import tprprobe as tp
from tprprobe.data.pairs import encode_texts
from tprprobe.extraction.passes import BATCH, read_block

WORDS = "the people of a small town said that they would build another bridge when winter ends"


def compare(one: Callable[[], object], other: Callable[[], object], rounds: int) -> float:
    """How many times as fast the other is, in processor time; each is first run once for nothing."""
    times: list[list[float]] = [[], []]
    for number in range(rounds + 1):
        for side, run in zip(times, (one, other), strict=True):
            start = time.process_time()
            run()
            if number:
                side.append(time.process_time() - start)
    return statistics.median(times[0]) / statistics.median(times[1])


@torch.no_grad()
def reading(model, texts: list[str], rounds: int) -> float:
    """The bare forward beside the pass of an extraction."""
    pairs = encode_texts(texts, [""] * len(texts), model.vocabulary)
    sites = [name for name in tp.sites(model)["site"] if name.endswith(".hidden")]
    pad = model.vocabulary.pad
    base = model.module.base_model

    def bare() -> None:
        for rows in pairs.by_length(BATCH):
            ids = pairs.source.padded(rows, pad)
            mask = {} if (ids != pad).all() else {"attention_mask": (ids != pad).long()}
            base(input_ids=ids.clamp(min=0), use_cache=False, **mask)

    return compare(bare, lambda: read_block(model, pairs, sites, pad), rounds)


@torch.no_grad()
def writing(model, text: str, symbols: int, rounds: int) -> float:
    """The library's greedy generation beside ours with an edited site."""
    ids = torch.tensor([model.vocabulary.encode(text)])
    site = [name for name in tp.sites(model)["site"] if name.endswith(".hidden")][5]
    options = {"max_new_tokens": symbols, "min_new_tokens": symbols, "do_sample": False}

    def theirs() -> torch.Tensor:
        return model.module.generate(input_ids=ids, attention_mask=torch.ones_like(ids), **options)

    def ours() -> torch.Tensor:
        with tp.intervene(model, {site: lambda states: states * 1.0}):
            return model.generate(ids, symbols, min_length=symbols - 1)

    assert torch.equal(theirs()[0, ids.shape[1] :][: symbols - 1], ours()[0][: symbols - 1])
    return compare(theirs, ours, rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default=os.environ.get("TPRPROBE_REAL", "models/real"))
    for name, default in (("texts", 64), ("symbols", 32), ("rounds", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    torch.set_num_threads(1)
    texts = [" ".join(WORDS.split()[: 4 + n % 11]) for n in range(given.texts)]
    print("| model | reading, beside the bare forward | writing, beside generate |\n|---|---|---|")
    for name in ("minilm", "smollm2"):
        if not (Path(given.models) / name).is_dir():
            continue
        model = tp.load_model(f"hf:{Path(given.models) / name}")
        read = reading(model, texts, given.rounds)
        wrote = (
            writing(model, "Paris is the capital of", given.symbols, given.rounds)
            if model.head
            else None
        )
        print(f"| {name} | {read:.2f} | {'' if wrote is None else f'{wrote:.2f}'} |", flush=True)


if __name__ == "__main__":
    main()
