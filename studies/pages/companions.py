"""Companions of a study: in its folder, with few seeds, each with one thing changed of all its runs (and
what that thing asks for: a learning rate of another optimiser, a width of more layers).
"""

from collections.abc import Iterable

from tprprobe.files import assets
from tprprobe.training.study.records import FILES, Study, load_study


def find_companions(study: str, names: Iterable[str]) -> dict[str, Study]:
    """The companions ``studies/STUDY/NAME`` that have finished runs, by name; each was trained by
    ``NAME.toml`` beside it.
    """
    folder = assets.find("studies", study)
    return {
        name: load_study(folder / name) for name in names if (folder / name / FILES[0]).is_file()
    }


def count_runs(study: Study) -> str:
    """The number of finished runs of every variant."""
    counts = study.runs.groupby("variant", sort=False).size()
    return ", ".join(f"{name} {count}" for name, count in counts.items())
