"""Caption files as a data set: `captions:FILE`, with features from a file or from other captions.

`captions:FILE,features=FILE` has an example an image. Without features, an image's vector is made
of its other captions: an example has some captions held out (one, or `held=N`), the vector is
that of the rest, and every caption is held out once. Nothing of a held-out caption is in its vector.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tprpapers.captions.images import Captioned
from tprpapers.huang.caption_bags import bag_vector
from tprpapers.huang.caption_files import CaptionedImage, in_split, read_annotations
from tprpapers.huang.image_features import Features, open_features
from tprpapers.worlds.loader import Loader
from tprprobe.data.dataset import Dataset, Request
from tprprobe.data.documents.corpora import ALIASES
from tprprobe.errors import InputError, unknown

PREFIX = "captions:"
OPTIONS = ("features", "held")


@dataclass(frozen=True, repr=False)
class Images(Dataset[Captioned]):
    """Images with their feature vectors, in these rows of a file."""

    images: tuple[CaptionedImage, ...]
    features: Features
    places: tuple[int, ...]

    def read(self, rows: Sequence[int]) -> Iterator[Captioned]:
        for row in rows:
            image = self.images[row]
            yield Captioned(image.image, self.features.read(self.places[row]), image.captions)


@dataclass(frozen=True, repr=False)
class HeldOut(Dataset[Captioned]):
    """Held-out captions, each with a vector made of its image's other captions."""

    images: tuple[CaptionedImage, ...]
    held_captions: tuple[tuple[int, tuple[int, ...]], ...]  # of which image which captions

    def read(self, rows: Sequence[int]) -> Iterator[Captioned]:
        for row in rows:
            number, held_ids = self.held_captions[row]
            image = self.images[number]
            remaining = [c for i, c in enumerate(image.captions) if i not in held_ids]
            name = f"{image.image}#{'+'.join(map(str, held_ids))}"
            yield Captioned(name, bag_vector(remaining), tuple(image.captions[i] for i in held_ids))


def open_captions(request: Request) -> Dataset[Captioned]:
    """The captioned images of a file, or of the file in a folder that is named after the split.

    Raises: InputError for a file, split or option that is not there, damaged files, and features
        that do not fit the images.
    """
    path, options = _options(request.spec)
    split = request.split or "test"
    images = read_annotations(file := _of_split(path, split))
    indices = list(range(len(images))) if file != path else in_split(images, split, request.seed)
    if not indices:
        splits = sorted({image.split for image in images} - {""}) or list(ALIASES)
        raise unknown(f"split of {path}", split, splits)
    if "features" in options:
        if "held" in options:
            raise InputError(f"{request.spec}: held= is for features from captions; leave it out")
        return _with_features(request, split, images, indices, Path(options["features"]))
    n_held = _number(options.get("held", "1"))
    split_images = tuple(images[number] for number in indices)
    held_captions = tuple(
        (number, held_ids)
        for number, image in enumerate(split_images)
        for held_ids in _partition_captions(len(image.captions), n_held)
        if len(held_ids) < len(image.captions)
    )
    rows = request.first_rows(len(held_captions))
    return HeldOut(request.spec, split, request.seed, rows, split_images, held_captions)


def _with_features(
    request: Request, split: str, images: list[CaptionedImage], indices: list[int], path: Path
) -> Images:
    features = open_features(path)
    has_names = features.names is not None
    numbers = indices if has_names else range(len(images))
    feature_rows = features.rows([images[number].image for number in numbers])
    places = feature_rows if has_names else [feature_rows[number] for number in indices]
    split_images = tuple(images[number] for number in indices)
    rows = request.first_rows(len(split_images))
    return Images(request.spec, split, request.seed, rows, split_images, features, tuple(places))


def _options(spec: str) -> tuple[Path, dict[str, str]]:
    path, *assignments = spec.removeprefix(PREFIX).split(",")
    options = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if name not in OPTIONS or not equals:
            raise unknown("option of captions", name, OPTIONS)
        options[name] = value
    if not Path(path).exists():
        raise InputError(f"no captions at {path!r}; give a file or folder that is there")
    return Path(path), options


def _of_split(path: Path, split: str) -> Path:
    """The file in a folder whose name has the split's in it; a file itself."""
    if not path.is_dir():
        return path
    names = {split, *ALIASES.get(split, ())}
    files = {p: set(p.name.split(".")) for p in sorted(path.iterdir()) if ".json" in p.name}
    for file, words in files.items():
        if names & words:
            return file
    raise unknown(f"split of {path}", split, [file.name for file in files])


def _partition_captions(n: int, size: int) -> list[tuple[int, ...]]:
    """The numbers below n, in ranges of that size."""
    return [tuple(range(start, min(start + size, n))) for start in range(0, n, size)]


def _number(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise InputError(f"held = {text!r}; give how many captions are held out, 1 or more")
    return int(text)


load = Loader(open_captions)
