"""The page of architectures that are read, made of the table that ``python -m studies.architectures`` measures."""

from pathlib import Path

TABLE = Path(__file__).parents[1] / "architectures/architectures.csv"


def write_architectures() -> str:
    return ""
