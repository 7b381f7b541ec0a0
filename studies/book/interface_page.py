"""The page of the Python interface: every public name, described by its docstring."""

import ast
import re
from pathlib import Path

from studies.templates import fill

PACKAGE = Path(__file__).parents[2] / "tprprobe"
IMPORT = re.compile(r"^from (\S+) import (\w+) as \2$", re.MULTILINE)
SECTIONS = {
    "Models and data": ("load_model", "load_data", "save_pretrained", "convert"),
    "Sites": ("sites", "capture", "intervene", "attach", "register_pyvene"),
    "Stores": (
        "extract",
        "open_store",
        "import_store",
        "export_store",
        "push_to_hub",
        "load_run",
        "slice_tokens",
        "quiet",
    ),
    "Roles": ("cluster", "name_roles", "reconstruct"),
    "Probes": ("probe", "load_probe", "load_results"),
    "Decomposition": (
        "examine",
        "decompose",
        "compare_operations",
        "TPDecomposition",
        "search_roles",
        "substitute",
    ),
    "Figures": ("draw",),
    "Algebra": ("bind", "unbind"),
    "Errors": ("InputError",),
}
ROOMS = {  # modules that are public as a whole: what they export, and its heading
    "tp.interventions": "interventions/__init__.pyi",
    "tp.gold": "gold/__init__.py",
    "tp.figures": "figures/__init__.pyi",
    "tp.dashboard": "dashboard/__init__.pyi",
    "tp.models": "models/__init__.pyi",
}
CLASSES = (
    "data.dataset.Dataset",
    "models.protocol.Language",
    "site.attachment.Attached",
    "store.reader.Store",
    "store.contents.StoreContents",
    "files.kinds.RunContents",
    "analyses.clustering.clusters.Clusters",
    "analyses.decomposition.decompositions.Decomposition",
    "analyses.decomposition.role_findings.RoleSearch",
    "analyses.probing.saved_probe.SavedProbe",
    "evaluation.results.Results",
    "interventions.placement.Edit",
    "figures.style.Drawing",
    "dashboard.view.View",
)
NAMING = "tprpapers.worlds.mathematics.naming.Naming"  # what `name` makes of arithmetic
PLUGINS = ("plugins.find", "plugins.load_all", "plugins.Plugin")


def write_interface() -> str:
    """The page of all public names; a name that no section lists is an error.

    Raises:
        ValueError: a public name stands in no section.
    """
    homes = {name: module.lstrip(".") for module, name in IMPORT.findall(_read("__init__.pyi"))}
    names = {name: home for name, home in homes.items() if home}
    listed = [name for section in SECTIONS.values() for name in section]
    if unlisted := set(names) ^ set(listed):
        raise ValueError(
            f"the page of the interface and tprprobe/__init__.pyi disagree on {sorted(unlisted)}"
        )
    blocks: list[str] = []
    for title, section in SECTIONS.items():
        blocks += [f"## {title}", *(f"::: tprprobe.{names[name]}.{name}" for name in section)]
    blocks += ["## Classes", *(f"::: tprprobe.{path}" for path in CLASSES), f"::: {NAMING}"]
    for title, file in ROOMS.items():
        room = Path(file).parent.name
        blocks += [f"## {title}", *(f"::: tprprobe.{room}.{name}" for name in _exported(file))]
    blocks += ["## tp.plugins", *(f"::: tprprobe.{path}" for path in PLUGINS)]
    blocks += ["## Axes", f"```python\n{_read('axes.py').strip()}\n```"]
    return fill(Path(__file__).parent, "interface.md.j2", blocks="\n\n".join(blocks))


def _read(file: str) -> str:
    return (PACKAGE / file).read_text("utf-8")


def _exported(file: str) -> list[str]:
    """The public names of a room, each with the module inside the room that has it."""
    text = _read(file)
    if file.endswith(".pyi"):
        return [
            f"{module.lstrip('.')}.{name}"
            for module, name in IMPORT.findall(text)
            if module != "." and not name.isupper()
        ]
    listed = next(node.value for node in ast.parse(text).body if isinstance(node, ast.Assign))
    return ast.literal_eval(listed)  # __all__
