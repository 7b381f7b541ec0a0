"""The binding problem of stacked attention, shown exactly."""

from tprpapers.schlag.binding_problem.degrees import measure_degrees
from tprpapers.schlag.binding_problem.networks import demonstrate, draw_network

__all__ = [
    "demonstrate",
    "draw_network",
    "measure_degrees",
]
