"""Folders of transformers that contradict themselves: for every family, what two of its files say differently.

Not among them, since sound folders have it too: sizes in an index that count other dtypes, pickles beside the
weights that are loaded, special tokens that no text is given.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from planted.foreign import save_foreign

FAMILIES = ("bert", "albert", "gpt2", "llama", "t5", "bart", "opt", "qwen3")
CAUSAL = ("gpt2", "llama", "opt", "qwen3")
CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"
INDEX = "model.safetensors.index.json"
LAYERS = ("num_hidden_layers", "n_layer", "num_layers", "encoder_layers")
Change = Callable[[Path], object]


class Inapplicable(Exception):
    """A family has no such part."""


def make(family: str, folder: Path) -> Path:
    """A sound folder of a family."""
    return save_foreign(family, folder, "causal" if family in CAUSAL else None)


def change_json(name: str, change: Callable[[Any], object]) -> Change:
    def write(folder: Path) -> None:
        if not (folder / name).exists():
            raise Inapplicable
        content = json.loads((folder / name).read_text())
        change(content)
        (folder / name).write_text(json.dumps(content))

    return write


def change_weights(change: Callable[[dict[str, torch.Tensor]], object]) -> Change:
    def write(folder: Path) -> None:
        state = safetensors.torch.load_file(folder / WEIGHTS)
        change(state)
        state = {name: tensor.contiguous() for name, tensor in state.items()}
        safetensors.torch.save_file(state, folder / WEIGHTS, {"format": "pt"})

    return write


def _scaled(names: tuple[str, ...], unless: str = "") -> Change:
    """A size of the configuration, twice that of the weights, which a setting may leave open."""

    def change(config: dict[str, Any]) -> None:
        present = [name for name in names if name in config]
        if not present or unless in config:
            raise Inapplicable
        config[present[0]] *= 2

    return change_json(CONFIG, change)


def _matrices(state: dict[str, torch.Tensor]) -> list[str]:
    return [name for name, tensor in state.items() if tensor.ndim == 2]


def in_shards(
    change: Callable[[Any, Any], object] = lambda *_: None, keeps_whole: bool = False
) -> Change:
    """Weights in two files and their index, one of which says another thing."""

    def write(folder: Path) -> None:
        state = safetensors.torch.load_file(folder / WEIGHTS)
        names = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
        shards = {name: dict([*state.items()][start::2]) for start, name in enumerate(names)}
        size = sum(tensor.numel() * tensor.element_size() for tensor in state.values())
        places = {key: name for name, shard in shards.items() for key in shard}
        change(shards, places)
        for name, shard in shards.items():
            safetensors.torch.save_file(shard, folder / name, {"format": "pt"})
        index = {"metadata": {"total_size": size}, "weight_map": places}
        (folder / INDEX).write_text(json.dumps(index))
        if not keeps_whole:
            (folder / WEIGHTS).unlink()

    return write


def _last(shards: dict[str, dict[str, torch.Tensor]]) -> str:
    return [*shards][-1]


def _turn(state: dict[str, torch.Tensor]) -> None:
    name = next(n for n in _matrices(state) if state[n].shape[0] != state[n].shape[1])
    state[name] = state[name].T


def _lose_layer(state: dict[str, torch.Tensor]) -> None:
    names = [name for name in state if ".1." in name]
    if not names:
        raise Inapplicable
    for name in names:
        del state[name]


def _fewer_layers(config: dict[str, Any]) -> None:
    names = [name for name in LAYERS if name in config]
    if not names or "num_hidden_groups" in config:
        raise Inapplicable
    for name in names:
        config[name] = 1
    config.pop("layer_types", None)


def _as_bert(config: dict[str, Any]) -> None:
    if config["model_type"] == "bert":
        raise Inapplicable
    config["model_type"] = "bert"


def _foreign_tokenizer(folder: Path) -> None:
    tokenizer = json.loads((folder / TOKENIZER).read_text())["model"]["type"]
    foreign_folder = folder.parent / "other"
    save_foreign("bert" if tokenizer == "BPE" else "gpt2", foreign_folder)
    shutil.copy(foreign_folder / TOKENIZER, folder / TOKENIZER)


def _vocabulary(change: Callable[[Any], object]) -> Change:
    return change_json(TOKENIZER, lambda content: change(content["model"]))


def _one_id_twice(model: Any) -> None:
    if not isinstance(model["vocab"], dict):
        raise Inapplicable
    symbol, next_symbol = [*model["vocab"]][-2:]
    model["vocab"][next_symbol] = model["vocab"][symbol]


def _half_vocabulary(model: Any) -> None:
    vocab = model["vocab"]
    if isinstance(vocab, dict):
        model["vocab"] = dict([*vocab.items()][: len(vocab) // 2])
    else:
        model["vocab"] = vocab[: len(vocab) // 2]


CHANGES: dict[str, Change] = {
    "more symbols than rows": _scaled(("vocab_size",)),
    "fewer symbols than rows": change_json(CONFIG, lambda c: c.update(vocab_size=c["vocab_size"] - 8)),
    "wider": _scaled(("hidden_size", "n_embd", "d_model")),
    "more inner units": _scaled(("ffn_dim", "d_ff", "intermediate_size", "encoder_ffn_dim")),
    "more positions": _scaled(("max_position_embeddings", "n_positions"), "rope_parameters"),
    "more layers": _scaled(LAYERS, "num_hidden_groups"),
    "fewer layers": change_json(CONFIG, _fewer_layers),
    "more heads of keys": change_json(CONFIG, lambda c: c.update(num_key_value_heads=2 * c["num_key_value_heads"])),
    "wider heads": change_json(CONFIG, lambda c: c.update(head_dim=2 * c["head_dim"])),
    "model_type bert": change_json(CONFIG, _as_bert),
    "architectures of another": change_json(CONFIG, lambda c: c.update(architectures=["DistilBertModel"])),
    "a symbol beyond": change_json(CONFIG, lambda c: c.update(bos_token_id=10**6, pad_token_id=10**6)),
    "a layer lost": change_weights(_lose_layer),
    "a tensor lost": change_weights(lambda s: s.pop(_matrices(s)[len(_matrices(s)) // 2])),
    "a tensor turned": change_weights(_turn),
    "no numbers": change_weights(lambda s: s[_matrices(s)[-1]].fill_(torch.nan)),
    "another tokenizer": _foreign_tokenizer,
    "half of the vocabulary": _vocabulary(_half_vocabulary),
    "an id twice": _vocabulary(_one_id_twice),
    "an added id beyond": change_json(TOKENIZER, lambda c: c["added_tokens"][-1].update(id=10**6)),
    "an added id of another": change_json(TOKENIZER, lambda c: c["added_tokens"][-1].update(id=c["added_tokens"][0]["id"])),
    "an index that lacks tensors": in_shards(lambda shards, places: [places.pop(name) for name in shards[_last(shards)]]),
    "a shard lost": in_shards(lambda shards, places: shards.pop(_last(shards))),
    "a shard empty": in_shards(lambda shards, places: shards[_last(shards)].clear()),
}  # fmt: skip


def damaged(sound: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """Copies of a sound folder, one for each kind that its family has."""
    for kind, change in CHANGES.items():
        copy = Path(shutil.copytree(sound, folder / kind))
        try:
            change(copy)
        except (Inapplicable, KeyError):
            continue
        yield kind, copy
