"""Hidden states of every layer of models of transformers, captured side by side: a Markdown table.

    python benchmarks/capture.py [--reports 600] [--rounds 2]

A GPT-2 and a BERT of six layers of width 256 with random weights read the same generated reports, in the same
batches of like length. Ways: ours (`tp.extract`: sub-words, words, and vectors written to a store on disk); hooks of
torch by hand, nnsight's traces and TransformerLens' cache, each with its vectors of all tokens kept in memory
without pads. nnsight and TransformerLens are left out where they are not installed; the latter wraps no
encoder here. All ways must find the same vectors (sum of squares to 1e-4).

Every way runs in a process of its own, one thread, and in turn with the bare forward pass of the same process, whose
tokens are encoded before; freed memory is kept by all of them, as the command `extract` does. Rates are medians of the rounds; memory is the peak beyond that of the bare pass.
"""

import argparse
import importlib.util
import json
import math
import multiprocessing
import resource
import shutil
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from torch import Tensor

import tprprobe as tp
from tprprobe.cli.process import keep_freed_memory
from tprprobe.data.pairs import encode_pairs

WIDTH, LAYERS, BATCH = 256, 6, 64
SIZES: dict[str, dict[str, Any]] = {
    "gpt2": {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": 4, "n_positions": 512},
    "bert": {
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 4,
        "intermediate_size": 4 * WIDTH,
    },
}
SPECIAL = ["<pad>", "<unk>", "<s>", "</s>"]
Batches = list[tuple[Tensor, Tensor]]  # ids, and which of them are no padding
Vectors = list[Tensor]  # of every layer, [token, d_model]


def train_tokenizer(kind: str, texts: list[str]) -> Any:
    """Bytes in pairs for GPT-2, word pieces for BERT, 2,000 of them."""
    options: dict[str, Any] = {"vocab_size": 2000, "special_tokens": SPECIAL}
    if kind == "bert":
        tokenizer = Tokenizer(models.WordPiece({}, unk_token="<unk>"))
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer: Any = trainers.WordPieceTrainer(**options, show_progress=False)
    else:
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(**options, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    names = ("pad", "unk", "bos", "eos", "cls", "sep")
    symbols = dict(zip(names, [*SPECIAL, *SPECIAL[2:]], strict=True))
    special_tokens = {f"{name}_token": symbol for name, symbol in symbols.items()}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special_tokens)


def make(folder: Path, reports: int) -> None:
    """Writes the reports, and a model of each kind."""
    data = tp.load_data("english:version=1,depth=1,sentences=4-6", split="test", n=reports)
    texts = [report.source for report in data]
    lines = [json.dumps({"document": text, "summary": "."}) + "\n" for text in texts]
    (folder / "reports.jsonl").write_text("".join(lines))
    for kind, sizes in SIZES.items():
        tokenizer = train_tokenizer(kind, texts)
        tokenizer.save_pretrained(folder / kind)
        ids = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
        config = transformers.AutoConfig.for_model(kind, vocab_size=len(tokenizer), **ids, **sizes)
        torch.manual_seed(0)
        transformers.AutoModel.from_config(config).save_pretrained(folder / kind)


def layers_of(module: Any) -> Any:
    return module.h if hasattr(module, "h") else module.encoder.layer


def first(output: Any) -> Tensor:
    return output if isinstance(output, Tensor) else output[0]


def bare(module: Any, batches: Batches) -> None:
    for ids, mask in batches:
        module(input_ids=ids, attention_mask=mask.long(), use_cache=False)


def hooks(module: Any, batches: Batches) -> Vectors:
    """Vectors by hooks of torch."""
    vectors_by_layer: list[Vectors] = [[] for _ in range(LAYERS)]
    handles = [
        layer.register_forward_hook(lambda _m, _i, output, k=keep: k.append(first(output)))
        for layer, keep in zip(layers_of(module), vectors_by_layer, strict=True)
    ]
    for ids, mask in batches:
        module(input_ids=ids, attention_mask=mask.long(), use_cache=False)
        for layer_vectors in vectors_by_layer:
            layer_vectors[-1] = layer_vectors[-1][mask]
    for handle in handles:
        handle.remove()
    return [torch.cat(layer_vectors) for layer_vectors in vectors_by_layer]


def nnsight(module: Any, batches: Batches) -> Vectors:
    """Vectors by nnsight's traces."""
    from nnsight import NNsight  # pyright: ignore[reportMissingImports]

    traced, vectors_by_layer = NNsight(module), [[] for _ in range(LAYERS)]
    for ids, mask in batches:
        outputs = []
        with traced.trace(input_ids=ids, attention_mask=mask.long(), use_cache=False):
            for layer in layers_of(traced):
                outputs.append(layer.output.save())
        for keep, output in zip(vectors_by_layer, outputs, strict=True):
            keep.append(first(output)[mask])
    return [torch.cat(layer_vectors) for layer_vectors in vectors_by_layer]


def transformer_lens(wrapped: Any, batches: Batches) -> Vectors:
    """Vectors by TransformerLens' cache; its model also computes logits."""
    names = [f"blocks.{layer}.hook_out" for layer in range(LAYERS)]
    vectors_by_layer: list[Vectors] = [[] for _ in names]
    for ids, mask in batches:
        _, cache = wrapped.run_with_cache(ids, names_filter=names, attention_mask=mask.long())
        for keep, name in zip(vectors_by_layer, names, strict=True):
            keep.append(cache[name][mask])
    return [torch.cat(layer_vectors) for layer_vectors in vectors_by_layer]


def ours(model: Any, data: Any, out: Path) -> Any:
    """The store of the vectors."""
    shutil.rmtree(out, ignore_errors=True)
    names = [name for name in tp.sites(model)["site"] if name.endswith(".hidden")]
    return tp.extract(model, data, names, out, attention_samples=0, control=False)


def wrap(folder: Path) -> Any:
    """A model as TransformerLens runs it."""
    from transformer_lens import TransformerBridge  # pyright: ignore[reportMissingImports]

    module = transformers.AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    options = {"hf_model": module, "tokenizer": tokenizer, "device": "cpu"}
    return TransformerBridge.boot_transformers(str(folder), **options)


@torch.no_grad()
def measure(kind: str, way: str, folder: Path, rounds: int) -> dict[str, Any]:
    """Tokens a second of the bare pass and of a way, its memory, and the squares of its vectors."""
    torch.set_num_threads(1)
    keep_freed_memory()  # as the command does; for the bare pass and all ways
    model: Any = tp.load_model(f"hf:{folder / kind}")
    data = tp.load_data(str(folder / "reports.jsonl"))
    pairs, pad = encode_pairs(data, model.vocabulary), model.vocabulary.pad
    id_batches = [pairs.batch(rows, pad)[0] for rows in pairs.by_length(BATCH)]
    batches = [(ids.clamp(min=0), ids != pad) for ids in id_batches]
    module: Any = model.get_submodule("_foreign")
    wrapped = wrap(folder / kind) if way == "TransformerLens" else None

    def run(selection: slice = slice(None)) -> Any:
        if way == "ours":
            return ours(model, data[selection], folder / "store")
        if wrapped is not None:
            return transformer_lens(wrapped, batches[selection])
        return (nnsight if way == "nnsight" else hooks)(module, batches[selection])

    run(slice(1))  # imports
    bare(module, batches)
    memory_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    captured = run()
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory_before) / 1024
    vectors = [captured.read(name) for name in captured.sites] if way == "ours" else captured
    squares = [
        float((torch.as_tensor(layer_vectors).double() ** 2).sum()) for layer_vectors in vectors
    ]
    captured = vectors = None  # what a round keeps is not there in the next
    seconds: list[tuple[float, float]] = []
    for _ in range(rounds):
        for work in (lambda: bare(module, batches), run):
            wall, worked = time.perf_counter(), time.process_time()
            work()
            seconds.append((time.perf_counter() - wall, time.process_time() - worked))
    rates = [
        len(pairs.source.values) / statistics.median(pair)
        for half in (seconds[::2], seconds[1::2])
        for pair in zip(*half, strict=True)
    ]
    return {"rates": rates, "memory": memory, "squares": squares}


def ways_of(kind: str) -> list[str]:
    """The ways that there are here; TransformerLens reads GPT-2 only."""
    ways = ["ours", "hooks by hand"]
    ways += ["nnsight"] if importlib.util.find_spec("nnsight") else []
    lens = kind == "gpt2" and importlib.util.find_spec("transformer_lens")
    return [*ways, "TransformerLens"] if lens else ways


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--reports", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    head = "bare, tokens/s | tokens/s | times the bare pass | bare, tokens/processor s | tokens/processor s | times the bare pass by processor | memory MB"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, arguments.reports)
        for kind in SIZES:
            print(f"\n| {kind} | {head} |\n|---|{'---:|' * 7}")
            squares: list[float] = []
            for way in ways_of(kind):
                with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
                    result = process.submit(measure, kind, way, folder, arguments.rounds).result()
                squares = squares or result["squares"]
                if not all(map(partial(math.isclose, rel_tol=1e-4), squares, result["squares"])):
                    raise SystemExit(
                        f"{way} found other vectors: {result['squares']}, not {squares}"
                    )
                bare_wall, bare_work, wall, work = result["rates"]
                print(
                    f"| {way} | {bare_wall:,.0f} | {wall:,.0f} | {wall / bare_wall:.2f}× | {bare_work:,.0f} | "
                    f"{work:,.0f} | {work / bare_work:.2f}× | {result['memory']:,.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
