"""Companions of a study: in its folder, each with one thing changed of all its runs (and what that thing
asks for: a learning rate of another optimizer, a width of more layers).
"""

from collections.abc import Iterable
from dataclasses import replace

from studies.templates import table
from tprpapers.study.records import FILES, Study, load_study
from tprprobe.files import assets


def load_with_companions(study: str, names: Iterable[str]) -> tuple[Study, dict[str, Study]]:
    """The study that ships, and its companions ``studies/STUDY/NAME`` that have finished runs, by name;
    each was trained by ``NAME.toml`` beside the study's plan.
    """
    folder = assets.find("studies", study)
    companions = {
        name: load_study(folder / name) for name in names if (folder / name / FILES[0]).is_file()
    }
    return load_study(folder), companions


def take_runs(study: Study, companion: Study) -> Study:
    """The study with no other runs, of variants and seeds, than its companion's."""
    return replace(study, runs=study.runs[study.runs["run"].isin(companion.runs["run"])])


def count_runs(study: Study) -> str:
    """The number of finished runs of every variant, as a table."""
    counts = study.runs.groupby("variant", sort=False).size()
    return table([{"variant": str(name), "finished runs": str(n)} for name, n in counts.items()])
