"""Reading the fixtures that the authors' code wrote, and comparing with them."""

import dataclasses
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from tprpapers.jiang import t5_files
from tprpapers.schlag import transformer_files
from tprprobe.site.hooks import capture, find_sites

SCHLAG = ("tptc_d64", "transformer_d64")
JIANG = ("tptd_rar", "tptd_rar_gate", "tptd_attn", "tptc_t5", "t5_plain")
BATCHES = ("a", "b", "nopad")


@dataclass
class Reference:
    """One fixture: the converted model and every tensor that the authors' code gave."""

    model: Any
    hparams: dict[str, Any]
    io: dict[str, Tensor]
    logits64: dict[str, Tensor]
    step: dict[str, Tensor]

    def batch(self, name: str) -> dict[str, Tensor]:
        """The tensors of one batch by the authors' names."""
        prefix = f"{name}/"
        return {k.removeprefix(prefix): v for k, v in self.io.items() if k.startswith(prefix)}

    def published(self, name: str) -> str:
        """The authors' name of one of our parameters."""
        family = transformer_files if self.model.architecture.endswith("transformer") else t5_files
        return family.published_key(name, dataclasses.asdict(self.model.config))


@contextmanager
def record(model: nn.Module, names: Iterable[str]) -> Iterator[dict[str, Tensor]]:
    """While open: what sites and other submodules give, by their dotted names."""
    sites = find_sites(model)
    handles = []
    with capture(model, [name for name in names if name in sites]) as vectors:
        for name in set(names) - set(sites):

            def keep(_module, _inputs, output, name=name):
                vectors[name] = output[0] if isinstance(output, tuple) else output

            handles.append(model.get_submodule(name).register_forward_hook(keep))
        try:
            yield vectors
        finally:
            for handle in handles:
                handle.remove()


def excess(values: Tensor, expected: Tensor) -> float:
    """How far beyond 5e-5 + 1e-5 |expected| the largest difference is; negative is within."""
    assert values.shape == expected.shape
    over = (values - expected).abs().sub(5e-5 + 1e-5 * expected.abs())
    return over.max().item() if over.numel() else -1.0


def assert_close(values: Tensor, expected: Tensor, description: str) -> None:
    assert excess(values, expected) <= 0, (
        f"{description}: {(values - expected).abs().max().item():.2e}"
    )


def double(model: nn.Module, *batch: Tensor) -> Tensor:
    """The logits of the model in double precision."""
    with torch.no_grad():
        return model.double()(*batch)
