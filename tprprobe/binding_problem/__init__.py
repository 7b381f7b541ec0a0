"""The binding problem of stacked attention: shown exactly, and asked of a trained model."""

from tprprobe.binding_problem.degrees import measure_degrees
from tprprobe.binding_problem.networks import Network, UpperHead, demonstrate, draw_network
from tprprobe.binding_problem.probe import ask_pairs, binding_probe

__all__ = [
    "Network",
    "UpperHead",
    "ask_pairs",
    "binding_probe",
    "demonstrate",
    "draw_network",
    "measure_degrees",
]
