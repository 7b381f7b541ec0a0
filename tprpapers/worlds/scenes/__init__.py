"""Generated scenes: a place, a group of somebody and of something, what they do and how they stand.

A scene is rendered to an image's feature vector and worded in captions whose every label is known.
"""

from tprpapers.worlds.scenes.captioning import describe
from tprpapers.worlds.scenes.rendering import render
from tprpapers.worlds.scenes.scene import Group, Scene
from tprpapers.worlds.scenes.scenesets import SceneKnobs, draw_scenes, is_scenes, sample

__all__ = [
    "Group",
    "Scene",
    "SceneKnobs",
    "describe",
    "draw_scenes",
    "is_scenes",
    "render",
    "sample",
]
