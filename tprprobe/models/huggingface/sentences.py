"""Lengths of texts and poolings that a folder of sentence-transformers has beside its model (``modules.json``)."""

import inspect
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from tokenizers import normalizers
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast
from transformers.modeling_utils import load_state_dict
from transformers.utils.hub import cached_file

from tprprobe.errors import InputError
from tprprobe.files.file_errors import as_input_error
from tprprobe.files.jsonfiles import parse_json

MODULES, PROMPTS = "modules.json", "config_sentence_transformers.json"
LENGTHS = tuple(
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
POOLINGS = {  # by the name of an older folder, in the order in which they are joined
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
Settings = Mapping[str, Any]  # of JSON


class Folder:
    """The files of a folder or a hub's repository of sentence-transformers; without modules.json it is none."""

    def __init__(self, path: str, options: Settings):
        self.path, self.options = path, options
        self.modules: list[Settings] = self.read(MODULES) or []

    @property
    def inside(self) -> str:
        return str(self.modules[0].get("path", "")) if self.modules else ""

    def find(self, name: str, place: str = "") -> Path | None:
        """A file of the folder, from the hub where it lies there; None where there is none."""
        options = {k: v for k, v in self.options.items() if k in ("local_files_only", "revision")}
        options |= {"_raise_exceptions_for_missing_entries": False}
        file = cached_file(self.path, os.path.join(place, name), **options)
        return None if file is None else Path(file)

    def read(self, name: str, place: str = "") -> Any:
        file = self.find(name, place)
        return None if file is None else parse_json(file.read_bytes(), file)

    def prepare(self, tokenizer: PreTrainedTokenizerBase) -> dict[str, str]:
        """Lets a tokenizer cut texts as the folder says, and returns what there is to say of that."""
        texts = next(filter(None, (self.read(name, self.inside) for name in LENGTHS)), {})
        notes, length = {}, texts.get("max_seq_length")
        if isinstance(length, int) and length > 0:
            tokenizer.model_max_length = length
            notes["length"] = f"texts of {length} tokens (max_seq_length of sentence-transformers)"
        if texts.get("do_lower_case") and isinstance(tokenizer, PreTrainedTokenizerFast):
            text, steps = tokenizer.backend_tokenizer, [normalizers.Lowercase()]
            steps += [text.normalizer] if text.normalizer is not None else []
            text.normalizer = normalizers.Sequence(steps)
        if prompt := (self.read(PROMPTS) or {}).get("default_prompt_name"):
            notes["prompt"] = f"the prompt {prompt!r} is not written before texts"
        return notes

    def read_step(self, module: Settings) -> nn.Module:
        kind, place = str(module.get("type", "")).rsplit(".", 1)[-1], str(module.get("path", ""))
        settings = self.read("config.json", place) or {}
        if kind == "Pooling":
            return Pooled(settings)
        if kind == "Normalize":
            return Normalized()
        if kind == "Dropout":
            return nn.Identity()
        with as_input_error(f"{self.path}: {place} cannot be read"):
            if kind == "Dense" and not settings.get("use_residual"):
                weights = next(filter(None, (self.find(name, place) for name in WEIGHTS)))
                return _dense(settings, weights)
        raise InputError(f"{self.path}: its vectors of texts need {kind}, which is not read")


class Encoding(nn.Module):
    def __init__(self, steps: Sequence[nn.Module]):
        super().__init__()
        self.steps = nn.ModuleList(steps)

    def forward(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """Vectors [batch, d_model] of states [batch, seq, d_model] and the mask of those that are no padding."""
        if mask is None:
            mask = states.new_ones(states.shape[:2])
        for step in self.steps:
            states = step(states, mask) if isinstance(step, Pooled) else step(states)
        return states


class Pooled(nn.Module):
    """One vector a text: the means, largest numbers, first or last of its tokens' vectors, one after another."""

    def __init__(self, settings: Settings):
        super().__init__()
        flags = [mode for name, mode in POOLINGS.items() if settings.get(name)]
        setting = settings.get("pooling_mode", flags or "mean")
        self.modes = [setting] if isinstance(setting, str) else list(setting)
        if unknown := [mode for mode in self.modes if mode not in POOLINGS.values()]:
            raise InputError(f"unknown pooling {unknown[0]!r}: it is one of {', '.join(POOLINGS.values())}")  # fmt: skip

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        weights = mask.to(states.dtype)[..., None]
        order = mask.long().cumsum(1)
        return torch.cat([self._pool(mode, states, weights, order) for mode in self.modes], -1)

    def _pool(self, mode: str, states: Tensor, weights: Tensor, order: Tensor) -> Tensor:
        """The vectors by one mode; ``order`` counts the tokens of a text from 1."""
        rows = torch.arange(len(states), device=states.device)
        if mode == "cls":
            return states[rows, (order == 1).int().argmax(1)]
        if mode == "lasttoken":
            return states[rows, order.argmax(1)]
        if mode == "max":
            return states.masked_fill(weights == 0, float("-inf")).amax(1)
        if mode == "weightedmean":
            weights = weights * order[..., None]
        count = weights.sum(1).clamp(min=1e-9)
        count = count.sqrt() if mode == "mean_sqrt_len_tokens" else count
        return (states * weights).sum(1) / count


class Normalized(nn.Module):
    def forward(self, vectors: Tensor) -> Tensor:
        return F.normalize(vectors, dim=-1)


def _dense(settings: Settings, weights: Path) -> nn.Module:
    linear = nn.Linear(settings["in_features"], settings["out_features"], settings.get("bias", True))  # fmt: skip
    tensors = load_state_dict(weights)
    linear.load_state_dict({name.removeprefix("linear."): t for name, t in tensors.items()})
    name = str(settings.get("activation_function", "Tanh")).rsplit(".", 1)[-1]
    activation = getattr(nn, name, None)
    if not (inspect.isclass(activation) and activation.__module__.endswith("activation")) and name != "Identity":  # fmt: skip
        raise InputError(f"the activation {name!r} is none of PyTorch's")
    return nn.Sequential(linear, getattr(nn, name)())
