"""The gallery: every figure and table with the command that draws it."""

from pathlib import Path

from tprprobe.figures.catalogue.entries import FIGURES, Entry
from tprprobe.figures.catalogue.loaders import INPUTS

DRAWN = Path(__file__).parents[2] / "docs/images/gallery"
PAPERS = {
    "schlag": "Schlag et al. 2019",
    "jiang": "Jiang et al. 2021",
    "huang": "Huang et al. 2018",
}
HEAD = """# Gallery

Every figure and table that `tprprobe figure` draws, and the command. Pictures are drawn from the shipped
checkpoints by `python -m studies.book gallery`; a figure without one needs what its command names. `--out` takes `.pdf`,
`.svg` and `.png`, for tables also `.md`, `.tex` and `.csv`. Options are on [Commands](commands.md#figure).
"""


def write_gallery() -> str:
    """The page: a section for each paper, one for what no paper has."""
    sections = {name: f"## {title}" for name, title in PAPERS.items()} | {
        "": "## Beyond the papers"
    }
    told: dict[str, list[str]] = {name: [] for name in sections}
    for entry in FIGURES.values():
        told[next((name for name in PAPERS if entry.name.startswith(f"{name}-")), "")].append(
            _show(entry)
        )
    return (
        "\n\n".join([HEAD, *("\n\n".join([sections[name], *told[name]]) for name in sections)])
        + "\n"
    )


def figure_command(entry: Entry) -> str:
    """The command that draws a figure, with placeholders for its inputs."""
    given = "".join(
        " --store STORE" if name == "store" else " --ckpt FOLDER"
        for name in dict.fromkeys(entry.inputs)
    )
    return f"tprprobe figure {entry.name}{given} --out {entry.name}.pdf"


def _show(entry: Entry) -> str:
    made = "; ".join(INPUTS[name][0].replace("give ", "") for name in entry.inputs)
    drawn = DRAWN / f"{entry.name}.webp"
    image = (
        f"![{entry.title}](images/gallery/{drawn.name}){{ loading=lazy }}\n\n"
        if drawn.is_file()
        else ""
    )
    needs = f"Made of {made}.\n\n" if made else ""
    return f"### {entry.title}\n\n{image}{needs}```sh\n{figure_command(entry)}\n```"
