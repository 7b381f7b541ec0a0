"""Generated scenes: a place, a group of somebody and of something, what they do and how they stand.

A scene is rendered to an image's feature vector and worded in captions whose every label is known.
"""

from tprprobe.data.captions.scenes.drawn import Knobs, draw_scenes, is_scenes, sample
from tprprobe.data.captions.scenes.rendering import render
from tprprobe.data.captions.scenes.scene import SPLITS, Group, Scene
from tprprobe.data.captions.scenes.wording import describe

__all__ = [
    "SPLITS",
    "Group",
    "Knobs",
    "Scene",
    "describe",
    "draw_scenes",
    "is_scenes",
    "render",
    "sample",
]
