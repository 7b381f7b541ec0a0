"""Data sets by name: examples with a source and a target text, the same in every run."""

from tprprobe.data.dataset import Dataset
from tprprobe.data.mathematics import PREFIX, generate_questions
from tprprobe.data.parquet import open_parquet


def load_data(
    spec: str, split: str | None = None, n: int | None = None, seed: int = 0, workers: int = 0
) -> Dataset:
    if spec.startswith(PREFIX):
        return generate_questions(spec, split, n, seed, workers)
    return open_parquet(spec, split, n)
