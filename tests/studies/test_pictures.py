"""Drawings in fewer bytes: the same texts, shapes and colors."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from studies.pictures import compact_svg
from tprprobe.figures.style import drawing


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    figure = drawing(4, 3)
    axes = figure.subplots()
    axes.plot(np.random.default_rng(0).normal(size=40), marker="o", label="a line")
    axes.bar(range(20), range(20))
    axes.imshow(np.arange(12).reshape(3, 4), extent=(0, 10, 0, 10))
    axes.legend()
    path = tmp_path_factory.mktemp("drawn") / "figure.svg"
    figure.savefig(path)
    return path.read_text("utf-8")


def parts(text):
    """The texts, and how many elements of each kind are drawn."""
    elements = [
        element for element in ElementTree.fromstring(text).iter() if "}metadata" not in element.tag
    ]
    texts = [element.text for element in elements if element.tag.endswith("}text")]
    kinds = [element.tag.rpartition("}")[2] for element in elements]
    return texts, {kind: kinds.count(kind) for kind in ("path", "use", "text", "image", "clipPath")}


def test_a_compact_drawing_has_the_same_parts(original):
    compact = compact_svg(original)
    assert len(compact) < 0.7 * len(original)
    assert parts(compact) == parts(original)
    assert {*re.findall(r"#[0-9a-f]{6}\b", compact)} == {*re.findall(r"#[0-9a-f]{6}\b", original)}
