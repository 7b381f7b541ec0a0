"""The binding problem of stacked attention, shown exactly."""

from tprprobe.analyses.binding_problem.degrees import measure_degrees
from tprprobe.analyses.binding_problem.networks import demonstrate, draw_network

__all__ = [
    "demonstrate",
    "draw_network",
    "measure_degrees",
]
