"""Plug-ins: what installed packages add to the registries of tprprobe, an entry-point group a registry.

An entry is named NAME or "NAME TITLE". Names and titles are read from metadata; the code of a plug-in
is imported when it is used.
"""

import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

from tprprobe.errors import InputError


class Plugin(NamedTuple):
    """An entry of a registry: its name, the title in a list, and where its object is."""

    name: str
    title: str
    point: EntryPoint

    def load(self) -> Any:
        """The object, imported.

        Raises:
            InputError: the import fails; the line names the plug-in and its package.
        """
        try:
            return self.point.load()
        except Exception as error:  # whatever the code of a stranger raises
            package = self.point.dist.name if self.point.dist else "?"
            raise InputError(
                f"the plug-in {self.name!r} of the package {package} cannot be imported "
                f"({self.point.value}: {type(error).__name__}: {error}): update or uninstall it"
            ) from error


@cache
def find(group: str) -> dict[str, Plugin]:
    """The plug-ins of a registry by name; the first of several packages that give one name."""
    found: dict[str, Plugin] = {}
    for point in entry_points(group=f"tprprobe.{group}"):
        name, _, title = point.name.partition(" ")
        found.setdefault(name, Plugin(name, title.strip(), point))
    return found


@cache
def load_all(group: str) -> dict[str, Any]:
    """The objects of a registry by name; a line on stderr names what cannot be imported."""
    return dict(_loaded(group))


def _loaded(group: str) -> Iterator[tuple[str, Any]]:
    for name, plugin in find(group).items():
        try:
            yield name, plugin.load()
        except InputError as error:
            sys.stderr.write(f"tprprobe: {error}\n")
