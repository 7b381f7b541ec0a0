"""The models that are converted from the authors' fixtures."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from papers.parity.authors import Reference
from safetensors.torch import load_file

from tprprobe.models import load_model
from tprprobe.models.convert import convert


@pytest.fixture(scope="session")
def reference(shared: Path, tmp_path_factory) -> Callable[[str], Reference]:
    """The fixture of a name; its model is fresh every time."""
    folder = tmp_path_factory.mktemp("converted")

    def load(name: str) -> Reference:
        fixtures = shared / "fixtures"
        hparams = json.loads((fixtures / f"{name}_hparams.json").read_text())
        if not (folder / name).exists():
            config = hparams.get("config", {"n_heads": hparams.get("n_heads")})
            convert(fixtures / f"{name}_original_ckpt.pt", folder / name, config=config)
        tensors = (
            load_file(fixtures / f"{name}_{k}.safetensors")
            for k in ("io", "logits_f64", "trainstep")
        )
        return Reference(load_model(folder / name), hparams, *tensors)

    return load
