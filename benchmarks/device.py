"""Extraction, probes, decomposition and training, measured on a GPU and on the processor.

    python benchmarks/device.py FOLDER TREEBANK TOKENIZER [--device cuda] [--large] [--sentences 2000]

FOLDER gets models of random weights in the shapes of MiniLM (a BERT of 6 layers, 384 wide), of SmolLM2 (a Llama of 30
layers, 576 wide) and with ``--large`` a Llama of 7 billion weights in bfloat16, all with the tokenizer of the folder
TOKENIZER: speed and bytes do not depend on what weights have learned. TREEBANK is a CoNLL-U file. Times are of the wall
clock, medians of three rounds after one that is not counted; on the processor with all its threads, one round of an
eighth of the sentences. The large model and the analyses read fewer sentences, as their lines say.
"""

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

import tprprobe as tp
from tprprobe.cli.process import keep_freed_memory
from tprprobe.data.pairs import encode_pairs
from tprprobe.extraction.passes import BATCH
from tprprobe.models import build

LLAMA: dict[str, Any] = {"attention_bias": False, "tie_word_embeddings": True}
SMALL = {"hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30}
LARGE = {"hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32}
STEP = {"batch": 128, "source": 60, "target": 10}  # of a training step


def write_model(name: str, folder: Path, tokenizer: Path) -> Path:
    """Writes a model of random weights beside a copy of a tokenizer's files."""
    path = folder / name
    if path.exists():
        return path
    size = transformers.AutoTokenizer.from_pretrained(tokenizer).vocab_size
    torch.manual_seed(0)
    if name == "minilm":
        widths: dict[str, Any] = {
            "hidden_size": 384,
            "intermediate_size": 1536,
            "num_hidden_layers": 6,
        }
        config: Any = transformers.BertConfig(vocab_size=size, num_attention_heads=12, **widths)
        model: Any = transformers.BertModel(config)
    else:
        heads = {"num_attention_heads": 9, "num_key_value_heads": 3}
        shape = LARGE | {"num_attention_heads": 32} if name == "large" else SMALL | heads
        config = transformers.LlamaConfig(vocab_size=size, **shape, **LLAMA, pad_token_id=0)
        with torch.device("cuda" if name == "large" and torch.cuda.is_available() else "cpu"):
            model = transformers.LlamaForCausalLM(config)
        model = model.bfloat16() if name == "large" else model
    model.save_pretrained(path)
    for file in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        if (tokenizer / file).exists():
            shutil.copy(tokenizer / file, path / file)
    return path


def wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def timed(run: Callable[[], Any]) -> float:
    wait()
    start = time.perf_counter()
    run()
    wait()
    return time.perf_counter() - start


def median_seconds(run: Callable[[], Any], rounds: int = 3) -> float:
    run()
    return statistics.median(timed(run) for _ in range(rounds))


def pass_over(model: Any, data: Any) -> None:
    """The bare forward passes over the batches that an extraction makes."""
    pairs = encode_pairs(data, model.vocabulary)
    with torch.no_grad():
        for indices in pairs.by_length(BATCH, model):
            source, target = (
                ids.to(model.device) for ids in pairs.batch(indices, model.config.pad)
            )
            model.run(source, target[:, :-1])


def extract(model: Any, data: Any, folder: str) -> Any:
    shutil.rmtree(folder, ignore_errors=True)
    return tp.extract(model, data, out=folder, attention_samples=0, control=False)


def measure_extraction(path: Path, device: str, data: Any, rounds: int) -> None:
    """Prints tokens a second of the bare passes and of an extraction of all hidden states."""
    start = time.perf_counter()
    model: Any = tp.load_model(f"hf:{path}", device=device)
    loading = time.perf_counter() - start
    tokens = len(encode_pairs(data, model.vocabulary).source.values)
    with tempfile.TemporaryDirectory() as folder:
        bare = median_seconds(lambda: pass_over(model, data), rounds)
        extracting = median_seconds(lambda: extract(model, data, f"{folder}/store"), rounds)
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
    print(
        f"{path.name}, {device}: load {loading:.1f} s; {tokens:,} tokens: bare {tokens / bare:,.0f} a second, extracted "
        f"{tokens / extracting:,.0f} ({bare / extracting:.2f}×), {size / 1e6:,.0f} MB, {size / extracting / 1e6:,.0f} MB a second",
        flush=True,
    )


def compare_states(path: Path, device: str, data: Any) -> None:
    """Prints by how much the states of both devices differ, as a share of their root mean square."""
    with tempfile.TemporaryDirectory() as folder:
        stores = [
            extract(tp.load_model(f"hf:{path}", device=name), data, f"{folder}/{name}")
            for name in ("cpu", device)
        ]
        for site in stores[0].sites:
            reference, on_device = (np.asarray(store.read(site), np.float64) for store in stores)
            share = np.abs(reference - on_device).max() / np.sqrt((reference**2).mean())
            print(f"{path.name} {site}: largest difference {share:.1e} of the root mean square")


def measure_analyses(path: Path, device: str, data: Any) -> None:
    """Prints the seconds of probes of parts of speech on both devices, and of a decomposition."""
    with tempfile.TemporaryDirectory() as folder:
        store = extract(tp.load_model(f"hf:{path}", device=device), data, f"{folder}/store")
        for kind in ("linear", "span-conv"):
            for name in (device, "cpu"):
                seconds = timed(lambda k=kind, n=name: tp.probe(store, "pos", k, device=n))
                print(
                    f"probe pos, {len(data)} sentences, {kind}, {name}: {seconds:.1f} s", flush=True
                )
        seconds = timed(lambda: tp.decompose(store, store.sites[-1], "left"))
        print(f"decompose {store.sites[-1]}, cpu: {seconds:.1f} s", flush=True)


def measure_training(device: str, bf16: bool) -> None:
    """Prints the seconds of a training step of a TP-Transformer of the paper's size."""
    model: Any = build({"preset": "tp-transformer"}).to(device)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    sides = [
        torch.randint(4, 70, (STEP["batch"], STEP[side]), device=device)
        for side in ("source", "target")
    ]

    def step() -> None:
        with torch.autocast(torch.device(device).type, torch.bfloat16, enabled=bf16):
            logits = model(*sides)
        logits.float().logsumexp(-1).mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    seconds = median_seconds(step, 1 if device == "cpu" else 20)
    tokens = STEP["batch"] * (STEP["source"] + STEP["target"])
    kind = "bfloat16" if bf16 else "float32"
    print(
        f"training step, {kind}, {device}: {1e3 * seconds:,.1f} ms, {tokens / seconds:,.0f} tokens a second",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("treebank")
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--sentences", type=int, default=2000)
    options = parser.parse_args()
    keep_freed_memory()
    data = tp.load_data(options.treebank, n=options.sentences)
    devices = list(dict.fromkeys([options.device, "cpu"]))
    for device in devices:
        for bf16 in (False, True):
            measure_training(device, bf16)
    paths = {
        name: write_model(name, options.folder, options.tokenizer) for name in ("minilm", "smollm2")
    }
    for path in paths.values():
        for device in devices:
            is_cpu = device == "cpu"
            measure_extraction(
                path, device, data[: len(data) // 8] if is_cpu else data, 1 if is_cpu else 3
            )
    compare_states(paths["minilm"], options.device, data[:64])
    measure_analyses(paths["minilm"], options.device, data[: len(data) // 4])
    if options.large:
        start = time.perf_counter()
        path = write_model("large", options.folder, options.tokenizer)
        print(f"written in {time.perf_counter() - start:.0f} s")
        measure_extraction(path, options.device, data[: len(data) // 20], 1)


if __name__ == "__main__":
    main()
