"""Figures and tables made by name: inputs loaded, options checked, drawn, saved."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from tprprobe.console import note
from tprprobe.errors import InputError, unknown
from tprprobe.figures import dots
from tprprobe.figures.catalogue.entries import Entry, find_figure, load_figures
from tprprobe.figures.catalogue.loaders import INPUTS, Loaded, name_result
from tprprobe.figures.look import USUAL, Look, current_look
from tprprobe.figures.scenes import Scene, Squares
from tprprobe.figures.style import FORMATS, Drawing, GivenAxes, check_ending, save
from tprprobe.figures.tables import PanelTable, Table
from tprprobe.files.jsonfiles import read_json
from tprprobe.store import Store
from tprprobe.store.kinds import STORE
from tprprobe.store.reader import Source, as_store

BACKENDS = ("matplotlib", "plotly")
TITLE_ROOM = 32  # pixels of a title of plotly
PAGE = 9.5  # inches of text on a page of a paper
NUMBERS = (".csv", ".parquet")  # endings of files of numbers
Picture = Scene | Drawing | Table
Inputs = dict[str, Any]  # paths by the name of an input, of the store one
LOOKS = tuple(name for name, option in Look.__dataclass_fields__.items() if option.repr)


def list_drawable(source: Store | Source) -> list[Entry]:
    """The figures and tables that can be drawn of a store alone, or of the results in a folder."""
    if not isinstance(source, Store) and (
        recorded := [entry for entry in load_figures() if _read_recorded(entry, source) is not None]
    ):
        return recorded
    if isinstance(source, Store) or STORE.is_in(source) or not Path(source).is_dir():
        inputs, folders = {"store": source}, []
    else:
        inputs, folders = find_inputs(source), _list_folders(source)
    store = as_store(inputs["store"]) if "store" in inputs else None
    return [
        entry
        for entry in load_figures()
        if any(name in inputs or row.find(folders) for name, row in entry.inputs.items())
        and all(
            name in inputs or row.default is not None or row.find(folders)
            for name, row in entry.inputs.items()
        )
        and (store is None or "store" not in entry.inputs or entry.concerns(store))
    ]


def _read_recorded(entry: Entry, folder: Source) -> dict[str, object] | None:
    """What a figure was made of, where NAME.json in a folder says so (``sources``, below that folder)."""
    record = Path(folder) / f"{entry.name}.json"
    sources = read_json(record).get("sources") if record.is_file() else None
    return None if sources is None else place_sources(entry, [record.parent / s for s in sources])


def place_sources(entry: Entry, sources: Sequence[Source]) -> dict[str, object]:
    """Folders by the names of a figure's inputs; without any what is there by default."""
    return {
        key: (sources[0] if key == "store" else sources) if sources else kind.default
        for key, kind in entry.inputs.items()
    }


def _list_folders(folder: Any) -> list[Path]:
    """A folder and its subfolders."""
    return [Path(folder), *sorted(path for path in Path(folder).glob("*/") if path.is_dir())]


def find_inputs(folder: Any, beside: Iterable[Path] = ()) -> Inputs:
    """The inputs of figures in a folder, its subfolders and those ``beside``, by name; one store at most."""
    folders = [*_list_folders(folder), *beside]
    plugged = (entry.maker.inputs for entry in load_figures())
    kinds = {name: kind for inputs in plugged for name, kind in inputs.items()} | INPUTS
    sources: Inputs = {name: [*kind.find(folders)] for name, kind in kinds.items()}
    sources["store"] = sources["store"] and sources["store"][0]
    return {name: paths for name, paths in sources.items() if paths}


def build(name: str, **options: object) -> Picture:
    """The scene, drawing or table of a figure by name.

    ``options`` are what it is made of, by name: ``store`` (a Store or its path), ``evaluations`` or
    ``runs`` (paths or names of checkpoints), and options of that figure.
    """
    entry = find_figure(name)
    inputs = entry.inputs
    if "store" in options and "store" not in inputs:
        needs = "; ".join(kind.text for kind in inputs.values()) or "no store"
        raise InputError(f"{name} is made of {needs}, not of --store")
    for key in options:
        if key not in (*inputs, *entry.options):
            raise unknown(f"option of {name}", key, (*entry.options, *LOOKS))
    defaults = {key: kind.default for key, kind in inputs.items() if kind.default is not None}
    options = defaults | options
    for key, kind in inputs.items():
        if key not in options:
            raise InputError(
                f"{name} is made of {kind.text}, or --ckpt with a folder that has such inside"
            )
    loaded = {
        key: value.value if isinstance(value := options[key], Loaded) else kind.load(value)
        for key, kind in inputs.items()
    }
    return entry.maker.make(**(options | loaded))


def make(name: str, **options: object) -> Drawing | Table:
    """The figure or table of that name, of the options of :func:`build`."""
    picture = build(name, **options)
    return picture if isinstance(picture, Table) else dots.render(picture)


def draw(
    name: str,
    source: object = None,
    ax: GivenAxes | None = None,
    *,
    backend: str = "matplotlib",
    **options: object,
) -> Any:
    """Draw a figure of the catalogue by its name.

    Args:
        name: The name; ``tprprobe figure`` lists all names.
        source: What the figure is made of: a store, a result, a table of results, a folder of one of these, or a list of
            such folders; default: nothing but the options.
        ax: Axes of matplotlib, in which the figure is drawn; one for every panel of figures of several. They keep their fonts,
            and the legend below takes the room that it needs; the notes are not drawn.
        backend: ``matplotlib``, or ``plotly`` for figures that a browser can draw.
        **options: Options of the figure (``layer``, ``head``, ``k`` …), and of its look: ``width``, ``height`` (inches),
            ``fontsize`` (points of the labels of axes), ``title``, ``labels`` (a mapping of words to other words), ``colors``
            (a list, or a mapping of lines to colors), ``ylim``, ``legend``, ``notes`` (False: none), ``panel`` (one alone, by its number
            from 0 or its name), ``dpi``, ``style`` (a file .mplstyle). ``width`` may be acl, icml (one column), neurips, iclr or page.

    Returns:
        The figure, of matplotlib (of ``ax``, where these are given) or of plotly. ``savefig`` writes it; ``caption`` is the
        text of the notes of what was drawn last.

    Raises:
        InputError: An unknown figure, option or backend, a source that the figure is not made of, or axes that it cannot
            be drawn into.

    Examples:
        >>> tp.draw("attention", store, layer=-1, head=0, width="acl").savefig("map.pdf")
        >>> text = tp.draw("attention", store, layer=-1, head=0).caption
    """
    if backend not in BACKENDS:
        raise unknown("backend", backend, BACKENDS)
    entry = find_figure(name)
    look, options = _split_look(entry, options)
    sources = {} if source is None else read_source(entry, source)
    needs = {key: kind for key, kind in entry.inputs.items() if kind.default is None}
    if lacking := [kind for key, kind in needs.items() if key not in {**sources, **options}]:
        kinds = " and ".join(kind.text.partition(":")[0] for kind in lacking)
        raise InputError(
            f"{name} is made of {kinds}: give tp.draw a result, a table or their folder"
        )
    room = _measure(look, ax)
    with room.used():
        try:
            picture = build(name, **sources, **options)
        except KeyError as error:
            if not any(isinstance(source, Loaded) for source in sources.values()):
                raise
            lack = f"{name}: the table has no column {error}; give a result, its folder, or a table with its columns"
            raise InputError(f"{lack} (`tprprobe docs columns`)") from error
        except TypeError as error:
            raise InputError(
                f"{name}: a column of numbers holds something else ({error})"
            ) from error
    look = replace(look, width=room.width)
    with look.used():
        if backend == "plotly":
            return _plot(name, picture, look)
        return _finish(name, picture, look, ax)


def _measure(look: Look, ax: GivenAxes | None) -> Look:
    """The look with the inches of given axes, in which texts are chosen and laid out."""
    if not isinstance(ax, Axes):
        panels = [] if ax is None else np.ravel(np.asarray(ax, object)).tolist()
        return replace(look, width=panels[0].figure.get_figwidth()) if panels else look
    figure = ax.get_figure(root=True)
    if figure and (engine := figure.get_layout_engine()):  # gives axes the room that they will have
        engine.execute(figure)
    width, height = (side / ax.figure.dpi for side in ax.bbox.size)
    return replace(look, width=width, height=height, title="", notes=False)


def _tabulate(picture: Picture, look: Look) -> pd.DataFrame:
    """The numbers of a scene or a table of panels, or of one of its panels; none of a drawing."""
    scene: Any = getattr(picture, "scene", picture)
    if look.panel is not None and isinstance(scene, Scene | PanelTable):
        scene = scene.choose(look.panel)
    return (
        scene.tabulate() if isinstance(scene, Scene) else getattr(scene, "numbers", pd.DataFrame())
    )


def _list_parts(picture: object) -> list[str]:
    """The names of what can be drawn alone; none of a drawing or a table without blocks."""
    if isinstance(picture, Scene):
        return picture.panels
    return picture.parts if isinstance(picture, Table) else []


def _split_look(entry: Entry, options: Mapping[str, Any]) -> tuple[Look, dict[str, object]]:
    """The look that options say, and the options of the figure itself."""
    names = [key for key in options if key in LOOKS and key not in entry.options]
    look = Look(**{key: options[key] for key in names})
    return look, {key: value for key, value in options.items() if key not in names}


def _finish(name: str, picture: Picture, look: Look, ax: GivenAxes | None = None) -> Any:
    """The figure of matplotlib, with its look."""
    figure = getattr(picture, "scene", picture)  # of a table or a drawing
    if ax is not None and isinstance(figure, Drawing):
        raise InputError(f"{name} is a drawing of its own: draw it without ax")
    if look.title and np.asarray(ax, object).size > 1:
        raise InputError("title: the panels in ax keep their titles; write yours by fig.suptitle")
    if look.panel is not None:
        if not isinstance(figure, Scene | Table) or not _list_parts(figure):
            raise InputError(f"{name} is drawn as a whole: leave out panel")
        figure = figure.choose(look.panel)
    if look.title is not None and not isinstance(figure, Drawing):
        figure, look = replace(figure, title=look.title), replace(look, title=None)
    if type(figure) is Table:  # others are drawn as figures
        figure, look = figure.reword(), replace(look, labels={})
    draw = figure.draw if isinstance(figure, Table) else partial(dots.render, figure)
    trial = draw()  # what cannot be drawn fails here, and leaves given axes as they are
    current_look().check_colors(name)
    look.finish(trial)
    trial.caption = look.rename(figure.note if isinstance(figure, Scene) else figure.caption)
    if ax is None:
        return trial
    figure = draw(ax)
    figure.caption = trial.caption
    panels: list[Any] = np.ravel(np.asarray(ax, object)).tolist()
    images = [image for panel in panels for image in panel.images if image.colorbar]
    look.write([*panels, *(image.colorbar.ax for image in images)])
    return figure


def _plot(name: str, picture: Picture, look: Look) -> object:
    ignored = [
        key for key in LOOKS if key != "colors" and getattr(look, key) != getattr(USUAL, key)
    ]
    if ignored:
        raise InputError(
            f"{', '.join(ignored)}: a figure of plotly takes colors alone; leave out backend, or change the figure (update_layout)"
        )
    from tprprobe.figures.charts import is_plotted, plot, plotted  # with plotly, an extra

    scene = getattr(picture, "scene", picture)
    if not is_plotted(scene):
        raise InputError(f"{name} cannot be drawn by plotly: leave backend out")
    chart: Any = plot(scene, dark=False)
    current_look().check_colors(name)
    if isinstance(scene, Squares) and scene.bar:
        chart.update_traces(showscale=True, colorbar_title=scene.bar)
    if scene.title:
        top = chart.layout.margin.t + TITLE_ROOM
        title = {
            "text": plotted(scene.title, 200),
            "x": 0,
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"t": 8, "l": 8},
        }
        chart.update_layout(title=title, margin_t=top, height=chart.layout.height + TITLE_ROOM)
    return chart


def read_source(entry: Entry, source: Any) -> dict[str, object]:
    """What a figure is made of, by the names of its inputs: a result as it is, or what a folder is or has in it, or folders."""
    inputs = [key for key, kind in entry.inputs.items() if kind.default is None]
    if isinstance(source, Store):
        return {"store": source}
    if len(inputs) == 1 and not isinstance(source, str | Path | list | tuple):
        return {inputs[0]: Loaded(name_result(inputs[0], source))}
    paths = list(source) if isinstance(source, list | tuple) else [source]
    if len(inputs) == 1 and len(paths) > 1:
        return {inputs[0]: paths}
    if len(paths) > 1:
        raise InputError(f"{entry.name} is made of {' and '.join(inputs)}: give one folder of them")
    folder = Path(paths[0])
    if recorded := _read_recorded(entry, folder):
        return recorded
    folders = find_inputs(folder) if folder.is_dir() else {}
    lists = {key: listed for key, listed in folders.items() if key != "store"}
    folders |= {key: [folder] for key, listed in lists.items() if folder in listed}
    if len(inputs) == 1 and inputs[0] not in folders:
        return {inputs[0]: paths if inputs[0] != "store" else paths[0]}
    return {key: folders[key] for key in entry.inputs if key in folders}


def write_figure(
    name: str,
    store: Source | None = None,
    sources: Sequence[Source] = (),
    options: Mapping[str, object] = MappingProxyType({}),
    out: Source | None = None,
) -> Path:
    """The file of a figure (PDF, SVG, PNG, and CSV of its numbers) or table (these, Markdown, LaTeX or CSV).

    ``sources`` are the evaluations or runs that it is made of; an option that is None is not given.
    Without ``out`` the file is ``runs/NAME.pdf``. Raises InputError as :func:`draw` does.
    """
    entry = find_figure(name)
    options = {key: value for key, value in options.items() if value is not None}
    if store is not None and Path(store).is_dir() and not STORE.is_in(store):
        store, sources = None, [*sources, store]  # a folder of results, with stores in it
    options |= {"store": store} if store is not None else {}
    takes_results = "store" in entry.maker.inputs and store is None
    keys = [key for key in entry.inputs if key != "store" or takes_results]
    is_folder = len(sources) == 1 and Path(sources[0]).is_dir()
    located = read_source(entry, sources[0]) if is_folder else {}
    options = {key: sources for key in keys if sources} | located | options
    path = Path("runs") / f"{name}.pdf" if out is None else Path(out)
    look, options = _split_look(entry, options)
    with look.used():
        picture = build(name, **options)
        numbers, ending = _tabulate(picture, look), path.suffix.lower()
        if len(numbers) and ending in NUMBERS:
            picture = Table(numbers, name)
        if isinstance(picture, Table) and ending not in FORMATS:
            if look.panel is not None and not len(numbers):
                picture = picture.choose(look.panel)
            return picture.reword().save(path)
        check_ending(path, (*NUMBERS, *FORMATS) if len(numbers) else FORMATS)
        figure = _finish(name, picture, look)
        height = figure.get_figheight() + getattr(figure, "_below", 0.0)
        if look.inches and height > PAGE:
            parts = _list_parts(getattr(picture, "scene", picture)) if look.panel is None else ()
            advice = ["draw a part (--panel 0)"] * (len(parts) > 1) + ["--no-notes"] * look.notes
            remedy = f": {', or '.join(advice)}" * bool(advice)
            note(f"{path}: {height:.1f} inches are higher than a page{remedy}")
        return save(figure, path)
