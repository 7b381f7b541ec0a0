"""Edge probing: what vectors of a store know about the labels of its words."""

from tprprobe.analyses.probing.archive import SavedProbe, load_probe
from tprprobe.analyses.probing.comparison import compare_runs
from tprprobe.analyses.probing.probing_run import probe
from tprprobe.analyses.probing.settings import BASELINES, CONTROLS, Settings
from tprprobe.analyses.probing.tasks import Task, read_task

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
