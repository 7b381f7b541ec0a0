"""Edge probing: what vectors of a store know about the labels of its words.

The modules in the order in which data goes through them, each read once:

    settings tasks             what is chosen, and what is probed for
    probed_sites sides         a store: its sites, its words in documents that train or are held out
    targets controls           spans with the states that are read for them; their labels, and others
    labelled_splits            examples to train, validate and test on
    vectors batches            what probes read, and how it streams
    probes grid                the probe, and the list of all that are trained
    stacks tallies rounds      training, counting, many at once
    frequencies codelength scores rows      counts by document become a table
    saved_probes folders comparison         what is kept, and what is done with it
    probing_run                one run of all of it
"""

from tprprobe.analyses.probing.comparison import compare_runs
from tprprobe.analyses.probing.probing_run import probe
from tprprobe.analyses.probing.saved_probes import SavedProbe, load_probe
from tprprobe.analyses.probing.settings import BASELINES, CONTROLS, Schedule, Settings
from tprprobe.analyses.probing.tasks import Task, read_task

__all__ = [
    "BASELINES",
    "CONTROLS",
    "SavedProbe",
    "Schedule",
    "Settings",
    "Task",
    "compare_runs",
    "load_probe",
    "probe",
    "read_task",
]
