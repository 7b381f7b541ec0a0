"""Plug-ins: what installed packages add to the registries of tprprobe, an entry-point group a registry.

An entry is named NAME or "NAME TITLE". Names and titles are read from metadata; the code of a plug-in
is imported when it is used.
"""

import sys
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

from tprprobe.errors import InputError


class Plugin(NamedTuple):
    """A plug-in: an entry of a registry.

    Attributes:
        name: Its name.
        title: What it is, in a list; empty if the package gives none.
        point: The entry point behind it.

    Examples:
        >>> tp.plugins.find("figures")["schlag-fig2"].title
        'Role clusters over questions'
    """

    name: str
    title: str
    point: EntryPoint

    def load(self) -> Any:
        """The object of the plug-in, imported.

        Returns:
            The object.

        Raises:
            InputError: The import fails; the line names the plug-in and its package.
        """
        try:
            return self.point.load()
        except (Exception, SystemExit) as error:  # whatever the code of a stranger raises
            package = self.point.dist.name if self.point.dist else "?"
            raise InputError(
                f"the plug-in {self.name!r} of the package {package} cannot be imported "
                f"({self.point.value}: {type(error).__name__}: {error}): update or uninstall it"
            ) from error


@cache
def find(group: str) -> dict[str, Plugin]:
    """The plug-ins of a registry, none of which is imported.

    Args:
        group: The registry: ``models``, ``data``, ``figures``, … ([plug-ins](plugins.md)).

    Returns:
        The plug-ins by name; the first, where several packages give one name.

    Raises:
        InputError: A package's list of entry points is damaged.

    Examples:
        >>> "english" in tp.plugins.find("data")
        True
    """
    plugins: dict[str, Plugin] = {}
    try:
        points = entry_points(group=f"tprprobe.{group}")
    except Exception as error:  # a damaged file of any package
        raise InputError(f"a package has a damaged entry_points.txt: {error}") from error
    for point in points:
        name, _, title = point.name.partition(" ")
        plugins.setdefault(name, Plugin(name, title.strip(), point))
    return plugins


@cache
def load_all(group: str) -> dict[str, Any]:
    """The objects of a registry, imported; a line on stderr names those that cannot be.

    Args:
        group: The registry, as in :func:`find`.

    Returns:
        The objects by name.

    Examples:
        >>> "lstm" in tp.plugins.load_all("models")
        True
    """
    loaded = {}
    for name, plugin in find(group).items():
        try:
            loaded[name] = plugin.load()
        except InputError as error:
            sys.stderr.write(f"tprprobe: {error}\n")
    return loaded
