"""Companions of a study: in its folder, with few seeds, each with one thing changed of all its runs."""

from tprprobe.files import assets
from tprprobe.training.study.records import FILES, Study, load_study


def find_companion(study: str, name: str) -> Study | None:
    """The companion ``studies/STUDY/NAME``, trained by ``NAME.toml`` beside it; None before a run has
    finished.
    """
    folder = assets.find("studies", study) / name
    return load_study(folder) if (folder / FILES[0]).is_file() else None
