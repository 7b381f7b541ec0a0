"""Training and beam search of our T5 beside Hugging Face's of the same size: a Markdown table.

    python benchmarks/generation.py [--size small|paper] [--rounds 5] [--batch 16] [--source 128] [--target 32]

Both sides have the same weights and batches and run in turn in one process; a rate is the median over
the rounds, after one that is not counted. A training step is forward, label-free cross-entropy,
backward, clipping and Adam. Generation is a beam of 4 with length penalty 2 and no 3-gram twice, in
which no row may end before the last symbol; both sides must write the same. Source lengths vary
between a quarter and the whole of ``--source``. Needs the extra ``dev`` (transformers).
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
import transformers
from mathematics import compare
from torch import Tensor

from tprprobe.models import load_model
from tprprobe.models.convert import convert
from tprprobe.models.decoding.generation import generate

PAD = 0
SIZES: dict[str, dict[str, Any]] = {
    "small": {"vocab_size": 4096, "d_model": 128, "d_kv": 32, "num_heads": 4, "d_ff": 512}
    | {"num_layers": 3},
    "paper": {"vocab_size": 32128, "d_model": 512, "d_kv": 64, "num_heads": 8, "d_ff": 2048}
    | {"num_layers": 6},
}
Action = Callable[[], Any]


def models(size: str) -> tuple[Any, Any]:
    """Their freshly built T5, and ours converted from it."""
    config = transformers.T5Config(**SIZES[size])
    config.decoder_start_token_id, config.dropout_rate = PAD, 0.0
    torch.manual_seed(0)  # theirs draws from the global state only
    theirs = transformers.T5ForConditionalGeneration(config)
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(f"{folder}/theirs")
        ours = load_model(convert(f"{folder}/theirs", f"{folder}/ours"))
    return theirs, ours


def batches(given: argparse.Namespace, vocab: int) -> tuple[Tensor, Tensor]:
    """Sources that end in pads, and targets that all have the same length."""
    generator = torch.Generator().manual_seed(0)
    source = torch.randint(2, vocab, (given.batch, given.source), generator=generator)
    lengths = torch.linspace(given.source // 4, given.source, given.batch).long()
    source[torch.arange(given.source) >= lengths[:, None]] = PAD
    return source, torch.randint(2, vocab, (given.batch, given.target), generator=generator)


def training(model: Any, logits: Callable[[Tensor], Tensor], target: Tensor) -> Action:
    """One training step on the batch."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    shifted = F.pad(target[:, :-1], (1, 0), value=PAD)

    def step() -> None:
        model.train()
        loss = F.cross_entropy(logits(shifted).flatten(0, 1), target.flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        optimizer.zero_grad()

    return step


def writing(theirs: Any, ours: Any, source: Tensor, length: int) -> tuple[Action, Action]:
    """Beam search by either side."""
    mask = (source != PAD).long()
    options: dict[str, Any] = {"num_beams": 4, "length_penalty": 2.0, "no_repeat_ngram_size": 3}
    options |= {"max_new_tokens": length, "min_new_tokens": length}

    def their() -> Tensor:
        return theirs.eval().generate(source, attention_mask=mask, **options)[:, 1:]

    def our() -> Tensor:
        options = {"beam": 4, "length_penalty": 2.0, "no_repeat": 3, "min_length": length - 1}
        return generate(ours.eval(), source, length, **options)

    return their, our


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--size", choices=list(SIZES), default="small")
    for name, default in (("rounds", 5), ("batch", 16), ("source", 128), ("target", 32)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    transformers.logging.set_verbosity_error()
    theirs, ours = models(given.size)
    source, target = batches(given, SIZES[given.size]["vocab_size"])
    their, our = writing(theirs, ours, source, given.target)
    same = (their() == our()).float().mean().item()
    print(f"{same:.1%} of the symbols written are the same", file=sys.stderr)
    mask = (source != PAD).long()

    def their_logits(shifted: Tensor) -> Tensor:
        inputs = {"input_ids": source, "attention_mask": mask, "decoder_input_ids": shifted}
        return theirs(**inputs, use_cache=False).logits

    steps = {
        "theirs": training(theirs, their_logits, target),
        "ours": training(ours, lambda shifted: ours(source, shifted), target),
    }
    n = sum(parameter.numel() for parameter in ours.parameters()) / 1e6
    tokens = {"beam of 4": target.numel(), "training": int(mask.sum()) + target.numel()}
    print(f"| T5, {n:.1f}M, batch of {given.batch} | theirs, tokens/s | ours, tokens/s | ratio |")
    print("|---|---|---|---|")
    for title, actions in (("beam of 4", {"theirs": their, "ours": our}), ("training", steps)):
        seconds = compare(actions, given.rounds)
        rates = [tokens[title] / seconds[side] for side in ("theirs", "ours")]
        print(f"| {title} | {rates[0]:.0f} | {rates[1]:.0f} | {rates[1] / rates[0]:.2f}× |")


if __name__ == "__main__":
    main()
