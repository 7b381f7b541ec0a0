"""Vectors as other programs write them: TPDN's lines, vLLM's requests, NeuroX's sentences."""

import gzip
import json

import h5py
import numpy as np
import torch
from safetensors.torch import save_file

RNG = np.random.default_rng(0)
DIGITS = [
    ("1 9 8", [0.5, -1.25, 2.0]),
    ("4", [1e-3, 7, 0]),
    ("9 9", [3, 1, -2e5]),
    ("8 1", [1, 2, 3]),
]


def write_tpdn(path, lines=DIGITS):
    text = "".join(f"{symbols}\t{' '.join(map(str, vector))} \n" for symbols, vector in lines)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


STATES = [RNG.normal(size=(n, 2, 4)).astype(np.float32) for n in (3, 1, 5)]  # token, layer, d


def write_vllm(folder, states=STATES, dtype=torch.bfloat16):
    folder.mkdir()
    for number, state in zip((0, 2, 10), states, strict=False):
        ids = torch.arange(len(state)) + 7 * number
        tensors = {"hidden_states": torch.from_numpy(state).to(dtype), "token_ids": ids}
        save_file(tensors, folder / f"{number}-a1b2.safetensors")
        (folder / f"{number}-a1b2.safetensors.lock").touch()
    return folder


SENTENCES = ["The cat sat", "No", "The cat sat"]
VALUES = [RNG.normal(size=(2, len(s.split()), 4)).astype(np.float32) for s in SENTENCES]


def write_neurox(path, values=VALUES):
    """As NeuroX's writers do."""
    if path.suffix == ".json":
        with open(path, "w") as stream:
            for number, (sentence, acts) in enumerate(zip(SENTENCES, values, strict=True)):
                features = [
                    {"token": word, "layers": [
                        {"index": layer, "values": [round(x.item(), 8) for x in acts[layer, i]]}
                        for layer in range(len(acts))]}
                    for i, word in enumerate(sentence.split())
                ]  # fmt: skip
                stream.write(json.dumps({"linex_index": number, "features": features}) + "\n")
        return path
    with h5py.File(path, "w") as file:
        for number, acts in enumerate(values):
            file.create_dataset(str(number), acts.shape, dtype="float32", data=acts)
        index = {SENTENCES[0]: "0", "No": "1", f"{SENTENCES[2]} (Occurrence 2)": "2"}
        table = file.create_dataset("sentence_to_index", (1,), dtype=h5py.special_dtype(vlen=str))
        table[0] = json.dumps(index)
    return path
