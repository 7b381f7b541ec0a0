"""What a store says of itself by its manifest alone, and which results were made of it."""

import functools
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tprprobe.errors import InputError
from tprprobe.files.notebook import as_html
from tprprobe.site.patterns import select
from tprprobe.store import layout
from tprprobe.store.manifests import Content, Manifest

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class StoreContents:
    """What a store holds, without its arrays and tokens.

    Attributes:
        path: The folder.
        manifest: The store's facts: model, data, sites, sizes, checksums and versions.

    Examples:
        >>> store.side("encoder.-1.self.role")
        'source'
    """

    path: Path
    manifest: Content

    @functools.cached_property
    def facts(self) -> Manifest:
        """The manifest, its keys as this version names them, each of its type."""
        return Manifest.of(self.manifest, f"{self.path / layout.MANIFEST} is damaged")

    @property
    def samples(self) -> int:
        """The number of samples."""
        return self.facts.samples

    @functools.cached_property
    def fingerprint(self) -> str:
        """The digest of what the store is of, which is the same wherever the store lies."""
        places = ("checksums", "model_folder")
        content = {key: value for key, value in self.manifest.items() if key not in places}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def model(self) -> str | None:
        """The fingerprint of the model that the store is of; None where the store does not say."""
        return self.facts.model.sha256

    @property
    def sites(self) -> list[str]:
        """The names of all sites."""
        return list(self.facts.sites)

    @property
    def specs(self) -> dict[str, layout.SiteSpec]:
        """Axes, shape of a row and type of every site."""
        return self.facts.sites

    @property
    def summary(self) -> "pd.DataFrame":
        """One row per site; see [columns](stores.md#columns-of-sites)."""
        import pandas as pd

        return pd.DataFrame(self.facts.describe(), columns=list(layout.DESCRIBED))

    def select(self, patterns: str | Iterable[str]) -> list[str]:
        """The names of the sites that match patterns.

        Args:
            patterns: Shell globs; layer -1 is the last.

        Returns:
            The names, in the order of the store.

        Raises:
            InputError: No site matches; the line says which sites the store has.
        """
        try:
            return select(patterns, self.sites)
        except InputError as error:
            raise InputError(f"{error}; `extract --sites` chooses the sites of a store") from None

    def side(self, site: str) -> str:
        """The kind of tokens that the rows of a site belong to.

        Args:
            site: A site; layer -1 is the last.

        Returns:
            ``source`` or ``target`` (of an attention map: that of its queries), or ``sample`` where there is one vector a
            sample.
        """
        return self._spec(site)[1].rows.partition("_")[0]

    @property
    def pool(self) -> str | None:
        """How a sample's vectors were made one: ``mean``, ``first``, ``last`` or a mark; None if they were not."""
        return self.facts.pool

    def count_rows(self, site: str) -> int:
        """The number of rows of a site.

        Args:
            site: A site; layer -1 is the last.

        Returns:
            The number of vectors, or of pairs of a query and a key.
        """
        return self.facts.arrays[self._spec(site)[0]][1]

    def count_maps(self, site: str) -> int:
        """The number of samples that have attention maps.

        Args:
            site: A site; layer -1 is the last.

        Returns:
            The number of samples, from the first on; 0 where the site holds no maps.
        """
        return self.facts.lengths.get(f"{self._spec(site)[1].rows}_sample", 0)

    def _spec(self, site: str) -> tuple[str, layout.SiteSpec]:
        names = self.select(site)
        if len(names) > 1:
            raise InputError(f"{site!r} names {len(names)} sites ({names[0]}, …): give one of them")
        return names[0], self.specs[names[0]]

    def __repr__(self) -> str:
        lengths = self.facts.lengths
        size = self.summary["bytes"].sum() / 1e6  # MB
        counts = f"{lengths.get('source', 0)} source and {lengths.get('target', 0)} target tokens"
        return f"Store({str(self.path)!r}: {self.samples} samples, {counts}, {len(self.sites)} sites, {size:.1f} MB)"

    def _repr_html_(self) -> str:
        return as_html(repr(self), self.summary)


def origin_json(origin: Mapping[str, Sequence[str]]) -> str:
    return json.dumps(origin, indent=1) + "\n"


def sort_results(
    store: StoreContents, folders: Iterable[Path]
) -> tuple[list[Path], list[Path], list[Path]]:
    """The folders of results of the store (or of its model), of others, and of those that do not say of which."""
    of_store, of_other_stores, unknown = [], [], []
    for folder in folders:
        text = "".join(file.read_text("utf-8", "replace") for file in folder.glob("*.json"))
        names_store = '"stores":' in text
        fingerprint = store.fingerprint if names_store else store.model
        names_any = names_store or '"sha256":' in text or '"weights":' in text
        is_own = names_any and f'"{fingerprint}"' in text
        (of_store if is_own else of_other_stores if names_any else unknown).append(folder)
    return of_store, of_other_stores, unknown
