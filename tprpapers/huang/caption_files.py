"""Caption files: images with captions that people wrote.

- Karpathy's split, `dataset_coco.json`: {"images": [{"cocoid", "split", "sentences": [{"raw"}]}]};
  its `restval` is trained on, as everybody does.
- COCO's own, `captions_val2014.json`: {"annotations": [{"image_id", "caption"}]}.
- JSON lines: {"image_id", "captions": […]} and, if wanted, "split".

All may be gzipped. Files without splits are divided by a seeded hash of the image.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tprprobe.data.dataset import split_by_hash
from tprprobe.data.documents.articlefiles import as_text
from tprprobe.data.documents.corpora import ALIASES
from tprprobe.errors import InputError
from tprprobe.files.jsonfiles import parse_json
from tprprobe.files.lines import opened, scan_lines

RESTVAL = "restval"
LARGEST = 2**30  # bytes, unpacked
CAPTIONS = "a JSON object with 'images' (Karpathy's split) or 'annotations' (COCO's)"


@dataclass(frozen=True, slots=True)
class CaptionedImage:
    """An image by its name, the split it is in ("" if the file has none), and its captions."""

    image: str
    split: str
    captions: tuple[str, ...]


def read_annotations(path: Path) -> list[CaptionedImage]:
    """The images of a file in its order, with all their captions.

    Raises: InputError naming the place of what is missing, empty, twice there or damaged.
    """
    is_jsonl = ".jsonl" in path.suffixes[-2:]
    images = list(_from_lines(path) if is_jsonl else _from_json(path))
    if not images:
        raise InputError(f"{path} has no captions; give {CAPTIONS}, or JSON lines")
    names: set[str] = set()
    for image in images:
        if image.image in names:
            raise InputError(
                f"{path}: image {image.image} is there twice; put its captions together"
            )
        names.add(image.image)
    return images


def _from_lines(path: Path) -> Iterator[CaptionedImage]:
    lines = scan_lines(path)
    for number, line in lines.read(range(len(lines))):
        where = f"{path}, line {number}"
        row = parse_json(line, where)
        if not isinstance(row, dict) or not {"image_id", "captions"} <= row.keys():
            raise InputError(f"{where} has no 'image_id' and 'captions'; give an object with both")
        yield _annotated(row["image_id"], row.get("split", ""), row["captions"], where)


def _from_json(path: Path) -> Iterator[CaptionedImage]:
    with opened(path) as stream:
        text = stream.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise InputError(f"{path} holds more than {LARGEST:,} bytes; give JSON lines")
    content = parse_json(text, path, "get it again")
    content = content if isinstance(content, dict) else {}
    try:
        if "annotations" in content:
            yield from _official(content["annotations"], path)
        else:
            yield from (_karpathy(image, path) for image in content.get("images", ()))
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} lacks {error}: give {CAPTIONS}") from None


def _official(annotations: Any, path: Path) -> Iterator[CaptionedImage]:
    captions: dict[Any, list[str]] = {}
    for annotation in annotations:
        captions.setdefault(annotation["image_id"], []).append(annotation["caption"])
    for image, texts in captions.items():
        yield _annotated(image, "", texts, f"{path}, image {image}")


def _karpathy(image: Any, path: Path) -> CaptionedImage:
    name = image.get("cocoid", image.get("filename"))
    captions = [sentence["raw"] for sentence in image["sentences"]]
    split = "train" if image["split"] == RESTVAL else image["split"]
    return _annotated(name, split, captions, f"{path}, image {name}")


def _annotated(image: Any, split: Any, captions: Any, where: str) -> CaptionedImage:
    split = as_text(split, "split", where)
    if not isinstance(captions, list) or not captions:
        raise InputError(f"{where}: captions are {captions!r}; give a list of texts")
    for caption in captions:
        if not as_text(caption, "caption", where).strip():
            raise InputError(f"{where}: the caption is empty; leave the example out")
    return CaptionedImage(
        str(image), split, tuple(" ".join(caption.split()) for caption in captions)
    )


def in_split(images: list[CaptionedImage], split: str, seed: int) -> list[int]:
    """The numbers of a split's images: by the file's own splits, else by a hash of the image."""
    names = {split, *ALIASES.get(split, ())}
    if any(image.split for image in images):
        return [number for number, image in enumerate(images) if image.split in names]
    splits = (split_by_hash(f"{seed}/{image.image}") for image in images)
    return [number for number, name in enumerate(splits) if name == split]
