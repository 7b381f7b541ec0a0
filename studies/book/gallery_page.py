"""The gallery: every figure and table with the command that draws it."""

from pathlib import Path

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
HEAD = """# Gallery and figures for your paper

This page shows every figure and table that `tprprobe figure` draws, with its command, and how to make a figure fit a paper. Pictures are those of the
[papers' report](../studies/results/report/README.md), which `tprprobe paper all` makes of the shipped checkpoints; those beyond the papers are drawn by
`python -m studies.book gallery`. `--out` takes `.pdf`, `.svg` and `.png`, for tables also `.md`, `.tex` and `.csv`. Options are on
[Commands](commands.md#figure).

## Figures for your paper

```sh
tprprobe figure probes --ckpt runs/probes --width acl --out probes.pdf
tprprobe figure probes --ckpt runs/probes --width neurips --label 'hf:SmolLM2-135M=SmolLM2' --label hidden=states --out probes.pdf
tprprobe figure attention --store runs/demo/store --width 3.3 --fontsize 9 --title '' --style mine.mplstyle --out attention.pdf
```

| option | what it does |
| --- | --- |
| `--width` | Inches, or a column of acl (3.03) or icml (3.25), the text of neurips and iclr (5.5), or a page (6.3). The figure is laid out in this width: panels go below each other, long titles and legends are broken, and letters keep their size. Include it in LaTeX without `width=`. |
| `--height`, `--fontsize` | Inches; points of the labels of axes (8). |
| `--label OLD=NEW` | Other words for some, in titles, legends and ticks. |
| `--colors`, `--style` | Colors, divided by commas; a style file of matplotlib, for fonts and lines. |
| `--title`, `--dpi` | Another title, or none; the resolution of a PNG file (200). |

Fonts are embedded, text can be searched, and the same figure is the same bytes. A table that would be too small to read in its width says so: write it as `.tex`, which
takes the rules of booktabs.

Every figure is also a line of Python, `tp.draw(NAME, SOURCE)`, for a store, a result or a folder of results. It returns a figure of matplotlib and can
draw into axes of your own:

```python
import matplotlib.pyplot as plt

import tprprobe as tp

store = tp.open_store("runs/demo/store")
_, (left, right) = plt.subplots(1, 2, figsize=(6.8, 3), layout="constrained")
tp.draw("attention", store, ax=left, layer=0, head=1, sample=2)
tp.draw("attention", store, ax=right, layer=-1, head=1, sample=2)
plt.savefig("attention.pdf")
```
"""
REAL = """## Real models

The figures of [What real models bind](real.md), drawn by `python -m studies.real show`. `tprprobe examine MODEL --out DIR` draws such figures of your model.

![Exchanges of agent and patient in all-MiniLM-L6-v2, and what a search ranks first](images/real/sentences.svg){ loading=lazy }

![Learnt gain of bindings at the period, and verbs that change, by layer of SmolLM2](images/real/language-model.svg){ loading=lazy }

![Share of pronunciations that a decomposition of g2p_en preserves, by roles](images/real/spelling.svg){ loading=lazy }

![F1 above the input embeddings by layer and task](images/real/layers.svg){ loading=lazy }"""
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
    return (
        "\n\n".join(
            [
                HEAD.strip(),
                REAL,
                *("\n\n".join([sections[name], *sections_of[name]]) for name in sections),
            ]
        )
        + "\n"
    )


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
