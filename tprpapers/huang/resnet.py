"""Image features by a pretrained ResNet, in a file that `captions:FILE,features=FILE` reads.

Needs the extra ``images`` (transformers and Pillow). Images are resized and cut as ImageNet's.
"""

import hashlib
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from jaxtyping import Float32

from tprprobe.console import stderr, track
from tprprobe.errors import InputError
from tprprobe.files.file_errors import as_input_error
from tprprobe.files.runs import KeptRun
from tprprobe.files.writing import alone, write_file

MODEL = "microsoft/resnet-152"  # the paper's network
ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp")
WRITE_SIZE, BATCH = 256, 32  # images that are written, and read, at once
COCO = re.compile(r"COCO_\w+_0*(\d+)")
PLAN = "plan.json"
SIZE, CROP_RATIO = 224, 0.875
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def compute_features(
    images: Path, out: Path, model: str = MODEL, device: str = "cpu", resume: bool = False
) -> list[Path]:
    """The images that could not be read; the features of a folder's others are written to a Parquet
    file (`image_id`, `features`).

    What cannot be read as an image is named and left out. Until all is done, finished parts lie in
    OUT.parts; ``resume`` goes on with them. An image's name is its file's, of COCO its number.
    Raises: InputError for a folder without images, a network that is not here, and an OUT that is.
    """
    block_folder = Path(f"{out}.parts")
    if out.suffix != ".parquet" or (out.exists() and not (resume and block_folder.exists())):
        raise InputError(f"{out}: give a file that is not there yet, and ends in .parquet")
    paths = find_images(images)
    network = load_network(model).to(device)
    with alone(out):
        files = "\n".join(f"{path} {path.stat().st_size}" for path in paths)
        plan = {"model": model, "images": hashlib.sha256(files.encode()).hexdigest()}
        KeptRun.open(block_folder, plan, resume, PLAN, PLAN)
        blocks = [paths[start : start + WRITE_SIZE] for start in range(0, len(paths), WRITE_SIZE)]
        for number, block in enumerate(track(blocks, f"{images}", len(blocks))):
            if not (path := block_folder / f"{number:06}.parquet").exists():
                write_file(path, _encode(network, block, device))
        table = pa.concat_tables(
            [_part(block_folder / f"{i:06}.parquet") for i in range(len(blocks))]
        )
        if not len(table):
            raise InputError(f"none of the {len(paths)} files of {images} can be read as an image")
        write_file(out, _bytes(table))
        shutil.rmtree(block_folder)
    encoded_names = set(table["image_id"].to_pylist())
    return [path for path in paths if name_of(path) not in encoded_names]


def _part(file: Path) -> pa.Table:
    with as_input_error(f"{file} is damaged", "remove it and go on with --resume"):
        return pq.read_table(file)


def find_images(folder: Path) -> list[Path]:
    """The images of a folder and what is below it, by name.

    Raises: InputError if there are none, or two have one name.
    """
    if not folder.is_dir():
        raise InputError(f"no folder {str(folder)!r}; give one of images")
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS)
    if not paths:
        raise InputError(f"{folder} has no image ({', '.join(ENDINGS)})")
    path_by_name: dict[str, Path] = {}
    for path in paths:
        if (namesake := path_by_name.setdefault(name_of(path), path)) != path:
            raise InputError(f"{path} and {namesake} have one name: give every image its own")
    return paths


def name_of(path: Path) -> str:
    """The name of an image in caption files: its number in COCO, else its file's name without the
    ending.
    """
    match = COCO.fullmatch(path.stem)
    return match[1] if match else path.stem


def load_network(model: str) -> Any:
    """The network from a folder or the hub's cache.

    Raises: InputError where it, or the extra, is missing.
    """
    from transformers import ResNetModel

    try:
        return ResNetModel.from_pretrained(model, local_files_only=True).eval()
    except (OSError, ValueError) as error:
        raise InputError(
            f"no network {model!r} here ({str(error).splitlines()[0]}): give a folder, or get it by "
            f"`hf download {MODEL}`"
        ) from None


def read_image(path: Path) -> Float32[np.ndarray, "3 height width"]:
    """The middle of an image as the network reads it.

    Raises: OSError or ValueError for what is no image.
    """
    from PIL import Image

    with Image.open(path) as opened:
        image = opened.convert("RGB")
    scale = SIZE / CROP_RATIO / min(image.size)
    width, height = (max(SIZE, round(side * scale)) for side in image.size)
    image = image.resize((width, height), Image.Resampling.BICUBIC)
    x, y = (width - SIZE) // 2, (height - SIZE) // 2
    pixels = np.asarray(image.crop((x, y, x + SIZE, y + SIZE)), np.float32) / 255
    mean, deviation = np.array([MEAN, DEVIATION], np.float32)
    return ((pixels - mean) / deviation).transpose(2, 0, 1)


@torch.no_grad()
def _encode(network: Any, block: Sequence[Path], device: str) -> bytes:
    """One block of images as a Parquet part; unreadable images are left out."""
    names, vectors = [], []
    for start in range(0, len(block), BATCH):
        images = [
            (path, image) for path in block[start : start + BATCH] for image in _read_or_skip(path)
        ]
        if images:
            pixels = torch.from_numpy(np.stack([image for _, image in images])).to(device)
            states = network(pixel_values=pixels).pooler_output  # [image, width, 1, 1]
            vectors.append(states.flatten(1).float().numpy(force=True))
            names += [name_of(path) for path, _ in images]
    rows = np.concatenate(vectors) if vectors else np.zeros((0, 1), np.float32)
    column = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])
    lists = column.cast(pa.list_(pa.float32()))
    return _bytes(pa.table({"image_id": pa.array(names, pa.string()), "features": lists}))


def _read_or_skip(path: Path) -> list[np.ndarray]:
    try:
        return [read_image(path)]
    except (OSError, ValueError, SyntaxError) as error:
        stderr.print(
            f"left out: {path} is no image that can be read ({error})", markup=False, soft_wrap=True
        )
        return []


def _bytes(table: pa.Table) -> bytes:
    stream = pa.BufferOutputStream()
    pq.write_table(table, stream)
    return stream.getvalue().to_pybytes()
