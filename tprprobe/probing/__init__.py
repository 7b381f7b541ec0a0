"""Edge probing: what vectors of a store know about the labels of its words."""

from tprprobe.probing.comparison import compare_runs
from tprprobe.probing.runs import probe
from tprprobe.probing.saved import SavedProbe, load_probe
from tprprobe.probing.settings import BASELINES, CONTROLS, Settings
from tprprobe.probing.tasks import Task, read_task

__all__ = [
    "BASELINES",
    "CONTROLS",
    "SavedProbe",
    "Settings",
    "Task",
    "compare_runs",
    "load_probe",
    "probe",
    "read_task",
]
