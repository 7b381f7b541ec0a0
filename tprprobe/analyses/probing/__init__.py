"""Edge probing: what vectors of a store know about the labels of its words.

The modules in the order in which data goes through them, each read once:

    settings tasks               choices of a run, and what is probed for
    probed_sites sides           a store: its sites; its words, in documents that train or are held out
    targets controls             spans with the states that are read for them; their labels, and others
    labelled_splits              examples to train, validate and test on
    vectors batches              what probes read, and how it streams from the store
    pooling probes grid          a vector per span; the two kinds of probe; the list of all to be trained
    stacks                       probes of one shape, side by side
    edge_gradients               what a batch teaches a span-conv probe
    descents, logistic linear    their training: by steps of Adam, or to the convex optimum
    tallies rounds               testing; many stacks in one pass over the store
    frequencies codelength scores rows     counts by document become a table
    folders saved_probes comparison        what is kept, and what is done with it
    probing_run                  one run of all of it
"""

from tprprobe.analyses.probing.comparison import compare_runs
from tprprobe.analyses.probing.probing_run import probe
from tprprobe.analyses.probing.saved_probes import load_probe
from tprprobe.analyses.probing.settings import ProbeSettings, Schedule
from tprprobe.analyses.probing.tasks import read_task

__all__ = [
    "ProbeSettings",
    "Schedule",
    "compare_runs",
    "load_probe",
    "probe",
    "read_task",
]
