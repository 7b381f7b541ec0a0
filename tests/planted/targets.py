"""What damaged files are tried on: what makes a sound folder, and what reads it. A further target is a row of TARGETS."""

import gzip
import json
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import safetensors.numpy
import safetensors.torch
import torch
import zarr
from planted import dumps, exchanges, folders, foreign, publishedfiles
from planted.bindings import STATE, left, plant_bindings
from planted.cli import run_command
from planted.questions import LAST, plant

import tprprobe as tp
from tprpapers.captions.words import Words
from tprpapers.huang.caption_files import read_annotations
from tprpapers.huang.image_features import open_features
from tprpapers.huang.word_vectors import read_glove
from tprpapers.published.pickles import read_vocabulary
from tprpapers.study.plans import read_plan
from tprprobe.analyses.probing.task import read_task
from tprprobe.data.vocabularies.characters import SPECIALS, Vocabulary, characters
from tprprobe.data.vocabularies.subwords import load_subwords, train_subwords
from tprprobe.figures import catalogue
from tprprobe.files.kinds import load_run, verify_run
from tprprobe.gold.annotations import read_annotated
from tprprobe.interventions.sweep_recipes import read_recipe as read_sweep
from tprprobe.models.convert import convert
from tprprobe.training.recipes import read_recipe

ROOT = Path(__file__).parents[2]
PAIRS = [(f"Document {i}, naïve.", f"summary {i}") for i in range(8)]
CONLLU = """# newdoc id = d1
# sent_id = s1
# text = The cat sleeps.
1\tThe\tthe\tDET\tDT\tDefinite=Def\t2\tdet\t_\t_
2\tcat\tcat\tNOUN\tNN\t_\t3\tnsubj\t_\t_
3-4\tsleeps.\t_\t_\t_\t_\t_\t_\t_\t_
3\tsleeps\tsleep\tVERB\tVBZ\t_\t0\troot\t_\t_
4\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_

"""
CONLLUP = (
    "# global.columns = ID FORM UPOS HEAD DEPREL\n\n1\tA\tDET\t2\tdet\n2\tcat\tNOUN\t0\troot\n\n"
)
IOB = "Anna B-PER\nLee I-PER\nsleeps O\n\n1\tRome\tB-LOC\n\n"
EDGES = {
    "text": "The cat sleeps",
    "targets": [{"span1": [1, 2], "span2": [2, 3], "label": "nsubj"}],
    "info": {"document": "d", "sent_id": "1"},
}
TASK = (ROOT / "probes/dep/task.toml").read_bytes()
VECTORS = np.arange(24, dtype=np.float32).reshape(6, 4) / 7
TOKENS = pd.DataFrame({"sample": [0, 0, 0, 1, 1, 1], "token": list("abcabd")})
SMALL = {"vocab_size": 8, "d_model": 8, "n_heads": 2, "n_layers": [1, 1], "d_ff": 8}
SWEEP = """
data = "mathematics:arithmetic__mixed"
n = 20
sites = ["encoder.0.self.role"]
edits = ["zero", "mean"]
strengths = [0.5, 1.0]
"""

Maker = Callable[[Path], object]
Reader = Callable[[Path], Any]
Target = tuple[Maker, Reader]


def _file(name: str, content: str | bytes):
    def make(folder):
        folder.mkdir()
        text = content.encode() if isinstance(content, str) else content
        (folder / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)

    return make


def _text(name: str, content: str | bytes, read: Reader) -> Target:
    """A folder with one file, which is read if it is there."""
    return _file(name, content), lambda folder: (folder / name).is_file() and read(folder / name)


def _load(path):
    return list(tp.load_data(str(path)))


def _captions(path):
    return list(tp.load_data(f"captions:{path}", split="train", n=2))


def _read_question(path):
    return tp.gold.arithmetic(path.read_text("utf-8", "surrogateescape"))


def _read_pickle(folder):
    path = folder / "vocab.pt"
    return path.is_file() and read_vocabulary(path.read_bytes(), "vocab.pt")


def _lines(*records: Any) -> str:
    return "\n".join(json.dumps(record) for record in records) + "\n"


def _read(name: str, **options: Any):
    return lambda folder: list(tp.load_data(str(folder / name), **options))


def _folder_of(name: str, write):
    def make(folder):
        folder.mkdir()
        write(folder / name)

    return make


def _articles(path):
    columns = {"document": [a for a, _ in PAIRS], "summary": [b for _, b in PAIRS]}
    pq.write_table(pa.table(columns), path)


def _mathematics(folder):
    (folder / "interpolate").mkdir(parents=True)
    text = "Calculate 2/(3/4).\n8/3\nWhat is 1 - -2?\n3\n"
    (folder / "interpolate" / "arithmetic__mixed.txt").write_text(text)


def write_hdf5(path):
    with h5py.File(path, "w") as file:
        file["features"], file["image_id"] = VECTORS, [str(i) for i in range(6)]


def _zarr(path):
    group = zarr.open_group(path, mode="w")
    group["features"], group["image_id"] = VECTORS, np.arange(6)


def _parquet_features(path):
    pd.DataFrame({"image_id": range(6), "features": list(VECTORS)}).to_parquet(path)


def _features(name):
    def read(folder):
        features = open_features(folder / name)
        return features.width, [features.read(row) for row in range(features.vectors.shape[0])]

    return read


def _spiece(folder):
    import sentencepiece

    folder.mkdir()
    texts = folder.parent / "texts"
    texts.write_text("\n".join(f"the coin of {i} cats was found in a house" for i in range(30)))
    sentencepiece.SentencePieceTrainer.train(
        input=str(texts), model_prefix=str(folder / "spiece"), vocab_size=30, pad_id=0, eos_id=1,
        unk_id=2, bos_id=-1, pad_piece="<pad>", minloglevel=2,
    )  # fmt: skip
    (folder / "spiece.vocab").unlink()


def _tokenizer(folder):
    folder.mkdir()
    for name, text in train_subwords(["the coin of cats"] * 9, 300, max_source=40).files().items():
        (folder / name).write_text(text)


def _encode(name):
    def read(folder):
        vocabulary = load_subwords(folder / name)
        return vocabulary.decode(vocabulary.encode("the coin of naïve cats")), vocabulary.offsets(
            "a cat"
        )

    return read


def _checkpoint(folder):
    from tprprobe.models.architectures import build

    model = build({"architecture": "tp-transformer", **SMALL})
    tp.save_pretrained(model, folder, card="---\ntprprobe: {data: english}\n---\n")


def _lists(kind, words):
    def make(folder):
        folder.mkdir()
        for name, text in kind((*SPECIALS, *words)).files().items():
            (folder / name).write_text(text)

    return make


def _archive(folder):
    folder.mkdir()
    file = publishedfiles.schlag_file(folder.parent / "c.pt")
    packed = publishedfiles.archive(folder / "a.tar.gz", file)
    with tarfile.open(packed) as archive:
        assert archive.getnames()


def _published(folder):
    folder.mkdir()
    publishedfiles.schlag_file(folder / "c.pt")


def _pickle(zipped):
    def write(path):
        publishedfiles.vocabulary_file(path, list(characters().symbols), zipped)

    return _folder_of("vocab.pt", write)


def _converted(name):
    def read(folder):
        with TemporaryDirectory(dir=folder.parent) as scratch:
            convert(folder / name, Path(scratch) / "out", config=publishedfiles.HEADS)

    return read


def _dump(name, **options):
    def read(folder):
        with TemporaryDirectory(dir=folder.parent) as scratch:
            store = tp.import_store(folder / name, Path(scratch) / "store", **options)
            return [store.read(site) for site in store.sites], store.tokens

    return read


def _arrays(name):
    def make(folder):
        folder.mkdir()
        path = folder / name
        if name.endswith(".npz"):
            np.savez(path, layer=VECTORS)
        else:
            safetensors.numpy.save_file({"layer.0": VECTORS}, path)
        TOKENS.to_csv(path.with_suffix(".csv"), index=False)

    return make


def _datasets(folder):
    import datasets

    rows = {"tokens": [["a", "b"], ["c"]], "layer": [VECTORS[:2].tolist(), VECTORS[2:3].tolist()]}
    dataset = datasets.Dataset.from_dict({"token": rows["tokens"], "layer": rows["layer"]})
    dataset.save_to_disk(str(folder / "saved"))


SENTENCES = {"split": "test", "sentences": [{"raw": "A cat."}, {"raw": "A dog."}]}
KARPATHY = json.dumps({"images": [{"cocoid": i, **SENTENCES} for i in range(4)]})
CAPTIONED = _lines(*({"image_id": i, "captions": ["A cat.", "cats"]} for i in range(4)))
GLOVE = "".join(f"{word} 0.5 {i} -1e-3\n" for i, word in enumerate(["the", "cat", "dog"]))
WORDS = Words((*SPECIALS, "the", "cat", "dog"))


def _result(*words: object, store: Callable[[Path], Any] = lambda path: plant(path, 12)) -> Maker:
    """What makes a store and lets a command write its result beside it."""

    def make(folder: Path) -> None:
        store(folder / "store")
        command, *options = words
        run_command(command, folder / "store", *options, "--out", folder / "out")

    return make


def _bindings(path: Path) -> Any:
    return plant_bindings(path, left, n=120, ranks=(4, 2))


def _tables(folder: Path) -> None:
    """Results whose loaders are tables: of bindings, and what sweeps and probes leave."""
    folders.write_binding(folder / "bindings")
    rows = pd.DataFrame({"site": [LAST] * 4, "head": 0, "score": [0.1, 0.2, 0.3, 0.4], "seed": 0})
    for name in ("probes", "sweeps", "reconstruction"):
        (folder / name).mkdir()
    (folder / "reconstruction" / "reconstruction.json").write_text("{}")
    rows.to_csv(folder / "reconstruction" / "reconstruction.csv", index=False)
    rows.to_parquet(folder / "probes" / "rows.parquet")
    rows.to_csv(folder / "sweeps" / "sweep.csv", index=False)


def _read_results(folder: Path) -> Any:
    results = folder / "out" if (folder / "out").exists() else folder
    texts = [repr(table) for table in load_run(results).values()]
    verify_run(results)
    return texts


def _read_tables(folder: Path) -> Any:
    return [load_run(path) for path in sorted(folder.iterdir()) if path.is_dir()]


def _configured(folder: Path) -> None:
    _published(folder)
    (folder / "config.json").write_text(json.dumps(publishedfiles.HEADS | {"dropout": 0.1}))


def _t5(folder: Path) -> None:
    folder.mkdir()
    state = {name: tensor.clone() for name, tensor in publishedfiles.jiang_state().items()}
    safetensors.torch.save_file(state, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(publishedfiles.SHIPPED))


def _convert(folder: Path) -> Any:
    out = folder.parent / "converted"
    shutil.rmtree(out, ignore_errors=True)
    if (folder / "c.pt").exists():
        tp.convert(folder / "c.pt", out, config=folder / "config.json")
    else:
        tp.convert(folder, out)
    return tp.load_model(out)


def _trained(folder: Path) -> None:
    _checkpoint(folder)
    (folder / "recipe.toml").write_bytes(
        (ROOT / "models" / "tpt-c-arithmetic" / "recipe.toml").read_bytes()
    )


def _plans(folder: Path) -> None:
    folder.mkdir()
    shutil.copy(ROOT / "studies" / "matched-arithmetic" / "plan.toml", folder)
    shutil.copy(ROOT / "models" / "tpt-c-arithmetic" / "recipe.toml", folder)


def _t5_spiece(folder: Path) -> None:
    """A T5 whose tokenizer is a SentencePiece model."""
    _spiece(folder)
    foreign.build_foreign("t5", 40).save_pretrained(folder)
    settings = {"tokenizer_class": "T5Tokenizer", "extra_ids": 0}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


def read_transformers(folder: Path) -> Any:
    """A model, what its tokenizer makes of a text, and one pass over it."""
    model: Any = tp.load_model(f"hf:{next(iter(folder.glob('*.gguf')), folder)}")
    vocabulary = model.vocabulary
    vocabulary.all_offsets(["the naïve dog sees", ""])
    ids = vocabulary.encode_all(["the naïve dog sees"]).values
    prefix, suffix = vocabulary.source_frame
    batch = torch.tensor([[*prefix, *map(int, ids), *suffix] or [0]])
    with torch.no_grad():
        return model.run(batch[:, : vocabulary.limit], batch[:, :1])


def _study(folder):
    shutil.copytree(ROOT / "studies" / "matched-arithmetic", folder)
    examples = folder / "examples.csv.gz"
    pd.read_csv(examples).head(59).to_csv(examples.with_suffix(""), index=False)
    examples.unlink()


def _drawn(name, kind, *paths):
    return lambda folder: catalogue.make(name, **{kind: [folder / path for path in paths or [""]]})


TARGETS: dict[str, Target] = {
    "parquet articles": (_folder_of("a.parquet", _articles), _read("a.parquet")),
    "jsonl": _text("a.jsonl", _lines(*({"document": a, "summary": b} for a, b in PAIRS)), _load),
    "mathematics": (_mathematics, _read("", split="interpolate")),
    "conllu": _text("a.conllu", CONLLU * 2, read_annotated),
    "conllup": _text("a.conllup", CONLLUP, read_annotated),
    "iob2": _text("a.iob2", IOB, read_annotated),
    "edges": _text("dep.jsonl", _lines(EDGES, EDGES), _load),
    "captions of Karpathy's split": _text("c.json", KARPATHY, read_annotations),
    "caption lines": _text("c.jsonl.gz", CAPTIONED, _captions),
    "features npy": (_folder_of("f.npy", lambda path: np.save(path, VECTORS)), _features("f.npy")),
    "features hdf5": (_folder_of("f.h5", write_hdf5), _features("f.h5")),
    "features zarr": (_folder_of("f.zarr", _zarr), _features("f.zarr")),
    "features parquet": (_folder_of("f.parquet", _parquet_features), _features("f.parquet")),
    "glove": _text("g.txt", GLOVE, lambda path: read_glove(path, WORDS, 3)),
    "spiece": (_spiece, _encode("spiece.model")),
    "tokenizer": (_tokenizer, _encode("tokenizer.json")),
    "vocabulary": (_lists(Vocabulary, "abc"), Vocabulary.load),
    "words": (_lists(Words, ["cat", "dog"]), Words.load),
    "pickled vocabulary": (_pickle(False), _read_pickle),
    "pickled vocabulary, zipped": (_pickle(True), _read_pickle),
    "archive": (_archive, _converted("a.tar.gz")),
    "npz": (_arrays("v.npz"), _dump("v.npz")),
    "safetensors": (_arrays("v.safetensors"), _dump("v.safetensors")),
    "vllm": (dumps.write_vllm, _dump("")),
    "datasets": (_datasets, _dump("saved")),
    "neurox hdf5": (_folder_of("n.hdf5", dumps.write_neurox), _dump("n.hdf5")),
    "neurox json": (_folder_of("n.json", dumps.write_neurox), _dump("n.json", format="neurox")),
    "tpdn": (_folder_of("t.txt", dumps.write_tpdn), _dump("t.txt", format="tpdn")),
    "sweep": _text("s.toml", SWEEP, read_sweep),
    "task": _text("task.toml", TASK, lambda path: read_task(path.parent)),
    "questions": _text("q.txt", "Calculate 2/(3/4).", _read_question),
    "store": (exchanges.plant_two, lambda folder: exchanges.contents(folder / "store")),
    "conversion": (_configured, _convert),
    "conversion of a folder": (_t5, _convert),
    "checkpoint": (_trained, tp.load_model),
    "transformers, causal": (
        lambda folder: foreign.save_foreign("llama", folder, "causal"),
        read_transformers,
    ),
    "transformers, SentencePiece": (_t5_spiece, read_transformers),
    "transformers, GGUF": (foreign.save_gguf, read_transformers),
    "plans": (_plans, lambda f: (read_plan(f / "plan.toml"), read_recipe(f / "recipe.toml"))),
    "clusters": (_result("cluster", "--site", LAST, "--head", 0, "--k", 3), _read_results),
    "names": (_result("name", "--site", LAST, "--k", 3), _read_results),
    "decompositions": (
        _result("decompose", "--site", STATE, "--roles", "left", "--rank", "4x2", store=_bindings),
        _read_results,
    ),
    "roles": (_result("roles", "--site", STATE, store=_bindings), _read_results),
    "tables": (_tables, _read_tables),
    "log": (folders.write_log, _drawn("learning-curve", "runs")),
    "evaluation": (folders.write_evaluation, _drawn("schlag-table1", "evaluations")),
    "binding": (folders.write_binding, _drawn("schlag-sec6.2-trained", "bindings")),
    "summaries": (folders.write_summaries, _drawn("jiang-table2", "summaries", "tpt-d", "t5")),
    "votes": (folders.write_summaries, _drawn("jiang-table3", "votes", "sheet.csv")),
    "captions": (folders.write_captions, _drawn("huang-table1", "captioned")),
    "study": (_study, _drawn("matched-study", "study")),
}
