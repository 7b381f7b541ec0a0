"""The gallery: every figure and table with the command that draws it."""

from pathlib import Path

from studies.templates import fill
from tprprobe.figures.catalogue.entries import Entry, list_figures

DOCS = Path(__file__).parents[2] / "docs"
PICTURE_PATHS = (  # of the papers' report, and by studies.book
    "../studies/results/report/{}.svg",
    "images/gallery/{}.webp",
)
PAPERS = {
    "schlag": "Schlag et al. 2019",
    "jiang": "Jiang et al. 2021",
    "huang": "Huang et al. 2018",
}
PEOPLE = "No picture: it is made of what people judged, and nobody has yet.\n\n"


def write_gallery() -> str:
    """The page: a section for each paper, one for what no paper has."""
    sections = {name: f"## {title}" for name, title in PAPERS.items()} | {
        "": "## Beyond the papers"
    }
    sections_of: dict[str, list[str]] = {name: [] for name in sections}
    entries = list_figures()
    variants = {entry.maker.like: entry.name for entry in entries}
    for entry in entries:
        sections_of[
            next((name for name in PAPERS if entry.name.startswith(f"{name}-")), "")
        ].append(_show(entry, variants.get(entry.name, entry.name)))
    listed = ("\n\n".join([sections[name], *sections_of[name]]) for name in sections)
    return fill(Path(__file__).parent, "gallery.md.j2", sections="\n\n".join(listed))


def figure_command(entry: Entry) -> str:
    """The command that draws a figure, with placeholders for its inputs."""
    options = "".join(
        " --store STORE" if name == "store" else " --ckpt FOLDER"
        for name in dict.fromkeys(entry.inputs)
    )
    return f"tprprobe figure {entry.name}{options} --out {entry.name}.pdf"


def _show(entry: Entry, picture: str) -> str:
    """The section of a figure; its picture may be one of the same drawing with other settings."""
    inputs = "; ".join(
        requirement.text.replace("give ", "") for requirement in entry.inputs.values()
    )
    pictures = [name for path in PICTURE_PATHS if (DOCS / (name := path.format(picture))).is_file()]
    image = (
        f"![{entry.title}]({pictures[0]}){{ loading=lazy }}\n\n"
        if pictures
        else PEOPLE
        if "votes" in entry.inputs
        else ""
    )
    needs = f"Made of {inputs}.\n\n" if inputs else ""
    return f"### {entry.title}\n\n{image}{needs}```sh\n{figure_command(entry)}\n```"
