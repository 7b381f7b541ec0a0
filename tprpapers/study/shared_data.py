"""Data that all runs of a study share: the encoded training examples, and the tested ones."""

from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor

from tprpapers.study.plans import Plan
from tprpapers.study.records import FLAGS, TEST, read_records
from tprprobe import gold
from tprprobe.data import load_data
from tprprobe.data.batching import Ragged
from tprprobe.data.pairs import Pairs, encode_sources
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.errors import InputError
from tprprobe.files.writing import held, whole, write_file
from tprprobe.training.pools import Pool
from tprprobe.training.recipes import Mix


def pools(folder: Path, longest: int | None) -> Callable[[list[Mix], Codec, torch.device], Pool]:
    """A function that loads training examples: the first run encodes them into the folder, all read
    them.

    Questions of more than ``longest`` characters are left out.
    """

    def load(mixes: list[Mix], vocabulary: Codec, device: torch.device) -> Pool:
        key = repr((mixes, vocabulary.symbols, longest)).encode()
        path = folder / f"{blake2b(key, digest_size=8).hexdigest()}.pt"
        with held(folder / "lock"):
            if not path.exists():
                _write(path, _shorter(Pool.load(mixes, vocabulary, device), vocabulary, longest))
        tensors: list[Tensor] = torch.load(path, weights_only=True, mmap=True)
        pairs = Pairs(Ragged(*tensors[:2]), Ragged(*tensors[2:4])).to(device)
        return Pool(pairs, *tensors[4:])

    return load


def _shorter(pool: Pool, vocabulary: Codec, longest: int | None) -> Pool:
    if longest is None:
        return pool
    enclosing = int(encode_sources(["1"], vocabulary).lengths[0]) - 1  # start and end symbols
    is_short = pool.pairs.source.lengths[pool.indices] - enclosing <= longest
    return Pool(pool.pairs, pool.indices[is_short], pool.lengths[is_short])


def _write(path: Path, pool: Pool) -> None:
    source, target = pool.pairs.source, pool.pairs.target
    tensors = [source.values, source.offsets, target.values, target.offsets]
    with whole(path) as partial, open(partial, "wb") as stream:  # a path would be named in the file
        torch.save([tensor.clone() for tensor in (*tensors, pool.indices, pool.lengths)], stream)


def tested(plan: Plan, folder: Path, workers: int) -> pd.DataFrame:
    """The examples that finished runs answer or summarize, generated once.

    Columns: module (of documents: split), source, target; of questions also ``longer`` (than any
    that was trained on) and ``discordant`` (a number whose place in the whole fraction is not what
    its own division says).

    Raises:
        InputError: the test has questions and documents, or ``longest`` is given for documents.
    """
    path = folder / "data" / TEST
    with held(path.parent / "lock"):
        if not path.exists():
            recorded = _recorded(folder)
            table = _generated(plan, workers) if recorded is None else recorded
            write_file(path, table.to_parquet())
    return pd.read_parquet(path)


def has_one_answer(tested: pd.DataFrame) -> bool:
    """True if questions are tested, false for documents."""
    return FLAGS[0] in tested


def _recorded(folder: Path) -> pd.DataFrame | None:
    """The examples that the runs in the tables of a study were tested on."""
    _, _, table = read_records(folder)
    if "source" not in table:
        return None
    flags = {name: table[name] == "1" for name in FLAGS if name in table}
    return table[["module", "source", "target"]].assign(**flags)


def _generated(plan: Plan, workers: int) -> pd.DataFrame:
    datasets = [
        load_data(mix.data, split=mix.split, n=mix.n, seed=mix.seed, workers=workers)
        for mix in plan.test
    ]
    if len({data[0].has_one_answer for data in datasets}) > 1:
        raise InputError(f"{plan.name}: test: questions and documents are studied apart")
    rows = [
        (example.module or data.split, example.source, example.target)
        for data in datasets
        for block in data.examples(1024)
        for example in block
    ]
    table = pd.DataFrame(rows, columns=["module", "source", "target"])
    table = table.drop_duplicates("source", ignore_index=True)
    if not datasets[0][0].has_one_answer:
        if plan.longest is not None:
            raise InputError(f"{plan.name}: longest = {plan.longest} is of questions: leave it out")
        return table
    length = table["source"].str.len()
    return table.assign(
        longer=length > (plan.longest or length), discordant=table["source"].map(_discordant)
    )


def _discordant(question: str) -> bool:
    return bool(gold.arithmetic(question)["discordant"].fillna(False).any())
