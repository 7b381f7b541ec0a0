"""Checkpoints and vocabularies as the authors' programs write them, with random weights."""

import json
import sys
import tarfile
import types
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tprpapers.architectures.transformer import sinusoids

GOLDEN = json.loads((Path(__file__).parents[1] / "golden/published.json").read_text())
CASES: list[dict[str, Any]] = GOLDEN["cases"]  # names and shapes of tensors, and what they give
CONFIG: dict[str, Any] = GOLDEN["jiang"]  # the authors' JSON, which a case changes
HEADS, LENGTH = {"n_heads": 2}, 40
SHIPPED = CONFIG | {  # as the authors' JSON has it, generic keys and all
    "architectures": ["T6WithLMHeadModel"],
    "num_roles": 20,
    "initializer_factor": 1.0,
    "is_encoder_decoder": True,
    "model_type": "t6",
    "n_positions": 512,
    "output_past": True,
    "task_specific_params": {"summarization": {"num_beams": 4}},
}
SOURCE = torch.tensor([[5, 6, 7, 8, 4], [9, 4, 3, 1, 1]])
TARGET = torch.tensor([[2, 5, 6], [2, 7, 8]])


def random_state(case: dict[str, Any], seed: int = 0) -> dict[str, torch.Tensor]:
    """The tensors of a case, random and of moderate size."""
    generator = torch.Generator().manual_seed(seed)
    state = {
        key: torch.randn(shape, generator=generator)
        * (shape[-1] ** -0.5 if len(shape) > 1 else 0.5)
        for key, shape in case["shapes"].items()
    }
    if case["family"] == "jiang":
        return state
    width = case["shapes"]["embedding.tok_embedding.weight"][1]
    return {"embedding.pe": sinusoids(LENGTH, width)[None], **state}


def schlag_state(prefix: str = "", number: int = 0) -> dict[str, torch.Tensor]:
    """A TP-Transformer (0, 1) or the baseline (2)."""
    case = [case for case in CASES if case["family"] == "schlag"][number]
    return {prefix + key: value for key, value in random_state(case).items()}


def schlag_file(path: Path, state: dict[str, Any] | None = None, **options: Any) -> Path:
    """A checkpoint as the authors' trainer writes it."""
    checkpoint = {
        "global_step": 1700000,
        "model": schlag_state() if state is None else state,
        "optimizer": {"state": {140: {"step": 3, "exp_avg": torch.ones(2)}}, "param_groups": [{}]},
        "best_eval_loss": torch.tensor(0.5),
        "best_eval_acc": 0.84,
        "best_step": 1690000,
    }
    torch.save(checkpoint, path, **options)
    return path


def jiang_state(vocab_size: int = 19, tied: bool = True, **changes: Any) -> dict[str, torch.Tensor]:
    """A model whose JSON has these changes."""
    (case,) = (x for x in CASES if x["family"] == "jiang" and x["config"] == changes)
    shared = {"shared.weight": (vocab_size, CONFIG["d_model"])}
    state = random_state(case | {"shapes": case["shapes"] | shared})
    names = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")
    return state | (dict.fromkeys(names, state["shared.weight"]) if tied else {})


def jiang_file(path: Path, state: dict[str, Any] | None = None) -> Path:
    """A checkpoint as Lightning 0.7.6 writes it, with the numpy numbers of the authors' schedule."""
    state = {f"model.{key}": value for key, value in (state or jiang_state()).items()}
    state["label_smoothing.one_hot"] = torch.full((1, 1, CONFIG["vocab_size"]), 0.1)
    schedule = {"base_lrs": [0.005], "_last_lr": [np.float64(0.005)], "lr_lambdas": [None]}
    checkpoint = {
        "epoch": 31,
        "global_step": 1234,
        "checkpoint_callback_best": torch.tensor(2.5),
        "optimizer_states": [{"state": {}, "param_groups": [{"lr": np.float64(1e-3)}]}],
        "lr_schedulers": [schedule],
        "state_dict": state,
        "hparams_type": "Namespace",
        "hparams": {"num_roles_per_layer": 3, "dataset_name": "xsum"},
    }
    torch.save(checkpoint, path)
    return path


def archive(path: Path, *files: Path) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for file in files:
            tar.add(file, f"pretrained/{file.name}")
    return path


def vocabulary_file(path: Path, symbols: list[str], zipped: bool = False) -> Path:
    """A torchtext 0.3.1 vocabulary, pickled under torchtext's names without torchtext."""
    module: Any = types.ModuleType("torchtext.vocab")

    class Vocab:
        pass

    def _default_unk_index() -> int:
        return 0

    module.Vocab, module._default_unk_index = Vocab, _default_unk_index
    for member in (Vocab, _default_unk_index):
        member.__module__, member.__qualname__ = "torchtext.vocab", member.__name__
    vocab: Any = Vocab()
    vocab.freqs, vocab.itos, vocab.vectors = Counter(symbols), symbols, None
    vocab.stoi = defaultdict(_default_unk_index, {s: i for i, s in enumerate(symbols)})
    sys.modules |= {"torchtext": types.ModuleType("torchtext"), "torchtext.vocab": module}
    try:
        torch.save(vocab, path, _use_new_zipfile_serialization=zipped)
    finally:
        del sys.modules["torchtext"], sys.modules["torchtext.vocab"]
    return path
